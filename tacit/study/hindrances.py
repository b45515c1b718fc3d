"""What may have kept a simulated run from a good answer, each with its remedy.

Counted in private records without noise: for simulations only. Between sites, an owner may look at
its own with `tacit check`.
"""

from __future__ import annotations

import numpy as np

from tacit.method import PrivateCox, PrivateSurvival
from tacit.privacy.guarantee import Status
from tacit.study.run import Outcome
from tacit.study.shortened import TOLD, shortened

LOST = 0.5
"""Largest share of the objective's best decrease that may be lost again by the end."""

FOLLOWED = (
    "Advice like this is computed from the private records. Another run on them costs its own "
    "budget and needs another seed, and what is changed by such advice is chosen on these data: "
    "the guarantee assumes that it is not."
)
"""Said after the others, where something is guaranteed."""


def hindrances(outcome: Outcome) -> list[str]:
    """Sentences about clip, bounds, missing values and step, and what it costs to follow them.

    Empty where nothing was found; without a guarantee there is nothing that it would cost.
    """
    found = [_clip(outcome), *_altered(outcome), _step(outcome)]
    found = [sentence for sentence in found if sentence]
    guaranteed = outcome.result.guarantee.worst.status is not Status.NONE
    return [*found, FOLLOWED] if found and guaranteed else found


def clipped_share(outcome: Outcome) -> float | None:
    """Share of the records of which the clip shortens gradients or coefficients; see `shortened`.

    Gradients are those at the sites' answers in the first trial.
    """
    found = _shortened(outcome)
    return None if found is None else found[1]


def _shortened(outcome: Outcome) -> tuple[str, float] | None:
    ready = outcome.assembled
    return shortened(ready.problem, ready.method, outcome.result.solutions[0])


def _clip(outcome: Outcome) -> str:
    what, share = _shortened(outcome) or ("", 0.0)
    if share < TOLD:
        return ""
    if what == "coefficients":
        return (
            f"The clip shortens the coefficients of {share:.0%} of the records, so that another "
            "cost is minimised: raise clip, which takes more noise (method.record_ball gives the "
            "smallest one that shortens none), or scale the columns down."
        )
    return (
        f"At the answer, the clip shortens the gradients of {share:.0%} of the records: raise "
        "clip, which takes more noise, or scale the columns down."
    )


def _altered(outcome: Outcome) -> list[str]:
    """What preparation left out and moved."""
    altered = outcome.assembled.altered
    if altered is None:
        return []
    method = outcome.assembled.method
    # a record that is followed beyond the last time is meant to count up to it
    ends = method.time.name if isinstance(method, PrivateSurvival | PrivateCox) else None
    moved = {name: count for name, count in altered.moved.items() if name != ends}
    found: list[str] = []
    if altered.dropped:
        found.append(
            f"{altered.dropped:,} of {altered.records + altered.dropped:,} records lack a value "
            "and were dropped: fill it in, or choose another rule (missing = ...)."
        )
    if moved:
        each = ", ".join(f"{name} {count:,}" for name, count in moved.items())
        found.append(
            f"Values beyond their declared bounds were moved to them ({each}, of "
            f"{altered.records:,} records in all): widen the bounds, by what is known without "
            "the records, or declare codes of missing values (missing_values = [...])."
        )
    return found


def _step(outcome: Outcome) -> str:
    """That the objective rose again, in the first trial; a run that diverged says so itself."""
    history = outcome.result.history
    objective = history.measured.get("objective")
    if objective is None or outcome.result.diverged[0] >= 0:
        return ""
    first, last = float(objective[0, 0]), float(objective[-1, 0])
    at = int(np.argmin(objective[:, 0]))
    best = float(objective[at, 0])
    if not last > best or first - last >= LOST * (first - best):
        return ""
    fell = f"was {best:.4g} after round {history.rounds[at]:,}" if at else "never fell"
    return (
        f"The objective, {first:.4g} at the start, {fell} and is {last:.4g} at the end: the step "
        "is too large for this noise; take a smaller step or fewer rounds."
    )
