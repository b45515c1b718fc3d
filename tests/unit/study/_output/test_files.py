"""Parts of the output that the runs of tests/end_to_end do not reach."""

import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.errors import RuntimeFailure
from tacit.privacy.guarantee import Guarantee, NoiseSource, Scope, Status
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.wording import STANDING
from tacit.report.data import released_only
from tacit.study import Outcome, assemble, execute, read_study
from tacit.study._output import Destination, write
from tacit.study._output.files import jsonable
from tacit.study._output.page import report_data
from tacit.study._output.words import chosen_metric, findings, protection, summary
from tacit.study.tables import HeldOut
from tacit.types import Relation, Unit
from tests.end_to_end.study import changed
from tests.end_to_end.study import write as write_study


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    text = changed('"dpsg"\nstep = 0.5', '"dgd"\nstep = 0.5').replace("hold_out = 0.2\n", "")
    text = changed("[privacy]\nepsilon = 1.0\ndelta = 1e-6\nclip = 1.0\n", "", text)
    text = changed("seed = 0", "compare = false", text)
    path = write_study(tmp_path_factory.mktemp("study"), text)
    return execute(assemble(read_study(path)))


def test_json_has_no_infinite_numbers() -> None:
    found = jsonable({"a": np.array([1.0, np.inf]), 3: (np.float64(-np.inf), float("nan"))})
    assert found == {"a": [1.0, "inf"], "3": ["-inf", None]}


def test_a_run_without_privacy_says_so(outcome: Outcome) -> None:
    assert "Nothing is protected" in protection(outcome)[0]
    assert outcome.reference is None
    assert ["dropped" in each for each in findings(outcome)] == [True]
    assert "4 sites" in summary(outcome)[0]


def test_what_was_run_is_shown_in_a_line_without_records(outcome: Outcome) -> None:
    for each in (outcome, outcome.assembled, outcome.assembled.source):
        assert len(repr(each)) < 250 and "study.toml" in repr(each)
    held = HeldOut(np.full((3, 2), 0.7265), np.full(3, 0.7265))
    assert "7265" not in repr(replace(outcome.assembled, held_out=held)) + repr(held)


@pytest.mark.long
def test_scores_of_several_trials_are_said_to_be_means(tmp_path: Path) -> None:
    path = write_study(tmp_path, changed("seed = 0", "seed = 0\ntrials = 3"))
    told = CliRunner().invoke(app, ["run", str(path), "-o", str(tmp_path / "found")]).output
    assert "Scores are means of 3 trials, all else is of the first." in told
    assert "Held out, means of 3 trials (simulation only)" in " ".join(told.split())


@pytest.mark.parametrize("epsilon", [12.0, 1e9])
@pytest.mark.parametrize("relation", list(Relation)[:2])
def test_a_run_with_a_large_epsilon_is_warned_of_where_it_ends(
    outcome: Outcome, epsilon: float, relation: Relation
) -> None:
    said = " ".join(protection(stated(outcome, epsilon=epsilon, relation=relation)))
    assert "Warning: an epsilon of 10 or more promises next to nothing" in said
    assert "inf" not in said
    assert "Warning" not in " ".join(protection(stated(outcome, epsilon=1.0, relation=relation)))


def test_the_report_of_such_a_run(outcome: Outcome) -> None:
    data = report_data(outcome, files=())
    assert data.guarantee_status == "none"
    assert data.noise == "none"
    assert data.accuracy is None
    assert data.epsilon_budget is None
    assert data.network is not None
    assert data.network.edges == [(0, 1), (0, 3), (1, 2), (2, 3)]
    assert "pooled" not in data.coefficients[0]
    assert "objective" not in released_only(data).history


def test_without_a_guarantee_no_file_is_covered(outcome: Outcome, tmp_path: Path) -> None:
    destination = Destination(tmp_path / "results")
    destination.prepare()
    write(outcome, destination, public=True)
    for name in ("report.html", "report_public.html"):
        assert "Covered files" not in (destination.path / name).read_text()
    assert json.loads((destination.path / "guarantee.json").read_text())["covers"] == []


@pytest.mark.parametrize(
    ("status", "covers"),
    [(Status.PROVED, True), (Status.MODEL, True), (Status.REFUTED, False)],
)
def test_what_is_covered_follows_from_the_status(
    outcome: Outcome, tmp_path: Path, status: Status, covers: bool
) -> None:
    found = {"measured_epsilon": 3.0} if status is Status.REFUTED else {}
    destination = Destination(tmp_path / "results")
    destination.prepare()
    write(stated(outcome, status=status, **found), destination)
    assert bool(json.loads((destination.path / "guarantee.json").read_text())["covers"]) == covers
    page = (destination.path / "report.html").read_text()
    assert ("Covered files" in page) == covers


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "The whole run costs epsilon = 2 at delta = 1e-6: replacing the record changes"),
        (
            {"relation": Relation.ADD_REMOVE},
            "The whole run costs epsilon = 2 at delta = 1e-6.",
        ),
        (
            {"status": Status.MODEL},
            "If the model were true, the whole run would cost epsilon = 2 at delta = 1e-6.",
        ),
        (
            {"status": Status.REFUTED, "measured_epsilon": 3.0},
            "Claimed and refuted: the whole run costs epsilon = 2 at delta = 1e-6.",
        ),
        (
            {"status": Status.PER_RELEASE, "scope": Scope.RELEASE, "total_epsilon": 40.0},
            "One release taken alone costs epsilon = 2 at delta = 1e-6; the whole run costs "
            "epsilon = 40.",
        ),
    ],
)
def test_epsilon_is_stated_as_the_status_allows(
    outcome: Outcome, changes: dict[str, Any], sentence: str
) -> None:
    lines = protection(stated(outcome, **changes))
    proved = changes.get("status", Status.PROVED) is Status.PROVED
    assert lines[0].startswith("Protected" if proved else "Claimed")
    assert lines[1].startswith(sentence)
    assert [line for line in lines if "epsilon = 2" in line] == [lines[1]]
    listed = ["Assumed:", *(f"- {each}" for each in ("the iterates are normal", *STANDING))]
    assert lines[3 : 3 + len(listed)] == listed


def test_the_public_report_tells_the_end_of_the_first_trial_only(outcome: Outcome) -> None:
    for ends, told in (([-1, 3], "finished"), ([5, -1], "diverged at round 5")):
        twice = np.repeat(outcome.result.solutions, 2, axis=0)
        result = replace(outcome.result, solutions=twice, diverged=np.array(ends))
        both = replace(outcome, result=result)
        assert report_data(both, ()).status.startswith("1 of 2 trials diverged")
        assert report_data(both, (), public=True).status == told


@pytest.mark.slow
def test_of_several_trials_one_is_published(tmp_path: Path) -> None:
    text = changed("seed = 0", "seed = 0\ntrials = 3\ncompare = false")
    text = changed("rounds = 20", "rounds = 2", text)
    text = changed('title = "Visits"', 'title = "Visits"\nnotes = ["Nobody is real."]', text)
    several = execute(assemble(read_study(write_study(tmp_path, text))))
    words = "one trial is published, the first of 3, and no other"
    assert all(words in each.assumptions for each in several.result.guarantee)
    assert words in " ".join(protection(several))
    assert "Nobody is real." in report_data(several, (), public=True).summary
    [phase] = report_data(several, ()).phases
    assert (phase["sender"], phase["receiver"]) == ("each site", "its neighbours")
    assert "`" not in phase["query"]
    assert words not in report_data(several, ()).guarantee_sentence  # they are listed
    assert words in report_data(several, ()).assumptions


def stated(outcome: Outcome, **changes: Any) -> Outcome:
    """The outcome, had the method given a guarantee."""
    promise = Guarantee(
        **{
            "owner": "north",
            "epsilon": 2.0,
            "delta": 1e-6,
            "unit": Unit.RECORD,
            "relation": Relation.REPLACE_ONE,
            "theorem": "a theorem",
            "status": Status.PROVED,
            "noise": NoiseSource.SIMULATED,
            "releases": 20,
            "assumptions": ("the iterates are normal",),
            **changes,
        }
    )
    owners = tuple(replace(promise, owner=name) for name in outcome.assembled.problem.names)
    return replace(outcome, result=replace(outcome.result, guarantee=Guarantees(owners)))


def test_a_full_disk_leaves_nothing(
    outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    destination = Destination(tmp_path / "results")
    destination.prepare()
    destination.checkpoint.write_text("saved")
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(RuntimeFailure, match=r"No space left on device.*--resume"):
        write(outcome, destination)
    assert [path.name for path in tmp_path.iterdir()] == ["results.checkpoint"]


def test_a_score_that_is_not_defined_is_not_chosen() -> None:
    assert chosen_metric({"loss": 1.0, "auc": float("nan"), "accuracy": 0.5}) == "accuracy"
    assert chosen_metric({"loss": 1.0}) == "loss"
