"""The conformance table: every method and its variants, and each passes every test beside it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tacit import DGD, DPSG, DZOA, DZOASolver, GradientDescent, Privacy, data, network, problem
from tacit.method import (
    DPADMM,
    ORZO,
    PDOP,
    PVP,
    ZOOADMM,
    CurvatureBounds,
    DPFedSGD,
    DPIADMMProx,
    DPIADMMTrust,
    DZOAStar,
    FedAvg,
    FedProx,
    FunctionalPerturbation,
    GradientTracking,
    GrowingPenalty,
    LegendreBasis,
    MaskedGossip,
    PaperClaim,
    PreconditionedDescent,
    PrivateCounts,
    PrivateCox,
    PrivateGLM,
    PrivateSurvival,
    PrivateTableOne,
    QuadraticBasis,
)
from tacit.papers.gratton2021.d_zoa import DZOAPrinted
from tacit.papers.gratton2021.dp_admm import DPADMMPrinted
from tacit.papers.gratton2021.dvp import DVPPrinted
from tacit.papers.gratton2021.pvp import PVPPrinted
from tacit.papers.huang2015.method import PDOPPrinted
from tacit.papers.ryu2021.dp_iadmm import DPIADMMPrinted
from tacit.papers.ryu2021.outp_as_coded import OutPAsCoded
from tacit.privacy import Masks
from tacit.study._described.catalogue import METHODS, Protection
from tacit.types import Oracle

AGENTS, FEATURES = 4, 3


@dataclass(frozen=True, eq=False)
class Row:
    """A method with a network it runs on, and by what its sums are divided."""

    name: str
    method: Any
    network: Any
    status: str = "proved"
    normaliser: float = 8.0

    @property
    def rounds(self) -> int:
        """As many as the method takes, if it takes only one number."""
        return self.method.only_rounds or 6

    @property
    def described(self) -> bool:
        """Whether its method describes records and minimises nothing."""
        return self.method.oracle is Oracle.ROWS

    def task(self, seed: int) -> Any:
        """The problem of all rows, with this row's normaliser, or tables of records."""
        return tables(seed) if self.described else task(seed, normaliser=self.normaliser)


def task(
    seed: int,
    records: tuple[int, ...] = (9, 7, 9, 5),
    names: Sequence[str] | None = None,
    normaliser: float = 8.0,
) -> Any:
    """A logistic problem with sites of different sizes; the seed changes the data only.

    Sums are divided by a declared number, as add/remove needs.
    """
    rng = np.random.default_rng(seed)
    features = [rng.uniform(-1, 1, size=(count, FEATURES)) for count in records]
    targets = [(rng.random(count) < 0.5).astype(float) for count in records]
    return problem.empirical_risk(
        features,
        targets,
        problem.Logistic(),
        regulariser=problem.L2(0.01),
        normaliser=normaliser,
        names=names,
    )


_SCHEMA = data.Schema(
    {"sex": data.Categorical(["f", "m"]), "age": data.Numeric(0, 120), "ill": data.Boolean()},
    target=None,
    intercept=False,
)


def tables(seed: int, records: tuple[int, ...] = (9, 7, 9, 5)) -> Any:
    """Records of sites of different size; the seed changes them only."""
    rng = np.random.default_rng(seed)
    rows = [
        np.column_stack(
            [
                np.eye(2)[rng.integers(0, 2, count)],
                rng.uniform(-1, 1, count),
                rng.integers(0, 2, count),
            ]
        )
        for count in records
    ]
    return problem.record_tables(rows, _SCHEMA, size=8)


_COLUMNS = (tables(0).column("sex"), tables(0).column("age").cut(18, 65))

_DESIGN = data.design_of([tables(0).column("age")])

_GAUSS = Privacy(clip=0.5, epsilon=2.0, delta=1e-5)
_LAPLACE = Privacy(clip=0.5, epsilon=2.0, delta=1e-5, noise="laplace")
_PURE = Privacy(clip=0.5, epsilon=2.0, delta=0.0, noise="laplace")
_L2_PURE = Privacy(clip=0.5, epsilon=2.0, delta=0.0, noise="l2_laplace")
_SAMPLED = Privacy(clip=0.5, epsilon=2.0, delta=1e-5, relation="add_remove", sampling=0.5)
_COMING = Privacy(clip=0.5, epsilon=2.0, delta=1e-5, relation="add_remove")
_MASKED = Privacy(clip=0.5, epsilon=2.0, delta=1e-5, masks=Masks(coalition=1))
_FEWER = Privacy(clip=0.5, epsilon=2.0, delta=1e-5, masks=Masks(1, min_cohort=2))
_OWN = Privacy(clip=np.array([0.5, 0.4, 0.3, 0.2]), epsilon=np.array([1.0, 2.0, 3.0, 4.0]))
_MASKED_COUNTS = Privacy(clip=1.0, epsilon=2.0, delta=1e-5, masks=Masks(coalition=1))
_COUNTS_COMING = Privacy(clip=1.0, epsilon=2.0, delta=1e-5, relation="add_remove")
_OWN_COUNTS = Privacy(clip=1.0, epsilon=np.array([1.0, 2.0, 3.0, 4.0]))
_RING = network.ring(AGENTS)
_FAILING = network.LinkFailure(network.complete(AGENTS), 0.3)
_SLEEPY = network.RandomActivation(network.complete(AGENTS), 0.6)
_CLIENTS = network.Coordinator(AGENTS)
_DRAWN = network.Coordinator(AGENTS, probability=0.5)

_MISSING = network.Coordinator(AGENTS, dropout=0.1)

_QUADRATIC = QuadraticBasis([-2.0] * FEATURES, [2.0] * FEATURES)
_LEGENDRE = LegendreBasis([-2.0] * FEATURES, [2.0] * FEATURES, degree=2)

_CLAIMED = {"masked-gossip": "model"}
"""Methods of study files whose guarantee is not proved."""

PLAIN = tuple(
    Row(
        entry.name,
        entry.default().prepare(task(0), where),
        where,
        status="none"
        if entry.protection is Protection.NONE
        else _CLAIMED.get(entry.name, "proved"),
    )
    for entry in METHODS.values()
    if entry.name != "functional-perturbation"  # its example has a basis of two parameters
    for where in (_CLIENTS if entry.coordinated else _RING,)
)
"""Every method of the package but one, so that a new one is tested without being named here."""

ROWS = (
    *PLAIN,
    Row(
        "counts, masks",
        PrivateCounts(_COLUMNS, privacy=_MASKED_COUNTS),
        _CLIENTS,
    ),
    Row(
        "counts, add/remove, exact sums between peers",
        PrivateCounts(_COLUMNS, privacy=_COUNTS_COMING),
        network.ExactSum(_RING, by="tree"),
    ),
    Row(
        "counts, budgets per owner, clients drawn",
        PrivateCounts(_COLUMNS, privacy=_OWN_COUNTS),
        _DRAWN,
    ),
    Row(
        "table 1, masks, medians",
        PrivateTableOne(
            (tables(0).column("age"),), _COLUMNS[0], ["age"], bins=4, privacy=_MASKED_COUNTS
        ),
        _CLIENTS,
    ),
    Row(
        "table 1, add/remove, exact sums between peers",
        PrivateTableOne(_COLUMNS, shares={"age": 2.0}, privacy=_COUNTS_COMING),
        network.ExactSum(_RING, by="tree"),
    ),
    Row(
        "table 1, budgets per owner, clients drawn",
        PrivateTableOne(_COLUMNS, privacy=_OWN_COUNTS),
        _DRAWN,
    ),
    Row("table 1, no privacy", PrivateTableOne(_COLUMNS), _CLIENTS, status="none"),
    Row(
        "survival, masks",
        PrivateSurvival(tables(0).column("age"), _COLUMNS[0], intervals=5, privacy=_MASKED_COUNTS),
        _CLIENTS,
    ),
    Row(
        "survival, add/remove, exact sums between peers",
        PrivateSurvival(_COLUMNS[1], _COLUMNS[0], privacy=_COUNTS_COMING),
        network.ExactSum(_RING, by="tree"),
    ),
    Row(
        "survival, budgets per owner, clients drawn",
        PrivateSurvival(_COLUMNS[1], _COLUMNS[0], privacy=_OWN_COUNTS),
        _DRAWN,
    ),
    Row(
        "survival, no privacy",
        PrivateSurvival(_COLUMNS[1], _COLUMNS[0]),
        _CLIENTS,
        status="none",
    ),
    Row(
        "cox, periods, masks",
        PrivateCox(
            _COLUMNS[1],
            tables(0).column("ill"),
            _COLUMNS[:1],
            periods=(65.0,),
            privacy=_MASKED_COUNTS,
        ),
        _CLIENTS,
    ),
    Row(
        "cox, add/remove, exact sums between peers",
        PrivateCox(
            tables(0).column("age"),
            _COLUMNS[0],
            [tables(0).column("ill")],
            2,
            privacy=_COUNTS_COMING,
        ),
        network.ExactSum(_RING, by="tree"),
    ),
    Row(
        "cox, no privacy",
        PrivateCox(_COLUMNS[1], tables(0).column("ill"), _COLUMNS[:1]),
        _CLIENTS,
        status="none",
    ),
    Row("counts, no privacy", PrivateCounts(_COLUMNS), _CLIENTS, status="none"),
    Row(
        "regression, masks",
        PrivateGLM(_DESIGN, tables(0).column("sex"), "binomial", privacy=_MASKED_COUNTS),
        _CLIENTS,
    ),
    Row(
        "regression, add/remove, exact sums between peers",
        PrivateGLM(_DESIGN, tables(0).column("sex"), "binomial", 3, privacy=_COUNTS_COMING),
        network.ExactSum(_RING, by="tree"),
    ),
    Row(
        "regression, no privacy",
        PrivateGLM(_DESIGN, tables(0).column("sex"), "binomial"),
        _CLIENTS,
        status="none",
    ),
    Row(
        "regression, several classes, masks",
        PrivateGLM(
            data.design_of([tables(0).column("sex")]),
            _COLUMNS[1],
            "multinomial",
            3,
            privacy=_MASKED_COUNTS,
        ),
        _CLIENTS,
    ),
    Row("dgd, random activation", DGD(step=0.1), _SLEEPY, status="none"),
    Row("gradient descent", GradientDescent(step=0.1), _CLIENTS, status="none"),
    Row("dp-fedsgd, clients drawn", DPFedSGD(step=0.1, privacy=_GAUSS), _DRAWN),
    Row("fedavg, three local steps", FedAvg(step=0.1, local_steps=3, privacy=_GAUSS), _CLIENTS),
    Row("fedprox, clients drawn", FedProx(step=0.1, proximal=0.5, privacy=_GAUSS), _DRAWN),
    Row("fedavg, whole updates", FedAvg(step=0.1, release="update", privacy=_GAUSS), _CLIENTS),
    Row(
        "dp-fedsgd, whole updates, clients drawn",
        DPFedSGD(step=0.1, release="update", privacy=_OWN),
        _DRAWN,
    ),
    Row("dp-fedsgd, masks", DPFedSGD(step=0.1, privacy=_MASKED), _CLIENTS),
    Row("dp-fedsgd, masks, some missing", DPFedSGD(step=0.1, privacy=_FEWER), _MISSING),
    Row("preconditioned, masks", PreconditionedDescent(privacy=_MASKED), _CLIENTS),
    Row(
        "preconditioned, records and clients drawn",
        PreconditionedDescent(longest=1.0, privacy=_SAMPLED),
        _DRAWN,
    ),
    Row(
        "preconditioned, budgets per owner, exact sums between peers",
        PreconditionedDescent(average=False, privacy=_OWN),
        network.ExactSum(_RING, by="tree"),
    ),
    Row("preconditioned, no privacy", PreconditionedDescent(), _CLIENTS, status="none"),
    Row("fedavg, masks", FedAvg(step=0.1, release="update", privacy=_MASKED), _CLIENTS),
    Row("d-zoa-star, masks", DZOAStar(privacy=_MASKED), _CLIENTS),
    Row(
        "d-zoa-star, laplace, answers with the last iterate",
        DZOAStar(privacy=_LAPLACE, average=False),
        _DRAWN,
    ),
    Row(
        "d-zoa-star, masks, exact sums between peers",
        DZOAStar(privacy=_MASKED),
        network.ExactSum(_RING, by="tree"),
    ),
    Row("or-zo, masks", ORZO(step=0.1, privacy=_MASKED), _CLIENTS),
    Row("dp-iadmm-trust, masks", DPIADMMTrust(penalty=5.0, privacy=_MASKED), _CLIENTS),
    Row("or-zo, no privacy", ORZO(step=0.1), _CLIENTS, status="none"),
    Row("or-zo, clients and records drawn", ORZO(step=0.1, privacy=_SAMPLED), _DRAWN),
    Row("zoo-admm, laplace", ZOOADMM(step=0.1, directions=1, privacy=_LAPLACE), _CLIENTS),
    Row("zoo-admm, budgets per owner", ZOOADMM(step=0.1, privacy=_OWN), _DRAWN),
    Row(
        "dp-iadmm-prox, own copies, sampled records",
        DPIADMMProx(penalty=5.0, point="own", privacy=_SAMPLED),
        _CLIENTS,
    ),
    Row(
        "dp-iadmm-trust, growing penalty, budgets per owner",
        DPIADMMTrust(penalty=GrowingPenalty(2.0, every=2), trust_region="printed", privacy=_OWN),
        _CLIENTS,
    ),
    Row(
        "dp-iadmm-trust, euclidean, laplace",
        DPIADMMTrust(penalty=5.0, radius=0.1, norm="euclidean", privacy=_LAPLACE),
        _CLIENTS,
    ),
    Row(
        "dp-iadmm-prox printed",
        DPIADMMPrinted(DPIADMMProx(penalty=GrowingPenalty(2.0)), 2.0),
        _CLIENTS,
        status="per_release",
    ),
    Row(
        "dp-iadmm-trust as coded",
        DPIADMMPrinted(DPIADMMTrust(penalty=GrowingPenalty(2.0)), 2.0),
        _CLIENTS,
        status="per_release",
    ),
    Row(
        "outp as coded",
        OutPAsCoded(epsilon=5.0, penalty=GrowingPenalty(5.0)),
        _CLIENTS,
        status="model",
    ),
    Row("dp-admm, sampled records", DPADMM(penalty=0.5, privacy=_SAMPLED), _CLIENTS),
    Row("dp-admm printed", DPADMMPrinted(epsilon=0.5), _CLIENTS, status="per_release"),
    Row("pvp, budgets per owner", PVP(penalty=0.1, privacy=_OWN), _RING),
    Row("pvp, add/remove", PVP(privacy=_COMING), _RING, normaliser=9.0),
    Row("pvp, l2-laplace", PVP(privacy=_L2_PURE), _RING),
    Row("pvp printed", PVPPrinted(epsilon=0.5), _RING, status="per_release"),
    Row(
        "pvp printed, original noise",
        PVPPrinted(epsilon=0.5, noise="l2_laplace"),
        _RING,
        status="per_release",
    ),
    Row("dvp printed", DVPPrinted(epsilon=0.5), _RING, status="model"),
    Row(
        "dvp printed, original noise",
        DVPPrinted(epsilon=0.5, noise="l2_laplace"),
        _RING,
        status="model",
    ),
    Row("dpsg, laplace", DPSG(step=0.1, privacy=_LAPLACE), _RING),
    Row("dpsg, sampled records", DPSG(step=0.1, privacy=_SAMPLED), _RING),
    Row("dpsg, budgets per owner", DPSG(step=0.1, privacy=_OWN), _RING),
    Row("dpsg, random activation", DPSG(step=0.1, privacy=_GAUSS), _SLEEPY),
    Row(
        "masked gossip, neighbours' masks, sampled records",
        MaskedGossip(step=0.1, masks="neighbours", average=False, privacy=_SAMPLED),
        _RING,
        status="model",
    ),
    Row(
        "masked gossip, budgets per owner, outsiders only",
        MaskedGossip(step=0.1, decay=0.5, coalition=0, ratio=2.0, privacy=_OWN),
        network.grid(2, 2),
        status="model",
    ),
    Row("d-zoa, scalar", DZOA(privacy=_GAUSS, estimator="scalar"), _RING),
    Row("pdop, laplace", PDOP(step=0.1, privacy=_LAPLACE), _RING),
    Row("pdop, optimised", PDOP(step=0.1, schedule="optimised", privacy=_PURE), _RING),
    Row("pdop, sampled records", PDOP(step=0.1, privacy=_SAMPLED), _RING),
    Row("pdop, budgets per owner", PDOP(step=0.1, privacy=_OWN), _RING),
    Row("pdop, links fail", PDOP(step=0.1, privacy=_GAUSS), _FAILING),
    Row("pdop, one shot", PDOP(step=0.5, one_shot=True, privacy=_PURE), _RING),
    Row(
        "pdop printed",
        PDOPPrinted(step=0.1, ratio=0.5, noise_ratio=0.8, epsilon=1.0, gradient_bound=2.0),
        _RING,
        status="model",
    ),
    Row(
        "d-zoa paper",
        DZOASolver(
            step=0.2, inner_steps=5, directions=4, printed=True, claim=PaperClaim(0.5, 1e-3)
        ),
        _RING,
        status="model",
    ),
    Row(
        "d-zoa printed, closed neighbourhoods, steps and directions per agent",
        DZOAPrinted(
            epsilon=0.5,
            step=np.array([0.2, 0.1, 0.2, 0.15]),
            inner_steps=5,
            directions=np.array([4, 3, 2, 4]),
            closed=True,
        ),
        _RING,
        status="model",
    ),
    Row(
        "functional perturbation, dgd",
        FunctionalPerturbation(DGD(step=0.1), _LEGENDRE, privacy=_PURE),
        _RING,
    ),
    Row(
        "functional perturbation, around a centre",
        FunctionalPerturbation(
            DGD(step=0.1), _QUADRATIC, centre=np.full(_QUADRATIC.size - 1, 0.1), privacy=_PURE
        ),
        _RING,
    ),
    Row(
        "functional perturbation, gradient tracking, budgets per owner",
        FunctionalPerturbation(
            GradientTracking(step=0.1),
            _QUADRATIC,
            CurvatureBounds(0.0, 1.0, 2.0),
            privacy=Privacy(
                clip=np.array([0.5, 0.4, 0.3, 0.2]),
                epsilon=np.array([1.0, 2.0, 3.0, 4.0]),
                delta=0.0,
                noise="laplace",
            ),
        ),
        _RING,
    ),
    Row(
        "functional perturbation, gradient descent, clients drawn",
        FunctionalPerturbation(GradientDescent(step=0.1), _QUADRATIC, privacy=_PURE),
        _DRAWN,
    ),
)


FITTED = tuple(row for row in ROWS if not row.described)
"""Those that fit a model."""


def _rows(quick: Collection[str], others: pytest.MarkDecorator) -> pytest.MarkDecorator:
    """Methods in `quick` for `make test`; other methods and all variants where `others` says."""
    names = [row.name for row in PLAIN]
    assert set(quick) <= set(names)
    marks = [() if name in quick else others for name in names]
    marks += [others] * (len(ROWS) - len(PLAIN))  # the plain ones come first
    return pytest.mark.parametrize(
        "row",
        [pytest.param(row, id=row.name, marks=mark) for row, mark in zip(ROWS, marks, strict=True)],
        scope="module",  # the tests of a row follow each other: they share what was compiled
    )


_ALL = [row.name for row in PLAIN]

rows = _rows(_ALL, others=pytest.mark.long)
"""Every method in `make test`, its variants in `make long`."""

plain_rows = _rows(_ALL, others=pytest.mark.slow)
"""For what takes long: every method in `make test`, its variants in `make test-all`."""

runtime_rows = _rows(["dp-iadmm-prox", "dpsg"], others=pytest.mark.slow)
"""For what the runtime does: a method with a coordinator and one between peers in `make test`."""
