"""The sections [data] and [partition]: which records, what their columns become, who holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from tacit.study._grammar.section import Flag, Number, Section, Whole

Level = Annotated[str | int | float | bool, Field(union_mode="smart")]
Rule = Literal["error", "drop", "middle", "indicator"] | Number


class NumericFeature(Section):
    """A number with declared public bounds."""

    kind: Literal["numeric"] = Field("numeric", description="a number")
    lower: Number | None = Field(None, description="declared public lower bound")
    upper: Number | None = Field(None, description="declared public upper bound")
    to: tuple[Number, Number] = Field((-1.0, 1.0), description="interval onto which bounds map")
    mean: Number | None = Field(None, description="declared centre; together with deviation")
    deviation: Number | None = Field(None, description="declared standard deviation")
    missing: Rule | None = Field(None, description="what a missing value becomes")
    statistics: Literal["declared", "public"] = Field(
        "declared", description="'public' takes undeclared bounds from the data, said to be public"
    )
    standardise: Flag = Field(False, description="with statistics='public': mean 0, deviation 1")


class CategoricalFeature(Section):
    """One of several declared levels."""

    kind: Literal["categorical"] = Field("categorical", description="one of several levels")
    levels: tuple[Level, ...] | None = Field(None, description="the values that may occur")
    drop_first: Flag = Field(False, description="make the first level the reference")
    other: Literal["error", "zero"] = Field("error", description="what another value does")
    missing: Literal["error", "drop", "indicator"] | None = Field(
        None, description="what a missing value becomes"
    )
    statistics: Literal["declared", "public"] = Field(
        "declared", description="'public' takes undeclared levels from the data"
    )


class BooleanFeature(Section):
    """True or false."""

    kind: Literal["boolean"] = Field("boolean", description="true or false")
    missing: Rule | None = Field(None, description="what a missing value becomes")


def _feature_kind(value: Any) -> str:
    if isinstance(value, Section):
        return str(getattr(value, "kind", ""))
    if not isinstance(value, Mapping):
        return "numeric"
    return str(value.get("kind", "categorical" if "levels" in value else "numeric"))


Feature = Annotated[
    Annotated[NumericFeature, Tag("numeric")]
    | Annotated[CategoricalFeature, Tag("categorical")]
    | Annotated[BooleanFeature, Tag("boolean")],
    Discriminator(_feature_kind),
]


class BinaryTargetSection(Section):
    """A yes/no question."""

    kind: Literal["binary"] = Field("binary", description="yes or no")
    column: str = Field(description="name of the column to be predicted")
    positive: Level | tuple[Level, ...] = Field(
        description="value(s) that count as yes, or a threshold such as '> 0'"
    )
    negative: Level | tuple[Level, ...] | None = Field(
        None, description="value(s) that count as no; any other is then an error"
    )
    missing: Literal["error", "drop"] = Field("error", description="what a missing target does")


class ClassTargetSection(Section):
    """One of several classes."""

    kind: Literal["class"] = Field("class", description="one of several classes")
    column: str = Field(description="name of the column to be predicted")
    levels: tuple[Level, ...] = Field(description="the classes, at least two")
    missing: Literal["error", "drop"] = Field("error", description="what a missing target does")


class NumericTargetSection(Section):
    """A number, clipped to declared bounds."""

    kind: Literal["numeric"] = Field("numeric", description="a number")
    column: str = Field(description="name of the column to be predicted")
    lower: Number = Field(description="declared public lower bound")
    upper: Number = Field(description="declared public upper bound")
    to: tuple[Number, Number] | None = Field(None, description="interval onto which bounds map")
    missing: Literal["error", "drop"] = Field("error", description="what a missing target does")


def _declared(value: Any) -> Any:
    kinds = ("kind", "positive", "levels", "lower", "upper")
    if isinstance(value, Mapping) and not any(key in value for key in kinds):
        raise PydanticCustomError(
            "target",
            "does not say what is predicted; add positive = ... (a yes/no question), "
            "levels = [...] (classes), or lower = ... and upper = ... (a number)",
        )
    return value


def _target_kind(value: Any) -> str:
    if isinstance(value, Section):
        return str(getattr(value, "kind", ""))
    if not isinstance(value, Mapping):
        return "numeric"
    implied = "binary" if "positive" in value else "class" if "levels" in value else "numeric"
    return str(value.get("kind", implied))


Target = Annotated[
    Annotated[BinaryTargetSection, Tag("binary")]
    | Annotated[ClassTargetSection, Tag("class")]
    | Annotated[NumericTargetSection, Tag("numeric")],
    Discriminator(_target_kind),
    BeforeValidator(_declared),
]


class DataSection(Section):
    """Where the records are, and what each column becomes."""

    path: str | None = Field(
        None, description="CSV, Parquet, npz or idx file, relative to the study file"
    )
    source: Literal["randhie"] | None = Field(
        None, description="built-in records instead of a file: 'randhie'"
    )
    separator: str | None = Field(None, description="of a CSV file, one character")
    encoding: str | None = Field(None, description="of a CSV file")
    decimal: Literal[".", ","] = Field(".", description="mark of decimals in numbers that are text")
    labels: str | None = Field(None, description="idx file of labels, beside the idx images")
    features: dict[str, Feature] = Field(
        description="one table a column; a name with * stands for all columns that match"
    )
    target: Target = Field(description="what is to be predicted")
    missing: Rule = Field("error", description="what a missing value of a feature becomes")
    intercept: Flag = Field(True, description="add a column of ones, which is not penalised")
    row_norm: Number | None = Field(
        None, description="largest l2 norm of a record's features; longer ones are scaled down"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> DataSection:
        if (self.path is None) == (self.source is None):
            raise PydanticCustomError("origin", "give either path or source")
        return self


class ByColumn(Section):
    """Each record at the site that a column names."""

    by: Literal["column"] = Field(description="how records are divided among sites")
    column: str = Field(description="name of the site column")
    sites: tuple[str, ...] | None = Field(None, description="the sites, in this order")


class Drawn(Section):
    """Each record at a site drawn by a keyed hash of itself."""

    by: Literal["drawn"] = Field(description="how records are divided among sites")
    sites: Whole = Field(description="how many sites, at least 2")
    seed: Whole = Field(0, description="key of the hash")


class Even(Section):
    """Records dealt at random to sites of equal size."""

    by: Literal["even"] = Field(description="how records are divided among sites")
    sites: Whole = Field(description="how many sites, at least 2")
    seed: Whole = Field(0, description="of the random deal")


class ByLabel(Section):
    """Records sorted by target and cut: the least alike that sites can be."""

    by: Literal["label"] = Field(description="how records are divided among sites")
    sites: Whole = Field(description="how many sites, at least 2")


class ByDirichlet(Section):
    """The records of each label dealt in Dirichlet proportions."""

    by: Literal["dirichlet"] = Field(description="how records are divided among sites")
    sites: Whole = Field(description="how many sites, at least 2")
    concentration: Number = Field(description="positive; small is uneven, large is even")
    seed: Whole = Field(0, description="of the random deal")
    minimum: Whole = Field(1, description="least number of records of a site")


Partition = Annotated[ByColumn | Drawn | Even | ByLabel | ByDirichlet, Field(discriminator="by")]
