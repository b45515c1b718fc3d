"""The sections [data] and [partition]: which records, what their columns become, who holds them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from tacit.data.feature import FEATURES
from tacit.data.maps import MAPS
from tacit.data.partitions import PARTITIONS
from tacit.data.target import TARGETS
from tacit.study._grammar.arguments import arguments, section, summary
from tacit.study._grammar.section import Flag, Number, Section
from tacit.study._sections.kinds import kinds


class TargetSection(Section):
    """What every target has."""

    column: str = Field(description="name of the column to predict")


class SitesSection(Section):
    """What the division by a column has."""

    column: str = Field(description="name of the column that holds each record's site")
    map: dict[str, str] | None = Field(
        None,
        description="other ways in which sites are written, and their names, such as "
        '{ "Koeln" = "Köln" }',
    )


def _feature(value: Any) -> Any:
    if not isinstance(value, Mapping) or "kind" in value:
        return value
    dated = "format" in value or isinstance(value.get("lower"), datetime.date)
    implied = "categorical" if "levels" in value else "date" if dated else "numeric"
    return {"kind": implied, **value}


def _target(value: Any) -> Any:
    if not isinstance(value, Mapping) or "kind" in value:
        return value
    if not any(key in value for key in ("positive", "levels", "lower", "upper")):
        raise PydanticCustomError(
            "target",
            "does not say what is predicted; add positive = ... (a yes/no question), "
            "levels = [...] (classes), or lower = ... and upper = ... (a number)",
        )
    implied = "binary" if "positive" in value else "class" if "levels" in value else "numeric"
    return {"kind": implied, **value}


def _partitions() -> Any:
    by_column, *others = PARTITIONS.items()
    return reduce(
        or_,
        (
            section(summary(rule), "by", name, arguments(rule, ("prepared",)), base)
            for base, rules in ((SitesSection, [by_column]), (Section, others))
            for name, rule in rules
        ),
    )


if TYPE_CHECKING:
    Feature = Target = Partition = FeatureMap = Any
else:
    Feature = Annotated[kinds(FEATURES), BeforeValidator(_feature)]
    Target = Annotated[
        kinds(TARGETS, leave_out=("name",), base=TargetSection), BeforeValidator(_target)
    ]
    FeatureMap = kinds(MAPS)
    Partition = Annotated[_partitions(), Field(discriminator="by")]


class DataSection(Section):
    """Where the records are, and what each column becomes."""

    path: str | None = Field(
        None,
        description="path of a CSV, Excel (.xlsx), Parquet, npz or idx file, relative to the study "
        "file; with * in its name all matching files, and a column `file` of their names",
    )
    source: Literal["randhie"] | None = Field(
        None,
        description="name of built-in records, instead of a file; any_visit is added to them: "
        "whether mdvis is positive",
    )
    separator: str | None = Field(
        None,
        description="column separator of a CSV file, one character [default: what its line of "
        "column names has: comma, semicolon, tab or |]",
    )
    encoding: str | None = Field(
        None,
        description="character encoding of a CSV file [default: that of its byte order mark, else "
        "UTF-8, or Windows-1252 for lines that are not UTF-8]",
    )
    sheet: str | None = Field(None, description="sheet of an Excel workbook [default: the first]")
    decimal: Literal[".", ","] = Field(".", description="decimal mark of numbers stored as text")
    labels: str | None = Field(
        None, description="path of the idx file of labels that belongs to idx images"
    )
    features: dict[str, Feature] = Field(
        description="one table per column; a name with * applies to all matching columns"
    )
    target: Target = Field(description="column to predict and how to read it")
    missing: Literal["error", "drop", "middle", "indicator"] | Number = Field(
        "error", description="treatment of a missing feature, or the number that replaces it"
    )
    missing_values: tuple[str | Number, ...] = Field(
        (),
        description='values that mean a missing one in every column, such as ["999", "n/a"], '
        "besides an empty cell",
    )
    intercept: Flag = Field(
        True, description="whether to add a column of ones, exempt from the regulariser"
    )
    map: FeatureMap | None = Field(
        None,
        description="public map of each record's columns to the features of the model; the "
        "intercept is added behind it",
    )
    row_norm: Number | None = Field(
        None,
        description="largest l2 norm of a record's features, positive; longer ones are scaled down",
    )
    assumed: tuple[str, ...] = Field(
        (),
        description="what else must be public for the guarantee to hold, such as bounds that were "
        "read off the records, in sentences; the guarantee repeats them",
    )

    @model_validator(mode="after")
    def _one_origin(self) -> DataSection:
        if (self.path is None) == (self.source is None):
            raise PydanticCustomError("origin", "give either path or source")
        return self


def site_column(partition: Any) -> str | None:
    """The column that holds each record's site, if the section [partition] names one."""
    return partition.column if partition.by == "column" else None
