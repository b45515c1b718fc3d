"""Metrics of a user's own, named in a study, shown in its report and measured by its sweep."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit._jobs import name_of
from tacit.errors import ConfigError
from tacit.report.html import render
from tacit.study import assemble, execute, read_study
from tacit.study._output.files import result_document
from tacit.study._output.page import report_data
from tacit.study._output.words import findings
from tacit.study.own_code import code_of, metrics
from tacit.sweep import Grid, plan
from tacit.sweep.chunk import chunk
from tests.end_to_end.study import changed, write
from tests.installed import installed

MODULE = """\
def largest(answers):
    return abs(answers).max()

def words(answers):
    return "much"
"""


def study(folder: Path, keys: str = 'largest = "metrics_of_tests:largest"') -> Any:
    (folder / "metrics_of_tests.py").write_text(MODULE)
    return read_study(write(folder, changed("[run]\n", f"[run]\nmetrics = {{ {keys} }}\n")))


def test_a_metric_is_measured_and_shown(tmp_path: Path) -> None:
    outcome = execute(assemble(study(tmp_path)))
    last = float(np.abs(outcome.result.solutions[0]).max())
    assert outcome.result.history.measured["largest"][-1, 0] == pytest.approx(last, rel=1e-12)
    assert "largest" in outcome.result.history.simulation_only
    assert f"At the end largest is {last:.6g}." in findings(outcome)
    assert result_document(outcome)["simulation_only"]["metrics"]["largest"] == [last]
    page, public = (render(report_data(outcome, (), public=each)) for each in (False, True))
    said = f"A metric of the study's own. At the end: {last:.3g}"
    assert said in unescape(page) and "A metric of the study" not in public


@pytest.mark.long
def test_a_sweep_measures_it_and_notices_other_code(tmp_path: Path) -> None:
    planned = plan(study(tmp_path), Grid(seeds=2))
    assert "largest" in planned.cells[0].measures
    piece = planned.pieces()[0][0]
    found = chunk(**piece.arguments, data=str(tmp_path / "visits.csv"))
    assert len(found["measured"]["largest"]) == 2 and min(found["measured"]["largest"]) > 0
    with pytest.raises(ConfigError, match="differ from those that the sweep was planned with"):
        chunk(**{**piece.arguments, "code": "0"}, data=str(tmp_path / "visits.csv"))
    bare = read_study(write(tmp_path))
    assert code_of(bare) == "" and "code" not in plan(bare, Grid(seeds=2)).pieces()[0][0].arguments
    other = tmp_path / "other"
    other.mkdir()
    again = study(other)
    (other / "metrics_of_tests.py").write_text(MODULE.replace("max", "min"))
    assert name_of(plan(again, Grid(seeds=2)).pieces()[0][0]) != name_of(piece)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('auc = "metrics_of_tests:largest"', "'auc' is the name of a score; rename it"),
        ('consensus = "metrics_of_tests:largest"', "the history has such a column already"),
        ('largest = "metrics_of_tests:large"', "has no function 'large'; it has largest, words"),
        ('largest = "acme-largest"', "no installed package declares the metric 'acme-largest'"),
        ('words = "metrics_of_tests:words"', "returned 'much'"),
        ("largest = 3", "3 must be text in quotes"),
    ],
)
def test_a_wrong_metric_is_named(tmp_path: Path, keys: str, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        execute(assemble(study(tmp_path, keys)))
    assert told in str(raised.value) and "study.toml" in str(raised.value)


def test_a_package_declares_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package"
    (package / "acme_metrics").mkdir(parents=True)
    (package / "acme_metrics" / "__init__.py").write_text(MODULE)
    (package / "pyproject.toml").write_text(
        '[project]\nname = "acme-metrics"\nversion = "1"\n'
        '[project.entry-points."tacit.metrics"]\nacme-largest = "acme_metrics:largest"\n'
        'acme-lost = "acme_metrics:lost"\n'
    )
    monkeypatch.syspath_prepend(str(installed(tmp_path / "site", package)))
    found = metrics(study(tmp_path, 'largest = "acme-largest"'))
    assert found["largest"](np.array([[-2.0, 1.0]])) == 2.0
    with pytest.raises(ConfigError, match="'acme-lost' cannot be imported from acme_metrics:lost"):
        metrics(study(tmp_path, 'largest = "acme-lost"'))
    with pytest.raises(ConfigError, match="did you mean 'acme-largest'"):
        metrics(study(tmp_path, 'largest = "acme-largst"'))
