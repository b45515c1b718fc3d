"""The report of a run between sites, made of a member's state folder."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from tacit.deploy.member.compare import Comparison
from tacit.deploy.operate.finished import read_finished
from tacit.deploy.operate.report import report_data, write_report
from tacit.errors import ConfigError
from tacit.report import released_only, render
from tacit.report.data import shows_private
from tests.finished import Ended, copied, ended


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    return ended(tmp_path_factory.mktemp("run"))


def test_the_page_is_that_of_a_simulation_without_what_only_a_simulation_knows(
    finished: Ended,
) -> None:
    text = write_report(finished.state).read_text()
    for part in (
        "3 sites fitted a model of &#39;ill&#39; (logistic loss, 2 parameters) over a ring",
        "ran 5 rounds of dpsg",
        "This is the report of north.",
        "Secure noise: this is a certificate.",
        "✓</span> proved</p>",
        finished.manifest.run.hex(),
        "run report · releases only",
        *(member.card.fingerprint() for member in finished.manifest.members),
        'id="network-figure"',
        'id="coefficients-figure"',
        'id="spending-figure"',
        "Secure: drawn from the operating system",
    ):
        assert part in text
    assert "simulation only" not in text
    assert 'class="banner"' not in text
    data = report_data(read_finished(finished.state))
    assert render(data) == render(released_only(data))
    assert not shows_private(data)
    assert [row["agreed"] for row in data.coefficients] == [-0.5, 0.5]
    # DPSG releases once a round, so a budget of 4 is spent at the end and never exceeded
    assert data.history["round"] == [0, 1, 2, 3, 4, 5]
    assert np.all(np.diff(data.history["epsilon"]) > 0)
    assert data.history["epsilon"][-1] == pytest.approx(4.0, rel=1e-3)


def test_no_time_of_this_machine_is_on_the_page(finished: Ended) -> None:
    text = write_report(finished.state).read_text()
    assert not re.search(r"0\.125|0\.25\b|<dt>Time</dt>", re.sub(r"<script.*", "", text))


def test_a_seed_is_told_and_covers_nothing(tmp_path: Path) -> None:
    found = ended(tmp_path, simulated=True)
    data = report_data(read_finished(found.state))
    assert (data.noise, data.files) == ("simulated", ())


def test_absences_and_other_messages_of_a_coordinator_are_told(
    finished: Ended, tmp_path: Path
) -> None:
    compared = asdict(Comparison(("west",), ("süd",), (), ("round 3",)))
    absences = [
        {"member": "west", "first_round": 2, "back_in_round": 4},
        {"member": "süd", "first_round": 5, "back_in_round": None},
    ]
    found = copied(finished, tmp_path, compared=compared, absences=absences)
    data = report_data(read_finished(found.state))
    assert "The coordinator told members different things (süd)" in data.status
    rows = {row["member"]: row for row in data.members}
    assert [rows[name]["absent"] for name in rows] == [
        "never",
        "from round 5 to the end",
        "from round 2 to before round 4",
    ]
    assert [rows[name]["told the same"] for name in rows] == ["", "no", "yes"]


def test_a_run_that_has_not_finished_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no result\.json: give the --state directory"):
        write_report(tmp_path)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("result.json", {"format": "other"}, "not that of a member's state"),
        ("result.json", {"run": "ab" * 32}, "is the manifest of run"),
        ("guarantee.json", {"run": "ab" * 32}, "not about run"),
        ("guarantee.json", {"epsilon": -1.0}, "epsilon"),
        ("result.json", {"member": "nobody"}, "takes no part in this run"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    finished: Ended, tmp_path: Path, name: str, change: dict[str, object], told: str
) -> None:
    state = copied(finished, tmp_path).state
    document = json.loads((state / name).read_text()) | change
    (state / name).write_text(json.dumps(document))
    with pytest.raises(ConfigError, match=told):
        write_report(state)


@pytest.mark.parametrize("name", ["manifest.toml", "model.npz", "guarantee.json", "versions.json"])
@pytest.mark.parametrize("damage", ["gone", "damaged"])
def test_files_that_are_gone_or_damaged_are_named(
    finished: Ended, tmp_path: Path, name: str, damage: str
) -> None:
    state = copied(finished, tmp_path).state
    if damage == "gone":
        (state / name).unlink()
    else:
        (state / name).write_bytes(b"\x00nothing")
    with pytest.raises(ConfigError, match=name):
        write_report(state)
