"""What a guarantee takes for granted of code that is not tacit's."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit._engine.contract import owners_of
from tacit._engine.foreign import assumptions
from tacit.errors import PrivacyError, ProblemError
from tacit.method import PDOP, PVP, Phase
from tacit.method.releases import Releases
from tacit.papers.gratton2021.dvp import DVPPrinted
from tacit.papers.gratton2021.pvp import PVPPrinted
from tacit.papers.huang2015.method import PDOPPrinted
from tacit.privacy import ClippedGradient, GaussianRelease, Status, gaussian
from tacit.problem import costs
from tacit.problem.regularisers import L2
from tests.conformance.table import ROWS, Row, task

ROWS_OF = np.random.default_rng(0).normal(size=(3, 25, 2))
ALL = ROWS_OF.reshape(-1, 2)
RING = network.ring(3)
METHOD = tacit.DPSG(step=0.1, privacy=tacit.Privacy(clip=1.0, epsilon=1.0))


def one(x: Any, row: Any, target: Any) -> Any:
    """A loss that keeps to its record."""
    return (row @ x - target) ** 2


def whole(x: Any, row: Any, target: Any) -> Any:
    """One that looks at all records: clipping it bounds nothing."""
    return jnp.sum(jnp.tanh(jnp.asarray(ALL) @ x)) + 0.0 * target


@jax.jit
def deep(x: Any, row: Any, target: Any) -> Any:
    return jax.lax.cond(target > 0, lambda: jnp.mean(ALL @ x), lambda: row @ x)


class OwnL2(L2):
    pass


class OwnDPSG(tacit.DPSG):
    pass


class OwnLoss(problem.Logistic):
    """Linear, so that it is given the scores of all records at once."""

    def value(self, scores: Any, targets: Any) -> Any:
        return super().value(scores, targets) * jnp.asarray(ALL[:25, 0])


class Curved(problem.Squared):
    """With more curvature than it declares."""

    def derivative(self, scores: Any, targets: Any) -> Any:
        return 1e6 * super().derivative(scores, targets)


def risk(loss: Any, **more: Any) -> problem.Problem:
    return problem.empirical_risk(list(ROWS_OF), [np.ones(25)] * 3, loss, **more)


def stated(task: problem.Problem, method: Any = METHOD) -> tuple[str, ...]:
    return tacit.account(task, RING, method, rounds=2).guarantee[0].assumptions


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(problem.JaxLoss(whole), id="whole"),
        pytest.param(problem.JaxLoss(deep), id="deep", marks=pytest.mark.long),
        pytest.param(OwnLoss(), id="own"),
    ],
)
def test_a_loss_that_holds_all_records_is_refused(loss: Any) -> None:
    with pytest.raises(ProblemError, match="as long as the records"):
        tacit.run(risk(loss), RING, METHOD, rounds=2, seed=0)
    with pytest.raises(ProblemError, match="as long as the records"):
        stated(risk(loss))
    # without privacy there is nothing to break
    tacit.run(risk(loss), RING, tacit.DGD(step=0.01), rounds=1, seed=0)


def test_public_constants_of_a_loss_are_none_of_its_records() -> None:
    weights, grid = jnp.asarray([2.0, 1.0]), jnp.linspace(0.0, 1.0, 11)

    def smooth(x: Any, row: Any, target: Any) -> Any:
        return jnp.sum(jnp.tanh(grid * (row @ (weights * x) - target)))

    assert stated(risk(problem.JaxLoss(smooth)))


def test_a_guarantee_names_what_it_takes_for_granted_of_foreign_code() -> None:
    said = stated(risk(problem.JaxLoss(one)))
    assert any("JaxLoss computes the loss of each record from that record" in s for s in said)
    said = stated(risk(problem.Squared(), regulariser=OwnL2(0.1)))
    assert any("regulariser OwnL2 computes with code that is not tacit's" in s for s in said)
    said = stated(risk(problem.Squared()), OwnDPSG(step=0.1, privacy=METHOD.privacy))
    assert any("method OwnDPSG computes with code that is not tacit's" in s for s in said)

    def distance(x: Any, centre: Any) -> Any:
        return jnp.sum((x - centre) ** 2)

    said = stated(costs(distance, np.eye(3), np.zeros(3)))
    assert any("each from the parameters of its own agent" in s for s in said)
    box = problem.black_box(lambda x, agent: float(x @ x), 3)
    assert any("data of its own agent only" in s for s in box.assumptions)


class OwnSet(problem.Free):
    """No convex set: a private step of any length moves what is released by 2."""

    def project(self, v: Any) -> Any:
        return jnp.sign(v)


def test_what_a_private_question_needs_of_foreign_maps_and_losses_is_named() -> None:
    budget = tacit.Privacy(clip=1.0, epsilon=1.0)
    parts: dict[str, Any] = {"regulariser": OwnL2(0.1), "constraint": OwnSet()}
    task = risk(Curved(), **parts)
    convex = ("exactly that of a convex penalty", "exactly that onto a convex set")
    curved = "the loss Curved is convex"
    for method, needs in (
        (PDOP(step=0.1, privacy=budget), convex),
        (PVP(privacy=budget), (*convex, curved)),
        (
            PDOPPrinted(step=0.1, ratio=0.5, noise_ratio=0.6, epsilon=1.0, gradient_bound=1.0),
            convex,
        ),
        (PVPPrinted(1.0), (*convex, curved)),
        (DVPPrinted(1.0), (*convex, curved)),
        (METHOD, ()),
    ):
        said = " ".join(assumptions(task, RING, Releases(method)))
        assert all(words in said for words in needs)
        # nobody is told to check what nothing rests on
        assert sum(words in said for words in (*convex, curved)) == len(needs)


class Shy(network.LinkFailure):
    """Says that nobody takes part, so that nobody is charged."""

    def participations(self, rounds: int, public_key: Any) -> Any:
        return np.zeros(self.agents, dtype=int)


def test_what_is_counted_and_asked_by_foreign_code_is_named() -> None:
    shy = Shy(RING, 0.1)
    found = tacit.account(risk(problem.Squared()), shy, METHOD, rounds=2).guarantee[0]
    assert found.epsilon == 0.0
    assert any("counts every round that an agent takes part in" in s for s in found.assumptions)
    said = stated(risk(problem.Squared()), OwnDPSG(step=0.1, privacy=METHOD.privacy))
    assert any("uses private values in queries only" in s for s in said)


class Fickle(tacit.DPSG):
    """States a hundred times the noise that it has, once."""

    def phases(self) -> tuple[Phase, ...]:
        (phase,) = super().phases()
        ASKED.append(phase)
        if len(ASKED) > 1:
            return (phase,)
        mechanism = gaussian(100.0 * self.privacy.noise_multiplier)
        assert phase.release is not None
        return (
            dataclasses.replace(
                phase, release=dataclasses.replace(phase.release, mechanism=mechanism)
            ),
        )


ASKED: list[Phase] = []


def test_that_a_method_states_the_same_whenever_it_is_asked_is_named() -> None:
    owners = owners_of(risk(problem.Squared()), RING, Releases(METHOD), 2)
    fickle = Fickle(step=0.1, privacy=tacit.Privacy(clip=1.0, noise_multiplier=1.0))
    ASKED.clear()
    stated_once, added = Releases(fickle).round(owners.contexts[0]), fickle.phases()[0].release
    assert stated_once == [GaussianRelease(100.0)] and added is not None
    assert added.mechanism.dose == gaussian(1.0).dose  # nothing can tell
    said = assumptions(risk(problem.Squared()), RING, Releases(fickle))
    assert any("states the same phases whenever it is asked" in each for each in said)


class Larger(ClippedGradient):
    """Answers ten times what it states."""

    def __call__(self, *asked: Any) -> Any:
        return 10.0 * super().__call__(*asked)


class Asking(tacit.DPSG):
    def phases(self) -> tuple[Phase, ...]:
        (phase,) = super().phases()
        assert isinstance(phase.query, ClippedGradient)
        query = Larger(phase.query.point, phase.query.clip)
        return (dataclasses.replace(phase, query=query),)


def test_a_query_of_its_own_is_a_model_and_not_proved() -> None:
    asking = Asking(step=0.1, privacy=METHOD.privacy)
    found = tacit.account(risk(problem.Squared()), RING, asking, rounds=2).guarantee[0]
    own = tacit.account(risk(problem.Squared()), RING, METHOD, rounds=2).guarantee[0]
    assert (own.status, found.status) == (Status.PROVED, Status.MODEL)
    assert found.epsilon == own.epsilon and "the query Larger keep the bound" in found.reason
    assert "the answers of the query Larger move by no more than it states" in found.assumptions
    with pytest.raises(PrivacyError, match="is 'model', because nothing here proves"):
        tacit.run(risk(problem.Squared()), RING, asking, rounds=1, seed=0, require="proved")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_of_tacits_own_parts_nothing_is_taken_for_granted(row: Row) -> None:
    assert assumptions(task(0), row.network, Releases(row.method)) == ()
