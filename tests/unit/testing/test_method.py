"""Every check of a method can fail: methods with one mistake each, and what they are told."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit.errors import ConfigError, NetworkError, NonPrivateRelease
from tacit.problem.callback import call_host
from tacit.testing import check_claim, check_method
from tacit.testing.data import other_data
from tacit.testing.keys import keys_describe
from tacit.testing.method import (
    order_does_not_matter,
    releases_determine_what_leaves,
    trials_do_not_matter,
)
from tacit.testing.observed import Subject
from tests.conformance.table import task
from tests.unit.testing import planted

pytestmark = pytest.mark.long

RING = network.ring(4)


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (planted.SendsItsGradient, "on other data another message leaves, though the same values"),
        (
            planted.KeepsItsGradient,
            "on other data another message leaves, though the same values",
        ),
        (planted.Understates, "Half states a sensitivity of 0.0625, and its answer moved by 0.125"),
        (
            planted.ForgetsTheClip,
            "Unclipped states a sensitivity of 0.125, and its answer moved",
        ),
        (planted.WrongSize, r"TooSmall states answers of shape \(2,\), and gives shape \(3,\)"),
        (planted.DrawsNoise, "only the mechanism of its release may draw noise"),
        (
            planted.AsksNothing,
            "on other data the run ends in the same states",
        ),
        (planted.ScalesByData, "has another noise scale when it is asked again"),
        (planted.Counts, "another run with the same seed: other values are released"),
        (
            planted.Together,
            "the batched simulation differs from the exact one by",
        ),
        (planted.Grows, "the state has the form .* shapes and types stay the same"),
        (planted.DividesByNothing, "agent 0: the message is not finite"),
        (planted.HoldsNaN, "the state holds NaN"),
        (planted.Undescribed, "the argument 'decay' is not in the Args: of the docstring"),
        (planted.Misnamed, "no study can give its example"),
    ],
)
def test_a_mistake_is_found(method: Any, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        check_method(task(0), RING, method(), rounds=3)


def test_an_argument_without_a_value_is_named() -> None:
    with pytest.raises(AssertionError, match="NoExample: example has no value for size"):
        check_method(task(0), RING, planted.NoExample(size=1.0), rounds=3)


def test_the_same_method_without_a_mistake_passes() -> None:
    check_method(task(0), RING, planted.Named(), rounds=3, other=task(5))


class Leak(planted.SendsItsGradient, planted.Named):
    """A variant that has the name of its base class."""


class Variant(planted.Named):
    """A variant for programs only."""

    name: ClassVar[str] = ""


def named_by_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a package declared the base class under its name."""
    known = {"planted": SimpleNamespace(build=planted.Named)}
    monkeypatch.setattr("tacit.testing.keys.declared", lambda family: known)


def test_what_leaves_a_variant_is_told_before_what_is_said_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named_by_a_package(monkeypatch)
    with pytest.raises(AssertionError, match="on other data another message leaves"):
        check_method(task(0), RING, Leak(), rounds=3)


def test_a_variant_of_a_class_with_a_name_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    named_by_a_package(monkeypatch)
    with pytest.raises(AssertionError, match=r"Leak is named 'planted', .* or name = \"\" if no"):
        keys_describe(Leak)
    keys_describe(planted.Named)
    check_method(task(0), RING, Variant(), rounds=3)


def test_a_trial_that_depends_on_the_others_is_found() -> None:
    subject = Subject(task(0), task(5), RING, planted.Counts(), rounds=2)
    with pytest.raises(AssertionError, match="the first of three trials is another than that of"):
        trials_do_not_matter(subject)


def test_an_order_that_matters_is_found() -> None:
    class InOrder(planted.Right):
        """The first to act in a round sends another number."""

        def share(self, state: Any, released: Any, context: Any) -> Any:
            def first(x: Any, round: Any) -> Any:
                other = planted.KEPT.get("round") != int(round)
                planted.KEPT["round"] = int(round)
                return x + other

            sent = call_host(first, state.x.shape, state.x, context.round)
            return planted.State(state.x, released), sent

    subject = Subject(task(0), task(5), RING, InOrder(), rounds=2)
    with pytest.raises(AssertionError, match=r"agents in order \[3, 1, 2, 0\]: "):
        order_does_not_matter(subject)


def test_a_method_that_asks_for_nothing_releases_nothing() -> None:
    class Silent(planted.Right):
        def phases(self) -> Any:
            return tuple(replace(phase, query=None, release=None) for phase in super().phases())

        def mix(self, state: Any, inbox: Any, context: Any) -> Any:
            return planted.State(state.x)

    subject = Subject(task(0), task(5), RING, Silent(privacy=planted.BUDGET), rounds=2)
    with pytest.raises(AssertionError, match="nothing is released"):
        releases_determine_what_leaves(subject)


def test_other_data_declare_the_same_numbers() -> None:
    data = task(0)
    other = other_data(data)
    here, there = data.objectives, other.objectives
    assert np.array_equal(here.mask, there.mask)
    assert np.array_equal(here.normaliser, there.normaliser)
    assert np.all(there.norms <= np.max(here.norms, axis=-1, keepdims=True))
    assert not np.array_equal(here.features, there.features)
    with pytest.raises(ConfigError, match="other must declare the same numbers"):
        check_method(data, RING, planted.Right(), other=task(5, normaliser=9.0))


def distance(x: Any, centre: Any) -> Any:
    return ((x - centre) ** 2).sum()


def test_costs_pass_from_agent_to_agent() -> None:
    centres = np.arange(8.0).reshape(4, 2)
    moved = other_data(problem.costs(distance, centres, np.zeros(2))).objectives.parameters
    np.testing.assert_array_equal(moved, np.roll(centres, 1, axis=0))
    with pytest.raises(ConfigError, match="give other= the same problem with other data"):
        other_data(problem.costs(distance, np.ones((4, 2)), np.zeros(2)))


def test_a_network_that_does_not_fit_is_refused() -> None:
    with pytest.raises(NetworkError, match="they must be as many"):
        check_method(task(0), network.ring(5), planted.Right())


def test_a_claim_that_is_too_small_is_refuted() -> None:
    with pytest.raises(AssertionError, match="Refuted, for agent 0: an audit found"):
        check_claim(task(0), RING, planted.Understates(), rounds=3)


def test_a_claim_that_holds_passes() -> None:
    found = check_claim(task(0), RING, planted.Right(), rounds=3, trials=500)
    assert found.best.epsilon <= found.claim.epsilon
    with pytest.raises(NonPrivateRelease):
        check_claim(task(0), RING, tacit.DGD(step=0.1), rounds=3)
