"""`tacit table1`, `tacit survival` and `tacit cox`: what columns of a table tell."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from tacit.cli.console import guarded
from tacit.cli.of_a_table import Given
from tacit.cli.running import run_source
from tacit.cli.written import by_column, check_given, declarations, run_written
from tacit.data.roles import Role, check_roles, cox_roles, survival_roles
from tacit.errors import ConfigError
from tacit.method.table_one import PrivateTableOne
from tacit.study._output import Destination
from tacit.study.declaring import column_of_sites
from tacit.study.describing import describe_study
from tacit.study.read import read_study


class _Asked(NamedTuple):
    """What is asked of columns.

    Attributes:
        method: name of the method.
        title: title of the study.
        missing: rule for missing values.
        independent: results for which records are taken as independent.
    """

    method: str
    title: str
    missing: str
    independent: str


def describe_table(
    data: Path,
    columns: Sequence[str],
    given: Given,
    *,
    by: str | None,
    median: Sequence[str],
    bins: int | None,
    shares: Sequence[str],
    suppress_below: int,
    size: int | None,
) -> int:
    """Make a table 1; see `tacit table1 --help`."""

    def keys(names: Sequence[str]) -> dict[str, Any]:
        values = {"by": by, "columns": list(names), "medians": list(median) or None, "bins": bins}
        return _given("table1", {**values, "suppress_below": suppress_below or None}) | _shares(
            shares
        )

    title = "Table 1" if by is None else f"Table 1 by {by}"
    asked = _Asked("table1", title, "indicator", "p-values")
    return _describe(data, columns, keys, given, asked, by=by, size=size)


def survival_table(
    data: Path,
    time: str,
    event: str,
    given: Given,
    *,
    by: str | None,
    edges: str | None,
    intervals: int | None,
    until: float | None,
    size: int | None,
) -> int:
    """Estimate survival curves; see `tacit survival --help`."""

    def keys(names: Sequence[str]) -> dict[str, Any]:
        values = {"time": _cut(time, edges), "event": event, "by": by}
        return _given("survival", {**values, "intervals": intervals, "until": until})

    title = f"Survival by {time}" if by is None else f"Survival by {time} and {by}"
    asked = _Asked("survival", title, "drop", "intervals and tests")
    roles = survival_roles(time, event, by)
    return _describe(data, [time, event], keys, given, asked, by=by, size=size, roles=roles)


def cox_table(
    data: Path,
    time: str,
    event: str,
    columns: Sequence[str],
    given: Given,
    *,
    edges: str | None,
    pieces: int | None,
    limit: float | None,
    strata: str | None,
    periods: str | None,
    size: int | None,
) -> int:
    """Fit a Cox regression; see `tacit cox --help`."""

    def keys(names: Sequence[str]) -> dict[str, Any]:
        values = {"time": _cut(time, edges), "event": event, "columns": list(columns)}
        values |= {"pieces": pieces, "limit": limit, "strata": strata}
        return _given("cox", values | {"periods": _numbers("periods", periods)})

    asked = _Asked("cox", f"Cox regression of {time}", "drop", "intervals")
    named = [time, event, *columns]
    roles = cox_roles(time, event, columns, strata)
    return _describe(data, named, keys, given, asked, by=strata, size=size, roles=roles)


def _describe(
    data: Path,
    columns: Sequence[str],
    keys: Callable[[Sequence[str]], Mapping[str, Any]],
    given: Given,
    asked: _Asked,
    *,
    by: str | None = None,
    size: int | None,
    roles: Sequence[Role] = (),
) -> int:
    """Write and run the study of a method that asks for columns.

    Args:
        data: table of records.
        columns: columns to ask for; none for all that can be described.
        keys: keys of [method], from the columns that are asked for.
        given: options of all commands on a table.
        asked: what is asked of them.
        by: column of the groups or strata, if any.
        size: declared number near that of a site's records, where it is private.
        roles: parts that columns have, of which each needs a column of its own.
    """

    def command() -> int:
        check_given(data, given)
        check_roles(roles, given.site)
        relation = {} if size is None else {"relation": "add_remove"}
        found = describe_study(
            data,
            columns,
            keys,
            title=asked.title,
            missing=asked.missing,
            by=by,
            site=given.site,
            sites=given.sites,
            **declarations(given.bounds, given.levels, given.maps),
            missing_values=given.missing_values,
            privacy={**given.privacy, **relation},
            run={} if given.seed is None else {"seed": given.seed},
            size=size,
            folder=Path() if given.study is None else given.study.parent,
            reading=given.reading,
        )
        if found.chosen:
            print(
                "WARNING: which columns are described was read off the records and counts as "
                f"public. Not described: {', '.join(found.left_out) or 'none'} (identifiers, "
                "dates, too many levels, or one value). Name the columns to choose yourself.",
                file=sys.stderr,
            )
        site = column_of_sites(data, given.site)
        return run_written(found, asked.method, given, site=site, independent=asked.independent)

    return guarded(command, as_json=given.json)


def _given(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of [method], without those that were not given."""
    return {"name": name, **{key: value for key, value in values.items() if value is not None}}


def _cut(time: str, edges: str | None) -> str | dict[str, Any]:
    """The key of a column of times, cut by edges if there are any."""
    return time if edges is None else {"column": time, "edges": _numbers("edges", edges)}


def _numbers(option: str, given: str | None) -> list[float] | None:
    """Numbers with commas between, if they are given."""
    try:
        return None if given is None else [float(each) for each in given.split(",")]
    except ValueError:
        raise ConfigError(f"--{option} {given!r} must be numbers, as in 30,90,365") from None


def describe_by_study(path: Path, typed: Sequence[str], given: Given) -> int:
    """Run a study of a table 1.

    Args:
        path: study file.
        typed: options on the command line that a study has keys for.
        given: options of all commands on a table, of which a study leaves those of its results.
    """

    def command() -> int:
        if typed:
            raise ConfigError(
                f"{', '.join(typed)} cannot be given with a study, which has keys for that; change "
                f"{path}, or give a table of records"
            )
        source = read_study(path)
        name = dict(source.study.method)["name"]
        if name != PrivateTableOne.name:
            raise ConfigError(
                f"{path} has the method {name!r}, not {PrivateTableOne.name!r}; run it by: "
                f"tacit run {path}"
            )
        own = source.folder / source.study.run.output
        target = own if given.output is None else given.output
        with source.section("run") if given.output is None else nullcontext():
            destination = Destination(
                target, given.force, resumable=False, option=given.output is not None
            )
        return run_source(
            source, destination, None, public=given.public, useful=given.useful, json=given.json
        )

    return guarded(command, as_json=given.json)


def _shares(given: Sequence[str]) -> dict[str, Any]:
    found: dict[str, float] = {}
    for name, text in by_column("share", given).items():
        try:
            found[name] = float(text)
        except ValueError:
            found[name] = math.nan
        if not (math.isfinite(found[name]) and found[name] > 0.0):
            raise ConfigError(
                f"--share {name + '=' + text!r} must be a positive number, as in age=2"
            )
    return {"shares": found} if found else {}
