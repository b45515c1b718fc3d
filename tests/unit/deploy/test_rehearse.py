"""A rehearsal with other rounds, or other agents, than the study has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.config.read import parse_study
from tacit.deploy.rehearse import prepare, with_agents, with_rounds
from tacit.errors import ConfigError
from tests.sites import STUDY, records


@pytest.mark.parametrize(
    "written", ["[run]\nrounds = 5\n", "run = { rounds = 5 }\n", '[run]\n"rounds"=5 # of 5\n']
)
def test_rounds_are_changed_however_they_are_written(written: str) -> None:
    rest = STUDY.replace("[run]\nrounds = 5\n", "")
    source = parse_study(written + rest)
    changed = with_rounds(source, 30)
    assert changed.study.run.rounds == 30
    assert changed.text == written.replace("5", "30", 1) + rest


def test_records_are_divided_among_as_many_agents_as_are_asked_for(tmp_path: Path) -> None:
    text = STUDY.replace('by = "column"\ncolumn = "site"', 'by = "even"\nsites = 3')
    text = text.replace("records.csv", records(tmp_path, 60).name)
    rehearsal = prepare(with_agents(parse_study(text, folder=tmp_path), 5), tmp_path / "run")
    assert [member.records for member in rehearsal.manifest.agents] == [12] * 5


def test_a_column_has_the_sites_that_it_has() -> None:
    text = STUDY.replace('column = "site"', 'column = "site"\nsites = ["a", "b", "c"]')
    assert with_agents(parse_study(text), 3).text == text
    with pytest.raises(ConfigError, match="among 3 sites, not 5: leave --agents out"):
        with_agents(parse_study(text), 5)
