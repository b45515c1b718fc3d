"""What `tacit plan noise`, `rounds` and `epsilon` print."""

from __future__ import annotations

from typing import Any, NamedTuple

from tacit.cli.accounting import FORMAT, show_curve, show_deltas
from tacit.cli.choosing import one_of
from tacit.cli.console import emit, guarded, say
from tacit.privacy.digits import rounded_up, short
from tacit.privacy.plan import NoisePlan, at_other_deltas, plan_noise

_LAWS = ("gaussian", "laplace", "discrete-gaussian", "discrete-laplace")
_RELATIONS = ("replace-one", "add-remove")


class Released(NamedTuple):
    """What the options say of a round's release, as they were given."""

    noise: str
    delta: float
    sampling: float
    relation: str
    clip: float | None
    records: int | None
    large_delta: bool


def show_noise(
    question: str,
    released: Released,
    epsilon: float | None,
    rounds: int | None,
    noise_multiplier: float | None,
    *,
    json: bool,
) -> int:
    """See `tacit plan noise`, `rounds` and `epsilon`."""

    def command() -> int:
        law = one_of("--noise", released.noise, _LAWS)
        relation = one_of("--relation", released.relation, _RELATIONS)
        values: dict[str, Any] = {
            **released._asdict(),
            "noise": law.replace("-", "_"),
            "relation": relation.replace("-", "_"),
        }
        plan = plan_noise(
            epsilon=epsilon, rounds=rounds, noise_multiplier=noise_multiplier, **values
        )
        deltas = at_other_deltas(plan.events, plan.delta) if plan.rounds else ()
        if json:
            from tacit.study._output.files import jsonable

            emit(
                jsonable(
                    {
                        "format": FORMAT,
                        "question": question,
                        "noise": law,
                        "sampling": released.sampling,
                        "relation": values["relation"],
                        "delta": plan.delta,
                        "budget": plan.budget,
                        "rounds": plan.rounds,
                        "noise_multiplier": plan.noise_multiplier,
                        "epsilon": plan.epsilon,
                        "warning": plan.warning,
                        "sensitivity": plan.sensitivity,
                        "noise_scale": plan.noise_scale,
                        "curve": [each._asdict() for each in plan.curve()],
                        "at_deltas": [each._asdict() for each in deltas],
                    }
                )
            )
            return 0
        say(_answer(question, plan, released))
        if plan.warning:
            say(plan.warning)
        if plan.sensitivity is not None:
            say(_scale(plan, released))
        if plan.rounds:
            show_curve(plan.curve(), "")
            show_deltas(deltas)
            say(
                "This holds if every record's contribution is clipped, the noise has that scale in "
                "every coordinate, each record is held by one owner only (the epsilons of several "
                "owners then do not add up), and the numbers were not chosen by looking at the "
                "data."
            )
        return 0

    return guarded(command, as_json=json)


def _answer(question: str, plan: NoisePlan, released: Released) -> str:
    law = released.noise.replace("-", " ")
    law = law.replace("gaussian", "Gaussian").replace("laplace", "Laplace")
    rounds = "1 round" if plan.rounds == 1 else f"{plan.rounds:,} rounds"
    rate = released.sampling
    sample = "" if rate == 1.0 else f" on a Poisson sample of rate {rate:g} per round"
    multiplier, delta = rounded_up(plan.noise_multiplier), short(plan.delta)
    if question == "epsilon":
        return (
            f"{rounds} of {law} noise with noise multiplier {multiplier}{sample} cost epsilon = "
            f"{rounded_up(plan.epsilon)} at delta = {delta}."
        )
    budget = f"epsilon = {plan.budget:g} at delta = {delta}"
    if question == "noise_multiplier":
        return (
            f"To stay within {budget} over {rounds}, {law} noise{sample} needs a noise multiplier "
            f"of {multiplier}: its scale divided by the sensitivity, the most by which one record "
            "can change an answer."
        )
    if not plan.rounds:
        return (
            f"Not even one round of {law} noise with noise multiplier {multiplier}{sample} stays "
            f"within {budget}. Raise --noise-multiplier or --epsilon."
        )
    return (
        f"{law[:1].upper()}{law[1:]} noise with noise multiplier {multiplier}{sample} allows "
        f"{rounds} within {budget}: they cost {rounded_up(plan.epsilon)}."
    )


def _scale(plan: NoisePlan, released: Released) -> str:
    assert plan.sensitivity is not None and plan.noise_scale is not None
    verb = "replacing" if released.relation == "replace-one" else "adding or removing"
    norm = "l1" if released.noise.endswith("laplace") else "l2"
    scale = "standard deviation" if norm == "l2" else "Laplace scale"
    return (
        f"With an {norm} clip of {released.clip:g} and sums divided by {released.records:,}, "
        f"{verb} one record changes an answer by at most {rounded_up(plan.sensitivity)}, so the "
        f"noise has {scale} {rounded_up(plan.noise_scale)} in every coordinate."
    )
