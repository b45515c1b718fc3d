"""An advice as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.advise.measured import Measured

if TYPE_CHECKING:
    from tacit.advise.advice import Advice

MADE_UP = "Simulated on made-up records of this shape, not on yours: no record was read."
"""Condition under which all advice holds."""


def document(advice: Advice) -> dict[str, Any]:
    """All contents of an advice."""
    setting = advice.setting
    return {
        "format": "tacit-advise-3",
        "basis": MADE_UP,
        "setting": {
            "records": setting.counts.tolist(),
            "parameters": setting.parameters,
            "agents": setting.agents,
            "graph": setting.network.kind,
            "loss": type(setting.loss).__name__.lower(),
            "weighting": setting.weighting.value,
            "epsilon": setting.epsilon,
            "delta": float(setting.budget.delta),
            "relation": setting.budget.relation.value,
            "target": list(setting.target),
            "prevalence": setting.prevalence,
            "gain": setting.gain,
        },
        "assumed": list(setting.assumed),
        "verdict": advice.verdict.value,
        "sentence": advice.sentence,
        "measured": [_measured(each) for each in advice.measured],
        "changes": [
            {"what": each.plan.words, **_measured(each.measured), "toml": each.toml}
            for each in advice.changes
        ],
        "kept_at_half_the_gain": _finite(advice.half),
        "needed": [
            {"what": need.what, "value": need.value, "kept": _finite(need.kept)}
            for need in advice.needs
        ],
        "left_out": advice.left_out,
        "notes": list(advice.notes),
        "toml": advice.toml,
        "seconds": advice.seconds,
    }


def _measured(each: Measured) -> dict[str, Any]:
    (low, high), (lower, upper) = each.spread, each.middle
    return {
        "method": each.method,
        "rounds": each.rounds,
        "clip": each.clip,
        "arguments": each.arguments,
        "kept": _finite(each.kept),
        "middle": [_finite(lower), _finite(upper)],
        "lowest": _finite(low),
        "highest": _finite(high),
        "trials": len(each.shares),
        "losses": each.losses,
    }


def _finite(value: float | None) -> float | None:
    """`null` stands for a trial that diverged, and for an undefined share."""
    return value if value is not None and np.isfinite(value) else None
