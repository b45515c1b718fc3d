"""The parts that columns have in a statistic: time, event, groups, strata, covariates, sites."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.errors import ProblemError

Role = tuple[str, str | None]
"""What a column is in words, such as "the event", and its name; `None` where there is none."""

_OF_SITES = ("the groups", "the strata")
"""Parts that the column of the sites may have as well."""


def survival_roles(time: str, event: str, by: str | None) -> list[Role]:
    """The columns of survival curves."""
    return [("the time", time), ("the event", event), ("the groups", by)]


def cox_roles(time: str, event: str, on: Sequence[str], strata: str | None) -> list[Role]:
    """The columns of a Cox regression."""
    covariates = [("a covariate", name) for name in on]
    return [("the time", time), ("the event", event), *covariates, ("the strata", strata)]


def check_roles(roles: Sequence[Role], site: str | None) -> None:
    """Refuse a column in two parts, of which each needs a column of its own.

    Args:
        roles: what each column is, and its name.
        site: column that holds each record's site, if any.

    Raises:
        ProblemError: such a column.

    Example:
        >>> check_roles([("a covariate", "age"), ("a covariate", "age")], "clinic")
        Traceback (most recent call last):
            ...
        tacit.errors.ProblemError: column 'age' stands twice as a covariate; name each once
    """
    known: dict[str, str] = {}
    for role, name in roles:
        if name is None:
            continue
        if name in known:
            raise _twice(name, known[name], role)
        known[name] = role
    if site is not None and known.get(site, _OF_SITES[0]) not in _OF_SITES:
        raise _twice(site, known[site], "the sites")


def _twice(name: str, one: str, other: str) -> ProblemError:
    if one == other:
        return ProblemError(f"column {name!r} stands twice as {one}; name each once")
    return ProblemError(
        f"column {name!r} cannot be both {one} and {other}; name another column for one of them, "
        "or leave one of them out"
    )
