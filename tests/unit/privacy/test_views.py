"""Views of gossip averaging against closed forms, the general formula and their limits."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from tacit import network
from tacit.errors import PrivacyError
from tacit.network import weight_matrix
from tacit.privacy import accounting
from tacit.privacy.event import GaussianRelease
from tacit.privacy.guarantee import Adversary, Status
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.views import (
    GossipNoise,
    gossip_guarantees,
    gossip_mu,
    gossip_pairs,
    linear_mu,
    muffliato_mu,
)

ONCE, FRESH = GossipNoise.ONCE, GossipNoise.EVERY_STEP
GRAPHS = {
    "path": network.path(6),
    "ring": network.ring(7),
    "star": network.star(5),
    "tree": network.tree(7),
    "random": network.erdos_renyi(8, 0.4, seed=1),
    "directed": network.Graph.from_edges(
        4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (2, 0)], directed=True
    ),
}
STEPS = [0, 1, 2, 3, 6]


def by_definition(
    weights: np.ndarray, steps: int, observers: list[int], noise: GossipNoise
) -> np.ndarray:
    """Stack everything that is seen, step by step, and apply the general formula."""
    agents = len(weights)
    others = [u for u in range(agents) if u not in observers]
    seen = [u for u in others if weights[observers, u].any()]
    powers = [np.linalg.matrix_power(weights, t) for t in range(steps)]
    found = np.zeros(agents)
    if not seen or not steps:
        return found
    signal = np.vstack([power[seen] for power in powers])
    if noise is ONCE:
        sources = signal[:, others]
    else:
        none = np.zeros((len(seen), len(others)))
        sources = np.block(
            [
                [powers[t - k][np.ix_(seen, others)] if k <= t else none for k in range(steps)]
                for t in range(steps)
            ]
        )
    for owner in others:
        found[owner] = linear_mu(signal[:, owner], sources, 1.0)
    return found


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("noise", GossipNoise)
@pytest.mark.parametrize("observers", [[0], [0, 2]])
def test_a_view_is_the_general_formula(
    name: str, steps: int, noise: GossipNoise, observers: list[int]
) -> None:
    weights = weight_matrix(GRAPHS[name])
    found = gossip_mu(weights, steps, observers, noise)
    expected = by_definition(weights, steps, observers, noise)
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("noise", GossipNoise)
def test_a_view_never_exceeds_everybodys_messages_and_only_grows(
    name: str, noise: GossipNoise
) -> None:
    weights = weight_matrix(GRAPHS[name])
    views = [gossip_pairs(weights, steps, noise) for steps in range(8)]
    assert views[0].max() == 0.0
    for earlier, later in itertools.pairwise(views):
        assert np.all(later >= earlier - 1e-9)
        assert np.all(later <= 1.0)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("noise", GossipNoise)
def test_a_larger_coalition_learns_no_less_and_all_others_learn_everything(
    name: str, noise: GossipNoise
) -> None:
    weights = weight_matrix(GRAPHS[name])
    last = len(weights) - 1
    before = np.zeros(len(weights))
    for size in range(1, last + 1):
        after = gossip_mu(weights, 3, list(range(size)), noise)
        assert np.all(after[size:] >= before[size:] - 1e-9)
        before = after
    assert before[last] == pytest.approx(1.0)


def test_on_the_complete_graph_everybody_hears_everybody() -> None:
    for noise in GossipNoise:
        views = gossip_pairs(np.full((5, 5), 0.2), 4, noise)
        np.testing.assert_allclose(views, 1.0 - np.eye(5))


def test_three_agents_on_a_path_by_hand() -> None:
    weights = weight_matrix(network.path(3))  # rows (2, 1, 0), (1, 1, 1), (0, 1, 2), over 3
    # Noise once: agent 0 knows its own value and hears x1 + z1, then (x0 + x1 + x2)/3 noised alike.
    np.testing.assert_allclose(gossip_mu(weights, 2, [0]), [0.0, 1.0, 1.0])
    # Fresh: the second message holds x2/3 with noise z2/3 + z1': mu^2 = (1/9) / (1/9 + 1).
    np.testing.assert_allclose(gossip_mu(weights, 2, [0], FRESH), [0.0, 1.0, math.sqrt(0.1)])


def test_far_agents_are_not_lost_in_rounding() -> None:
    # agent 1's message at step 58 holds agent 59's value with weight 3^-58, far below what a float
    # resolves beside the others
    weights = weight_matrix(network.path(60))
    assert gossip_mu(weights, 58, [0])[-1] == 0.0
    assert gossip_mu(weights, 59, [0])[-1] == pytest.approx(1.0)


def test_messages_added_one_by_one_understate_noise_added_once() -> None:
    weights = weight_matrix(network.path(3))
    alone = muffliato_mu(weights, 2)[0]
    assert alone[2] == pytest.approx(math.sqrt(1.0 / 3.0))
    assert gossip_mu(weights, 2, [0])[2] == pytest.approx(1.0)


@pytest.mark.parametrize("name", GRAPHS)
def test_messages_added_one_by_one_are_exact_where_their_noises_are_independent(name: str) -> None:
    weights = weight_matrix(GRAPHS[name])
    agents = len(weights)
    seen = [u for u in range(1, agents) if weights[0, u] != 0.0]
    signal = np.vstack([np.linalg.matrix_power(weights, t)[seen] for t in range(3)])
    noise = np.diag(np.linalg.norm(signal, axis=1))
    expected = [linear_mu(signal[:, u], noise, 1.0) for u in range(1, agents)]
    np.testing.assert_allclose(muffliato_mu(weights, 3)[0, 1:], expected)


def test_the_general_formula_on_its_corners() -> None:
    assert linear_mu(np.zeros(2), np.zeros((2, 1)), 1.0) == 0.0
    assert linear_mu(np.array([1.0]), np.zeros((1, 3)), 1.0) == math.inf
    assert linear_mu(np.array([1.0, 1.0]), np.array([[1.0], [0.0]]), 1.0) == math.inf
    # seen twice with the same noise is seen once
    assert linear_mu(np.array([1.0, 1.0]), np.ones((2, 1)), 4.0) == pytest.approx(0.25)
    # twice with fresh noise adds up as Gaussian-DP
    assert linear_mu(np.ones(2), np.eye(2), 4.0) == pytest.approx(math.sqrt(2.0) / 4.0)


def test_the_general_formula_refuses_what_does_not_fit() -> None:
    with pytest.raises(PrivacyError, match="3 entries and the noise 2 rows"):
        linear_mu(np.zeros(3), np.zeros((2, 1)), 1.0)
    with pytest.raises(PrivacyError, match="must be positive"):
        linear_mu(np.zeros(2), np.zeros((2, 1)), 0.0)


def test_guarantees_are_model_claims_that_name_who_looks() -> None:
    weights = weight_matrix(network.ring(6))
    names = ["Ahus", "Bergen", "Oslo", "Bodo", "Molde", "Voss"]
    one = gossip_guarantees(weights, 4, 5.0, 1e-6, [2], noise=FRESH, names=names)
    assert [g.owner for g in one] == ["Ahus", "Bergen", "Bodo", "Molde", "Voss"]
    assert {g.status for g in one} == {Status.MODEL}
    assert {g.adversary for g in one} == {Adversary.NEIGHBOUR}
    said = one[0].sentence()
    assert said.startswith("Model claim, not a proof")
    assert "Oslo" in said
    assert "follow the protocol" in said
    assert Guarantees.from_json(one.to_json()) == one
    local = accounting.epsilon([GaussianRelease(5.0)], 1e-6)
    assert one.worst.epsilon == pytest.approx(local), "a neighbour's first message"
    assert min(g.epsilon for g in one) < local / 2
    several = gossip_guarantees(weights, 4, 5.0, 1e-6, [4, 2, 2], noise=FRESH, names=names)
    assert {g.adversary for g in several} == {Adversary.COALITION}
    assert several[0].observers == ("Oslo", "Molde")
    assert "Oslo and Molde" in several[0].sentence()


@pytest.mark.parametrize(
    ("match", "changes"),
    [
        ("noise_multiplier=0.0 and delta", {"noise_multiplier": 0.0}),
        ("must both be positive", {"delta": 0.0}),
        ("delta=2", {"delta": 2.0}),
        ("steps=-1 must be", {"steps": -1}),
        (r"observers=\[\] must be numbers", {"observers": []}),
        (r"observers=\[4\] must be numbers", {"observers": [4]}),
        ("nobody is left", {"observers": [0, 1, 2, 3]}),
        ("2 names for 4 agents", {"names": ["a", "b"]}),
        ("weight of 1e-13 is too small", {"weights": np.eye(4) + 1e-13 * np.eye(4)[::-1]}),
        ("not a finite number", {"weights": np.full((4, 4), math.nan)}),
    ],
)
def test_arguments_out_of_range_are_named(match: str, changes: dict[str, Any]) -> None:
    settings: dict[str, Any] = {
        "weights": np.full((4, 4), 0.25),
        "steps": 2,
        "noise_multiplier": 1.0,
        "delta": 1e-6,
        "observers": [0],
    }
    with pytest.raises(PrivacyError, match=match):
        gossip_guarantees(**{**settings, **changes})
