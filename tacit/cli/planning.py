"""`tacit account` by numbers: of noise, rounds and epsilon, any two give the third."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import Any

from tacit.cli.accounting import (
    DELTA,
    FORMAT,
    Question,
    at_deltas,
    option,
    show_curve,
    show_deltas,
)
from tacit.cli.console import emit, say
from tacit.errors import ConfigError
from tacit.privacy import accounting, caution
from tacit.privacy.calibration import affordable_rounds, noise_multiplier
from tacit.privacy.digits import rounded_up
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSampled,
    Repeated,
)
from tacit.types import Relation

LAWS: dict[str, Any] = {
    "gaussian": GaussianRelease,
    "laplace": LaplaceRelease,
    "discrete-gaussian": DiscreteGaussianRelease,
    "discrete-laplace": DiscreteLaplaceRelease,
}
"""Names of `--noise`; the discrete laws are those of a deployment."""


@dataclass(frozen=True)
class Plan:
    """A run by numbers, checked.

    Attributes:
        law: of the noise, a key of `LAWS`.
        delta: of the whole run.
        sampling: probability with which a record takes part in a round.
        relation: what is a neighbour.
        sensitivity: what one record moves an answer by, if clip and records are known.
    """

    law: str
    delta: float
    sampling: float
    relation: Relation
    sensitivity: float | None

    @classmethod
    def of(cls, question: Question) -> Plan:
        """Check the options that say what is released."""
        law = _one_of(question.noise, "--noise", list(LAWS)) or "gaussian"
        relation = _one_of(question.relation, "--relation", ["replace-one", "add-remove"])
        sampling = 1.0 if question.sampling is None else question.sampling
        if not 0.0 < sampling <= 1.0:
            raise ConfigError(f"--sampling={sampling:g} must be a probability in (0, 1]")
        if sampling < 1.0 and relation != "add-remove":
            raise ConfigError(
                f"--sampling={sampling:g} is accounted for adding or removing a record only; add "
                "--relation add-remove, or leave --sampling out"
            )
        delta = DELTA if question.delta is None else question.delta
        if delta == 0.0 and not law.endswith("laplace"):
            raise ConfigError(
                "--delta=0 is out of reach of Gaussian noise; take --noise laplace, or a delta far "
                "below one over the number of records"
            )
        accounting.check_delta(delta)
        if question.records is not None and not question.large_delta:
            caution.check_delta(
                delta, question.records, "records", "or add --large-delta if that is meant"
            )
        kind = Relation((relation or "replace-one").replace("-", "_"))
        return cls(law, delta, sampling, kind, _sensitivity(question, kind, sampling))

    def released(self, multiplier: float) -> Event:
        """What leaves in one round."""
        event = LAWS[self.law](multiplier)
        return event if self.sampling == 1.0 else PoissonSampled(self.sampling, event)

    def warning(self, spent: float, records: int | None) -> str:
        """What to say of a large epsilon, or of a large delta of nobody knows how many records."""
        of_delta = caution.delta_warning(self.delta) if records is None else ""
        return " ".join(filter(None, (caution.warning(spent), of_delta)))


def plan(question: Question, *, json: bool) -> None:
    """Answer by numbers."""
    known = {name: getattr(question, name) for name in ("epsilon", "noise_multiplier", "rounds")}
    missing = [name for name, value in known.items() if value is None]
    if len(missing) != 1:
        raise ConfigError(
            "give a study file, or two of --epsilon, --noise-multiplier and --rounds: the third "
            + ("follows from them" if missing else "follows from them, so leave one out")
        )
    _check_positive(known)
    asked = Plan.of(question)
    delta = asked.delta
    if missing == ["noise_multiplier"]:
        known["noise_multiplier"] = noise_multiplier(
            known["epsilon"], delta, lambda z: [Repeated(asked.released(z), known["rounds"])]
        )
    event = asked.released(known["noise_multiplier"])
    if missing == ["rounds"]:
        known["rounds"] = affordable_rounds(
            known["epsilon"], delta, lambda rounds: [Repeated(event, rounds)]
        )
    total = [Repeated(event, known["rounds"])]
    spent = accounting.epsilon(total, delta)
    warned = asked.warning(spent, question.records)
    curve = _curve(event, known["rounds"], delta)
    deltas = at_deltas(total, delta) if known["rounds"] else []
    if json:
        from tacit.study._output.files import jsonable

        scale = None if asked.sensitivity is None else asked.sensitivity * known["noise_multiplier"]
        emit(
            jsonable(
                {
                    "format": FORMAT,
                    "question": "epsilon" if missing == ["epsilon"] else missing[0],
                    "noise": asked.law,
                    "sampling": asked.sampling,
                    "relation": asked.relation.value,
                    "delta": delta,
                    "budget": question.epsilon,
                    "rounds": known["rounds"],
                    "noise_multiplier": known["noise_multiplier"],
                    "epsilon": spent,
                    "warning": warned,
                    "sensitivity": asked.sensitivity,
                    "noise_scale": scale,
                    "curve": curve,
                    "at_deltas": deltas,
                }
            )
        )
        return
    say(_answer(missing[0], known, asked, spent))
    if warned:
        say(warned)
    if asked.sensitivity is not None:
        say(_scale(question, asked, known["noise_multiplier"]))
    if not known["rounds"]:
        return
    show_curve(curve, "")
    show_deltas(deltas)
    say(
        "It holds if every record's contribution is clipped, the noise has that scale in every "
        "coordinate, each record stands at one owner only (owners then do not add up), and "
        "these numbers were not chosen by looking at the data."
    )


def _answer(missing: str, known: dict[str, Any], asked: Plan, spent: float) -> str:
    law = asked.law.replace("-", " ").replace("gaussian", "Gaussian").replace("laplace", "Laplace")
    rounds = "1 round" if known["rounds"] == 1 else f"{known['rounds']:,} rounds"
    sample = (
        "" if asked.sampling == 1.0 else f" on a Poisson sample of rate {asked.sampling:g} a round"
    )
    multiplier = rounded_up(known["noise_multiplier"])
    if missing == "noise_multiplier":
        budget = f"epsilon = {known['epsilon']:g} at delta = {asked.delta:g}"
        return (
            f"To stay within {budget} over {rounds}, {law} noise{sample} needs a multiplier of "
            f"{multiplier}: its scale over the most that one record can move an answer."
        )
    if missing == "rounds":
        budget = f"epsilon = {known['epsilon']:g} at delta = {asked.delta:g}"
        if not known["rounds"]:
            return (
                f"Not even one round of {law} noise with multiplier {multiplier}{sample} stays "
                f"within {budget}. Raise --noise-multiplier or --epsilon."
            )
        return (
            f"{law.capitalize() if law[0].islower() else law} noise with multiplier "
            f"{multiplier}{sample} affords {rounds} within {budget}: they cost {rounded_up(spent)}."
        )
    return (
        f"{rounds} of {law} noise with multiplier {multiplier}{sample} cost epsilon = "
        f"{rounded_up(spent)} at delta = {asked.delta:g}."
    )


def _scale(question: Question, asked: Plan, multiplier: float) -> str:
    assert asked.sensitivity is not None
    verb = "replacing" if asked.relation is Relation.REPLACE_ONE else "adding or removing"
    norm = "l1" if asked.law.endswith("laplace") else "l2"
    law = "standard deviation" if norm == "l2" else "Laplace scale"
    return (
        f"With {norm} clip {question.clip:g} and sums divided by {question.records:,}, {verb} one "
        f"record moves an answer by at most {rounded_up(asked.sensitivity)}, so the noise has "
        f"{law} {rounded_up(asked.sensitivity * multiplier)} in every coordinate."
    )


def _curve(event: Event, rounds: int, delta: float) -> list[dict[str, Any]]:
    at = sorted({max(1, math.ceil(rounds * share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)})
    return [
        {"rounds": n, "epsilon": accounting.epsilon([Repeated(event, n)], delta)}
        for n in at
        if n <= rounds
    ]


def _sensitivity(question: Question, relation: Relation, sampling: float) -> float | None:
    if (question.clip is None) != (question.records is None):
        absent, other = ("--records", "--clip") if question.clip else ("--clip", "--records")
        raise ConfigError(
            f"{other} says how large the noise is only together with {absent}; add it"
        )
    if question.clip is None or question.records is None:
        return None
    if not question.clip > 0.0 or question.records < 1:
        raise ConfigError(
            f"--clip={question.clip:g} must be positive and --records={question.records} at least 1"
        )
    factor = 2.0 if relation is Relation.REPLACE_ONE else 1.0
    return factor * question.clip / (question.records * sampling)


def _check_positive(known: dict[str, Any]) -> None:
    for name, value in known.items():
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise ConfigError(f"{option(name)}={value!r} must be positive and finite")


def _one_of(value: str | None, name: str, allowed: list[str]) -> str | None:
    if value is None or value in allowed:
        return value
    close = difflib.get_close_matches(value.replace("_", "-"), allowed, 1)
    hint = f"did you mean {close[0]}?" if close else f"one of {', '.join(allowed)}"
    raise ConfigError(f"{name}={value!r} is unknown; {hint}")
