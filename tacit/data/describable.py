"""Which columns of a table a table 1 describes, and what they are declared to hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tacit import checks
from tacit.data.columns import check_cells, column_of
from tacit.data.feature import Boolean, Categorical, Date, Feature, Numeric
from tacit.data.guessing import (
    MANY,
    codes_among_numbers,
    columns_there,
    guess_kinds,
    identifiers,
    kind_of,
)
from tacit.data.undeclared import Filled, filled
from tacit.errors import ProblemError

if TYPE_CHECKING:
    import pandas as pd


_CHOSEN = (
    "which columns are left out, since they hold one value, dates, identifiers or more than "
    f"{MANY} levels,"
)
"""What decides on columns that nobody has named."""


@dataclass(frozen=True)
class Describable:
    """The columns of a table 1.

    Attributes:
        names: columns that are described, in order.
        found: declarations of these and of the column of groups.
        left_out: columns that are not described: identifiers, dates, texts of too many levels, and
            columns of one value.
    """

    names: tuple[str, ...]
    found: Filled
    left_out: tuple[str, ...]


def describable(
    frame: pd.DataFrame,
    names: Sequence[str] | None,
    by: str | None,
    site: str | None,
    declared: Mapping[str, Feature],
    decimal: str = ".",
    sites: Sequence[str] | None = None,
) -> Describable:
    """The columns of a table 1, with what is not declared read off the records.

    A column of 0 and 1 is a yes or no. Records without a group are dropped. Declarations of columns
    that are not asked for are not used, because one set of them may serve several questions.

    Args:
        frame: table of all records.
        names: columns to describe; `None` for all that can be.
        by: column by whose levels records are grouped, if any.
        site: column that holds each record's site, if any.
        declared: columns that are declared.
        decimal: decimal mark of numbers that the table holds as text.
        sites: names of the sites, if they are declared: then those of groups that are the sites.

    Raises:
        ProblemError: a column that the table does not have, one that cannot be described, or a
            declared one that would be left out as an identifier.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"id": ["p1", "p2"], "age": [30, 50], "ill": [0, 1]})
        >>> chosen = describable(frame, None, None, None, {})
        >>> chosen.names, chosen.found.taken, chosen.left_out
        (('age', 'ill'), {'age': 'bounds 30 to 50', 'ill': 'levels 0 and 1'}, ('id',))
    """
    guessed = guess_kinds(frame, decimal)
    if by is not None and by == site and sites and by not in declared:
        declared = {**declared, by: Categorical([str(each) for each in sites])}
    groups = [] if by is None else [by]
    for name in (*groups, *(names or ()), *declared):
        _check_there(name, frame)
    for name in (*groups, *(map(str, frame.columns) if names is None else names)):
        check_cells(frame, name)
    left_out: list[str] = []
    told: list[str] = []
    if names is None:
        rest = [each for each in map(str, frame.columns) if each not in (site, by)]
        who = {name: known for name, known in identifiers(guessed).items() if name in rest}
        # one record may decide on each: both neighbours say so, whatever is left out
        told = [f"that no two records have the same {name}" for name, known in who.items() if known]
        told += [_CHOSEN] if set(rest) - set(declared) else []
        both = next((name for name in who if name in declared), None)
        if both is not None:
            raise ProblemError(
                f"{both!r} is declared, and left out as an identifier; name the columns to describe"
            )
        left_out = [*who]
        # numbers with a text among them are no levels: `filled` refuses them and names the text
        kept = {*who, *declared, *codes_among_numbers(guessed, decimal)}
        left_out += [each for each in rest if each not in kept and _unfit(guessed, each)]
        names = [each for each in rest if each not in left_out]
    if not names:
        raise ProblemError("variables: no column is left to describe; name some")
    _check_named(names, by, site)
    for name in names:
        if isinstance(declared.get(name), Date) or (name not in declared and _dated(guessed, name)):
            raise ProblemError(
                f"column {name!r} holds dates, which have no mean that is printed; leave it out, "
                "or describe a number such as the year"
            )
    asked = dict.fromkeys(groups, True) | {each: _of_truths(guessed, each) for each in names}
    found = filled(frame, declared, asked, "", decimal)
    if by is not None:
        grouped = found.features[by]
        if isinstance(grouped, Categorical | Boolean | Numeric) and grouped.missing is None:
            grouped = replace(grouped, missing="drop")
        found = replace(found, features={**found.features, by: grouped})
    return Describable(tuple(names), replace(found, told=tuple(told)), tuple(left_out))


def _check_there(name: str, frame: pd.DataFrame) -> None:
    present = [str(each) for each in frame.columns]
    if name in present:
        return
    hint = checks.hint(name, present, columns_there(frame), cutoff=0.5)
    raise ProblemError(f"{name!r} is not a column of the data; {hint}")


def _check_named(names: Sequence[str], by: str | None, site: str | None) -> None:
    for name in names:
        if list(names).count(name) > 1:
            raise ProblemError(f"column {name!r} stands twice; name each once")
        if name == by:
            raise ProblemError(f"column {name!r} is that of the groups; leave it out of the rows")
        if name == site:
            raise ProblemError(f"column {name!r} is that of the sites; leave it out of the rows")


def _of_truths(frame: pd.DataFrame, name: str) -> bool:
    """Whether a column has no other values than 0 and 1."""
    return set(column_of(frame, name).dropna().unique()) == {0, 1}


def _dated(frame: pd.DataFrame, name: str) -> bool:
    column = column_of(frame, name).dropna()
    return not column.empty and kind_of(column) == "date"


def _unfit(frame: pd.DataFrame, name: str) -> bool:
    """Whether a column holds dates, texts of too many levels, or one value in all records."""
    column = column_of(frame, name).dropna()
    if column.nunique() < 2 or _dated(frame, name):
        return True
    return kind_of(column) == "categorical" and column.nunique() > MANY
