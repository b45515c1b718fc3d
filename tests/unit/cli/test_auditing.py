"""What `tacit audit` prints and draws of a claim that is about one release."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit.cli import auditing
from tacit.papers.gratton2021 import PVPPrinted
from tacit.study._output import audit as files


@pytest.fixture(scope="module")
def found() -> Any:
    rows = [np.ones((4, 2))] * 3
    data = problem.empirical_risk(rows, [np.ones(4)] * 3, problem.Logistic())
    method = PVPPrinted(epsilon=0.5)
    return tacit.audit_method(data, network.ring(3), method, rounds=2, trials=64, seed=0)


@pytest.mark.long
def test_the_terminal_shows_both_claims(
    found: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    auditing._tell(found, tmp_path)
    said = " ".join(capsys.readouterr().out.split())
    assert "Claim: For one release only, for agent 0" in said
    assert "The source claims this of one release alone" in said


@pytest.mark.long
def test_the_page_shows_both_claims(found: Any) -> None:
    page = files.page("Visits", "pvp", found)
    assert page.claim.startswith("For one release only")
    assert dict(page.facts)["Claimed for one release"] == "0.2692"
    assert float(dict(page.facts)["Claimed epsilon"]) > 0.2692
    assert found.scope() in page.verdict
