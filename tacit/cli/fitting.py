"""`tacit fit`: one regression from a table and a formula."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.cli.console import guarded
from tacit.cli.of_a_table import Given
from tacit.cli.written import check_given, declarations, run_written
from tacit.study.declaring import column_of_sites
from tacit.study.fitting import fit_study


def fit_table(
    data: Path,
    formula: str,
    given: Given,
    *,
    family: str,
    weights: str | None,
    method: Mapping[str, Any],
) -> int:
    """Fit the regression; see `tacit fit --help`."""

    def command() -> int:
        check_given(data, given)
        found = fit_study(
            data,
            formula,
            family=family,
            site=given.site,
            weights=weights,
            sites=given.sites,
            **declarations(given.bounds, given.levels, given.maps),
            missing_values=given.missing_values,
            privacy=given.privacy,
            method=method,
            run={} if given.seed is None else {"seed": given.seed},
            folder=Path() if given.study is None else given.study.parent,
            reading=given.reading,
        )
        site = column_of_sites(data, given.site)
        return run_written(found, "fit", given, site=site, independent="intervals")

    return guarded(command, as_json=given.json)
