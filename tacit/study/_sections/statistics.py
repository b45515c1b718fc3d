"""Studies that release statistics of records: no loss to minimise, and a fixed number of rounds."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from tacit.method.glm import FamilyName
from tacit.study._grammar.section import Number, PerSite, Section, Whole
from tacit.study._sections.common import PrivacySection, RunSection
from tacit.study._sections.data import DataSection


class ColumnSection(Section):
    """One declared column, and where a number is cut."""

    column: str = Field(description="name of a column of [data.features]")
    edges: tuple[Number, ...] = Field(
        (), description="increasing cut points of a numeric column, strictly between its bounds"
    )


def _column(value: Any) -> Any:
    """Text stands for the column of that name."""
    return {"column": value} if isinstance(value, str) else value


def _columns(value: Any) -> Any:
    return tuple(map(_column, value)) if isinstance(value, list | tuple) else value


OneColumn = Annotated[ColumnSection, BeforeValidator(_column)]
"""A column by name, or as a table `{ column = "age", edges = [18, 65] }`."""

Columns = Annotated[tuple[ColumnSection, ...], BeforeValidator(_columns)]
"""Columns by name, or as tables `{ column = "age", edges = [18, 65] }`."""


def _no_target(value: Any) -> Any:
    if value is not None:
        raise PydanticCustomError(
            "target",
            "is given by [model] where one is fitted; leave it out, and declare the column in "
            "[data.features]",
        )
    return value


class ModelSection(Section):
    """The regression that is fitted."""

    formula: str = Field(
        description="model such as 'visits ~ age + C(sex) + bs(income, df=4) + offset(log(days))', "
        "of columns of [data.features]"
    )
    family: FamilyName = Field(
        description="distribution of the target: gaussian (a number with bounds), binomial (yes or "
        "no), multinomial (one of several levels), poisson (counts), negative_binomial (counts "
        "that vary more) or gamma (positive numbers)"
    )
    weights: str | None = Field(
        None,
        description="column of [data.features] with the weights of records, bounds from at least 0",
    )


class RecordsSection(Section):
    """The records of the sites, with nothing to minimise."""

    size: PerSite | None = Field(
        None,
        description="declared number of records per site, approximate, positive; needed with "
        "relation = 'add_remove', where the true number is private",
    )


class StatisticsData(DataSection):
    """Where the records are, and what each column is declared to hold."""

    target: Annotated[Any, BeforeValidator(_no_target)] = Field(
        None, description="no target: the formula of [model] names it, if any"
    )
    map: None = Field(
        None, description="no map: the columns are described, and a formula has terms of its own"
    )


class StatisticsPrivacy(PrivacySection):
    """The budget. Without this section nothing is protected."""

    clip: PerSite = Field(
        1.0, description="has no effect, as bounds follow from the declared columns; leave it at 1"
    )


class StatisticsRun(RunSection):
    """How often, and where the results go."""

    rounds: Annotated[Whole, Field(ge=1)] = Field(
        1, description="number of rounds: the method's number of sums"
    )
