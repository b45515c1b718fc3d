"""A delta that gives records away is asked for by name; a huge epsilon is warned of."""

from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit import DPSG, Privacy, network, problem
from tacit.errors import PrivacyError
from tacit.privacy import caution
from tacit.privacy.guarantee import Guarantee, NoiseSource, Status
from tacit.privacy.guarantees import Guarantees
from tacit.types import Relation, Unit

RECORDS = [40, 50]

PROMISE = Guarantee(
    owner="clinic",
    epsilon=1.0,
    delta=1e-6,
    unit=Unit.RECORD,
    relation=Relation.REPLACE_ONE,
    theorem="a theorem",
    status=Status.PROVED,
    noise=NoiseSource.SECURE,
    releases=3,
)


def promised(privacy: Privacy, costs: bool = False) -> Guarantees:
    """What a run of two rounds between two agents guarantees."""
    rows = [np.zeros((n, 2)) for n in RECORDS]
    answers = [np.zeros(n) for n in RECORDS]
    task = problem.empirical_risk(rows, answers, problem.Squared())
    if costs:
        task = problem.costs(lambda x, c: (x - c) @ (x - c), np.ones((2, 2)), np.zeros(2))
    method = DPSG(step=0.1, privacy=privacy)
    return tacit.run(task, network.complete(2), method, rounds=2, seed=0).guarantee


@pytest.mark.parametrize("delta", [0.5, 1 / 50])
def test_a_delta_of_one_over_the_records_is_refused(delta: float) -> None:
    with pytest.raises(PrivacyError, match=r"not below one over the .* large_delta"):
        promised(Privacy(clip=1.0, epsilon=1.0, delta=delta))


def test_each_owner_has_records_of_its_own() -> None:
    assert promised(Privacy(clip=1.0, epsilon=1.0, delta=[1 / 41, 1 / 51]))[1].delta == 1 / 51
    with pytest.raises(PrivacyError, match="50 records of agent 1"):
        promised(Privacy(clip=1.0, epsilon=1.0, delta=1 / 45))


def test_several_records_of_a_person_make_fewer_people() -> None:
    with pytest.raises(PrivacyError, match="people"):
        promised(Privacy(clip=1.0, epsilon=1.0, delta=0.07, records_per_person=3))


def test_whole_costs_are_as_many_as_there_are_agents() -> None:
    assert promised(Privacy(clip=1.0, epsilon=1.0, delta=0.4), costs=True).worst.delta == 0.4
    with pytest.raises(PrivacyError, match="2 agents"):
        promised(Privacy(clip=1.0, epsilon=1.0, delta=0.5), costs=True)


def test_a_large_delta_that_is_asked_for_by_name_is_named() -> None:
    worst = promised(Privacy(clip=1.0, epsilon=1.0, delta=0.1, large_delta=True)).worst
    assert "given away whole" in worst.sentence()
    small = promised(Privacy(clip=1.0, epsilon=1.0, large_delta=True)).worst
    assert "given away" not in small.sentence()


@pytest.mark.parametrize("status", [Status.PROVED, Status.MODEL])
@pytest.mark.parametrize(("epsilon", "factor"), [(10.0, "22,026 times"), (1e9, "10^434,294,482")])
def test_from_ten_on_an_epsilon_is_warned_of(status: Status, epsilon: float, factor: str) -> None:
    said = replace(PROMISE, epsilon=epsilon, status=status, assumptions=("something",)).sentence()
    assert "promises next to nothing" in said and factor in said
    assert "almost the same" not in said
    assert "Warning" not in replace(PROMISE, epsilon=9.99).sentence()


def test_nothing_is_said_of_no_guarantee_at_all() -> None:
    assert caution.warning(float("inf")) == ""
