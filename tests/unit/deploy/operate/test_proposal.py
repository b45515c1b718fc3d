"""A manifest from cards, what an owner reviews, and the status that a member writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.deploy import propose, read_status, review
from tacit.deploy.identity.keys import create
from tacit.deploy.operate.watch import starting
from tacit.errors import ConfigError
from tacit.study import parse_study
from tests.sites import STUDY, a_manifest, records


def test_what_is_proposed_is_reviewed_and_signed(tmp_path: Path) -> None:
    names = ("north", "south", "west")
    made = [create(tmp_path / n, n, f"127.0.0.1:{7400 + k}") for k, n in enumerate(names)]
    data = records(tmp_path)
    cards = [(keys.folder / "card.toml", 10 + k) for k, keys in enumerate(made)]
    manifest = propose(parse_study(STUDY, folder=tmp_path), data, cards)
    assert [(member.name, member.records) for member in manifest.agents] == [
        ("north", 10),
        ("south", 11),
        ("west", 12),
    ]
    found = review(manifest.signed_by(made[0]))
    assert found.unsigned == {"south", "west"} and not found.altered
    for member, promised in found.members:
        assert promised is not None and promised.owner == member.name
        assert 0.0 < promised.epsilon < 10.0


def test_a_status_is_read(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    starting(
        path, a_manifest([create(tmp_path / n, n, f"{n}:7400") for n in ("a", "b", "c")]), "a", 3
    )
    assert read_status(tmp_path)["paid"] == {}
    path.write_text(json.dumps({"format": "tacit-status-1", "paid": {}}))
    with pytest.raises(ConfigError, match=r"status\.json is damaged"):
        read_status(tmp_path)
    with pytest.raises(ConfigError, match="no status"):
        read_status(tmp_path / "elsewhere")


def test_one_agent_is_no_run_between_sites(tmp_path: Path) -> None:
    card = create(tmp_path / "north", "north", "127.0.0.1:7400").folder / "card.toml"
    study = parse_study(STUDY, folder=tmp_path)
    with pytest.raises(ConfigError, match=r"at least 2 agents, and 1 is given; name every site"):
        propose(study, records(tmp_path), [(card, 10)])
    with pytest.raises(ConfigError, match=r"patience=nan must be a number"):
        propose(study, records(tmp_path), [(card, 10), (card, 10)], patience=float("nan"))
