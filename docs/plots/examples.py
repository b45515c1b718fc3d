"""One plot a program of `docs/examples.md`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from docs.plots.chart import COLOURS, INK, band, chart
from examples import black_box_tuning as tuning
from examples import economic_dispatch as plants
from examples import quantile_regression as quantiles
from examples import rendezvous as meeting
from examples import support_vector_machine as machines
from tacit import problem


def rendezvous(path: Path) -> None:
    """Where people live, and where they meet."""
    homes = np.random.default_rng(0).uniform(-1.0, 1.0, (100, 2))
    with chart(path, "east", "north", log="") as axes:
        axes.set_aspect("equal")
        axes.plot(*homes.T, ".", color=INK, label="an address")
        for number, epsilon in enumerate((1.0, 10.0)):
            places = [meeting.meet(homes, epsilon, seed=s).solution for s in range(5)]
            marker = "ox"[number]
            axes.plot(
                *np.transpose(places), marker, color=COLOURS[number], label=f"met, ε = {epsilon:g}"
            )
        axes.plot(*homes.mean(axis=0), "*", color=COLOURS[2], markersize=13, label="best place")
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))


def economic_dispatch(path: Path) -> None:
    """What each plant produces under the best schedule and under private ones."""
    curves = np.random.default_rng(0).uniform([20.0, 0.1], [40.0, plants.STEEPEST], (6, 2))
    best = problem.solve(plants.dispatch_problem(curves, 600.0)).solution
    schedules = {"best": best}
    for epsilon in (16.0, 4.0):
        schedules[f"ε = {epsilon:g}"] = plants.dispatch(curves, 600.0, epsilon).solution
    with chart(path, "plant", "output, MW", log="") as axes:
        for number, (label, outputs) in enumerate(schedules.items()):
            where = np.arange(6) + 0.27 * (number - 1)
            axes.bar(where, outputs, 0.25, color=COLOURS[number], label=label)


def support_vector_machine(path: Path) -> None:
    """Accuracy on new patients at several budgets, and without one."""
    new = machines.patients(6, 2000, 1)
    data = machines.patients(6, 500, 0)
    best = machines.accuracy(problem.solve(machines.machine(data)).solution, new)
    epsilons = (0.1, 0.3, 1.0, 3.0)
    found = [
        [machines.accuracy(machines.train(data, e, seed=s).solution, new) for s in range(3)]
        for e in epsilons
    ]
    label = "share of new patients on the right side"
    with chart(path, "epsilon of the run", label, log="x") as axes:
        band(axes, epsilons, np.array(found), "with privacy")
        axes.axhline(best, color=COLOURS[1], linestyle="--", label="without privacy")


def quantile_regression(path: Path) -> None:
    """Waiting times, and the quantiles that are fitted to them."""
    features, waits = data = quantiles.visits(5, 1000, 0)
    hours = np.linspace(-1.0, 1.0, 41)
    curve = np.stack([np.ones_like(hours), hours, hours**2], axis=1)
    best = problem.solve(quantiles.regression(data, 0.9)).solution
    private = quantiles.fit(data, 0.9, 1.0).solution
    with chart(path, "arrival, from -1 (morning) to 1 (evening)", "waiting time", log="") as axes:
        axes.plot(
            features[0][:300, 1], waits[0][:300], ".", color=INK, markersize=3, label="a visit"
        )
        axes.plot(hours, curve @ best, color=COLOURS[1], label="90 %, without privacy")
        axes.plot(hours, curve @ private, "--", color=COLOURS[0], label="90 %, ε = 1")


def black_box_tuning(path: Path) -> None:
    """What the rule costs on new sales at several budgets, and the rule to begin with."""
    sales = tuning.histories(5, 400, 0)
    new = np.concatenate(tuning.histories(5, 400, 1))
    epsilons = (0.3, 1.0, 3.0)
    found = [
        [tuning.simulate(tuning.tune(sales, e, seed=s).solution, new).mean() for s in range(3)]
        for e in epsilons
    ]
    label = "cost on new sales,\nof a product and day"
    with chart(path, "epsilon of the run", label, log="x") as axes:
        band(axes, epsilons, np.array(found), "tuned with privacy")
        start = tuning.simulate(np.array(tuning.START), new).mean()
        axes.axhline(start, color=COLOURS[1], linestyle="--", label="the rule to begin with")


EXAMPLES: Mapping[str, Callable[[Path], None]] = {
    draw.__name__: draw
    for draw in (
        rendezvous,
        economic_dispatch,
        support_vector_machine,
        quantile_regression,
        black_box_tuning,
    )
}
"""By the name of the program."""
