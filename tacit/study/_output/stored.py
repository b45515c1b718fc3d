"""The contents of a report kept with the results, so that the page can be written again.

Everything that the page shows is kept, values for simulations only as well, so it lies in the
folder of these. An infinite number is `{"float": "inf"}`: strict JSON has none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit._engine.planning import MeanNoise
from tacit.errors import ConfigError, RuntimeFailure
from tacit.method.comparison import Comparison
from tacit.report.data import NetworkPicture, ReportData
from tacit.study._output.names import PUBLIC_REPORT, REPORT, SIMULATION_ONLY

FORMAT = "tacit-report-1"

NAME, RECORDS = "report.json", "comparison.npz"
"""Contents of the page, and what is drawn of single records."""


def store(folder: Path, data: ReportData, first_trial: str) -> None:
    """Keep the contents of a report.

    Args:
        folder: results directory.
        data: contents of the report.
        first_trial: how the first trial ended, which is the only one on a public page.
    """
    beside = folder / SIMULATION_ONLY
    plain = {each.name: getattr(data, each.name) for each in fields(data)}
    comparison: Comparison | None = plain.pop("comparison")
    for name in ("network", "mean_noise"):
        plain[name] = None if plain[name] is None else asdict(plain[name])
    document = {"format": FORMAT, "first_trial": first_trial, "report": _tagged(plain)}
    text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    (beside / NAME).write_text(text + "\n", encoding="utf-8")
    if comparison is not None:
        np.savez_compressed(
            beside / RECORDS,
            family=np.array(comparison.family),
            predicted=comparison.predicted,
            observed=comparison.observed,
        )


def read(folder: Path, public: bool = False) -> ReportData:
    """The contents of a report, as `store` kept them.

    Args:
        folder: results directory.
        public: whether to leave out everything for simulations only.

    Raises:
        ConfigError: they are not there, or cannot be read.
    """
    path = folder / SIMULATION_ONLY / NAME
    if not path.exists():
        raise ConfigError(
            f"{path} does not exist: these results were written by an earlier version, or the "
            "folder was left out of a copy. Run the study again with --force to have a report"
        )
    try:
        document = json.loads(path.read_text(encoding="utf-8"), object_hook=_untagged)
        if document["format"] != FORMAT:
            raise ConfigError(
                f"{path} has the format {document['format']!r}; this version of tacit reads "
                f"{FORMAT!r}"
            )
        found = dict(document["report"])
        for name, kind in (("network", NetworkPicture), ("mean_noise", MeanNoise)):
            found[name] = None if found[name] is None else kind(**found[name])
        data = ReportData(**found, comparison=_comparison(folder / SIMULATION_ONLY / RECORDS))
        status = str(document["first_trial"])
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be read: it is damaged; run the study again") from error
    if not public:
        return data
    files = tuple(dict.fromkeys([*data.files, *([PUBLIC_REPORT] if data.files else [])]))
    return replace(data, public=True, status=status, comparison=None, files=files)


def rewrite(folder: Path, public: bool = False) -> Path:
    """Write the report of a results directory again.

    Args:
        folder: results directory.
        public: whether to write the page of releases only, which the guarantee then lists.

    Returns:
        Path of the page.

    Raises:
        ConfigError: the contents of the report are not there, or cannot be read.
        RuntimeFailure: the page could not be written.
    """
    from tacit.report.html import write_report

    data = read(folder, public)
    if public:
        _list(folder / "guarantee.json", covered=bool(data.files))
    return write_report(folder / (PUBLIC_REPORT if public else REPORT), data)


def _list(path: Path, *, covered: bool) -> None:
    """Name the public page in the guarantee."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        kept = {key: set(document[key]) - {PUBLIC_REPORT} for key in ("covers", "does_not_cover")}
        kept["covers" if covered else "does_not_cover"].add(PUBLIC_REPORT)
        document |= {key: sorted(names) for key, names in kept.items()}
        text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read; run the study again") from error
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RuntimeFailure(f"{path} cannot be written ({error.strerror})") from error


def _comparison(path: Path) -> Comparison | None:
    if not path.exists():
        return None
    with np.load(path) as file:
        return Comparison(str(file["family"]), file["predicted"], file["observed"])


def _tagged(value: Any) -> Any:
    """A value as strict JSON."""
    if isinstance(value, Mapping):
        return {str(key): _tagged(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_tagged(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return _tagged(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def _untagged(value: dict[str, Any]) -> Any:
    return float(value["float"]) if set(value) == {"float"} else value
