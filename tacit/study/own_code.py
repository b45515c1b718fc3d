"""Code of a user's own that a study names: metrics, and what evaluates whole costs."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from tacit import checks
from tacit._engine.metrics import Metric, named
from tacit.errors import ConfigError
from tacit.problem.code_digest import digest
from tacit.problem.scores import SCORES
from tacit.study.functions import function
from tacit.study.parts import Family, Part, part_of
from tacit.study.read import Source

GROUP = "tacit.metrics"
"""The group of entry points of metrics."""

_SCORES = (*SCORES, "kept", "objective_gap")
"""Names that measurements of a study have besides those of a run."""


_METRIC = Family("metric", ("run", "metrics", "*"), GROUP, "builtins:object", f"{__name__}:_SCORES")
"""Functions, which are no parts: they are named, and no site imports them."""


def installed_metrics() -> list[Part]:
    """Metrics that installed packages declare, by name; read from metadata, without an import.

    Raises:
        ConfigError: a package without a name of its own and a version.
    """
    found = [part_of(_METRIC, each) for each in entry_points(group=GROUP) if each.dist is not None]
    return sorted(found, key=lambda part: part.name)


def metrics(source: Source) -> dict[str, Metric]:
    """The metrics of a study, by name. This imports them.

    Raises:
        ConfigError: a name that is taken, or a function that is not found.
    """
    found: dict[str, Metric] = {}
    for name, code in source.study.run.metrics.items():
        with source.section("run", "metrics", name):
            if name in _SCORES:
                raise ConfigError(f"{name!r} is the name of a score; rename it")
            found[name] = _metric(code, source.folder)
    with source.section("run", "metrics"):
        return named(found)


def code_of(source: Source, problem: Any = None) -> str:
    """A digest of that code; empty if the study names none.

    Args:
        source: study file.
        problem: its problem, if that has simulators named in the study.
    """
    if not (source.study.run.metrics or source.costs):
        return ""
    owners = problem.objectives.host.evaluation.code() if source.costs else ()
    return digest(sorted(metrics(source).items()), list(owners)).hex()


def _metric(name: str, folder: Path) -> Metric:
    if ":" in name:
        return function(name, folder)
    declared = {each.name: each for each in entry_points(group=GROUP)}
    if name in declared:
        try:
            return declared[name].load()
        except Exception as error:  # any exception of foreign code
            raise ConfigError(
                f"the metric {name!r} cannot be imported from {declared[name].value}: "
                f"{type(error).__name__}: {error}"
            ) from error
    close = checks.close(name, list(declared))
    hint = f"did you mean {close[0]!r}?" if close else "write module:function for one of your own"
    raise ConfigError(f"no installed package declares the metric {name!r}; {hint}")
