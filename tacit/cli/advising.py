"""`tacit advise`: is there any hope, before any data are touched."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from tacit.advise import Advice, Change, Measured, Setting, advise
from tacit.advise.advice import percent, verdict
from tacit.advise.setting import GAIN, PREVALENCE
from tacit.cli.console import emit, guarded, progress, say, table
from tacit.cli.dimensions import Asked, from_options, from_study
from tacit.problem.losses import Poisson
from tacit.study.read import read_study

MADE_UP = "Rehearsed on made-up records of this shape, not on yours: no record was read."
"""The condition of everything that is printed."""


def show_advice(study: Path | None, asked: Asked, *, json: bool) -> int:
    """Advise on a study file or on dimensions alone; see `tacit advise --help`."""

    def command() -> int:
        setting = from_options(asked) if study is None else from_study(read_study(study), asked)
        with progress("simulations", quiet=json) as told:
            advice = advise(
                setting,
                progress=None if told is None else lambda _, done, total: told(done, total),
            )
        if json:
            emit(document(advice))
        else:
            _tell(advice)
        return 0

    return guarded(command, as_json=json)


def document(advice: Advice) -> dict[str, Any]:
    """Everything in an advice, as JSON holds it."""
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
        "assumed": assumed(setting),
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


def assumed(setting: Setting) -> list[str]:
    """What was not said and is taken for granted, in sentences with the option that says it."""
    found: list[str] = []
    if setting.binary and setting.prevalence is None:
        found.append(f"{PREVALENCE:.0%} of the answers are yes (--prevalence)")
    if setting.gain is None and not isinstance(setting.loss, Poisson):
        found.append(
            f"a fit without privacy takes {GAIN:.0%} of the base rate's loss away (--gain)"
        )
    return found


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
    """`null` stands for a trial that diverged, and for a share of nothing."""
    return value if value is not None and np.isfinite(value) else None


def _tell(advice: Advice) -> None:
    setting = advice.setting
    say(MADE_UP)
    say(_asked(setting))
    if assumed(setting):
        say(f"Assumed, since nothing was said: {'; '.join(assumed(setting))}.")
    for note in advice.notes:
        say(f"Simulated smaller: {note}.")
    say()
    table(
        ["Method", "Rounds", "Clip", "Set", "Kept", "Middle half", "All trials"],
        [_row(each) for each in advice.measured],
    )
    say(
        "Kept: share of what the pooled fit, which has no privacy, gains over the base rate, the "
        "best constant answer, in mean loss on fresh records; the median of "
        f"{len(advice.best.shares)} trials. 100% is as good as the pooled fit, 0% as the base rate."
    )
    for name, reason in advice.left_out.items():
        say(f"Not measured: {name} ({reason}).")
    say()
    say(advice.sentence)
    for need in advice.needs:
        if need.value is not None and need.kept is not None:
            what = "records a site" if need.what == "records" else "epsilon"
            wanted = (
                f"{need.value:,.0f} {what}" if need.what == "records" else f"{what} {need.value:g}"
            )
            say(
                f"Rehearsed: with the noise of {wanted}, {percent(need.kept)} is kept.", indent="  "
            )
    if not math.isnan(advice.half) and not isinstance(setting.loss, Poisson):
        say(
            "If the pooled fit gains only half as much over the base rate, "
            f"{_kept(advice.half)} of that is kept.",
            indent="  ",
        )
    say()
    say("In the study file:")
    say()
    print(advice.toml)
    for change in advice.changes:
        _other(change)


def _other(change: Change) -> None:
    low, high = change.measured.spread
    say()
    say(
        f"With {change.plan.words}, {change.measured.method} keeps {percent(change.measured.kept)} "
        f"({percent(low)} to {percent(high)}): {verdict(change.measured).value}. If the "
        "owners agree to that:"
    )
    say()
    print(change.toml)


def _asked(setting: Setting) -> str:
    budget, counts = setting.budget, setting.counts
    hidden = budget.hides.told(setting.agents)
    few, many = int(counts.min()), int(counts.max())
    each = f"{few:,} records each" if few == many else f"{few:,} to {many:,} records each"
    return (
        f"{setting.agents:,} sites ({setting.network.kind}), {each}, "
        f"{setting.parameters:,} parameters, {type(setting.loss).__name__.lower()} loss"
        f"{_of(setting)}; epsilon {setting.epsilon:g} and delta {float(budget.delta):g} for the "
        f"whole run, {budget.relation.value}, {budget.noise.value} noise{hidden}."
    )


def _of(setting: Setting) -> str:
    """What is known of the answers."""
    if setting.binary:
        share = PREVALENCE if setting.prevalence is None else setting.prevalence
        return f", {share:.0%} yes"
    if setting.classes > 1:
        return f", {setting.classes} classes"
    low, high = setting.target
    return f", answers from {low:g} to {high:g}"


def _row(each: Measured) -> list[str]:
    settings = ", ".join(f"{name} {value:g}" for name, value in each.arguments.items())
    return [
        each.method,
        str(each.rounds),
        f"{each.clip:g}",
        settings,
        _kept(each.kept),
        *(f"{_kept(low)} to {_kept(high)}" for low, high in (each.middle, each.spread)),
    ]


def _kept(share: float) -> str:
    return "nothing to keep" if math.isnan(share) else percent(share)
