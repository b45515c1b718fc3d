"""The sentences that explain a report: statuses, banners, what epsilon means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.report.data import Column, ReportData, shows_private
from tacit.report.tables import cost, duration, number


@dataclass(frozen=True)
class Status:
    """What supports a guarantee: a sign and a word (never colour alone), and a sentence."""

    sign: str
    label: str
    meaning: str


STATUSES: Mapping[str, Status] = {
    "proved": Status(
        "✓",
        "proved",
        "Proved: the guarantee follows from a theorem whose conditions the software enforces, "
        "apart from the assumptions listed here. It holds for all data, even against an adversary "
        "who sees every message.",
    ),
    "model": Status(
        "△",
        "model claim",
        "Model claim: the guarantee would hold only if all the assumptions listed here were true. "
        "The software does not enforce them, and some may be known to fail; the guarantee says "
        "why it is not proved.",
    ),
    "per_release": Status(
        "△",
        "one release only",
        "One release only: epsilon and delta bound one release. The run makes many releases, "
        "and what they reveal together is not bounded.",
    ),
    "refuted": Status(
        "✕",
        "refuted",
        "Refuted: an attack or a counterexample shows that the claimed guarantee is false. "
        "Do not rely on it.",
    ),
    "none": Status(
        "✕",
        "no guarantee",
        "No guarantee: private values leave their sites without protection.",
    ),
}

CONDITIONS: Mapping[str, str] = {
    "model": "if the model were true",
    "per_release": "for one release only",
    "refuted": "claimed and refuted",
}
"""Printed beside the epsilon of every status other than `proved`."""

_COUNTED = {"record": "records", "person": "people", "agent": "sites"}

UNITS = {
    "record": "one record. A person with several records is protected less, unless their number "
    "was declared and accounted for",
    "person": "all records of one person, up to the declared number",
    "agent": "all data of one site",
}


def banner(data: ReportData) -> str:
    """The warning at the top of the page; empty where none is needed."""
    if data.public:
        if data.noise == "simulated":
            return (
                "Simulation: this page shows releases only, but the noise was simulated. Anyone "
                "who knows the seed can subtract it, so the page is private only while the seed "
                "stays secret."
            )
        return "" if data.noise == "secure" else _NO_NOISE
    if data.noise == "simulated":
        shown = (
            "this page shows values that are not private, marked “simulation only”"
            if shows_private(data)
            else "anyone who knows the seed can subtract it from this page"
        )
        return (
            f"Simulation: the noise is simulated, and {shown}. Do not publish it as a private "
            "output."
        )
    if data.noise == "none":
        return _NO_NOISE
    return (
        "Internal: this page may show values that are not private, marked “simulation only”. "
        "Do not publish it as a private output."
    )


_NO_NOISE = "No noise was added: nothing on this page is protected. Do not publish it as private."


def explanation(data: ReportData) -> list[tuple[str, str]]:
    """The terms of the guarantee and what they mean for this run."""
    epsilon, delta = worst(data, "epsilon"), worst(data, "delta")
    condition = CONDITIONS.get(data.guarantee_status, "")
    qualified = f", {condition}" if condition else ""
    terms = []
    if epsilon is None or not math.isfinite(epsilon):
        terms.append(
            (
                "Epsilon",
                "It would bound how much the messages reveal about one protected unit. "
                "Here there is no finite bound.",
            )
        )
    else:
        terms.append(
            (
                f"Epsilon = {cost(epsilon)}{qualified}",
                _bound(data.guarantee_status, epsilon)
                + " Smaller is more private; 0 reveals nothing.",
            )
        )
    if delta is not None:
        terms.append(
            (
                f"Delta = {cost(delta)}{qualified}",
                "The slack of that bound: no event becomes more probable than the factor allows "
                f"by more than {cost(delta)}. It should be far below one over the number of "
                f"{_counted(data)}.",
            )
        )
    for unit in dict.fromkeys(str(row["unit"]) for row in data.guarantee_table if "unit" in row):
        terms.append(("Protected unit", f"The guarantee protects {UNITS.get(unit, unit)}."))
    terms.append(("Status", STATUSES[data.guarantee_status].meaning))
    noise = {
        "simulated": "Simulated: drawn from a seeded generator, so that a run can be repeated to "
        "the last bit. Noise scales and accounting are those of a deployment; protection needs "
        "noise that nobody can recompute.",
        "secure": "Secure: drawn from the operating system's entropy and discarded.",
        "none": "None was added.",
    }
    terms.append(("Noise", noise[data.noise]))
    return terms


def _counted(data: ReportData) -> str:
    """What delta is compared with the number of."""
    units = {str(row["unit"]) for row in data.guarantee_table if "unit" in row}
    return _COUNTED.get(units.pop(), "records") if len(units) == 1 else "records"


def _bound(status: str, epsilon: float) -> str:
    """What a finite epsilon means, and whether it holds."""
    told = "how much the messages reveal about one protected unit"
    odds = (
        "the odds of one version of the unit against another by at most a factor "
        f"e^{cost(epsilon)} = {number(_exp(epsilon))}, up to delta."
    )
    if status == "refuted":
        return f"It was claimed to bound {told}. The claim is refuted: they reveal more."
    if status == "model":
        return (
            f"If the model were true, it would bound {told}: whatever an adversary already knew, "
            f"everything seen would change {odds}"
        )
    if status == "per_release":
        return (
            "It bounds how much one message, taken alone, reveals about one protected unit: "
            f"whatever an adversary already knows, it changes {odds}"
        )
    return f"It bounds {told}. Whatever an adversary already knows, everything seen changes {odds}"


def worst(data: ReportData, column: str) -> float | None:
    """Largest value of a column of the guarantee table, or `None` where there is none."""
    values = [row[column] for row in data.guarantee_table if row.get(column) is not None]
    return max((float(value) for value in values), default=None)


def facts(data: ReportData) -> list[tuple[str, str]]:
    """The key figures."""
    epsilon, delta = worst(data, "epsilon"), worst(data, "delta")
    condition = CONDITIONS.get(data.guarantee_status)
    found: list[tuple[str, Any]] = [
        (f"Epsilon, {condition}" if condition else "Epsilon", epsilon),
        ("Delta", delta),
    ]
    units = dict.fromkeys(str(row["unit"]) for row in data.guarantee_table if "unit" in row)
    found.append(("Protects one", " or ".join(units) or None))
    found.append(("Sites", len(data.network.names) if data.network else None))
    rounds = data.history.get("round", ())
    found.append(("Rounds", rounds[-1] if len(rounds) else None))
    printed = [(name, number(value)) for name, value in found if value is not None]
    if data.seconds is not None:
        printed.append(("Time", duration(data.seconds)))
    return printed


def ending(status: str) -> str:
    """How a run ended, as a sentence; empty if nothing went wrong."""
    if status == "finished":
        return ""
    return f"The run {status}." if status.startswith("diverged") else f"{status}."


def last(values: Column) -> str:
    """The last value of a series in words."""
    return number(values[-1]) if len(values) else number(None)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
