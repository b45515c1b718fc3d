"""`tacit table1`: a table 1 from a table of records, or of a study."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.cli.console import guarded
from tacit.cli.running import run_source
from tacit.cli.writing import check_free
from tacit.cli.written import check_budget, declarations, pairs, run_written, worded
from tacit.errors import ConfigError
from tacit.method.table_one import PrivateTableOne
from tacit.study._output import Destination
from tacit.study.declaring import column_of_sites
from tacit.study.describing import describe_study
from tacit.study.read import read_study
from tacit.study.reading import Reading


def describe_table(
    data: Path,
    columns: Sequence[str],
    *,
    by: str | None,
    site: str | None,
    bounds: Sequence[str],
    levels: Sequence[str],
    sites: Sequence[str],
    maps: Sequence[str],
    missing_values: Sequence[str],
    shares: Sequence[str],
    privacy: Mapping[str, Any],
    method: Mapping[str, Any],
    size: int | None,
    seed: int | None,
    reading: Reading,
    output: Path | None,
    study: Path | None,
    force: bool,
    public: bool,
    json: bool,
) -> int:
    """Make the table; see `tacit table1 --help`."""

    def command() -> int:
        check_budget(privacy)
        if study is not None:
            check_free("study", study, force=force, read={"the table": data})
        found = describe_study(
            data,
            columns,
            by=by,
            site=site,
            sites=sites,
            **declarations(bounds, levels, maps),
            missing_values=missing_values,
            method={**method, **_shares(shares)},
            privacy=privacy,
            run={} if seed is None else {"seed": seed},
            size=size,
            folder=Path() if study is None else study.parent,
            reading=reading,
        )
        if found.left_out:
            print(
                f"Not described: {', '.join(found.left_out)} (identifiers, dates, texts of too "
                "many levels, or one value). Name the columns to choose others.",
                file=sys.stderr,
            )
        return run_written(
            found,
            "table1",
            site=column_of_sites(data, site),
            privacy=privacy,
            independent="p-values",
            output=output,
            study=study,
            force=force,
            public=public,
            json=json,
        )

    return guarded(lambda: worded(command), as_json=json)


def describe_by_study(
    path: Path, given: Sequence[str], output: Path | None, *, force: bool, public: bool, json: bool
) -> int:
    """Run a study of a table 1.

    Args:
        path: study file.
        given: options on the command line that a study has keys for.
        output: directory for the results; the study's own where `None`.
        force: whether to replace existing results.
        public: whether to also write a report from releases only.
        json: whether to print one JSON document.
    """

    def command() -> int:
        if given:
            raise ConfigError(
                f"{', '.join(given)} cannot be given with a study, which has keys for that; change "
                f"{path}, or give a table of records"
            )
        source = read_study(path)
        name = dict(source.study.method)["name"]
        if name != PrivateTableOne.name:
            raise ConfigError(
                f"{path} has the method {name!r}, not {PrivateTableOne.name!r}; run it by: "
                f"tacit run {path}"
            )
        target = output if output is not None else source.folder / source.study.run.output
        destination = Destination(target, force)
        return run_source(source, destination, None, public=public, json=json)

    return guarded(command, as_json=json)


def _shares(given: Sequence[str]) -> dict[str, Any]:
    found: dict[str, float] = {}
    for name, text in pairs("share", given).items():
        try:
            found[name] = float(text)
        except ValueError:
            raise ConfigError(
                f"share={name + '=' + text!r} must be a number, as in age=2"
            ) from None
    return {"shares": found} if found else {}
