"""What a guarantee covers shows no number that it protects."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.privacy.wording import SEED
from tacit.study import Outcome, assemble, execute, read_study
from tacit.study._output import Destination, write
from tacit.study._output.files import jsonable
from tacit.study._output.page import report_data
from tacit.study._output.words import findings, summary
from tests.end_to_end.study import changed, visits
from tests.end_to_end.study import write as write_study

COUNTS = {"north": 151, "south": 173, "east": 131, "west": 157}
PRIVATE = (*map(str, COUNTS.values()), "612")


def run(folder: Path, **changes: str) -> Outcome:
    """A run over sites with these numbers of records, none held out or dropped."""
    text = changed("hold_out = 0.2\n", "")
    text = changed("rounds = 20", "rounds = 2", text)
    text = changed("seed = 0", "seed = 0\ncompare = false", text)
    for old, new in changes.items():
        text = changed(old, new, text)
    frame = visits(612)
    frame["age"] = frame["age"].fillna(40.0)
    frame["site"] = np.repeat(list(COUNTS), list(COUNTS.values()))
    return execute(assemble(read_study(write_study(folder, text, frame))))


def shown(what: Any) -> set[str]:
    """The protected numbers that stand in it."""
    found = re.findall(r"(?<![\w.])\d+(?![\w.])", str(what).replace(",", ""))
    return set(PRIVATE) & set(found)


ADD_REMOVE = {
    "clip = 1.0": 'clip = 1.0\nrelation = "add_remove"',
    'loss = "logistic"': 'loss = "logistic"\nnormaliser = 150',
}
WHOLE_AGENT = {
    '"dpsg"\nstep = 0.5': '"fedavg"\nstep = 0.5\nrelease = "update"',
    '"ring"': '"coordinator"',
}


@pytest.mark.long
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(ADD_REMOVE, id="add/remove"),
        pytest.param(WHOLE_AGENT, id="agent", marks=pytest.mark.long),
    ],
)
def test_no_covered_file_tells_how_many_records_there_are(
    changes: dict[str, str], tmp_path: Path
) -> None:
    outcome = run(tmp_path, **changes)
    destination = Destination(tmp_path / "results")
    destination.prepare()
    document = write(outcome, destination, public=True)
    page = report_data(outcome, ["report_public.html"], public=True)
    assert not shown(dataclasses.asdict(page) | {"findings": ()})
    assert not shown(summary(outcome))
    simulated = document.pop("simulation_only")
    assert not shown(document)
    assert simulated["records"] == COUNTS
    assert shown(findings(outcome)) == {"131", "173", "612"}
    for name in ("guarantee.json", "coefficients.csv"):
        assert not shown((destination.path / name).read_text()), name
    html = (destination.path / "report_public.html").read_text()
    assert not re.findall(r">\s*(?:151|173|131|157|612)\s*<|\b(?:151|612)\b records", html)
    assert all("is public" not in each for each in outcome.result.guarantee[0].assumptions)


@pytest.mark.parametrize("declared", [False, True])
def test_no_covered_file_holds_the_seed_and_those_that_do_are_named(
    tmp_path: Path, declared: bool
) -> None:
    outcome = run(tmp_path, **{"seed = 0\n": "seed = 918273645\n" if declared else ""})
    seed = str(outcome.result.seed).encode()
    destination = Destination(tmp_path / "results")
    destination.prepare()
    write(outcome, destination, public=True)
    found = json.loads((destination.path / "guarantee.json").read_text())
    assert any(SEED in each["assumptions"] for each in found["owners"])
    holding = {
        path.relative_to(destination.path).as_posix()
        for path in destination.path.rglob("*")
        if path.is_file() and seed in path.read_bytes()
    }
    assert holding == set(found["keep_secret"]) and holding
    assert ("study.toml" in holding) == declared
    assert not holding & set(found["covers"])
    # a seed that somebody chose can be guessed: the same results every time confirm a guess
    assert bool(found["covers"]) != declared
    for name in ("report.html", "report_public.html"):
        page = (destination.path / name).read_text()
        told = "Do not publish report.html, result.json, simulation_only/report.json:" in page
        assert told != declared
        assert ("no file is covered" in page) == declared


def test_where_a_record_is_replaced_their_numbers_are_public_and_the_guarantee_says_so(
    tmp_path: Path,
) -> None:
    outcome = run(tmp_path, **{'loss = "logistic"': 'loss = "logistic"\nnormaliser = 150'})
    assert shown(summary(outcome)) == {"131", "173", "612"}
    # also where sums are divided by a declared number
    assert all(
        "the number of records of every owner is public" in each.assumptions
        for each in outcome.result.guarantee
    )
    assert set(PRIVATE) - {"612"} == shown(jsonable(report_data(outcome, ()).guarantee_table))
