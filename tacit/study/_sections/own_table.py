"""The file in which an owner says how its own table is written, in a run between sites."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from tacit.data.dates import check_format
from tacit.data.rules import check_codes
from tacit.study._grammar.section import Number, Section


def _format(given: str) -> str:
    check_format(given)
    return given


def _codes(given: tuple[str | float, ...]) -> tuple[str | float, ...]:
    return check_codes(given)


Codes = Annotated[tuple[str | Number, ...], AfterValidator(_codes)]


class OwnColumn(Section):
    """How the values of one column are written in an owner's table."""

    name: str | None = Field(
        None, description="name of the column in this table, if it is another than in the study"
    )
    map: dict[str, str | bool | Number] = Field(
        {},
        description="what values are rewritten to before the study reads them, such as "
        '{ m = "male", "?" = "" }; the empty text is a missing one',
    )
    format: Annotated[str, AfterValidator(_format)] | None = Field(
        None, description='how dates are written, as in "%d.%m.%Y" for 31.12.2024'
    )
    missing_values: Codes = Field((), description="values that mean a missing one in this column")


class OwnTable(Section):
    """An owner's table, and how it is written; what is left out is as the study says."""

    path: str = Field(description="path of the table, relative to this file")
    separator: str | None = Field(None, description="column separator of a CSV file, one character")
    encoding: str | None = Field(None, description="character encoding of a CSV file")
    sheet: str | None = Field(None, description="sheet of an Excel workbook")
    decimal: Literal[".", ","] | None = Field(
        None, description="decimal mark of numbers stored as text"
    )
    missing_values: Codes = Field(
        (), description="values that mean a missing one in every column, besides an empty cell"
    )
    columns: dict[str, OwnColumn] = Field(
        {},
        description="one table for each column that is written in another way, by its name "
        "in the study",
    )
