"""Figure 1 of Gratton et al. (2021): D-ZOA against other zeroth-order methods, without privacy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.papers.gratton2021.claims import comparable, faster
from tacit.papers.gratton2021.curves import ERROR, mean, rounds_curve
from tacit.papers.gratton2021.plan import data_sets, validation
from tacit.papers.gratton2021.setting import AGENTS, RECORDS, ROUNDS, SMOOTHING, Kind
from tacit.papers.gratton2021.solver_runs import (
    DIRECTIONS,
    INNER_STEPS,
    SETTINGS,
    solver,
    values_a_round,
)
from tacit.papers.target import Answer, Piece, Scale, Target
from tacit.report.reproduction import Claim, Curve, Panel, Reproduction, compared, concluded

CENTRAL = ("OR-ZO", "ZOO-ADMM")

SAID = "section VI, on figure 1"


def _kinds(scale: Scale) -> Sequence[Kind]:
    return ("ridge", "lasso") if scale is Scale.FULL else ("ridge",)


def _rounds(scale: Scale) -> int:
    return ROUNDS if scale is Scale.FULL else ROUNDS // 2


def _runs(scale: Scale) -> list[tuple[str, int]]:
    """Methods and their rounds: D-ZOA's number, and the number that costs the same values."""
    share, rounds = 1 if scale is Scale.FULL else 10, _rounds(scale)
    longer = [
        (name, rounds * values_a_round("D-ZOA") // values_a_round(name) // share)
        for name in CENTRAL
    ]
    return [("D-ZOA", rounds), *((name, rounds) for name in CENTRAL), *longer]


def _pieces(scale: Scale) -> list[Piece]:
    full = scale is Scale.FULL
    return [
        Piece(
            solver,
            {
                "name": name,
                "kind": kind,
                "validation": list(validation(scale)),
                "data": list(data_sets(scale)),
                "seed": 0,
                "trials": 10,
                "rounds": rounds,
            },
            9.0
            + (0.02 * rounds if name == "D-ZOA" else 0.1 + 0.0003 * rounds) * (120 if full else 20),
        )
        for kind in _kinds(scale)
        for name, rounds in _runs(scale)
    ]


def claims(answers: dict[Kind, Sequence[Answer]]) -> list[Claim]:
    """The claims: comparable steady states, and central methods that converge faster.

    Args:
        answers: for each kind of problem, D-ZOA's and the central methods', with equal rounds.
    """
    best = {
        kind: (own[0], *min(zip(own[1:], CENTRAL, strict=True), key=lambda each: mean([each[0]])))
        for kind, own in answers.items()
    }
    return [
        comparable(SAID, best),
        *(
            faster(SAID, name, {kind: (own[at], own[0]) for kind, own in answers.items()}, "D-ZOA")
            for at, name in enumerate(CENTRAL, 1)
        ),
    ]


def _over_values(name: str, answer: Answer) -> Curve:
    curve = rounds_curve(name, [answer])
    return Curve(
        name,
        [float(x) * values_a_round(name) for x in np.asarray(curve.x, dtype=float)],
        curve.y,
        curve.low,
        curve.high,
    )


def _told(answers: Sequence[Answer], scale: Scale) -> Reproduction:
    runs, asked = _runs(scale), _rounds(scale)
    published: list[Panel] = []
    rows: list[Any] = []
    said: list[str] = []
    same: dict[Kind, Sequence[Answer]] = {}
    parameters: dict[str, str] = {}
    for index, kind in enumerate(_kinds(scale)):
        own = answers[index * len(runs) : (index + 1) * len(runs)]
        ours, short, long = own[0], own[1:3], own[3:]
        error = mean([ours])
        after_rounds, after_values = (
            min((mean([answer]), name) for name, answer in zip(CENTRAL, some, strict=True))
            for some in (short, long)
        )
        same[kind] = own[:3]
        longer = dict(runs[3:])[after_values[1]]
        share = longer * values_a_round(after_values[1]) / (asked * values_a_round("D-ZOA"))
        said.append(
            f"{kind}: after {asked} rounds D-ZOA has an error of {error:.2g} and "
            f"{after_rounds[1]} {after_rounds[0]:.2g}. D-ZOA asks for "
            f"{values_a_round('D-ZOA'):,} values a record in a round: {after_values[1]}, "
            f"tuned for {longer:,} rounds, has {after_values[0]:.2g} after {share:.0%} of the "
            "values"
        )
        published += [
            Panel(
                f"Figure 1, {kind}",
                "round",
                ERROR,
                [rounds_curve(n, [a]) for n, a in zip(("D-ZOA", *CENTRAL), own[:3], strict=True)],
                f"Without privacy; answering 0 scores {AGENTS}. Bands: 10th to 90th percentile.",
            ),
            Panel(
                f"Ours: over values of the loss, {kind}",
                "values asked of one record",
                ERROR,
                [
                    _over_values("D-ZOA", ours),
                    *(_over_values(n, a) for n, a in zip(CENTRAL, long, strict=True)),
                ],
                "The same, the central methods with more rounds and tuned for those.",
                log="xy",
            ),
        ]
        for (name, rounds), answer in zip(runs, own, strict=True):
            values = values_a_round(name) * rounds
            what = f"{name}, {kind}, {rounds:,} rounds"
            rows.append(compared(what, None, mean([answer]), values_a_record=values))
            parameters[f"{what}, chosen"] = ", ".join(
                f"{key} {value:g}" for key, value in answer["chosen"].items()
            )
    judged = claims(same)
    verdict, sentence = concluded(judged, shortened=scale is not Scale.FULL)
    return Reproduction(
        verdict,
        sentence,
        claims=judged,
        published=published,
        comparison=rows,
        parameters={
            "problem": f"sum of losses, eta = 1, K = {AGENTS}, N_k = {RECORDS}, no privacy",
            "left out: J": f"{DIRECTIONS} for all three",
            "left out: tuning": f"{len(SETTINGS['D-ZOA'])} settings each, chosen on data sets "
            f"{', '.join(map(str, validation(scale)))}, which are not reported on",
            "D-ZOA": f"T = {INNER_STEPS}, u1 = {SMOOTHING:g}, cold start, last iterate",
            "OR-ZO, ZOO-ADMM": "with a coordinator, steps c / sqrt(t), last iterate; OR-ZO "
            "differences the whole objective, as published",
            **parameters,
        },
        notes=[
            f"{'. '.join(said)}.",
            "The paper does not say which of the two penalties figure 1 has.",
            "No method here is private, so there is no certified half.",
        ],
        shortened=""
        if scale is Scale.FULL
        else f"ridge only, {asked} rounds instead of {ROUNDS}, runs on one data set instead of "
        "10, 1 validation data set instead of 2, and a tenth of the central methods' "
        "rounds for as many values",
    )


FIG1 = Target(
    "gratton2021/fig1",
    "error of D-ZOA, OR-ZO and ZOO-ADMM over rounds, without privacy",
    _pieces,
    _told,
)
