"""What may have kept a simulated run from a good answer, each with its remedy.

Counted in private records without noise: for simulations only. Between sites, an owner may look at
its own with `tacit check`.
"""

from __future__ import annotations

from tacit._engine.doubts import more_than_all, seen
from tacit.privacy.guarantee import Status
from tacit.study.outside import time_of
from tacit.study.run import Outcome

FOLLOWED = (
    "Advice like this is computed from the private {held}. Another run on them costs its own "
    "budget and needs another seed, and what is changed by such advice is chosen on these data: "
    "the guarantee assumes that it is not."
)
"""Said after the others, where something is guaranteed."""


def hindrances(outcome: Outcome) -> list[str]:
    """Sentences about clip, bounds, missing values and step, and what it costs to follow them.

    Empty where nothing was found; without a guarantee there is nothing that it would cost.
    """
    problem, budget = outcome.assembled.problem, outcome.assembled.method.privacy
    found = [each[0].upper() + each[1:] for each in seen(outcome.result)] + _altered(outcome)
    found += filter(None, [more_than_all(budget, problem.counts)])
    guaranteed = outcome.result.guarantee.worst.status is not Status.NONE
    held = outcome.assembled.source.held.plural
    return [*found, FOLLOWED.format(held=held)] if found and guaranteed else found


def _altered(outcome: Outcome) -> list[str]:
    """What preparation left out and moved."""
    altered = outcome.assembled.altered
    if altered is None:
        return []
    ends = time_of(outcome.assembled.method)
    moved = {name: count for name, count in altered.amiss(ends).items() if name != ends}
    found: list[str] = []
    if altered.dropped:
        found.append(
            f"{altered.dropped:,} of {altered.records + altered.dropped:,} records lack a value "
            "and were dropped: fill it in, or choose another rule (missing = ...)."
        )
    late = altered.late(ends)
    if late:
        found.append(
            f"{late:,} of {altered.records:,} records are followed beyond the upper bound of "
            f"{ends}, and count up to it without an event: declare a later one, by what is known "
            "without the records, unless that is meant."
        )
    if early := altered.early(ends):
        found.append(
            f"{early:,} of {altered.records:,} times in {ends} are below the lower bound, at which "
            "everybody's time begins, and count as ended there: correct them, or declare their "
            "codes as missing (missing_values = [...])."
        )
    if moved:
        each = ", ".join(f"{name} {count:,}" for name, count in moved.items())
        found.append(
            f"Values beyond their declared bounds were moved to them ({each}, of "
            f"{altered.records:,} records in all): widen the bounds, by what is known without "
            "the records, or declare codes of missing values (missing_values = [...])."
        )
    return found
