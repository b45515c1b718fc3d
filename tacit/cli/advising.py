"""`tacit advise`: is there any hope, before any data are touched."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tacit.advise import Advice, Measured, Setting, advise
from tacit.advise.masks import MaskGain
from tacit.cli.console import emit, guarded, progress, say, table
from tacit.cli.dimensions import Asked, from_options, from_study
from tacit.cli.masking import as_toml
from tacit.config.read import read_study

SYNTHETIC = "Measured on synthetic records of these dimensions, not on yours: no record was read."
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
    setting, estimate = advice.setting, advice.estimate
    return {
        "format": "tacit-advise-1",
        "basis": SYNTHETIC,
        "setting": {
            "records": setting.records,
            "parameters": setting.parameters,
            "agents": setting.agents,
            "graph": setting.network.kind,
            "loss": type(setting.loss).__name__.lower(),
            "epsilon": setting.epsilon,
            "delta": float(setting.budget.delta),
            "relation": setting.budget.relation.value,
            "row_norm": setting.row_norm,
            "signal": setting.signal,
            "noise": setting.noise,
            "decay": setting.decay,
        },
        "verdict": advice.verdict.value,
        "sentence": advice.sentence,
        "closed_form": {
            "error": estimate.error,
            "clip": estimate.clip,
            "rounds": estimate.rounds,
            "noise_multiplier": estimate.noise_multiplier,
            "noise_scale": estimate.noise_scale,
            "signal": estimate.signal,
        },
        "measured": [_measured(each, setting) for each in advice.measured],
        "needed": [
            {"what": need.what, "value": need.value, "error": _finite(need.error)}
            for need in advice.needs
        ],
        "left_out": advice.left_out,
        "masks": None if advice.masks is None else asdict(advice.masks),
        "notes": list(advice.notes),
        "toml": advice.toml,
        "seconds": advice.seconds,
    }


def _measured(each: Measured, setting: Setting) -> dict[str, Any]:
    return {
        "method": each.method,
        "rounds": each.rounds,
        "clip": each.clip,
        "arguments": each.arguments,
        "error": _finite(each.error),
        "lowest": _finite(each.spread[0]),
        "highest": _finite(each.spread[1]),
        "summed_over_agents": _finite(each.error * setting.agents),
        "trials": len(each.errors),
        "excess_loss": _finite(each.excess),
        "scores": each.scores,
    }


def _finite(value: float | None) -> float | None:
    """`null` stands for a trial that diverged."""
    return value if value is not None and np.isfinite(value) else None


def _tell(advice: Advice) -> None:
    setting, estimate = advice.setting, advice.estimate
    say(SYNTHETIC)
    say(_asked(setting))
    for note in advice.notes:
        say(f"Simulated smaller: {note}.")
    say()
    say(
        f"Closed form: {estimate.error:.2g} of the error of answering zero would remain if the "
        f"sites agreed at once: with clip {estimate.clip:g} the mean gradient has length "
        f"{estimate.signal:.2g} at zero, and one release of {estimate.rounds} carries noise of "
        f"{estimate.noise_scale:.2g} on each of {setting.parameters:,} coordinates."
    )
    table(
        ["Method", "Rounds", "Clip", "Set", "Error", "Lowest to highest", "Summed"],
        [_row(each, setting) for each in advice.measured],
    )
    trials = len(advice.best.errors)
    say(
        "Error: squared distance to the pooled optimum over that of answering zero (1), mean of "
        f"{trials} trials; summed over the sites, answering zero comes to {setting.agents}."
    )
    for line in _scores(advice.best):
        say(line)
    for name, reason in advice.left_out.items():
        say(f"Not measured: {name} ({reason}).")
    say()
    say(advice.sentence)
    for need in advice.needs:
        if need.value is not None and need.error is not None:
            wanted = (
                f"{need.value:,.0f} records a site"
                if need.what == "records"
                else f"epsilon {need.value:g}"
            )
            say(
                f"Checked by simulation: with {wanted}, {need.error:.2g} remains.",
                indent="  ",
            )
    if advice.masks is not None:
        say(_masks(advice.masks))
    say()
    say("In the study file:")
    say()
    print(advice.toml)


def _masks(gain: MaskGain) -> str:
    return (
        f"With {as_toml(coalition=gain.coalition)} in [privacy], {gain.method} as it is set above "
        f"leaves {gain.error:.2g} of the error instead of {gain.without:.2g}: the variance of the "
        f"noise in a mean is {gain.variance} times smaller, if no two sites pool what they know."
    )


def _asked(setting: Setting) -> str:
    budget = setting.budget
    return (
        f"{setting.agents:,} sites ({setting.network.kind}), {setting.records:,} records each, "
        f"{setting.parameters:,} parameters, {type(setting.loss).__name__.lower()} loss; epsilon "
        f"{setting.epsilon:g} and delta {float(budget.delta):g} for the whole run, "
        f"{budget.relation.value}, {budget.noise.value} noise{_hidden(setting)}. Synthetic rows "
        f"have norm {setting.row_norm:.3g} and features whose variances fall as 1/j; the "
        f"truth gives scores of standard deviation {setting.signal:g}."
    )


def _hidden(setting: Setting) -> str:
    masks = setting.budget.masks
    if masks is None:
        return ""
    return (
        f" under masks that hide {masks.hidden(setting.agents)} honest sites among each other "
        f"(coalition {masks.coalition})"
    )


def _row(each: Measured, setting: Setting) -> list[str]:
    low, high = each.spread
    settings = ", ".join(f"{name} {value:g}" for name, value in each.arguments.items())
    return [
        each.method,
        str(each.rounds),
        f"{each.clip:g}",
        settings,
        f"{each.error:.2g}",
        f"{low:.2g} to {high:.2g}",
        f"{each.error * setting.agents:.2g}",
    ]


def _scores(best: Measured) -> list[str]:
    """Loss, and accuracy where there is one, beside answering zero and the optimum."""
    if "answer" not in best.scores:
        return []
    return [
        f"Mean {name} on fresh synthetic records: {best.scores['answer'][name]:.3g} for "
        f"{best.method}, {best.scores['zero'][name]:.3g} for zero, "
        f"{best.scores['optimum'][name]:.3g} for the optimum."
        for name in best.scores["answer"]
    ]
