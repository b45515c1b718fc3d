"""A method of others: what it states of every owner, and what it may not look at."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit.errors import ConfigError, PrivacyError
from tacit.method import FunctionalPerturbation, Phase, QuadraticBasis
from tacit.privacy import (
    ClippedGradient,
    ClippedUpdate,
    Masks,
    Mechanism,
    PairMasks,
    PairNoise,
    Privacy,
    Release,
    SecureSum,
    gaussian,
)
from tacit.privacy.ledger import Ledger
from tacit.privacy.statistics import BlockSum, Clipped
from tacit.types import Combine, Oracle, Relation, Role, Unit
from tests.unit.testing.planted import Right, State, at_x

RING = network.ring(4)
WIDE = np.array([[1.0, 0.1], [1.0, 10.0], [1.0, 10.0], [1.0, 10.0]])
BUDGET = Privacy(clip=1.0, epsilon=1.0, delta=1e-6)


class Own(Right):
    """The same, with clips and noise that a researcher chose."""

    privacy: Privacy | None = None
    step: Any = 0.1
    clips: Any = eqx.field(static=True, default=1.0)
    mechanism: Mechanism | None = None
    relation: Relation = Relation.REPLACE_ONE

    def clip(self) -> Any:
        return self.clips

    def query(self) -> Any:
        return ClippedGradient(at_x, self.clip())

    def phases(self) -> tuple[Phase, ...]:
        noise = self.mechanism if self.privacy is None else self.privacy.mechanism
        return (
            Phase(
                name="iterate",
                sender=Role.PEER,
                query=self.query(),
                release=Release("gradient", noise, self.relation),
                message=self.share,
                receiver=Role.PEER,
                update=self.mix,
            ),
        )


class OfArray(Own):
    wide: Any = eqx.field(converter=np.asarray, default_factory=lambda: WIDE)

    def clip(self) -> Any:
        return self.wide[:, 1]


class OfModule(Own):
    def clip(self) -> Any:
        return WIDE[:, 1]


class OfAgents(Own):
    def protects(self, problem: Any) -> Unit:
        return Unit.AGENT


class Looking(Own):
    def prepare(self, problem: Any, network: Any) -> Looking:
        return eqx.tree_at(lambda m: m.step, self, 1.0 / float(jnp.sum(problem.agent(0).targets)))


class Warm(Own):
    """It begins where the records say, unless `least` is a number of its own."""

    least: Any = None

    def start(self, task: Any) -> Any:
        if self.least is not None:
            return np.full(task.dimension, self.least)
        return np.asarray(task.objectives.features).mean(axis=(0, 1))


class Wrong(Own):
    def mix(self, state: State, inbox: Any, context: Any) -> State:
        return State(inbox.nosuch)


def task(**given: Any) -> Any:
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(50, 3)) for _ in range(4)]
    targets = [x @ [1.0, -2.0, 0.5] for x in tables]
    return problem.empirical_risk(tables, targets, problem.Squared(), **given)


@pytest.mark.parametrize(
    "method",
    [Own(BUDGET, clips=(0.1, 10.0, 10.0, 10.0)), OfArray(BUDGET), OfModule(BUDGET)],
    ids=["a static tuple", "a column of an array", "a number of its module"],
)
def test_every_owner_has_the_noise_of_its_own_bound(method: Own) -> None:
    agreed = tacit.contract(task(), RING, method, rounds=5)
    np.testing.assert_allclose(agreed.scales[0][1:], 100.0 * agreed.scales[0][0])


def test_so_it_has_where_a_function_of_a_tacit_method_was_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = tacit.DPSG.phases

    def replaced(self: tacit.DPSG) -> tuple[Phase, ...]:
        [phase] = usual(self)
        return (dataclasses.replace(phase, query=ClippedGradient(at_x, WIDE[:, 1])),)

    monkeypatch.setattr(tacit.DPSG, "phases", replaced)
    agreed = tacit.contract(task(), RING, tacit.DPSG(step=0.1, privacy=BUDGET), rounds=5)
    np.testing.assert_allclose(agreed.scales[0][1:], 100.0 * agreed.scales[0][0])


def test_owners_with_other_noise_have_other_guarantees() -> None:
    class Several(Own):
        def phases(self) -> tuple[Phase, ...]:
            [phase] = super().phases()
            noise = gaussian((20.0, 20.0, 10.0, 10.0))
            release = Release("gradient", noise, self.relation)
            return (dataclasses.replace(phase, release=release),)

    stated = tacit.contract(task(), RING, Several(mechanism=gaussian(20.0)), rounds=5).guarantee
    less, more = stated[0].epsilon, stated[3].epsilon
    assert stated[1].epsilon == less < 0.6 * more and stated[2].epsilon == more


def test_a_sum_that_an_agent_may_move_by_many_clips_is_refused() -> None:
    method = OfAgents(BUDGET)
    for given in ({"weighting": "sum"}, {"normaliser": 10.0}):
        with pytest.raises(PrivacyError, match="sum over the records of 'agent 0' is divided"):
            tacit.contract(task(**given), RING, method, rounds=5)
    assert tacit.contract(task(), RING, method, rounds=5).guarantee.worst.status == "proved"
    for declared in (50.0, 60.0):  # whether it is the number of records is not told
        worst = tacit.contract(task(normaliser=declared), RING, method, rounds=5).guarantee.worst
        assert any("no agent has more records than the" in one for one in worst.assumptions)


def test_an_update_that_is_clipped_as_a_whole_may_be_divided_by_anything() -> None:
    class Updates(OfAgents):
        def query(self) -> Any:
            return ClippedUpdate(lambda state, objective, context, key: 0.1 * state.x, 1.0)

    for given in ({"weighting": "sum"}, {"normaliser": 10.0}):
        agreed = tacit.contract(task(**given), RING, Updates(BUDGET), rounds=5)
        assert agreed.guarantee.worst.unit is Unit.AGENT
        assert agreed.table[0].sensitivity == 2.0


def test_a_method_with_noise_of_its_own_may_not_look_at_the_records_either() -> None:
    looking = Looking(mechanism=gaussian(20.0), step=0.25)
    same = Own(mechanism=gaussian(20.0), step=0.25)
    ran = [tacit.run(task(), RING, each, rounds=3, seed=0).solution for each in (looking, same)]
    np.testing.assert_array_equal(*ran)


def test_a_private_method_may_not_start_from_the_records() -> None:
    with pytest.raises(PrivacyError, match="start depends on the records"):
        tacit.run(task(), RING, Warm(BUDGET), rounds=2)
    assert tacit.run(task(), RING, Warm(BUDGET, least=0.5), rounds=2, seed=0).rounds == 2


def test_nor_may_one_of_tacit_whose_start_was_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tacit.DPSG, "start", lambda self, task: task.objectives.features[0, 0])
    with pytest.raises(PrivacyError, match="start depends on the records"):
        tacit.run(task(), RING, tacit.DPSG(step=0.1, privacy=BUDGET), rounds=2)


def test_private_numbers_of_records_divide_no_sum_whoever_gives_the_noise() -> None:
    method = Own(mechanism=gaussian(20.0), relation=Relation.ADD_REMOVE)
    with pytest.raises(PrivacyError, match="the number of records is private"):
        tacit.contract(task(), RING, method, rounds=5)
    agreed = tacit.contract(task(normaliser=50.0), RING, method, rounds=5)
    assert agreed.guarantee.worst.relation is Relation.ADD_REMOVE


def test_rows_that_others_compute_are_among_the_assumptions() -> None:
    class Sums(Own):
        oracle: ClassVar[Oracle] = Oracle.ROWS

        def query(self) -> Any:
            return BlockSum((Clipped(lambda record, point: record[:3], 3, 1.0, share=1.0),), at_x)

    worst = tacit.contract(task(), RING, Sums(BUDGET), rounds=5).guarantee.worst
    assert any("the rows of each record from that record" in one for one in worst.assumptions)


def test_a_mistake_in_a_method_costs_nothing(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "own.ledger") as ledger:
        for name in "abcd":
            ledger.set_budget(name, "visits", epsilon=5.0, delta=1e-5)
        here = task(names=list("abcd"))
        with pytest.raises(AttributeError, match="nosuch"):
            tacit.run(here, RING, Wrong(BUDGET), rounds=2, ledger=ledger, dataset="visits")
        assert [each.spent for each in ledger.balances()] == [0.0] * 4
        tacit.run(here, RING, Own(BUDGET), rounds=2, ledger=ledger, dataset="visits")
        assert all(each.spent > 0.5 for each in ledger.balances())


def test_a_centre_tells_how_many_records_a_whole_agent_has() -> None:
    class Whole(FunctionalPerturbation):
        def protects(self, problem: Any) -> Unit:
            return Unit.AGENT

    basis = QuadraticBasis([-1.0] * 3, [1.0] * 3)
    budget = Privacy(clip=0.1, epsilon=1.0, noise="laplace", delta=0.0)
    given: dict[str, Any] = {"basis": basis, "privacy": budget}
    inner = tacit.DGD(step=0.1)
    centred = Whole(inner, **given, centre=np.full(basis.size - 1, 0.5))
    with pytest.raises(PrivacyError, match="adds a centre to every record"):
        tacit.contract(task(normaliser=100.0), RING, centred, rounds=5)
    plain = tacit.contract(task(normaliser=100.0), RING, Whole(inner, **given), rounds=5)
    assert plain.guarantee.worst.unit is Unit.AGENT


def test_a_distance_between_costs_needs_whole_costs() -> None:
    budget = Privacy(clip=1.0, epsilon=1.0, delta=1e-6, relation="metric")
    for noise in ({"privacy": budget}, {"mechanism": gaussian(5.0)}):
        method = OfAgents(**noise, relation=Relation.METRIC)
        with pytest.raises(PrivacyError, match="the data of an agent are records here"):
            tacit.contract(task(), RING, method, rounds=5)


def test_what_a_method_protects_is_a_summand_or_a_whole_agent() -> None:
    class Of(Own):
        def protects(self, problem: Any) -> Unit:
            return Unit.PERSON

    with pytest.raises(ConfigError, match=r"give Unit\.RECORD or Unit\.AGENT"):
        tacit.contract(task(), RING, Of(BUDGET), rounds=5)


def test_masks_that_the_network_decides_are_held_to_the_budget() -> None:
    class Placed(tacit.GradientDescent):
        cohort: int = eqx.field(static=True, default=0)

        def on(self, network: Any) -> Placed:
            return dataclasses.replace(self, cohort=network.agents - 1)

        def phases(self) -> tuple[Phase, ...]:
            return tuple(map(self.masked, super().phases()))

        def masked(self, phase: Phase) -> Phase:
            if phase.release is None or not self.cohort:
                return phase
            hides = SecureSum(Masks(coalition=1, min_cohort=self.cohort))
            noise = dataclasses.replace(phase.release.mechanism, hides=hides)
            release = dataclasses.replace(phase.release, mechanism=noise)
            return dataclasses.replace(phase, release=release, combine=Combine.SUM)

    star = network.Coordinator(4)
    with pytest.raises(PrivacyError, match="other masks than the method's budget"):
        tacit.contract(task(), star, Placed(step=0.1, privacy=BUDGET), rounds=5)


class Growing(ClippedGradient):
    """It is clipped less and less, as it says."""

    def sensitivity(self, public: Any, relation: Relation) -> float:
        return (1 + public.round) * super().sensitivity(public, relation)


class Sampling(ClippedGradient):
    """It says that it draws records."""


def test_a_bound_that_grows_from_round_to_round_needs_noise_that_does() -> None:
    class Grows(Own):
        def query(self) -> Any:
            return Growing(at_x, 1.0)

    with pytest.raises(PrivacyError, match=r"is from 0\.04 to 0\.2 in the rounds"):
        tacit.contract(task(), RING, Grows(BUDGET), rounds=5)
    assert tacit.contract(task(), RING, Grows(BUDGET), rounds=1).guarantee.worst.status == "model"


def test_that_a_query_of_others_draws_what_it_says_is_an_assumption() -> None:
    class Draws(Own):
        def query(self) -> Any:
            return Sampling(at_x, 1.0, rate=0.1)

    budget = dataclasses.replace(BUDGET, sampling=0.1, relation=Relation.ADD_REMOVE)
    method = Draws(budget, relation=Relation.ADD_REMOVE)
    worst = tacit.contract(task(normaliser=50.0), RING, method, rounds=5).guarantee.worst
    assert any("draws every record with the probability 0.1" in one for one in worst.assumptions)


class OwnRate(tacit.GradientDescent):
    """It asks a sample of the records, of which its budget says nothing."""

    def phases(self) -> tuple[Phase, ...]:
        return tuple(map(self.sampled, super().phases()))

    def sampled(self, phase: Phase) -> Phase:
        if not isinstance(phase.query, ClippedGradient):
            return phase
        query = ClippedGradient(phase.query.point, phase.query.clip, rate=0.02)
        return dataclasses.replace(phase, query=query)


@pytest.mark.long
def test_a_sum_that_may_be_tried_again_is_of_all_records() -> None:
    """Both tries would be answered from one sample."""

    def agreed(masks: Masks | None, star: Any, kind: Any = OwnRate, **given: Any) -> Any:
        given |= {"masks": masks, "relation": Relation.ADD_REMOVE}
        method = kind(step=0.1, privacy=dataclasses.replace(BUDGET, **given))
        return tacit.contract(task(normaliser=50.0), star, method, rounds=3).guarantee.worst

    class Losing(network.Coordinator):
        def attempts(self, rounds: int, public_key: Any) -> Any:
            return 2 * super().attempts(rounds, public_key)

    few = Masks(min_cohort=2)
    star, losing = network.Coordinator(4), network.Coordinator(4, dropout=0.1)
    for masks, where, word in (
        (dataclasses.replace(few, spare=1), star, "leave spare=1 out"),
        (dataclasses.replace(few, attempts=4), star, "leave attempts=4 out"),
        (few, losing, "no dropout"),
        (few, Losing(4), "no dropout"),
    ):
        with pytest.raises(PrivacyError, match=rf"rate 0\.02.* tried again.*{word}"):
            agreed(masks, where)
        with pytest.raises(PrivacyError, match="tried again"):
            agreed(masks, where, tacit.GradientDescent, sampling=0.02)
        assert agreed(masks, where, tacit.GradientDescent).status == "proved"
    assert agreed(few, star).epsilon == agreed(dataclasses.replace(few, spare=0), star).epsilon
    assert agreed(None, losing).status == agreed(few, network.Coordinator(4, 0.9)).status


def test_gaussian_masks_of_any_method_are_for_people_at_one_site() -> None:
    class Masked(Own):
        def phases(self) -> tuple[Phase, ...]:
            return tuple(map(self.hidden, super().phases()))

        def hidden(self, phase: Phase) -> Phase:
            noise = dataclasses.replace(phase.release.mechanism, hides=PairNoise(self.pairs()))
            release = dataclasses.replace(phase.release, mechanism=noise)
            return dataclasses.replace(phase, release=release)

        def pairs(self) -> PairMasks:
            return PairMasks(coalition=1)

    class Mixed(Masked):
        def phases(self) -> tuple[Phase, ...]:
            [phase] = super().phases()
            noise = dataclasses.replace(
                phase.release.mechanism, hides=PairNoise(PairMasks(coalition=0))
            )
            release = dataclasses.replace(phase.release, mechanism=noise)
            return (phase, dataclasses.replace(phase, name="again", release=release))

    class Sparse(Masked):
        def phases(self) -> tuple[Phase, ...]:
            [phase] = super().phases()
            ring = PairNoise(PairMasks(pairs=((0, 1), (1, 2), (2, 3), (0, 3)), coalition=1))
            noise = dataclasses.replace(phase.release.mechanism, hides=ring)
            release = dataclasses.replace(phase.release, mechanism=noise)
            return (phase, dataclasses.replace(phase, name="again", release=release))

    with pytest.raises(PrivacyError, match="'again' are shared by other pairs"):
        tacit.contract(task(), network.complete(4), Sparse(BUDGET), rounds=5)
    several = dataclasses.replace(BUDGET, sites_per_person=2)
    with pytest.raises(PrivacyError, match="sites_per_person=2 does not go with Gaussian masks"):
        tacit.contract(task(), network.complete(4), Masked(several), rounds=5)
    assert tacit.contract(task(), network.complete(4), Masked(BUDGET), rounds=5).guarantee
    with pytest.raises(PrivacyError, match="coalitions of different sizes"):
        _ = tacit.contract(task(), network.complete(4), Mixed(BUDGET), rounds=5).guarantee
