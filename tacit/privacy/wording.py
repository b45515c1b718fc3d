"""Guarantees in words: for a lawyer, a statistician and a table.

Numbers are rounded up, so that nothing printed promises more than holds. What is not proved is
marked as such in the same sentence as its epsilon.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from tacit.escape import html_table, visible
from tacit.kinds import Relation, Unit
from tacit.privacy import caution
from tacit.privacy.digits import rounded_down, rounded_up

if TYPE_CHECKING:
    from tacit.privacy.guarantee import Guarantee

_LISTED = 20
"""Owners named one by one when guarantees differ."""

_UNCHECKED = "nothing in the software checks or enforces that"

UNTUNED = "the hyper-parameters were not chosen on these data"
"""Assumed by every guarantee: a choice made by looking at the data would itself be a release."""

ALONE = "nothing else about these data is released"
"""Assumed by every guarantee: other releases cost epsilon of their own, which adds up."""

SEED = "the seed of the simulated noise stays secret and serves one run"
"""Assumed where noise is simulated: anyone who knows the seed can subtract the noise."""

FOLLOWED = "if all agents follow the protocol"
"""Ends what a ledger's epsilon is about, where others have to keep it: `Guarantee.neighbours`."""

STANDING = (UNTUNED, ALONE, SEED)
"""Assumptions that depend on no method and no data, listed after all others."""

_PRIVATE = {Unit.RECORD: "records", Unit.PERSON: "records", Unit.AGENT: "costs"}

STATUS = {
    "proved": "proved",
    "model": "model claim, not a proof",
    "per_release": "one release only",
    "refuted": "refuted by an audit",
    "none": "no guarantee",
}
"""What is said of a status beside an epsilon."""


_BEGINS = {
    "none": "No guarantee for ",
    "refuted": "Refuted, for ",
    "per_release": "For one release only, ",
    "model": "Model claim, not a proof, ",
    "proved": "For ",
}
"""How the sentence of each status begins."""


def brief_of(said: str) -> str:
    """The guarantee in a few words, of its sentence alone; empty if it is no such sentence.

    Example:
        >>> brief_of("For north: the whole run is (1, 1e-6)-DP per record. Status: proved.")
        '(1, 1e-6)-DP per record, proved'
    """
    said = said.rpartition("The weakest: ")[2]
    status = next((each for each, start in _BEGINS.items() if said.startswith(start)), "")
    found = re.search(r"\([^()]*, [^()]*\)-DP per \w+", said)
    simulated = "simulated noise" if "Simulated noise:" in said else ""
    told = [found[0] if found else "", STATUS.get(status, ""), simulated]
    return ", ".join(each for each in told if each)


def sentence(g: Guarantee, subject: str, *, assumptions: bool = True) -> str:
    """The guarantee with all its conditions.

    Args:
        g: the guarantee.
        subject: those whose data it protects, as in "north" or "each of the 3 agents".
        assumptions: whether to end with them; otherwise a list of them follows.
    """
    if g.status == "none":
        return (
            f"No guarantee for {subject}: {_count(g.releases)} without protective noise, and "
            f"anyone who reads them may learn private {_PRIVATE[g.unit]}."
        )
    body = {"proved": _proved, "model": _model, "per_release": _per_release, "refuted": _refuted}
    parts = [body[g.status.value](g, subject)]
    warned = caution.warning(g.epsilon if g.total_epsilon is None else g.total_epsilon)
    parts += [warned] if warned else []
    if g.noise == "simulated":
        parts.append("Simulated noise: not a certificate.")
    elif g.certificate:
        parts.append("Secure noise: this is a certificate.")
    elif g.status == "model":
        parts.append("Secure noise, but a model claim: not a certificate.")
    if not assumptions:
        return " ".join(parts)
    if g.status == "model":  # the claim itself has named the other assumptions
        standing = [each for each in g.assumptions if each in STANDING]
        parts.append(f"Also assumed: {'; '.join(standing)}.")
    else:
        parts.append(f"Assumed: {'; '.join(g.assumptions)}.")
    return " ".join(parts)


def brief(g: Guarantee) -> str:
    """The guarantee in a few words, for a line that has no room for its conditions."""
    if g.status == "none":
        return STATUS["none"]
    numbers = f"({rounded_up(g.epsilon)}, {rounded_up(g.delta)})-DP per {g.unit.value}"
    adjacency = g.relation.value.replace("_", "-")
    return f"{numbers}, {adjacency}, {STATUS[g.status.value]}, {g.noise.value} noise"


def html(owners: Sequence[Guarantee], said: str, subject: str = "") -> str:
    """Guarantees for a notebook: the numbers of each owner as a table, and all conditions.

    Args:
        owners: the guarantees.
        said: the sentence to print below.
        subject: whose data all of them protect, if they are equal: one row is enough then.
    """
    headings = ("Owner", "Epsilon", "Delta", "Protects", "Adjacency", "Status", "Noise")
    shown = owners[:1] if subject else owners[:_LISTED]
    rows = [
        (
            subject or g.owner,
            rounded_up(g.epsilon),
            rounded_up(g.delta),
            g.unit.value,
            g.relation.value.replace("_", "-"),
            STATUS[g.status.value],
            g.noise.value,
        )
        for g in shown
    ]
    more = 0 if subject else len(owners) - _LISTED
    rest = f"<p>and {more:,} more owners</p>" if more > 0 else ""
    return f"{html_table(rows, headings)}{rest}<p>{escape(visible(said))}</p>"


def differing(owners: Sequence[Guarantee], worst: Guarantee, *, assumptions: bool = True) -> str:
    """Range, list and the weakest guarantee in full."""
    epsilons = [g.epsilon for g in owners]
    named = [
        f"{g.owner}: {rounded_up(g.epsilon)} at delta {rounded_up(g.delta)} "
        f"({STATUS[g.status.value]})"
        for g in owners[:_LISTED]
    ]
    more = len(owners) - _LISTED
    rest = f", and {more} more in the table" if more > 0 else ""
    return (
        f"The guarantees of the {len(owners)} agents differ: epsilon from "
        f"{rounded_up(min(epsilons))} to {rounded_up(max(epsilons))} ({', '.join(named)}{rest}). "
        f"The weakest: {worst.sentence(assumptions=assumptions)}"
    )


def _proved(g: Guarantee, subject: str) -> str:
    below = " under the assumptions below" if g.min_cohort else ""
    return (
        f"For {subject}: the whole run ({_count(g.releases)}) is {_private(g)}. "
        f"Status: proved{below} ({g.theorem})."
    )


def _model(g: Guarantee, subject: str) -> str:
    return (
        f"Model claim, not a proof, for {subject}: the whole run ({_count(g.releases)}) would be "
        f"{_private(g)}, only if {_condition(g)} ({g.theorem}); it is not proved because "
        f"{g.reason or _UNCHECKED}."
    )


def _per_release(g: Guarantee, subject: str) -> str:
    total = g.total_epsilon if g.total_epsilon is not None else math.inf
    alone, whole = ("is claimed to be", "would even then come") if g.reason else ("is", "comes")
    doubt = f" Not even that is proved, because {g.reason}." if g.reason else ""
    return (
        f"For one release only, for {subject}: each release taken alone {alone} {_private(g)} "
        f"({g.theorem}), but the whole run ({_count(g.releases)}) {whole} to epsilon "
        f"{rounded_up(total)} at delta {rounded_up(g.delta)}.{doubt}"
    )


def _refuted(g: Guarantee, subject: str) -> str:
    if g.measured_epsilon is None:
        return (
            f"Refuted, for {subject}: an audit found that the noise is not what the claim of "
            f"epsilon {rounded_up(g.epsilon)} at delta {rounded_up(g.delta)} rests on "
            f"({g.measured_by}; {g.theorem}). Do not rely on it."
        )
    found = g.measured_epsilon
    return (
        f"Refuted, for {subject}: an audit found ({g.measured_by}) that epsilon is at least "
        f"{rounded_down(found)} at delta {rounded_up(g.delta)} {_about(g)}, where the claim is "
        f"{rounded_up(g.epsilon)} ({g.theorem}). Do not rely on it."
    )


def _private(g: Guarantee) -> str:
    pair = f"({rounded_up(g.epsilon)}, {rounded_up(g.delta)})"
    return f"{pair}-DP {_about(g)}, against {_adversary(g)}"


def _about(g: Guarantee) -> str:
    """Unit and adjacency."""
    return f"{_unit(g)} under {_ADJACENCY[g.relation]}"


def _count(releases: int) -> str:
    return "1 release" if releases == 1 else f"{releases:,} releases"


def _adversary(g: Guarantee) -> str:
    known = {
        Unit.RECORD: "all other records",
        Unit.PERSON: "the records of all other people",
        Unit.AGENT: "the cost functions of all others",
    }[g.unit]
    if g.min_cohort > 0:
        among = f"may be up to {g.coalition} of the agents"
        who = {0: "takes no part", 1: "may be one of the agents"}.get(g.coalition, among)
        return f"an adversary who sees every message, {who} and knows {known}"
    if not g.observers:
        return f"an adversary who sees every message and knows {known}"
    if len(g.observers) == 1:
        return f"{g.observers[0]}, who knows {known}"
    return f"{', '.join(g.observers[:-1])} and {g.observers[-1]} together, who know {known}"


def _unit(g: Guarantee) -> str:
    if g.unit is Unit.AGENT:
        return "per agent (its whole cost function)"
    if g.unit is Unit.RECORD:
        return "per record"
    records = "1 record" if g.records_per_person == 1 else f"{g.records_per_person} records"
    sites = "one site" if g.sites_per_person == 1 else f"each of at most {g.sites_per_person} sites"
    return f"per person (at most {records} at {sites})"


_ADJACENCY = {
    Relation.REPLACE_ONE: "replace-one adjacency",
    Relation.ADD_REMOVE: "add/remove adjacency",
    Relation.METRIC: "metric adjacency (gradients that differ by at most 1 everywhere, in the "
    "l2 norm for Gaussian noise, the l1 norm for Laplace noise; a difference of at most d counts "
    "as d times less noise, which makes a pure epsilon d times as large)",
}


def _condition(g: Guarantee) -> str:
    joined = "; and " if g.followed else " and "  # between sites there are many, and long ones
    return joined.join(each for each in g.assumptions if each not in STANDING)


def claim(about: str) -> str:
    """What to say beside an epsilon that is no proof, of what it is about; empty if it is proved.

    Example:
        >>> claim("record, replace_one"), claim(f"record, replace_one, {FOLLOWED}")
        ('', 'model claim, not a proof')
    """
    return "model claim, not a proof" if about.endswith(FOLLOWED) else ""
