from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit._jobs import name_of
from tacit.errors import ConfigError
from tacit.study import assemble, read_study
from tacit.sweep import Grid, cells, plan
from tests.end_to_end import study


def test_chunks_cover_every_seed_once_in_batches_of_one_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "_WIDTH", 4)
    source = read_study(study.write(tmp_path))
    planned = plan(source, Grid(seeds=10, settings={"privacy.epsilon": (1.0, 2.0)}), 8)
    assert planned.runs == 20 and len(planned.cells) == 2
    for pieces in planned.pieces():
        spans = [
            (p.arguments["first"], p.arguments["width"], p.arguments["batches"]) for p in pieces
        ]
        assert spans == [(0, 4, 2), (8, 4, 1)]


def test_the_width_is_even_and_does_not_depend_on_the_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = read_study(study.write(tmp_path))
    for chunk in (None, 1, 50, 1000):
        assert plan(source, Grid(seeds=150), chunk).cells[0].width == 75
    # costly runs stand alone
    monkeypatch.setattr(cells, "_BATCH", 1.0)
    assert plan(source, Grid(seeds=150)).cells[0].width == 1


@pytest.mark.long
def test_what_changes_no_number_changes_no_name(tmp_path: Path) -> None:
    def names(text: str) -> list[str]:
        planned = plan(read_study(study.write(tmp_path, text)), Grid(seeds=3))
        return [name_of(piece) for pieces in planned.pieces() for piece in pieces]

    first = names(study.STUDY)
    assert names(study.changed('title = "Visits"', 'title = "Other"\nnotes = ["so"]')) == first
    assert names(study.changed('output = "results"', 'output = "x"\ntrials = 9')) == first
    assert names(study.changed("clip = 1.0", 'clip = 1.0\nrequire = "proved"')) == first
    assert names(study.changed("clip = 1.0", "clip = 2.0")) != first
    study.write(tmp_path, study.STUDY, study.visits(700))
    changed = plan(read_study(tmp_path / "study.toml"), Grid(seeds=3)).pieces()[0][0]
    assert name_of(changed) != first[0]


def test_the_number_of_seeds_is_that_of_the_trials_if_nothing_is_said(tmp_path: Path) -> None:
    text = study.changed("seed = 0", "seed = 0\ntrials = 7")
    planned = plan(read_study(study.write(tmp_path, text)), Grid())
    assert planned.seeds == 7
    # each run has the guarantee of a single one
    assert not any("trial" in assumed for assumed in planned.cells[0].worst.assumptions)


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        (Grid(settings={"privacy.epsilon": (1.0, -1.0)}), "privacy.epsilon=-1.0"),
        (Grid(methods=("dpsg", "fedavg"), settings={"fedavg.step": (0.1,)}), "method='fedavg'"),
    ],
)
def test_a_wrong_cell_is_named_before_anything_runs(grid: Grid, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        plan(read_study(study.write(tmp_path)), grid)
    assert "study.toml with method=" in str(error.value) and said in str(error.value)


def test_a_study_with_a_ledger_is_refused_wherever_it_is_named(tmp_path: Path) -> None:
    text = study.changed("clip = 1.0", 'clip = 1.0\nledger = "clinic.ledger"\ndataset = "visits"')
    with pytest.raises(
        ConfigError, match=r"ledger: 'clinic\.ledger': a ledger is charged for single"
    ):
        plan(read_study(study.write(tmp_path, text)), Grid(seeds=2))
    settings = {"privacy.ledger": ("x",), "privacy.dataset": ("y",)}
    with pytest.raises(ConfigError, match="a ledger is charged for single runs"):
        plan(read_study(study.write(tmp_path)), Grid(seeds=2, settings=settings))


def test_a_required_guarantee_is_required_of_every_cell(tmp_path: Path) -> None:
    text = study.changed("clip = 1.0", 'clip = 1.0\nrequire = "proved"')
    source = read_study(study.write(tmp_path, text))
    assert plan(source, Grid(seeds=2)).cells[0].worst.status.value == "proved"
    with pytest.raises(ConfigError, match="require"):
        plan(source, Grid(seeds=2, methods=("dgd",)))


def test_a_chunk_has_at_least_one_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="chunk=0 must be at least 1"):
        plan(read_study(study.write(tmp_path)), Grid(seeds=2), 0)


def test_records_are_read_again_when_their_file_has_changed(tmp_path: Path) -> None:
    source = read_study(study.write(tmp_path))
    first = assemble(source)
    assert assemble(source, like=first).problem is first.problem
    frame = study.visits()
    study.write(tmp_path, frame=frame.assign(visits=(frame["visits"] == 0).astype(int)))
    old, new = (each.problem.agent(0) for each in (first, assemble(source, like=first)))
    assert not np.array_equal(new.targets, old.targets)


@pytest.mark.not_quick
def test_one_process_computes_every_sweep_on_the_records_of_its_own(tmp_path: Path) -> None:
    def measured() -> Any:
        piece = plan(read_study(study.write(tmp_path, frame=frame)), Grid(seeds=2)).pieces()[0][0]
        paths = {name: str(path) for name, path in piece.inputs.items()}
        return piece.work(**piece.arguments, **paths)["measured"]

    frame = study.visits()
    before = measured()
    assert measured() == before
    frame["visits"] = (frame["visits"] == 0).astype(int)
    assert measured()["objective"] != before["objective"]
