"""A method of another package with two sums of unequal cost, between sites as real processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit.privacy.ledger import read, verify
from tests import two_sums
from tests.end_to_end.site_study import STUDY, a_study
from tests.installed import installed

ROOT, SITES, ROUNDS = Path(__file__).parents[2], 3, 4

PROJECT = """
[project]
name = "two-sums"
version = "1.0"
[project.entry-points."tacit.methods"]
two-sums = "two_sums:TwoSums"
"""


@pytest.mark.long
def test_sites_take_both_sums_and_pay_for_each(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "two_sums").mkdir(parents=True)
    (package / "pyproject.toml").write_text(PROJECT)
    shutil.copy(two_sums.__file__, package / "two_sums" / "__init__.py")
    site = installed(tmp_path / "site", package)
    a_study(tmp_path)
    text = STUDY.replace("NETWORK", '[network]\ngraph = "coordinator"').replace(
        "METHOD", 'name = "two-sums"\nstep = 0.5'
    )
    text = text.replace("BUDGET", "masks = { spare = 2 }").replace("ROUNDS", str(ROUNDS))
    (tmp_path / "study.toml").write_text(text)

    def tacit(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tacit", *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": f"{ROOT}{os.pathsep}{site}",
                "TACIT_PARTS": str(tmp_path / "pins.json"),
            },
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    (listed,) = json.loads(tacit("parts", "list", "--json"))["parts"]
    tacit("parts", "trust", "two-sums", "--digest", listed["sha256"])
    found = json.loads(tacit("account", "study.toml", "--json"))
    owner = found["guarantee"]["owners"][0]
    assert (owner["status"], owner["attempts"]) == ("proved", ROUNDS + 1 + 2)
    tacit("rehearse", "study.toml", "--output", "rehearsal")
    models = []
    for number in range(SITES):
        member = tmp_path / "rehearsal" / f"member-{number}"
        models.append(np.load(member / "state" / "model.npz")["solution"])
        (ledger,) = member.rglob("ledger")
        assert verify(ledger).sound
        (balance,) = read(ledger).balances
        # five answers of unequal cost, and two that were not needed
        assert balance.releases == ROUNDS + 1 and 0.5 * 4.0 < balance.spent < 0.95 * 4.0
    assert np.isfinite(models).all() and np.ptp(models, axis=0).max() == 0.0
