"""With whom a member talks: at the other ends of its links, or with who adds up for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit.deploy.identity import keys
from tacit.deploy.member.neighbours import linked, neighbours, seats, sum_graph
from tests.sites import STUDY, a_manifest, member


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[keys.Keys]:
    folder = tmp_path_factory.mktemp("keys")
    names = ("north", "south", "west", "centre")
    return [keys.create(Path(folder) / each, each, f"{each}.example:7447") for each in names]


def test_the_ends_of_a_path_do_not_talk_to_each_other(made: list[keys.Keys]) -> None:
    manifest = a_manifest(made, STUDY.replace('"ring"', '"path"'))
    assert [neighbours(manifest, each) for each in range(3)] == [[1], [0, 2], [1]]


def test_agents_of_a_coordinator_talk_to_it_alone(made: list[keys.Keys]) -> None:
    study = STUDY.replace('"ring"', '"coordinator"').replace('"dpsg"', '"gradient-descent"')
    manifest = a_manifest(made, study, coordinator=member(made[3]))
    assert [neighbours(manifest, each) for each in range(4)] == [[3], [3], [3], [0, 1, 2]]


def summed(made: list[keys.Keys], way: str, graph: str = '"path"') -> Any:
    study = STUDY.replace('graph = "ring"', f'graph = {graph}\nexact_sum = "{way}"')
    return a_manifest(made, study.replace('"dpsg"', '"gradient-descent"'))


@pytest.mark.parametrize(("way", "on"), [("tree", ()), ("flooding", (1,))])
def test_peers_that_add_up_are_connected_to_their_neighbours_and_hear_one_of_them(
    made: list[keys.Keys], way: str, on: tuple[int, ...]
) -> None:
    manifest = summed(made, way)
    assert [linked(manifest, each) for each in range(3)] == [[1], [0, 2], [1]]
    assert [neighbours(manifest, each) for each in range(4)] == [[3], [3], [3], [0, 1, 2]]
    graph = sum_graph(manifest)
    assert graph is not None and graph.root == 1
    assert [each.name for each in seats(manifest, graph)] == ["north", "south", "west", "south"]
    end, root = graph.place(manifest, 0), graph.place(manifest, 1)
    assert (end.towards, end.away, end.neighbours) == ((1,), on, {1: made[1].card})
    assert (root.towards, root.away) == ((), (0, 2))
    assert sum_graph(a_manifest(made)) is None and len(seats(a_manifest(made), None)) == 3


def test_where_the_graph_may_be_cut_is_said_by_link(made: list[keys.Keys]) -> None:
    graph = sum_graph(summed(made, "tree"))
    assert graph is not None
    assert "cut at south - west." in graph.cut_off([2])
    assert "cut at south - north, south - west." in graph.cut_off([0, 2])
    assert "none of this site's neighbours (south) is heard" in graph.out_of_reach(0, [])
    told = graph.out_of_reach(0, [1])
    assert "south is heard" in told and "every way to it" in told
