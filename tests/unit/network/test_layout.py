"""Positions for drawing."""

import numpy as np
import pytest

from tacit.network import (
    Coordinator,
    LinkFailure,
    complete,
    grid,
    layout,
    path,
    random_regular,
    ring,
    small_world,
    star,
    tree,
)


@pytest.mark.parametrize(
    "network",
    [
        ring(5),
        path(4),
        star(6),
        complete(4),
        grid(3, 4),
        tree(7),
        random_regular(10, 3, seed=0),
        small_world(20, 4, 0.1, seed=0),
        random_regular(302, 3, seed=0),
        LinkFailure(ring(5), 0.5),
        Coordinator(3),
    ],
    ids=lambda network: f"{type(network).__name__}-{network.kind}-{network.agents}",
)
def test_agents_stand_apart_inside_the_square_and_always_at_the_same_place(network):
    places = layout(network)
    assert places.shape == (network.agents, 2)
    assert np.isfinite(places).all()
    assert np.abs(places).max() <= 1 + 1e-12
    assert len(np.unique(places.round(9), axis=0)) == network.agents
    assert np.array_equal(places, layout(network))


def test_a_star_has_its_hub_in_the_middle():
    places = layout(star(6))
    assert places[0].tolist() == [0, 0]
    assert np.allclose(np.hypot(*places[1:].T), 1)


def test_ring_neighbours_stand_next_to_each_other():
    places = layout(ring(8))
    steps = np.linalg.norm(places - np.roll(places, 1, axis=0), axis=1)
    assert np.allclose(steps, 2 * np.sin(np.pi / 8))
