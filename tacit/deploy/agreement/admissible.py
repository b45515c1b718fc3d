"""What a study must declare so that it can be run between sites."""

from __future__ import annotations

import math
from typing import Any

from tacit.data.target import TARGETS
from tacit.errors import ConfigError
from tacit.study.build import check_privacy
from tacit.study.read import Source


def check_study(source: Source, name: str) -> None:
    """Refuse a study that only a simulation can run, or that each site would read differently.

    Args:
        source: study of a manifest.
        name: name of the manifest, for messages.

    Raises:
        ConfigError: such a study; the message says what to write instead.
    """
    _check_relayed(source.study.network, name)
    if source.study.privacy is not None and source.study.privacy.ledger is not None:
        raise ConfigError(
            f"{name}: the study names a ledger, and every owner has one of its own; leave `ledger` "
            "and `dataset` out of [privacy]"
        )
    if source.study.run.hold_out:
        raise ConfigError(
            f"{name}: hold_out={source.study.run.hold_out} needs all records in one place; leave "
            "it out, and keep records for scores back at each site"
        )
    if source.costs:
        _check_costs(source, name)
    else:
        _check_declared(source, name)
        _check_target(source, name)
    check_privacy(source)


def _check_relayed(chosen: Any, name: str) -> None:
    """Refuse exact sums that sites cannot make."""
    way = getattr(chosen, "exact_sum", None)
    if way == "polynomial":
        raise ConfigError(
            f'{name}: exact_sum = "polynomial" averages in steps that round, and between sites '
            'sums are of whole numbers; write exact_sum = "tree", or "flooding"'
        )
    if way is not None and chosen.graph == "sequence":
        raise ConfigError(
            f"{name}: exact sums on graphs that change run in the simulation only; between sites "
            "name one graph: messages go round a link or a site that fails"
        )


def _check_costs(source: Source, name: str) -> None:
    """Refuse a study in which a failure at one site would be seen by the others."""
    chosen: Any = source.study.problem
    if chosen.simulator.on_failure != "skip":
        raise ConfigError(
            f"{name}: on_failure={chosen.simulator.on_failure!r} in [problem.simulator] would show "
            "everybody that an evaluation failed, and that may tell something of a cost; between "
            'sites write on_failure = "skip"'
        )


def _check_declared(source: Source, name: str) -> None:
    """Refuse what every site would derive from its own records, each differently."""
    for column, feature in source.study.data.features.items():
        if getattr(feature, "statistics", "declared") != "public":
            continue
        if feature.kind == "categorical":
            lacks = "levels" if feature.levels is None else ""
        else:
            lacks = ", ".join(key for key in ("lower", "upper") if getattr(feature, key) is None)
            lacks = "mean and deviation instead of standardise" * feature.standardise or lacks
        if lacks:
            raise ConfigError(
                f"{name}: statistics='public' of column {column!r} would be taken by each site "
                f"from its own records, and so differ; declare {lacks} for it"
            )


def _check_target(source: Source, name: str) -> None:
    """Refuse a target whose declaration allows values for which the loss is not defined.

    A site would find out from its own records, and the others because it does not start.
    """
    target = source.study.data.target
    if target is None:
        return
    loss = source.study.problem.loss.kind
    if target.kind == "numeric":
        least = target.lower if target.to is None else target.to[0]
    elif target.kind in TARGETS or source.build("target", target.kind, TARGETS).binary:
        return
    else:
        least = -math.inf
    lacks = {
        "logistic": "yes or no; declare positive = ... in [data.target]",
        "hinge": "yes or no; declare positive = ... in [data.target]",
        "poisson": "non-negative values; declare lower = 0 (or to = [0, ...])" if least < 0 else "",
    }.get(loss, "")
    if lacks:
        raise ConfigError(
            f"{name}: the target {target.column!r} is declared as any number within its bounds, "
            f"and the loss {loss} needs {lacks}"
        )
