"""A call that works of everything public that takes arguments."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

import tacit
from tacit import advise, audit, data, method, network, privacy, problem, testing
from tacit.papers import huang2015, nozari2016
from tacit.papers.gratton2021.d_zoa import DZOAPrinted
from tacit.papers.gratton2021.dp_admm import DPADMMPrinted
from tacit.papers.gratton2021.dvp import DVPPrinted
from tacit.papers.gratton2021.pvp import PVPPrinted
from tacit.papers.huang2015 import heuristic
from tacit.papers.huang2015.method import PDOPPrinted
from tacit.papers.nozari2016 import accuracy as accuracy
from tacit.papers.nozari2016 import bounds as bounds
from tacit.papers.nozari2016 import message_noise, minimisers
from tacit.papers.ryu2021.bounds import global_l1_sensitivity, noise_scale_delta, noise_scale_event
from tacit.papers.ryu2021.convergence import ConvergenceConstants, convergence_bound
from tacit.papers.ryu2021.dp_iadmm import DPIADMMPrinted
from tacit.papers.ryu2021.outp_as_coded import OutPAsCoded
from tacit.problem import scores as evaluate
from tacit.types import Role
from tests.sites import STUDY


class Call(NamedTuple):
    """Something public, and arguments with which it works."""

    target: Callable[..., Any]
    given: dict[str, Any]


def every_call() -> list[Call]:
    """All of them."""
    said = [*statements(), *readings()]
    return [*methods(), *problems(), *protection(), *networks(), *said, *doors()]


def call(target: Callable[..., Any], /, **given: Any) -> Call:
    """A call as it would be written."""
    return Call(target, given)


def squares(x: Any, centre: Any) -> Any:
    return ((x - centre) ** 2).sum()


def total(x: Any, agent: int) -> Any:
    import cvxpy

    return cvxpy.sum_squares(x)


def bowl() -> Any:
    return problem.black_box_problem(lambda x, agent: float(x @ x), 4, x0=np.zeros(2))


def per_record(x: Any, record: Any, target: Any) -> Any:
    return (record @ x - target) ** 2


def answer(x: Any, agent: Any) -> float:
    return float(np.sum(x**2))


class Ring(network.AbstractTopology):
    """A rule for drawing graphs."""

    def graph(self, agents: int) -> Any:
        return nx.cycle_graph(agents)


def events(count: int) -> list[privacy.Event]:
    return [privacy.Repeated(privacy.GaussianRelease(1.0), count)]


def noisy(multiplier: float) -> list[privacy.Event]:
    return [privacy.GaussianRelease(multiplier)]


@cache
def task() -> problem.Problem:
    """Four agents with two records each."""
    features, targets = [np.eye(2)] * 4, [np.array([0.0, 1.0])] * 4
    return problem.empirical_risk(features, targets, problem.Squared(), normaliser=2.0)


@cache
def frame() -> pd.DataFrame:
    columns = {"a": [0, 1, 1, 0], "b": ["yes", "no", "yes", "no"], "s": ["n", "s", "n", "s"]}
    return pd.DataFrame(columns)


def schema() -> data.Schema:
    return data.Schema({"a": data.Boolean()}, data.BinaryTarget("b", "yes"), site="s")


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def study() -> Path:
    """A study file."""
    path = Path(folder().name) / "study.toml"
    path.write_text(STUDY)
    return path


@cache
def evaluations() -> Path:
    """Evaluations of a black box."""
    path = Path(folder().name) / "evaluations.sqlite"
    box = problem.black_box(answer, 4, cache=path)
    box.host.evaluate(np.zeros((1, 2)), np.zeros(1, dtype=int))
    return path


@cache
def saved_regression() -> Path:
    """A small regression in its file."""
    path = Path(folder().name) / "regression.json"
    table = method.CoefficientTable(
        names=("Intercept", "age"),
        values=np.zeros(2),
        sampling=np.eye(2),
        privacy=np.eye(2),
        checks=method.Checks(0.1, 0.0, 1.0, 0.0),
        refusal=None,
        family="binomial",
        link="logit",
        records=10,
        spans=(1.0, 40.0),
    )
    schema = data.Schema(
        {"ill": data.Boolean(), "age": data.Numeric(20, 60)}, None, intercept=False
    )
    method.FittedRegression("ill ~ age", table, schema, "nothing").save(path)
    return path


@cache
def saved_hazards() -> Path:
    """A small Cox regression in its file."""
    path = Path(folder().name) / "hazards.json"
    table = method.HazardRatios(
        names=("age",),
        values=np.zeros(1),
        sampling=np.eye(1),
        privacy=np.eye(1),
        joint=np.eye(2),
        spans=(40.0,),
        edges=(0.0, 10.0),
        hazards=np.ones((1, 1)),
        time="years",
        event="ill = true",
        limit=1.0,
        sites=2,
        of_sites=2,
        periods=(0.0, 10.0),
    )
    schema = data.Schema({"age": data.Numeric(20, 60)}, None, intercept=False)
    method.FittedHazards(table, {"age": ()}, schema, "nothing").save(path)
    return path


@cache
def saved_model() -> Path:
    """A file with a fitted model."""
    path = Path(tempfile.mkdtemp()) / "model.json"
    schema = data.Schema({"age": data.Numeric(20, 60)}, None)
    target = data.BinaryTarget("ill", positive="yes")
    names, values = ("age", "intercept"), np.zeros(2)
    method.FittedModel("", "logistic", names, values, schema, target, "nothing").save(path)
    return path


def file(ending: str) -> Path:
    """A small table in a format."""
    path = Path(folder().name) / f"records.{ending}"
    if ending == "csv":
        frame().to_csv(path, index=False)
    elif ending == "parquet":
        frame().to_parquet(path)
    elif ending == "xlsx":
        frame().to_excel(path, index=False)
    elif ending == "npz":
        np.savez(path, x=np.eye(2), y=np.zeros(2))
    else:  # one image of two by two
        sides = b"".join(side.to_bytes(4, "big") for side in (1, 2, 2))
        path.write_bytes(b"\0\0\x08\x03" + sides + bytes(4))
    return path


def methods() -> list[Call]:
    """The front door and the methods."""
    budget = privacy.Privacy(clip=1.0, epsilon=1.0, delta=1e-5)
    pure = privacy.Privacy(clip=1.0, epsilon=1.0, delta=0.0, noise="laplace")
    legendre = method.LegendreBasis([-1.0, -1.0], [1.0, 1.0], degree=2)
    curved = method.CurvatureBounds(0.5, 2.0, 5.0)
    claim = {"epsilon": 1.0, "claimed_delta": 1e-3, "gradient_bound": 1.0, "penalty": 0.2}
    steps = [1.0 / (1 + k) for k in range(10)]
    return [
        call(tacit.DGD, step=0.1),
        call(tacit.DPSG, step=0.1, privacy=budget),
        call(tacit.DZOA, privacy=budget),
        call(tacit.DZOASolver, step=0.1),
        call(tacit.GradientDescent, step=0.1),
        call(privacy.Privacy, clip=1.0, epsilon=1.0),
        call(privacy.Privacy, clip=1.0, noise_multiplier=1.0),
        call(tacit.Simulation),
        call(method.ADMM),
        call(method.CurvatureBounds, strong_convexity=0.5, smoothness=2.0),
        call(method.DPADMM),
        call(method.DPFedSGD, step=0.1, privacy=budget),
        call(DPADMMPrinted, **claim),
        call(DPIADMMPrinted, method=method.DPIADMMProx(), epsilon=1.0),
        call(method.DPIADMMProx),
        call(method.DPIADMMTrust),
        call(DVPPrinted, **claim),
        call(DZOAPrinted, epsilon=1.0, step=0.1),
        call(method.DZOAStar, privacy=budget),
        call(method.EXTRA, step=0.1),
        call(method.FedAvg, step=0.1),
        call(method.FedProx, step=0.1, proximal=1.0),
        call(
            method.FunctionalPerturbation,
            inner=tacit.DGD(0.1),
            basis=legendre,
            bounds=curved,
            privacy=pure,
        ),
        call(method.GradientTracking, step=0.1),
        call(method.GrowingPenalty, epsilon=1.0),
        call(method.LegendreBasis, lower=[-1.0, -1.0], upper=[1.0, 1.0], degree=2),
        call(method.MaskedGossip, step=0.1, privacy=budget),
        call(method.ORZO, step=0.1),
        call(method.OutP),
        call(OutPAsCoded, epsilon=1.0),
        call(method.PDOP, step=0.5, privacy=pure),
        call(method.PreconditionedDescent),
        call(
            huang2015.PDOPConstants,
            epsilon=1.0,
            dimension=2,
            agents=4,
            curvature=1.0,
            gradient_bound=1.0,
            diameter=2.0,
        ),
        call(
            PDOPPrinted,
            step=0.5,
            ratio=0.9,
            noise_ratio=0.95,
            epsilon=1.0,
            gradient_bound=1.0,
        ),
        call(method.PVP, privacy=budget),
        call(PVPPrinted, **claim),
        call(method.PaperClaim, epsilon=1.0, delta=0.001),
        call(
            method.Phase,
            name="a phase",
            sender=Role.PEER,
            message=answer,
            receiver=Role.PEER,
            update=answer,
            query=privacy.Exact(answer),
            release=privacy.Release("a", privacy.gaussian(1.0)),
        ),
        call(method.QuadraticBasis, lower=[-1.0], upper=[1.0]),
        call(method.ZOOADMM, step=0.1),
        call(nozari2016.check_stability_privacy, steps=steps, noise_scales=steps),
        call(method.metric_epsilon, basis=legendre, scale=1.0, q=1.2, p=0.6),
    ]


def problems() -> list[Call]:
    """Losses, penalties, sets, schemas, loaders and problems."""
    prepared = data.prepare(frame(), schema())
    return [
        call(problem.Affine, matrix=np.ones((1, 2)), target=np.zeros(1)),
        call(problem.Ball, radius=1.0),
        call(data.BinaryTarget, name="a", positive="yes"),
        call(data.Boolean),
        call(problem.Box, lower=-1.0, upper=np.ones(2)),
        call(data.Categorical, levels=["a", "b"]),
        call(data.ClassTarget, name="a", levels=["a", "b"]),
        call(data.Date, lower="2020-01-01", upper="2024-12-31"),
        call(problem.ConvexSet, builder=answer),
        call(problem.ElasticNet, l1=0.1, l2=0.1),
        call(problem.GroupL1, strength=0.1, groups=(0, 1)),
        call(problem.Huber),
        call(problem.JaxLoss, function=per_record),
        call(problem.L1, strength=0.1),
        call(problem.L2, strength=0.1),
        call(data.Numeric, lower=0.0, upper=1.0, standardise=False),
        call(
            data.Numeric,
            lower=0.0,
            upper=1.0,
            mean=0.5,
            deviation=0.2,
            statistics="public",
            standardise=True,
        ),
        call(data.NumericTarget, name="a", lower=0.0, upper=1.0),
        call(problem.Polyhedron, matrix=np.ones((1, 2)), bound=np.ones(1)),
        call(
            problem.Problem,
            objectives=task().objectives,
            x0=np.zeros(2),
            counts=np.full(4, 2),
            names=tuple("abcd"),
            parameter_names=("a", "b"),
        ),
        call(problem.Quantile),
        call(problem.RecordBounds),
        call(
            data.Schema,
            features={"a": data.Boolean()},
            target=data.BinaryTarget("b", "yes"),
        ),
        call(problem.Simplex),
        call(problem.Softmax, classes=3),
        call(problem.black_box, function=answer, agents=4),
        call(problem.black_box_problem, function=answer, agents=4, x0=np.zeros(2)),
        call(data.by_column, prepared=prepared),
        call(problem.costs, function=squares, parameters=np.ones((4, 2)), x0=np.zeros(2)),
        call(problem.convex_costs, build=total, agents=4, x0=np.zeros(2)),
        call(problem.curvature, problem=task()),
        call(problem.measure_noise, problem=bowl()),
        call(problem.forget_failures, cache=evaluations()),
        call(data.dirichlet, prepared=prepared, sites=2, concentration=1.0),
        call(data.drawn, prepared=prepared, sites=2),
        call(
            problem.empirical_risk,
            features=[np.eye(2)] * 4,
            targets=[np.array([0.0, 1.0])] * 4,
            loss=problem.Squared(),
            normaliser=2.0,
        ),
        call(data.even, prepared=prepared, sites=2),
        call(data.from_frame, frame=frame()),
        call(data.load, path=file("csv")),
        call(data.load_csv, path=file("csv")),
        *([call(data.load_excel, path=file("xlsx"))] if find_spec("openpyxl") else []),
        call(data.load_idx, images=file("idx")),
        call(data.load_npz, path=file("npz")),
        call(data.load_parquet, path=file("parquet")),
        call(data.prepare, frame=frame(), schema=schema()),
        call(problem.record_box, function=answer, records=[np.eye(2)] * 4),
        call(problem.smooth, problem=task()),
        call(data.sorted_by_label, prepared=prepared, sites=2),
        call(data.train_test_split, prepared=prepared),
    ]


def protection() -> list[Call]:
    """Budgets, mechanisms, queries and accounting."""
    gaussian, event = privacy.gaussian(1.0), privacy.GaussianRelease(1.0)
    weights, masks = np.full((3, 3), 1.0 / 3.0), ~np.eye(3, dtype=bool)
    words = {"theorem": "a", "assumption": "b", "reason": "c"}
    return [
        call(privacy.ClippedDifferences, point=answer, directions=answer, smoothing=0.1, clip=1.0),
        call(privacy.ClippedGradient, point=answer, clip=1.0),
        call(privacy.ClippedUpdate, change=answer, clip=1.0),
        call(privacy.PairNoise),
        call(privacy.Calibrated, noise_multiplier=1.0),
        call(privacy.DiscreteGaussianRelease, noise_multiplier=1.0),
        call(privacy.DiscreteLaplaceRelease, noise_multiplier=1.0),
        call(privacy.Exact, function=answer),
        call(privacy.GaussianRelease, noise_multiplier=1.0),
        call(privacy.LaplaceRelease, noise_multiplier=1.0),
        call(
            privacy.Law,
            kind=privacy.NoiseKind.GAUSSIAN,
            title="a",
            order=2,
            formula="b",
            sample=answer,
            event=privacy.GAUSSIAN.event,
            log_ratio=answer,
        ),
        call(privacy.Masked, event=event, coalition=1, cohort=3),
        call(privacy.SecureSum),
        call(privacy.Mechanism),
        call(privacy.Masks, min_cohort=3),
        call(privacy.ModelClaim, event=event, **words),
        call(privacy.PairMasks),
        call(privacy.PerReleaseClaim, event=event, **words),
        call(privacy.PoissonSampled, rate=0.5, event=event),
        call(privacy.ProtocolClaim, event=event, **words),
        call(privacy.Release, name="a", mechanism=gaussian),
        call(privacy.Repeated, event=event, count=3),
        call(privacy.l2_laplace, noise_multiplier=1.0),
        call(privacy.laplace, noise_multiplier=1.0),
        call(privacy.affordable_rounds, epsilon=3.0, delta=1e-05, events_at=events),
        call(privacy.at_distance, event=event, distance=2),
        call(privacy.at_other_deltas, events=[event], delta=1e-5),
        call(privacy.delta, events=[event], epsilon=1.0),
        call(privacy.epsilon, events=[event], delta=1e-05),
        call(privacy.epsilon_curve, events=[event, event], at=[1, 2], delta=1e-05),
        call(privacy.gaussian, noise_multiplier=1.0),
        call(
            privacy.gossip_guarantees,
            weights=weights,
            steps=2,
            noise_multiplier=1.0,
            delta=1e-05,
            observers=[0],
        ),
        call(privacy.gossip_mu, weights=weights, steps=2, observers=[0]),
        call(privacy.gossip_pairs, weights=weights, steps=2),
        call(privacy.linear_mu, change=np.ones(2), noise=np.eye(2), scale=1.0),
        call(privacy.mask_ratio, masks=masks, size=1, excess=0.1),
        call(privacy.masked_mu, masks=masks),
        call(privacy.masked_multiplier, epsilon=1.0, delta=1e-05, releases=2, learned=1.0),
        call(privacy.noise_multiplier, epsilon=1.0, delta=1e-05, events_at=noisy),
        call(privacy.parallel_epsilon, owners=[[event]], delta=1e-05),
        call(privacy.plan_gossip, weights=weights, steps=2, noise_multiplier=1.0),
        call(privacy.plan_masks, pairs=masks, epsilon=1.0, rounds=3),
        call(privacy.plan_noise, epsilon=1.0, rounds=3),
        call(privacy.profile, events=[event], epsilons=[0.5, 1.0]),
        call(privacy.worst_masked_mu, masks=masks, size=1),
    ]


def networks() -> list[Call]:
    """Who talks to whom."""
    ring = network.ring(4)
    return [
        call(network.Coordinator, agents=4, probability=None),
        call(network.Coordinator, agents=4, probability=0.5),
        call(network.Graph.from_edges, agents=4, edges=[(0, 1), (1, 2), (2, 3)]),
        call(network.ExactSum, graph=ring),
        call(network.LinkFailure, graph=ring, probability=0.1),
        call(network.Periodic, graphs=[ring, ring]),
        call(network.RandomActivation, graph=ring, probability=0.5),
        call(network.Recorded, graphs=[ring, ring]),
        call(network.adjacency_matrix, graph=ring),
        call(network.complete, agents=4),
        call(network.erdos_renyi, agents=4, probability=0.9, seed=0),
        call(network.geometric, agents=4, radius=1.0, seed=0),
        call(network.grid, rows=2, columns=2),
        call(network.laplacian_extremes, network=ring),
        call(network.layout, network=ring),
        call(network.path, agents=4),
        call(network.random_regular, agents=4, degree=2, seed=0),
        call(network.ring, agents=4),
        call(network.small_world, agents=6, neighbours=2, rewiring=0.1, seed=0),
        call(network.smallest_positive_weight, network=ring),
        call(network.spectral_gap, network=ring),
        call(network.star, agents=4),
        call(network.tree, agents=4),
        call(network.weight_matrix, graph=ring),
    ]


def statements() -> list[Call]:
    """What papers state, as functions."""
    one = {"strong_convexity": 0.5, "smoothness": 2.0, "dimension": 2}
    legendre = method.LegendreBasis([-1.0, -1.0], [1.0, 1.0], degree=2)
    curved = method.CurvatureBounds(0.5, 2.0, 5.0)
    constants = huang2015.PDOPConstants(1.0, 2, 4, 1.0, 1.0, 2.0, distance=1.0, start=1.0)
    domain = minimisers.Domain(2, 1.0, 1.5, 2.0)
    return [
        call(global_l1_sensitivity, features=3, total=10.0, relation="replace_one"),
        call(noise_scale_delta, epsilon=1.0, dimension=2, ratio=0.5),
        call(noise_scale_event, epsilon=1.0, dimension=2, ratio=0.5),
        call(ConvergenceConstants, gradient=1.0, diameter=1.0, sensitivity=1.0),
        call(
            convergence_bound,
            constants=ConvergenceConstants(1.0, 1.0, 1.0),
            rounds=3,
            agents=4,
            parameters=2,
            epsilon=1.0,
            first_penalty=1.0,
            largest_penalty=2.0,
        ),
        call(minimisers.Domain, dimension=2, inradius=1.0, circumradius=1.5, diameter=2.0),
        call(minimisers.argmin_hoelder, norm=0.1, **one),
        call(minimisers.argmin_modulus, norm=0.1, bounds=curved, domain=domain),
        call(accuracy.noise_l2_norm, scale=1.0, p=0.7),
        call(accuracy.noise_scale, epsilon=1.0, q=1.2),
        call(accuracy.interior_accuracy, scales=1.0, p=0.7, **one, agents=4),
        call(bounds.expected_distance, basis=legendre, scale=1.0, p=0.7, strong_convexity=0.5),
        call(bounds.noise_norm, basis=legendre, scale=1.0, p=0.7),
        call(message_noise.bounded_noise_probability, scale=1.0, decay=0.5, radius=3.0),
        call(heuristic.noise_ratio_condition, ratio=0.9, noise_ratio=0.95),
        call(
            heuristic.step_condition,
            step=0.5,
            ratio=0.9,
            noise_ratio=0.95,
            constants=constants,
        ),
    ]


def readings() -> list[Call]:
    """What is read off answers: audits of numbers, accuracy."""
    scores = np.linspace(0.0, 1.0, 50)
    loss, outputs = problem.Squared(), np.zeros((3, 2))
    known = {"mean": np.zeros(2), "other": np.ones(2)}
    return [
        call(evaluate.auc, predicted=scores, positive=scores > 0.5),
        call(evaluate.base_rate, loss=loss, learned_on=scores),
        call(evaluate.base_scores, loss=loss, learned_on=scores, targets=scores),
        call(evaluate.kept_in_words, share=0.5),
        call(evaluate.scores, loss=loss, features=outputs, targets=np.ones(3), solution=np.ones(2)),
        call(evaluate.share_kept, agreed=0.8, pooled=0.9, base=0.5, higher=True),
        call(audit.gaussian_log_ratio, outputs=outputs, **known, scale=1.0),
        call(audit.laplace_log_ratio, outputs=outputs, **known, scale=1.0),
        call(audit.exposure, outputs=np.zeros((3, 2, 2)), **known),
        call(audit.lower_bounds, scores=scores, others=-scores, delta=1e-5),
        call(audit.trials_to_reject, scores=scores, others=-scores, claim=1.0, delta=1e-5),
        call(audit.trials_for_power, claim=1.0, delta=1e-5),
        call(audit.one_run_bound, scores=scores, included=scores > 0.5, delta=1e-5, guesses=20),
        call(testing.check_constraint, constraint=problem.Ball(1.0)),
        call(testing.check_graph, topology=Ring()),
        call(testing.check_loss, loss=loss),
        call(testing.check_regulariser, regulariser=problem.L2(0.1)),
        call(audit.replace_record, problem=task(), owner=0, record=0, target=1.0),
        call(advise.Columns, kind="numeric"),
        *widths(),
        call(
            advise.Setting,
            records=100,
            parameters=3,
            network=network.ring(4),
            budget=privacy.Privacy(clip=1.0, epsilon=1.0),
        ),
    ]


def widths() -> list[Call]:
    """Forecasts of intervals."""
    budget = privacy.Privacy(clip=1.0, epsilon=1.0, delta=1e-5)
    named = {"years": data.Numeric(0, 10), "died": data.Boolean(), "age": data.Numeric(20, 80)}
    known = data.columns_of(data.Schema(named, target=None, intercept=False))
    design = data.design_of([known["age"]])
    when = (known["years"], known["died"])
    own = {"counts": [500, 500], "budget": budget}
    cox = method.PrivateCox(*when, [known["age"]], privacy=budget)
    fit = method.PrivateGLM(design, known["died"], "binomial", privacy=budget)
    told = method.PrivateTableOne([known["age"]], privacy=budget)
    curves = method.PrivateSurvival(*when, privacy=budget)
    return [
        call(advise.cox_widths, method=cox, **own, events=0.3, spread={"age": 12.0}),
        call(advise.regression_width, method=fit, **own, yes=0.3, spread={"age": 12.0}),
        call(advise.survival_widths, method=curves, **own, events=0.3),
        call(advise.table_widths, method=told, **own, yes=0.3),
    ]


def doors() -> list[Call]:
    """What begins something long: it is stopped where it begins."""
    budget = privacy.Privacy(clip=1.0, epsilon=1.0, delta=1e-5)
    three = {
        "problem": task(),
        "network": network.ring(4),
        "method": tacit.DPSG(0.1, privacy=budget),
    }
    legendre = method.LegendreBasis([-1.0, -1.0], [1.0, 1.0], degree=2)
    records = {"lower": [-1.0, -1.0], "upper": [1.0, 1.0], "targets": [0.0, 1.0]}
    constants = huang2015.PDOPConstants(1.0, 2, 4, 1.0, 1.0, 2.0, distance=1.0, start=1.0)
    sexes = data.Schema({"sex": data.Categorical(["f", "m"])}, target=None, intercept=False)
    counted = [[1.0, 0.0], [0.0, 1.0]]
    declared = {"age": data.Numeric(20, 80), "ill": data.Boolean()}
    ages = data.columns_of(data.Schema(declared, target=None, intercept=False))
    visits = pd.DataFrame({"site": ["a", "b"], "age": [30.0, 60.0], "ill": [False, True]})
    return [
        call(tacit.run, **three, rounds=2),
        call(tacit.account, **three, rounds=2),
        call(tacit.contract, **three, rounds=2),
        call(tacit.mean_noise, **three, rounds=2),
        call(method.Rounds, first=1, last=3),
        call(problem.record_tables, tables=[counted, counted], schema=sexes),
        call(method.PrivateCounts, columns=[data.columns_of(sexes)["sex"]]),
        call(method.PrivateTableOne, columns=[data.columns_of(sexes)["sex"]]),
        call(method.PrivateSurvival, time=ages["age"], event=ages["ill"]),
        call(data.design_of, columns=[ages["age"]]),
        call(data.parse_formula, formula="ill ~ age", columns=ages),
        call(data.parse_terms, terms="age", columns=ages),
        call(data.Terms, formula="age"),
        call(data.OrientedGradients, height=8, width=8),
        call(data.Design, terms=data.design_of([ages["age"]]).terms),
        call(
            method.PrivateGLM,
            design=data.design_of([ages["age"]]),
            target=ages["ill"],
            family="binomial",
        ),
        call(method.load_regression, path=saved_regression()),
        call(method.load_hazards, path=saved_hazards()),
        call(method.load_model, path=saved_model()),
        call(
            tacit.glm,
            formula="ill ~ age",
            data=visits,
            columns=declared,
            family="binomial",
            sites=["a", "b"],
        ),
        call(
            method.PrivateCox,
            time=ages["age"],
            event=ages["ill"],
            columns=[data.columns_of(sexes)["sex"]],
        ),
        call(
            tacit.cox,
            data=visits.assign(dose=[0.0, 1.0]),
            time="age",
            event="ill",
            on=["dose"],
            columns={**declared, "dose": data.Numeric(0, 1)},
            sites=["a", "b"],
        ),
        call(
            tacit.survival,
            data=visits,
            time="age",
            event="ill",
            columns=declared,
            sites=["a", "b"],
        ),
        call(
            tacit.table1,
            data=visits,
            variables=["age"],
            columns={"age": declared["age"]},
            sites=["a", "b"],
        ),
        call(audit.audit_method, **three, rounds=2),
        call(
            audit.audit_callable,
            mechanism=answer,
            data=np.zeros(2),
            neighbour=np.ones(2),
            claim=(1.0, 1e-5),
        ),
        call(problem.solve, problem=task()),
        call(testing.check_between_sites, study=study()),
        call(testing.check_claim, **three),
        call(testing.check_method, **three),
        call(method.record_distance, basis=legendre, loss=problem.Squared(), **records),
        call(method.record_ball, basis=legendre, loss=problem.Squared(), **records),
        call(huang2015.tune_pdop, constants=constants),
    ]


class Begun(Exception):
    """Something long would have begun."""


def stop_where_it_begins() -> None:
    """Make all that is long raise `Begun`."""

    def begin(*_: Any, **__: Any) -> None:
        raise Begun

    for home, name in (
        ("tacit._engine.runner", "contract"),
        ("tacit._engine.planning", "computed"),
        ("tacit.audit.method", "contract"),
        ("tacit.audit.callable", "attack"),
        ("tacit.problem.reference", "composite"),
        ("tacit.testing.observed", "contract"),
        ("tacit.deploy.operate.rehearse", "prepare"),
        ("tacit.method.functional_distance", "PossibleRecords"),
        ("tacit.method.functional_ball", "PossibleRecords"),
        ("tacit.papers.huang2015.tuning", "_formula"),
    ):
        setattr(importlib.import_module(home), name, begin)
