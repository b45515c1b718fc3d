"""Rounds without a member are noted once, also through restarts."""

from __future__ import annotations

from pathlib import Path

from tacit.deploy.absences import Absences
from tacit.deploy.journal import Journal


def test_a_round_that_is_taken_anew_is_no_absence(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.db", "ab" * 32)
    absences = Absences(journal)
    for first, back in ((4, 6), (7, 7), (9, 8)):  # stopped, and started again with who was silent
        absences.left(1, first)
        absences.back(1, back)
    absences.left(1, 12)
    assert [(each.first, each.back) for each in absences.all()] == [(4, 6), (12, None)]
    journal.close()
