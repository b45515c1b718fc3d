"""The three ways to sum over neighbours agree with a plain matrix."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit import network
from tacit._engine.mixing import Delivery, arrange, client_inbox, peer_inboxes, server_inbox
from tacit.types import Combine

GRAPHS = {
    "gather": network.ring(12),
    "dense": network.complete(12),
    "segment": network.star(40),
}


def _matrix(net: network.AbstractNetwork, values: np.ndarray) -> np.ndarray:
    matrix = np.zeros((net.agents, net.agents))
    matrix[np.asarray(net.receivers), np.asarray(net.senders)] = values
    return matrix


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("kind", GRAPHS)
def test_sums_over_neighbours(kind: str) -> None:
    net = GRAPHS[kind]
    delivery = Delivery(net)
    assert delivery.kind == kind
    mixing = net.mixing(jnp.asarray(0), jax.random.key(0))
    payload = {
        "a": jax.random.normal(jax.random.key(1), (net.agents, 3)),
        "b": jnp.ones(net.agents),
    }
    inbox = peer_inboxes(delivery, arrange(delivery, mixing), payload, Combine.EACH)
    weights = _matrix(net, np.asarray(mixing.weight))
    ones = _matrix(net, np.asarray(mixing.active, dtype=float))
    np.testing.assert_allclose(inbox.mixed["a"], weights @ np.asarray(payload["a"]), atol=1e-14)
    np.testing.assert_allclose(inbox.total["a"], ones @ np.asarray(payload["a"]), atol=1e-13)
    np.testing.assert_allclose(inbox.total["b"], ones.sum(axis=1))
    assert np.array_equal(inbox.degree, net.degrees)
    if kind == "segment":
        assert inbox.payload is None
        return
    # slot by slot the same sums
    slots = jnp.einsum("as,asp->ap", inbox.weight, inbox.payload["a"])
    np.testing.assert_allclose(slots, inbox.mixed["a"], atol=1e-14)
    assert np.array_equal(np.sum(inbox.mask, axis=1), net.degrees)


@pytest.mark.usefixtures("float64")
def test_only_the_sum_is_seen_where_a_phase_says_so() -> None:
    net = network.ring(5)
    delivery = Delivery(net)
    links = arrange(delivery, net.mixing(jnp.asarray(0), jax.random.key(0)))
    inbox = peer_inboxes(delivery, links, jnp.ones((5, 2)), Combine.SUM)
    assert inbox.payload is None and inbox.mask is None and inbox.weight is None
    np.testing.assert_allclose(inbox.total, 2.0)


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
def test_absent_links_carry_nothing() -> None:
    net = network.LinkFailure(network.complete(6), 0.5)
    delivery = Delivery(net)
    mixing = net.mixing(jnp.asarray(3), jax.random.key(4))
    payload = jnp.arange(12.0).reshape(6, 2)
    inbox = peer_inboxes(delivery, arrange(delivery, mixing), payload, Combine.EACH)
    absent = ~np.asarray(inbox.mask)
    assert absent.any()
    assert not np.asarray(inbox.payload)[absent].any()
    assert not np.asarray(inbox.weight)[absent].any()
    np.testing.assert_allclose(np.asarray(inbox.self_weight) + inbox.weight.sum(axis=1), 1.0)


@pytest.mark.usefixtures("float64")
def test_the_server_averages_over_those_who_take_part() -> None:
    weight = jnp.asarray([0.25, 0.25, 0.25, 0.25])
    here = jnp.asarray([True, False, True, False])
    inbox = server_inbox(weight, here, jnp.asarray([1.0, 100.0, 3.0, 100.0]), Combine.EACH)
    assert inbox.mixed == 2.0 and inbox.total == 4.0 and inbox.degree == 2
    assert np.array_equal(inbox.payload, [1.0, 0.0, 3.0, 0.0])
    nobody = server_inbox(weight, jnp.zeros(4, bool), jnp.ones(4), Combine.SUM)
    assert nobody.mixed == 0.0 and nobody.payload is None
    assert client_inbox(jnp.ones(2), jnp.float64).degree == 1
