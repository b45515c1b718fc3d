"""Pieces of work of figure 1: zeroth-order methods without privacy, all tuned in the same way."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.method import ORZO, ZOOADMM, DZOASolver
from tacit.network import Coordinator
from tacit.papers.gratton2021.contenders import Setting
from tacit.papers.gratton2021.contest import Contest
from tacit.papers.gratton2021.setting import AGENTS, SMOOTHING, Kind, paper_network, paper_problem

DIRECTIONS = 30
"""`J` of all three methods; that of Gratton et al. (2020)."""

INNER_STEPS = 100

SETTINGS: Mapping[str, Sequence[Setting]] = {
    name: [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    for name, axes in {
        "D-ZOA": {"step": (0.015, 0.03, 0.06, 0.12), "penalty": (1.0, 2.0, 4.0)},
        "OR-ZO": {"step": (0.06, 0.12, 0.25, 0.5), "smoothing": (0.01, 0.1, 1.0)},
        "ZOO-ADMM": {"step": (0.03, 0.06, 0.12, 0.25), "penalty": (0.1, 0.3, 1.0)},
    }.items()
}
"""Twelve settings of each method. The steps of D-ZOA are those of its inner descent."""


def values_a_round(name: str) -> int:
    """Loss values per record and round."""
    return {
        "D-ZOA": 2 * DIRECTIONS * INNER_STEPS,
        "OR-ZO": 2 * DIRECTIONS,
        "ZOO-ADMM": DIRECTIONS + 1,
    }[name]


def solver(
    name: str,
    kind: Kind,
    validation: Sequence[int],
    data: Sequence[int],
    seed: int,
    trials: int,
    rounds: int,
) -> dict[str, Any]:
    """A method tuned for a number of rounds, on the sum of losses.

    Args:
        name: name of the method.
        kind: kind of regulariser.
        validation: seeds of the data sets on which tuning is chosen.
        data: seeds of the data sets reported on.
        seed: seed of the directions.
        trials: number of trials per data set.
        rounds: number of rounds of each run.
    """

    def method(setting: Setting) -> Any:
        step = setting["step"]
        if name == "OR-ZO":
            smoothing = setting["smoothing"]
            return ORZO(step, directions=DIRECTIONS, smoothing=smoothing, average=False)
        if name == "ZOO-ADMM":
            penalty = setting["penalty"]
            return ZOOADMM(step, penalty, directions=DIRECTIONS, average=False)
        return DZOASolver(
            step=np.full(AGENTS, step),
            penalty=setting["penalty"],
            inner_steps=INNER_STEPS,
            directions=DIRECTIONS,
            smoothing=SMOOTHING,
            printed=True,
            warm_start=False,
        )

    network = paper_network() if name == "D-ZOA" else Coordinator(AGENTS)
    contest = Contest(
        lambda number: paper_problem(kind, number), network, validation, data, seed, trials, rounds
    )
    return contest(SETTINGS[name], method)
