"""A rehearsal with other rounds, or other agents, than the study has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacit.data.guessing import guess_kinds
from tacit.data.loaders import load
from tacit.deploy.agreement.manifest import REHEARSAL
from tacit.deploy.agreement.own import own_records
from tacit.deploy.agreement.records import read_records
from tacit.deploy.operate.rehearse import (
    _records,
    _write_records,
    marked,
    perform,
    prepare,
    with_agents,
    with_rounds,
)
from tacit.errors import ConfigError, TacitError
from tacit.study.draft_text import study_text
from tacit.study.read import Source, parse_study
from tacit.study.tables import divide_total
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
    assert rehearsal.manifest.source(tmp_path).study.notes == (REHEARSAL,)
    assert all(path.stat().st_mode & 0o77 == 0 for path in (tmp_path / "run").rglob("records.csv"))


def test_a_rehearsal_is_marked_beside_the_notes_of_its_study() -> None:
    source = parse_study('notes = [\n  "Made up."\n]\n' + STUDY)
    assert marked(source).study.notes == (REHEARSAL, "Made up.")


def test_a_column_has_the_sites_that_it_has() -> None:
    text = STUDY.replace('column = "site"', 'column = "site"\nsites = ["a", "b", "c"]')
    assert with_agents(parse_study(text), 3).text == text
    with pytest.raises(ConfigError, match="among 3 sites, not 5: leave --agents out"):
        with_agents(parse_study(text), 5)


@pytest.mark.slow
def test_members_of_any_language_speak_to_each_other(tmp_path: Path) -> None:
    source = with_rounds(_begun(tmp_path, ("Zürich", "São Paulo", "दिल्ली")), 3)
    assert [each["rounds"] for each in perform(prepare(source, tmp_path / "run"))] == [3] * 3


def _begun(folder: Path, sites: tuple[str, ...] = ("Zürich", "São Paulo")) -> Source:
    """What `tacit init` writes for a table with gaps, with bounds declared as it asks."""
    rows = ["age,sex,place,ill"]
    for number in range(60):
        age = "" if number % 7 == 0 else str(20 + number)
        ill = "" if number % 11 == 0 else ("no", "yes")[number // 2 % 2]
        rows.append(f"{age},{'fm'[number % 2]},{sites[number % len(sites)]},{ill}")
    (folder / "table.csv").write_text("\n".join(rows), encoding="utf-8")
    frame = guess_kinds(load(folder / "table.csv"))
    text = study_text(frame, "table.csv", target="ill", site="place", public=False)
    text = text.replace("# declare: ", "").replace('["a", "b"]', '["f", "m"]')
    return parse_study(text.replace('"> 0"', '"yes"'), folder=folder)


def test_a_study_that_init_wrote_is_rehearsed(tmp_path: Path) -> None:
    source = _begun(tmp_path)
    rehearsal = prepare(source, tmp_path / "run")
    assert rehearsal.manifest.names == ("São Paulo", "Zürich")
    whole = load(tmp_path / "table.csv").dropna()
    assert [m.records for m in rehearsal.manifest.agents] == [
        int((whole["place"] == name).sum()) for name in rehearsal.manifest.names
    ]
    for number in range(2):
        own_records(
            rehearsal.manifest, number, rehearsal.folder / f"member-{number}" / "records.csv"
        )


@pytest.mark.parametrize("name", ["table.csv", "table.parquet", "table.npz"])
def test_members_read_the_values_that_a_run_reads(tmp_path: Path, name: str) -> None:
    ages = np.random.default_rng(0).uniform(18, 99, 60).astype("float32")
    frame = pd.DataFrame({"age": ages, "ill": np.arange(60) % 2 == 0})
    read = 'positive = true\n[partition]\nby = "even"\nsites = 3'
    text = STUDY.replace('positive = "yes"\n[partition]\nby = "column"\ncolumn = "site"', read)
    if name == "table.npz":
        np.savez(tmp_path / name, x=ages[:, None], y=np.arange(60) % 2 == 0)
        text = text.replace('"ill"', '"y"').replace("age =", "x0 =")
    elif name == "table.parquet":
        frame.to_parquet(tmp_path / name)
    else:
        frame["ill"] = frame["ill"].map({True: "sì; é", False: "no"})
        frame.to_csv(tmp_path / name, sep=";", decimal=",", encoding="cp1252", index=False)
        written = 'table.csv"\nseparator = ";"\nencoding = "cp1252"\ndecimal = ","\n#"'
        text = text.replace("positive = true", 'positive = "sì; é"').replace(
            'records.csv"', written
        )
    source = parse_study(text.replace("records.csv", name), folder=tmp_path)
    sites, total, whole = divide_total(source)
    for number, rows in enumerate(sites.rows):
        own = tmp_path / f"member-{number}"
        own.mkdir()
        _write_records(source, whole.iloc[rows], own)
        path = _records(tmp_path, number)
        assert path.suffix == (".parquet" if name == "table.parquet" else ".csv")
        read_again = read_records(source, path)[0].prepared
        np.testing.assert_array_equal(read_again.features, total.prepared.features[rows])
        np.testing.assert_array_equal(read_again.targets, total.prepared.targets[rows])


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("São Paulo", "a/b", "'a/b' cannot be an agent's name"),
        ("delta = 1e-6", 'delta = 1e-6\nledger = "l"\ndataset = "d"', "ledger"),
        ('name = "dpsg"', 'name = "dgd"', "adds no noise"),
        ("lower = 0 ", 'statistics = "public" # ', "declare lower for it"),
    ],
)
def test_what_cannot_be_rehearsed_leaves_nothing_behind(
    tmp_path: Path, old: str, new: str, word: str
) -> None:
    source = _begun(tmp_path, tuple(name.replace(old, new) for name in ("Zürich", "São Paulo")))
    source = parse_study(source.text.replace(old, new), folder=tmp_path)
    with pytest.raises(TacitError, match=word):
        prepare(source, tmp_path / "run")
    assert not (tmp_path / "run").exists()
