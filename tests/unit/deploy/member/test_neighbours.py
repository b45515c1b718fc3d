"""With whom a member talks: those at the other ends of its links, in either direction."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.deploy.identity import keys
from tacit.deploy.member.neighbours import neighbours
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
