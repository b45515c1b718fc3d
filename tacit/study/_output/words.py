"""A run in sentences for a statistician."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import ArrayLike, Int

from tacit._engine.doubts import known
from tacit.method.answer import Answer, Refused
from tacit.method.coefficients import in_words
from tacit.network.base import AbstractNetwork
from tacit.network.exact_sum import ExactSum
from tacit.privacy import caution
from tacit.privacy.digits import rounded_down, rounded_up
from tacit.privacy.facts import Fact, public
from tacit.privacy.guarantee import Guarantee, NoiseSource, Status
from tacit.problem.problem import Problem
from tacit.problem.scores import SCORES, kept_in_words, share_kept
from tacit.problem.task import Task
from tacit.study.hindrances import hindrances
from tacit.study.model import RegressionStudy
from tacit.study.read import Source
from tacit.study.run import BASE, POOLED, PRIVATE, Outcome
from tacit.study.verdict import judged
from tacit.types import Relation, Unit


def summary(outcome: Outcome) -> list[str]:
    """What was run; public constants only."""
    problem, study = outcome.assembled.problem, outcome.study
    what = fitted(outcome.assembled.source, problem)
    over = between(outcome.assembled.network)
    name = dict(study.method)["name"]
    return [
        f"{problem.agents} sites {what} {over}, {outcome.assembled.source.held.apart}.",
        f"They {_hold(outcome)}ran {_rounds(outcome.result.rounds)} of {name}.",
        *study.notes,
        *_capitals(outcome.assembled.notes),
    ]


def between(network: AbstractNetwork) -> str:
    """How messages travel, as a clause."""
    if isinstance(network, ExactSum):
        return f"over {_a(network.carrier.kind)} network with exact sums by {network.by}"
    if network.coordinated:
        return "through a coordinator"
    return f"over {_a(network.kind)} network"


def fitted(source: Source, problem: Task) -> str:
    """What the sites did, as a clause."""
    study = source.study
    if isinstance(study, RegressionStudy):
        return f"fitted {study.model.formula} ({in_words(study.model.family)})"
    if dict(study.method)["name"] == "cox":
        return "fitted a Cox regression"
    if source.statistics or not isinstance(problem, Problem):
        return "described their records"
    many = "1 parameter" if problem.dimension == 1 else f"{problem.dimension} parameters"
    if source.costs:
        return f"minimised the sum of their costs ({many})"
    return (
        f"fitted a model of {study.data.target.column!r} ({study.problem.loss.kind} loss, {many})"
    )


def _rounds(rounds: int) -> str:
    return "1 round" if rounds == 1 else f"{rounds:,} rounds"


def protection(outcome: Outcome) -> list[str]:
    """What is protected, against whom, and at what cost."""
    worst: Guarantee = outcome.result.guarantee.worst
    if worst.status is Status.NONE:
        return [
            "Nothing is protected: what the sites send reveals values of their private data.",
        ]
    equal = "each site's" if outcome.result.guarantee.equal else "the least protected site's"
    among = "" if worst.unit is Unit.AGENT else f" in {equal} data"
    protected = "Protected:" if worst.status is Status.PROVED else "Claimed to be protected:"
    masked = worst.min_cohort > 0
    against = "" if masked else ", against an adversary who sees every message"
    lines = [
        f"{protected} {_protected(outcome)}{among}{against}.",
        *([f"Adversary: {adversary(worst)}"] if masked else []),
        _cost(worst),
        f"Status: {STATUS[worst.status]}",
        "Assumed:",
        *(f"- {each}" for each in worst.assumptions),
    ]
    if worst.noise is NoiseSource.SIMULATED:
        lines.append(
            "Noise: simulated from a seed. The numbers are those of a protected "
            "run, but anyone who knows the seed can subtract the noise: not a certificate."
        )
    return [*lines, *_charged(outcome)]


def adversary(g: Guarantee) -> str:
    """The adversary of a guarantee; with the declared numbers under secure aggregation."""
    if not g.min_cohort:
        return "sees every message and knows everything except what is protected."
    # a model assumes what a proof does not
    modelled = g.status is Status.MODEL
    behaved = "" if modelled else ", which may misbehave"
    whom = {0: "takes no part", 1: f"may be one of the agents{behaved}"}.get(
        g.coalition, f"may be up to {g.coalition} of the agents{behaved}"
    )
    if modelled:
        return (
            f"sees every message, knows everything except what is protected, and {whom}. All "
            f"{g.min_cohort} agents follow the protocol, and their masks cancel in the mean."
        )
    honest = g.min_cohort - g.coalition
    hidden = (
        f"so that {honest} honest ones hide each other"
        if honest > 1
        else "so that an honest one may have only its own noise, as with local noise"
    )
    most = "1 sum" if g.attempts == 1 else f"{g.attempts:,} sums"
    return (
        f"sees every message, knows everything except what is protected, and {whom}. Every sum "
        f"has at least {g.min_cohort} agents, {hidden}, and an agent is in at most {most}, "
        "counting those abandoned because an agent is missing."
    )


def _charged(outcome: Outcome) -> list[str]:
    """The state of the ledger after the run."""
    charge = outcome.result.charge
    if charge is None:
        return []
    least = min(charge.balances, key=lambda balance: balance.left)
    entered = (
        f"The ledger already has this run, as entry {charge.sequence}; nothing was added, "
        "since the same noise was drawn again. For new noise, which is charged, change seed"
        if charge.repeated
        else f"The ledger was charged before the run, in entry {charge.sequence}"
    )
    return [
        f"{entered}. Of the budget for {least.dataset!r}, {least.owner} has spent "
        f"{rounded_up(least.spent)} of {rounded_down(least.epsilon)}"
        + (", and the others have at least as much left." if len(charge.balances) > 1 else ".")
    ]


def _cost(g: Guarantee) -> str:
    """Epsilon and whether it holds, with a warning if it is large."""
    warned = caution.warning(g.epsilon if g.total_epsilon is None else g.total_epsilon)
    return f"{_spent(g)} {warned}".rstrip()


def _spent(g: Guarantee) -> str:
    pair = f"epsilon = {rounded_up(g.epsilon)} at delta = {rounded_up(g.delta)}"
    match g.status:
        case Status.MODEL:
            return f"If the model were true, the whole run would cost {pair}."
        case Status.REFUTED:
            return f"Claimed and refuted: the whole run costs {pair}."
        case Status.PER_RELEASE:
            total = math.inf if g.total_epsilon is None else g.total_epsilon
            return (
                f"One release taken alone costs {pair}; the whole run costs epsilon = "
                f"{rounded_up(total)}."
            )
        case _:
            pass
    replaced = g.unit is Unit.RECORD and g.relation is Relation.REPLACE_ONE
    if not replaced or g.epsilon >= caution.LARGE_EPSILON:
        return f"The whole run costs {pair}."
    return (
        f"The whole run costs {pair}: replacing the record changes the odds of any observation "
        f"by a factor of at most {rounded_up(math.exp(g.epsilon), 3)}, up to delta."
    )


def _protected(outcome: Outcome) -> str:
    """The unit of the guarantee in words."""
    return {
        Unit.RECORD: "one record",
        Unit.PERSON: "all records of one person, up to the declared number",
        Unit.AGENT: outcome.assembled.source.held.agent,
    }[outcome.result.guarantee.worst.unit]


STATUS = {
    Status.PROVED: "proved, under the assumptions below, from clipping and noise that the "
    "software enforces.",
    Status.MODEL: "model claim, not a proof. It would hold only if its assumptions were true.",
    Status.PER_RELEASE: "one release only, not the run.",
    Status.REFUTED: "refuted. Do not rely on it.",
}


def findings(outcome: Outcome) -> list[str]:
    """Findings for simulations only: computed without noise from what is private."""
    found: list[str] = []
    counts, gap = outcome.assembled.problem.counts, objective_gap(outcome)
    held = outcome.assembled.held_out
    trials = len(outcome.result.solutions)
    if held is not None and trials > 1:
        found.append(f"Scores are means of {trials:,} trials, all else is of the first.")
    if held is not None:
        found.append(capital(outcome.verdict.reason))
    history = outcome.result.history
    for name in history.metrics:
        found.append(f"At the end {name} is {history.measured[name][-1, 0]:.6g}.")
    if len(outcome.result.answers) > 1:
        found += _draws(outcome.result.answers)
    if not (counts_are_public(outcome) or outcome.assembled.source.costs):
        found.append(f"The sites hold {int(np.sum(counts)):,} records{_each(counts)}.")
    if held is not None:
        metric = chosen_metric(outcome.scores[PRIVATE])
        found.append(
            f"On {len(held.targets):,} held-out records, {SCORES[metric]} is "
            f"{_number(outcome.scores[PRIVATE][metric])}{_others(outcome.scores, metric)}."
        )
        if POOLED in outcome.scores:
            share = share_kept(
                *(outcome.scores[fit]["loss"] for fit in (PRIVATE, POOLED, BASE)), higher=False
            )
            # a model that is worse has been told by the verdict
            if share is None or share >= 0.0:
                found.append(f"In mean loss {kept_in_words(share)}.")
    if outcome.reference is not None and gap is not None:
        found.append(
            f"The objective, summed over the sites, is {gap:.3g} above its minimum of "
            f"{outcome.reference.value:.6g}, which the pooled fit attains."
        )
    first, last = outcome.result.ends or (math.nan, math.nan)
    if math.isfinite(first) and math.isfinite(last):  # otherwise a doubt says what is known
        found.append(
            f"The objective, summed over the sites, is {last:.6g} at the answer and {first:.6g} at "
            "the start: two evaluations of every site beside those of the run."
        )
    return [*found, *known(outcome.result), *hindrances(outcome)]


def _draws(answers: Sequence[Answer]) -> list[str]:
    """In how many trials there was something to print, where that is decided by the noise."""
    useful = [judged(each, None, None).useful for each in answers]
    if all(each is None for each in useful):
        return []
    what = "an answer" if isinstance(answers[0], Refused) else "intervals"
    good = sum(each is not False for each in useful)
    return [f"{good} of {len(answers)} draws of the noise gave {what}; the first is shown."]


def objective_gap(outcome: Outcome) -> float | None:
    """The first trial's objective minus that of the pooled fit (simulation only)."""
    objective = outcome.result.history.measured.get("objective")
    if outcome.reference is None or objective is None:
        return None
    return float(objective[-1, 0]) - outcome.reference.value


def chosen_metric(scores: Mapping[str, float]) -> str:
    """The headline score."""
    defined = [name for name in SCORES if name in scores and math.isfinite(scores[name])]
    return defined[0] if defined else "loss"


def _others(scores: Mapping[str, Mapping[str, float]], metric: str) -> str:
    parts: list[str] = []
    if POOLED in scores:
        parts.append(f"the pooled fit without privacy has {_number(scores[POOLED][metric])}")
    if BASE in scores:
        parts.append(f"the base rate {_number(scores[BASE][metric])}")
    return f"; {', '.join(parts)}" if parts else ""


def counts_are_public(outcome: Outcome) -> bool:
    """Whether the sites' numbers of records are public; if not, none is printed."""
    worst = outcome.result.guarantee.worst
    return Fact.RECORDS in public(worst.unit, worst.relation)


def _hold(outcome: Outcome) -> str:
    if not counts_are_public(outcome):
        return ""
    counts = outcome.assembled.problem.counts
    return f"hold {int(np.sum(counts)):,} records{_each(counts)}, and "


def _each(counts: Int[ArrayLike, " agents"]) -> str:
    few, many = int(np.min(counts)), int(np.max(counts))
    return f", {few:,} each" if few == many else f", {few:,} to {many:,} each"


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.4g}"


def capital(text: str) -> str:
    """A sentence with a capital letter and a full stop."""
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _capitals(sentences: tuple[str, ...]) -> list[str]:
    return [capital(text) for text in sentences]


def _a(kind: str) -> str:
    """A graph's name with its article."""
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"
