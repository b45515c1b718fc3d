"""Guarantees in words: for a lawyer, a statistician and a table.

Numbers are rounded up, so that nothing printed promises more than holds. Whatever is not proved
says so in the same sentence as its epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacit.privacy import caution
from tacit.privacy.digits import rounded_down, rounded_up
from tacit.types import Relation, Unit

if TYPE_CHECKING:
    from tacit.privacy.guarantee import Guarantee

_LISTED = 20
"""Owners named one by one when guarantees differ."""

_UNCHECKED = "nothing in the software checks or enforces that"

UNTUNED = "the hyper-parameters were not chosen on these data"
"""Assumed by every guarantee: a choice made by looking at the data would itself be a release."""

ALONE = "nothing else about these data is released"
"""Assumed by every guarantee: what else is released costs epsilon of its own, which adds up."""

SEED = "the seed of the simulated noise stays secret"
"""Assumed where noise is simulated: whoever knows the seed can take the noise off."""

STANDING = (UNTUNED, ALONE, SEED)
"""Assumptions that follow from no method and no data, after all others."""

_STATUS = {
    "proved": "proved",
    "model": "model claim, not a proof",
    "per_release": "one release only",
    "refuted": "refuted by an audit",
    "none": "no guarantee",
}


def sentence(g: Guarantee, subject: str) -> str:
    """The guarantee with all its conditions.

    Args:
        g: what is promised.
        subject: to whom, as in "owner 3".
    """
    if g.status == "none":
        return (
            f"No guarantee for {subject}: {_count(g.releases)} without noise that would protect "
            "them, and whoever reads them may learn private records; the released values carry no "
            "guarantee."
        )
    body = {"proved": _proved, "model": _model, "per_release": _per_release, "refuted": _refuted}
    parts = [body[g.status.value](g, subject)]
    warned = caution.warning(g.epsilon if g.total_epsilon is None else g.total_epsilon)
    parts += [warned] if warned else []
    if g.noise == "simulated":
        parts.append(
            "Status: proved for the method; noise simulated, so these outputs carry no certificate."
            if g.status == "proved"
            else "The noise was simulated, so these outputs carry no certificate."
        )
    elif g.certificate:
        parts.append("Status: proved, with secure noise: this is a certificate.")
    if g.status == "model":  # the claim itself has named the others
        besides = [each for each in g.assumptions if each in STANDING]
        parts.append(f"Assumed besides: {'; '.join(besides)}.")
    else:
        parts.append(f"Assumed: {'; '.join(g.assumptions)}.")
    return " ".join(parts)


def differing(owners: Sequence[Guarantee], worst: Guarantee) -> str:
    """Range, list and the weakest guarantee in full."""
    epsilons = [g.epsilon for g in owners]
    named = [
        f"{g.owner}: {rounded_up(g.epsilon)} at delta {rounded_up(g.delta)} "
        f"({_STATUS[g.status.value]})"
        for g in owners[:_LISTED]
    ]
    more = len(owners) - _LISTED
    rest = f", and {more} more owners in the table" if more > 0 else ""
    return (
        f"The guarantees of the {len(owners)} owners differ: epsilon from "
        f"{rounded_up(min(epsilons))} to {rounded_up(max(epsilons))} ({', '.join(named)}{rest}). "
        f"The weakest: {worst.sentence()}"
    )


def _proved(g: Guarantee, subject: str) -> str:
    same = "learns almost the same whether or not"
    if g.epsilon >= caution.LARGE_EPSILON:
        same = "may well learn whether"
    return (
        f"For {subject}: {_reader(g)} {same} {_change(g)}: the "
        f"whole run ({_count(g.releases)}) is {_pair(g.epsilon, g.delta)}-differentially private, "
        f"which is proved{' under the assumptions below' if g.min_cohort else ''} ({g.theorem})."
    )


def _model(g: Guarantee, subject: str) -> str:
    return (
        f"Model claim, not a proof, for {subject}: only if {_condition(g)} would the whole run "
        f"({_count(g.releases)}) be {_pair(g.epsilon, g.delta)}-differentially private to "
        f"{_reader(g).rstrip(',')}, when {_change(g)} ({g.theorem}); it is no proof because "
        f"{g.reason or _UNCHECKED}."
    )


def _per_release(g: Guarantee, subject: str) -> str:
    total = g.total_epsilon if g.total_epsilon is not None else math.inf
    alone, whole = ("is said to be", "would even then come") if g.reason else ("is", "comes")
    doubt = f" Not even that is proved, because {g.reason}." if g.reason else ""
    return (
        f"For one release only, for {subject}: to {_reader(g)}, each single release taken alone "
        f"{alone} {_pair(g.epsilon, g.delta)}-differentially private when {_change(g)} "
        f"({g.theorem}), but the whole run ({_count(g.releases)}) {whole} to epsilon "
        f"{rounded_up(total)} at delta {rounded_up(g.delta)}.{doubt}"
    )


def _refuted(g: Guarantee, subject: str) -> str:
    if g.measured_epsilon is None:
        return (
            f"Refuted, for {subject}: an audit found that the noise is not what the claim of "
            f"epsilon {rounded_up(g.epsilon)} at delta {rounded_up(g.delta)} rests on "
            f"({g.measured_by}; {g.theorem}); do not rely on it."
        )
    found = g.measured_epsilon
    return (
        f"Refuted, for {subject}: an audit found ({g.measured_by}) that epsilon is at least "
        f"{rounded_down(found)} at delta {rounded_up(g.delta)} when {_change(g)}, where the claim "
        f"is {rounded_up(g.epsilon)} ({g.theorem}); do not rely on it."
    )


def _pair(epsilon: float, delta: float) -> str:
    return f"({rounded_up(epsilon)}, {rounded_up(delta)})"


def _count(releases: int) -> str:
    return "1 value is released" if releases == 1 else f"{releases:,} values are released"


def _reader(g: Guarantee) -> str:
    known = {
        Unit.RECORD: "every other record",
        Unit.PERSON: "the records of everybody else",
        Unit.AGENT: "the cost functions of all others",
    }
    if g.min_cohort > 0:
        together = f"together with up to {g.coalition} of the agents"
        who = {0: "takes no part", 1: "may be one of the agents"}.get(g.coalition, together)
        also = f" and {who}" if g.coalition < 2 else f" {who}"
        return f"whoever reads every message{also}, knowing {known[g.unit]},"
    if not g.observers:
        return f"whoever reads every message and knows {known[g.unit]}"
    named = g.observers[0]
    if len(g.observers) > 1:
        named = f"{', '.join(g.observers[:-1])} and {g.observers[-1]} together"
    return f"{named}, knowing {known[g.unit]}"


def _unit(g: Guarantee) -> str:
    if g.unit is Unit.AGENT:
        return "the owner's whole cost function"
    if g.unit is Unit.RECORD:
        return "one record"
    records = "1 record" if g.records_per_person == 1 else f"{g.records_per_person} records"
    sites = "one site" if g.sites_per_person == 1 else f"each of at most {g.sites_per_person} sites"
    return f"one person with at most {records} at {sites}"


def _change(g: Guarantee) -> str:
    if g.relation is Relation.METRIC:
        return (
            f"{_unit(g)} is replaced by one whose gradient differs by at most 1 everywhere (in the "
            "l2 norm for Gaussian noise, the l1 norm for Laplace noise; a difference of at most d "
            "counts as d times less noise, which makes a pure epsilon d times as large)"
        )
    removed = g.relation is Relation.ADD_REMOVE
    verb = "is added or removed" if removed else "is replaced by any other"
    return f"{_unit(g)} {verb}"


def _condition(g: Guarantee) -> str:
    return " and ".join(each for each in g.assumptions if each not in STANDING)
