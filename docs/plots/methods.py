"""One plot a page of `docs/methods`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from docs.plots.chart import DISTANCE, band, chart, distance
from docs.plots.page import example
from tacit import network, problem
from tacit.method import (
    ADMM,
    DPADMM,
    DZOA,
    EXTRA,
    ORZO,
    PDOP,
    PVP,
    ZOOADMM,
    AbstractMethod,
    CurvatureBounds,
    DPIADMMProx,
    DPIADMMTrust,
    FedAvg,
    FedProx,
    FunctionalPerturbation,
    GradientTracking,
    PreconditionedDescent,
    QuadraticBasis,
)
from tacit.papers.gratton2021.dvp import DVPPrinted
from tacit.papers.huang2015.method import PDOPPrinted

TRIALS = 20


def compare(
    path: Path,
    task: problem.Problem,
    net: network.AbstractNetwork,
    methods: Mapping[str, AbstractMethod],
    rounds: int,
    trials: int = TRIALS,
    floor: float = 1e-12,
    optimum: Any = "solve",
) -> None:
    """How far each method is from the pooled optimum, round by round, down to a floor."""
    with chart(path, "round", DISTANCE) as axes:
        for label, method in methods.items():
            result = tacit.run(
                task, net, method, rounds=rounds, runtime=tacit.Simulation(trials=trials),
                reference=optimum, seed=0,
            )  # fmt: skip
            distance(axes, result, label)
        axes.set_ylim(bottom=max(floor, axes.get_ylim()[0]))


def budgets(
    build: Callable[[tacit.Privacy], AbstractMethod], *epsilons: float, **public: Any
) -> dict[str, AbstractMethod]:
    """The method without noise or clip, and with each budget.

    Args:
        build: makes the method.
        epsilons: of the budgets.
        public: the rest of each budget, the clip included.
    """
    found = {
        "no privacy": build(tacit.Privacy(**{**public, "clip": math.inf, "epsilon": math.inf}))
    }
    for epsilon in epsilons:
        found[f"ε = {epsilon:g}"] = build(tacit.Privacy(**public, epsilon=epsilon))
    return found


def admm(path: Path) -> None:
    task = example("admm", "task").task
    methods = {f"penalty {rho:g}": ADMM(penalty=rho) for rho in (0.1, 0.5, 2.0)}
    compare(path, task, network.ring(6), methods, rounds=60, trials=1)


def d_zoa(path: Path) -> None:
    page = example("d_zoa", "task", "ring")
    methods = budgets(lambda privacy: DZOA(penalty=0.2, privacy=privacy), 4.0, 1.0, clip=1.0)
    compare(path, page.task, page.ring, methods, rounds=80)


def dgd(path: Path) -> None:
    task = example("dgd", "task").task
    methods: dict[str, AbstractMethod] = {
        f"step {step:g}": tacit.DGD(step=step) for step in (0.02, 0.01, 0.005)
    }
    methods["step 0.2, decay 0.75"] = tacit.DGD(step=0.2, decay=0.75)
    compare(path, task, network.ring(6), methods, rounds=2000, trials=1)


def dp_admm(path: Path) -> None:
    page = example("dp_admm", "task", "star")
    methods = budgets(
        lambda privacy: DPADMM(penalty=1.0, step=2.0, privacy=privacy), 2.0, 0.5, clip=1.0
    )
    compare(path, page.task, page.star, methods, rounds=100)


def dp_fed_sgd(path: Path) -> None:
    page = example("dp_fed_sgd", "task", "drawn", "record", "client")
    methods = {
        "no privacy": tacit.GradientDescent(step=0.2),
        "one record, ε = 4": page.record,
        "a whole client, ε = 8": page.client,
    }
    compare(path, page.task, page.drawn, methods, rounds=30, trials=10)


def dp_iadmm(path: Path) -> None:
    task = example("dp_iadmm", "task").task
    methods: dict[str, AbstractMethod] = {
        label.replace("ε", "Prox, ε"): method
        for label, method in budgets(
            lambda privacy: DPIADMMProx(penalty=0.5, proximity=1000.0, privacy=privacy),
            2.0,
            0.5,
            clip=1.0,
            delta=1e-5,
            relation="add_remove",
        ).items()
    }
    budget = tacit.Privacy(clip=1.0, epsilon=2.0, delta=1e-5, relation="add_remove")
    methods["Trust, ε = 2"] = DPIADMMTrust(penalty=0.5, privacy=budget)
    compare(path, task, network.Coordinator(10), methods, rounds=60, floor=1e-5)


def dpsg(path: Path) -> None:
    page = example("dpsg", "task", "ring")
    methods = budgets(
        lambda privacy: tacit.DPSG(step=6.0, decay=0.5, privacy=privacy), 4.0, 1.0, clip=1.0
    )
    compare(path, page.task, page.ring, methods, rounds=100)


def dvp(path: Path) -> None:
    page = example("dvp", "features", "targets")
    task = problem.empirical_risk(page.features, page.targets, problem.Logistic(), problem.L2(0.01))
    methods: dict[str, AbstractMethod] = {"ADMM, no privacy": ADMM(penalty=0.05)}
    for epsilon in (0.5, 0.1):
        method = DVPPrinted(penalty=0.05, epsilon=epsilon)
        methods[f"DVP, ε = {epsilon:g} claimed for a round"] = method
    compare(path, task, network.ring(3), methods, rounds=40)


def extra(path: Path) -> None:
    task = example("extra", "task").task
    methods = {"DGD, step 0.1": tacit.DGD(step=0.1), "EXTRA, step 0.1": EXTRA(step=0.1)}
    compare(path, task, network.ring(6), methods, rounds=300, trials=1)


def fed_avg(path: Path) -> None:
    """Clients with one tenth of the records each, and optima of their own."""
    rng = np.random.default_rng(0)
    features = [rng.normal(scale=rng.uniform(0.5, 1.5), size=(200, 2)) for _ in range(10)]
    targets = [x @ rng.normal([1.0, -1.0], 1.0) for x in features]
    task = problem.empirical_risk(features, targets, problem.Squared())
    budget = tacit.Privacy(clip=4.0, epsilon=4.0)
    methods = {
        "1 local step": FedAvg(step=0.1, local_steps=1),
        "5 local steps": FedAvg(step=0.1, local_steps=5),
        "5, a proximal term of 8": FedProx(step=0.1, proximal=8.0, local_steps=5),
        "5, a step of 0.02": FedAvg(step=0.02, local_steps=5),
        "5, ε = 4": FedAvg(step=0.1, local_steps=5, privacy=budget),
    }
    compare(path, task, network.Coordinator(10), methods, rounds=60)


def functional_perturbation(path: Path) -> None:
    """The error of the answer at several budgets, for few sites and for many."""
    distance_to = example(
        "functional_perturbation", "distance", section="## A worked example"
    ).distance
    epsilons = (1.0, 3.0, 10.0, 30.0, 100.0)
    runtime = tacit.Simulation(trials=TRIALS)
    y = "squared distance to the optimum"
    with chart(path, "epsilon of the run, whatever its length", y, log="xy") as axes:
        for sites in (20, 200):
            centres = np.random.default_rng(0).uniform(-0.5, 0.5, (sites, 2))
            box = problem.Box(-1.0, 1.0)
            task = problem.costs(distance_to, centres, np.zeros(2), constraint=box)
            errors: list[Any] = []
            for epsilon in epsilons:
                method = FunctionalPerturbation(
                    EXTRA(step=0.2),
                    QuadraticBasis([-1.0, -1.0], [1.0, 1.0]),
                    CurvatureBounds(1.9, 2.1),
                    privacy=tacit.Privacy(clip=4.0, epsilon=epsilon, delta=0.0, noise="laplace"),
                )
                result = tacit.run(
                    task, network.complete(sites), method, rounds=30, runtime=runtime, seed=0
                )
                answers = result.solutions.mean(axis=1)
                errors.append(np.sum((answers - centres.mean(axis=0)) ** 2, axis=1))
            band(axes, epsilons, np.array(errors), f"{sites} sites")


def gradient_descent(path: Path) -> None:
    task = example("gradient_descent", "task").task
    methods = budgets(
        lambda privacy: tacit.GradientDescent(step=0.3, decay=0.5, privacy=privacy),
        4.0,
        1.0,
        clip=2.0,
    )
    compare(path, task, network.Coordinator(5), methods, rounds=100)


def gradient_tracking(path: Path) -> None:
    page = example("gradient_tracking", "task", "failing")
    methods = {
        "DGD, step 0.05": tacit.DGD(step=0.05),
        "gradient tracking, step 0.05": GradientTracking(step=0.05),
    }
    compare(path, page.task, page.failing, methods, rounds=600, trials=1)


def masked_gossip(path: Path) -> None:
    page = example("masked_gossip", "task", "ring", "masked", "alone")
    quiet = tacit.Privacy(clip=math.inf, epsilon=math.inf)
    methods: dict[str, AbstractMethod] = {
        "no privacy": tacit.DPSG(step=6.0, decay=0.5, privacy=quiet),
        "masks against each of the others, ε = 1": page.masked,
        "local noise (DPSG), ε = 1": page.alone,
    }
    compare(path, page.task, page.ring, methods, rounds=100, floor=1e-5)


def or_zo(path: Path) -> None:
    page = example("or_zo", "features", "targets", "task")
    # the same minimiser, of a loss that is written out
    median = problem.empirical_risk(page.features, page.targets, problem.Quantile(0.5))
    methods = budgets(lambda privacy: ORZO(step=1.0, privacy=privacy), 2.0, 0.5, clip=1.0)
    best = median.reference().solution
    star = network.Coordinator(5)
    compare(path, page.task, star, methods, rounds=100, trials=5, optimum=best)


def pdop(path: Path) -> None:
    """The rendezvous of ten people at equal real losses: printed, corrected, and in one step."""
    page = example("pdop", "distance", "addresses")
    people = page.addresses[:10]
    task = problem.costs(
        page.distance, people, np.zeros(2), constraint=problem.Box(-1.0, 1.0), convex=True
    )
    shared: dict[str, Any] = {"step": 0.25, "ratio": 0.9, "noise_ratio": 0.95}

    def budget(epsilon: float) -> tacit.Privacy:
        return tacit.Privacy(clip=4.0, epsilon=epsilon, delta=0.0, noise="laplace")

    kinds: dict[str, Callable[[float], AbstractMethod]] = {
        # its real loss is epsilon / p
        "as printed": lambda epsilon: PDOPPrinted(
            **shared, epsilon=0.95 * epsilon, gradient_bound=4 * 2**0.5
        ),
        "corrected, same schedule": lambda epsilon: PDOP(
            **shared, schedule="corrected", centred=True, curvature=2.0, privacy=budget(epsilon)
        ),
        "one shot": lambda epsilon: PDOP(
            step=0.5, curvature=2.0, centred=True, one_shot=True, privacy=budget(epsilon)
        ),
    }
    epsilons = (1.0, 3.0, 10.0, 30.0, 100.0)
    with chart(
        path,
        "epsilon that the run really costs",
        "squared distance to the best place",
        log="xy",
    ) as axes:
        for label, build in kinds.items():
            errors: list[Any] = []
            for epsilon in epsilons:
                result = tacit.run(
                    task,
                    network.complete(10),
                    build(epsilon),
                    rounds=1 if label == "one shot" else 60,
                    runtime=tacit.Simulation(trials=200),
                    seed=0,
                )
                off = result.solutions - people.mean(axis=0)
                errors.append(np.mean(np.sum(off**2, axis=2), axis=1))
            band(axes, epsilons, np.array(errors), label)


def preconditioned_descent(path: Path) -> None:
    task = example("preconditioned_descent", "task").task
    methods: dict[str, AbstractMethod] = {
        "gradient descent, no privacy": tacit.GradientDescent(step=4.0),
        "no privacy": PreconditionedDescent(),
    }
    for epsilon in (4.0, 1.0):
        budget = tacit.Privacy(clip=1.4, epsilon=epsilon, delta=1e-6)
        methods[f"ε = {epsilon:g}"] = PreconditionedDescent(privacy=budget)
    compare(path, task, network.Coordinator(5), methods, rounds=30)


def pvp(path: Path) -> None:
    page = example("pvp", "task", "ring")
    methods: dict[str, AbstractMethod] = {"ADMM, no privacy": ADMM(penalty=0.3)}
    for epsilon in (2.0, 0.5):
        budget = tacit.Privacy(clip=1.0, epsilon=epsilon)
        methods[f"PVP, ε = {epsilon:g}"] = PVP(penalty=0.3, privacy=budget)
    compare(path, page.task, page.ring, methods, rounds=40)


def zoo_admm(path: Path) -> None:
    task = example("zoo_admm", "task").task
    methods = budgets(
        lambda privacy: ZOOADMM(step=0.5, average=False, privacy=privacy), 2.0, 0.5, clip=1.0
    )
    compare(path, task, network.Coordinator(5), methods, rounds=100)


METHODS: Mapping[str, Callable[[Path], None]] = {
    draw.__name__: draw
    for draw in (
        admm,
        d_zoa,
        dgd,
        dp_admm,
        dp_fed_sgd,
        dp_iadmm,
        dpsg,
        dvp,
        extra,
        fed_avg,
        functional_perturbation,
        gradient_descent,
        gradient_tracking,
        masked_gossip,
        or_zo,
        pdop,
        preconditioned_descent,
        pvp,
        zoo_admm,
    )
}
"""By the name of the page."""
