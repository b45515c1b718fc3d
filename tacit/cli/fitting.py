"""`tacit fit`: one regression from a table and a formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.cli.console import guarded
from tacit.cli.writing import check_free
from tacit.cli.written import check_budget, declarations, run_written, worded
from tacit.study.declaring import column_of_sites
from tacit.study.fitting import fit_study
from tacit.study.reading import Reading


def fit_table(
    data: Path,
    formula: str,
    *,
    family: str,
    site: str | None,
    weights: str | None,
    bounds: Sequence[str],
    levels: Sequence[str],
    sites: Sequence[str],
    maps: Sequence[str],
    missing_values: Sequence[str],
    privacy: Mapping[str, Any],
    method: Mapping[str, Any],
    seed: int | None,
    reading: Reading,
    output: Path | None,
    study: Path | None,
    force: bool,
    public: bool,
    useful: bool,
    json: bool,
) -> int:
    """Fit the regression; see `tacit fit --help`."""

    def command() -> int:
        check_budget(privacy)
        if study is not None:
            check_free("study", study, force=force, read={"the table": data})
        found = fit_study(
            data,
            formula,
            family=family,
            site=site,
            weights=weights,
            sites=sites,
            **declarations(bounds, levels, maps),
            missing_values=missing_values,
            privacy=privacy,
            method=method,
            run={} if seed is None else {"seed": seed},
            folder=Path() if study is None else study.parent,
            reading=reading,
        )
        return run_written(
            found,
            "fit",
            site=column_of_sites(data, site),
            privacy=privacy,
            independent="intervals",
            output=output,
            study=study,
            force=force,
            public=public,
            useful=useful,
            json=json,
        )

    return guarded(lambda: worded(command), as_json=json)
