from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacit.errors import ConfigError
from tacit.study import account, assemble, read_study
from tacit.study.tables import divide, randhie
from tests.end_to_end.study import STUDY, changed, visits, write


def sites(folder: Path, text: str = STUDY) -> tuple:
    return divide(read_study(write(folder, text)))


def test_records_stand_at_their_sites(tmp_path: Path) -> None:
    found, prepared, held = sites(tmp_path)
    assert found.names == ("east", "north", "south", "west")
    assert held is not None
    assert sum(found.counts) + len(held.targets) == 580, "20 records lack an age"
    assert len(prepared.targets) == sum(found.counts)


def test_held_out_records_are_nobodys(tmp_path: Path) -> None:
    found, _, held = sites(tmp_path)
    everything = {tuple(row) for table in found.features for row in table}
    whole, _, none = sites(tmp_path, changed("hold_out = 0.2\n", ""))
    assert none is None
    together = np.concatenate([*found.features, held.features])
    complete = np.concatenate(whole.features)
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(complete, axis=0))
    assert everything


def test_the_split_has_a_seed_of_its_own(tmp_path: Path) -> None:
    first = sites(tmp_path)[2].features
    np.testing.assert_array_equal(
        first, sites(tmp_path, changed("seed = 0", "seed = 9"))[2].features
    )
    other = sites(tmp_path, changed("seed = 0", "seed = 0\nsplit_seed = 1"))[2].features
    assert not np.array_equal(first, other)


ADDED = 'clip = 1.0\nrelation = "add_remove"'


def assumed(folder: Path, text: str) -> str:
    return " ".join(account(assemble(read_study(write(folder, text)))).guarantee.worst.assumptions)


@pytest.mark.parametrize(
    ("partition", "named"),
    [
        ('by = "label"\nsites = 4', "public, and no change"),
        ('by = "dirichlet"\nsites = 4\nconcentration = 1.0', "public, and no change"),
        ('by = "even"\nsites = 4', ""),
        ('by = "drawn"\nsites = 4', "replaced only by one"),
    ],
)
def test_a_study_names_what_its_division_assumes(
    tmp_path: Path, partition: str, named: str
) -> None:
    found = assumed(tmp_path, changed('by = "column"\ncolumn = "site"', partition))
    assert ("no change of a record" in found or "replaced only" in found) == bool(named)
    assert named in found


def test_where_records_come_and_go_a_record_decides_whether_it_is_held_out(tmp_path: Path) -> None:
    text = changed("clip = 1.0", ADDED).replace(
        'loss = "logistic"', 'loss = "logistic"\nnormaliser = 100'
    )
    assert "no change of a record" not in assumed(tmp_path, text)
    source = read_study(write(tmp_path, text))
    found, _, held = divide(source)
    assert held is not None
    # one record of a site fewer: nothing else moves
    frame = pd.read_csv(tmp_path / "visits.csv")
    frame.drop(index=frame.index[frame["age"].notna()][0]).to_csv(
        tmp_path / "visits.csv", index=False
    )
    fewer, _, less = divide(source)
    assert less is not None
    assert sum(found.counts) + len(held.targets) - 1 == sum(fewer.counts) + len(less.targets)
    changes = [a.shape != b.shape for a, b in zip(found.features, fewer.features, strict=True)]
    assert sum(changes) + (len(held.targets) != len(less.targets)) == 1
    even = text.replace('by = "column"\ncolumn = "site"', 'by = "even"\nsites = 4')
    assert "public places" in assumed(tmp_path, even)


def test_a_pattern_stands_for_all_columns_that_match(tmp_path: Path) -> None:
    frame = visits().assign(pixel_0=1.0, pixel_1=2.0)
    frame.to_csv(tmp_path / "wide.csv", index=False)
    text = changed("features.age", 'features."pixel_*"').replace("visits.csv", "wide.csv")
    assert sites(tmp_path, text)[0].feature_names[:2] == ("pixel_0", "pixel_1")
    with pytest.raises(ConfigError, match=r"no column matches 'pixle_\*'"):
        sites(tmp_path, text.replace("pixel_*", "pixle_*"))


def test_other_kinds_of_files(tmp_path: Path) -> None:
    expected = sites(tmp_path)[0]
    frame = pd.read_csv(tmp_path / "visits.csv")
    frame.to_parquet(tmp_path / "visits.parquet")
    frame.to_csv(tmp_path / "visits2.csv", index=False, sep=";")
    for new in ('"visits.parquet"', '"visits2.csv"\nseparator = ";"'):
        found = sites(tmp_path, changed('"visits.csv"', new))[0]
        np.testing.assert_array_equal(found.features[0], expected.features[0])


def test_labels_belong_to_images(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="labels: 'x' is for idx images"):
        sites(tmp_path, changed('"visits.csv"', '"visits.csv"\nlabels = "x"'))


def test_the_demos_records_need_no_import_of_statsmodels() -> None:
    pytest.importorskip("statsmodels", reason="the demo's records come with statsmodels")
    frame = pd.read_csv(randhie())
    assert frame.shape == (20190, 10)
    assert (frame["mdvis"] > 0).mean() == pytest.approx(0.687568, abs=1e-6)


def test_without_statsmodels_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.study.tables.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'tacit\[demo\]'"):
        randhie()


GERMAN = """\
[data]
path = "visits.csv"
decimal = ","
missing = "drop"
[data.features]
"Größe" = { lower = 100, upper = 220 }
Aufnahme = { lower = 2024-01-01, upper = "2024-12-31", format = "%d.%m.%Y" }
Geschlecht = { levels = ["f", "m"], map = { weiblich = "f", "männlich" = "m", divers = "" } }
Raucher = { kind = "boolean", map = { "früher" = false } }
[data.target]
column = "erkrankt"
positive = true
[partition]
by = "column"
column = "Klinik"
[problem]
loss = "logistic"
[network]
graph = "complete"
[method]
name = "dpsg"
step = 1.0
[privacy]
epsilon = 1.0
clip = 1.0
[run]
rounds = 2
"""
LINES = """\
Größe;Aufnahme;Geschlecht;Raucher;Klinik;erkrankt
160,0;01.01.2024;weiblich;Ja;Köln;Ja
250,5;31.12.2024;männlich;früher;Bonn;Nein
160,0;31.12.2024;divers;nein;Bonn;Nein
NA;31.12.2024;weiblich;nein;Bonn;Nein
"""


def german(folder: Path, text: str = GERMAN, lines: str = LINES) -> tuple:
    (folder / "visits.csv").write_bytes(lines.encode("cp1252"))
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return divide(read_study(folder / "study.toml"))


def test_a_study_reads_what_a_german_excel_writes(tmp_path: Path) -> None:
    found, prepared, _ = german(tmp_path)
    assert found.names == ("Bonn", "Köln")
    assert prepared.feature_names[:4] == ("Größe", "Aufnahme", "Geschlecht=f", "Geschlecht=m")
    assert prepared.features.tolist() == [[0, -1, 1, 0, 1, 1], [1, 1, 0, 1, 0, 1]]
    assert prepared.targets.tolist() == [1, 0]
    assert prepared.altered is not None
    assert (prepared.altered.dropped, prepared.altered.moved) == (2, {"Größe": 1})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('format = "%d.%m.%Y"', 'format = "dd.mm.yyyy"', r"\[data.features.Aufnahme\] .*strptime"),
        ("lower = 2024-01-01", "lower = 2025-01-01", r"\[data.features.Aufnahme\] lower: .*before"),
        ('"männlich" = "m"', '"männlich" = "x"', r"\[data.features.Geschlecht\] map: .* not among"),
        (
            '"früher" = false',
            '"früher" = "manchmal"',
            r"\[data.features.Raucher\] map: .*true or fal",
        ),
        ('decimal = ","', 'sheet = "Blatt 1"', r"sheet: 'Blatt 1' is for Excel workbooks"),
        ('"Größe" =', "Größe =", 'other letters than a to z in quotes: "Größe"'),
        ('"früher" =', "früher =", 'other letters than a to z in quotes: "früher"'),
        ('decimal = ","', "", r"\[data.features\] Größe: .*set decimal=','"),
        ('format = "%d.%m.%Y"', 'kind = "date"', r"\[data.features\] Aufnahme: .*line 2 holds"),
    ],
)
def test_mistakes_in_declarations_are_told_with_their_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in GERMAN
    with pytest.raises(ConfigError, match=message):
        german(tmp_path, GERMAN.replace(old, new))


@pytest.mark.parametrize(("threshold", "which"), [("> 999", "no"), (">= 0", "every")])
def test_a_threshold_divides_the_records(tmp_path: Path, threshold: str, which: str) -> None:
    with pytest.raises(ConfigError, match=rf"positive.*'{threshold}' holds for {which} record"):
        sites(tmp_path, changed('positive = "> 0"', f'positive = "{threshold}"'))
