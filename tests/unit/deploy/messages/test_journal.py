"""A journal is that of one run, and of one version."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.deploy.messages import journal
from tacit.deploy.messages.heard import HeardStore
from tacit.deploy.messages.journal import Journal, check_state
from tacit.deploy.messages.mailbox import Heard
from tacit.errors import ConfigError, RuntimeFailure

RUN, OTHER = "ab" * 32, "cd" * 32


def test_a_journal_of_another_version_is_refused(tmp_path: Path) -> None:
    made = Journal(tmp_path / "journal.db", RUN)
    with made.writing() as file:
        file.execute("PRAGMA user_version = 1")
    made.close()
    with pytest.raises(RuntimeFailure, match="another version of tacit"):
        Journal(tmp_path / "journal.db", RUN)


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    check_state(tmp_path, OTHER)  # nothing is there yet
    Journal(tmp_path / "journal.db", RUN).close()
    check_state(tmp_path, RUN)
    with pytest.raises(ConfigError, match="--state directory of its own"):
        check_state(tmp_path, OTHER)
    with pytest.raises(ConfigError, match="--state directory of its own"):
        Journal(tmp_path / "journal.db", OTHER)


def test_a_transaction_that_is_cut_off_writes_nothing(tmp_path: Path) -> None:
    made = Journal(tmp_path / "journal.db", RUN)

    def torn() -> None:
        with made.transaction() as file:
            file.execute("INSERT INTO run VALUES ('another')")
            file.execute("INSERT INTO nowhere VALUES (1)")

    with pytest.raises(RuntimeFailure, match="cannot be written"):
        torn()
    made.close()
    again = Journal(tmp_path / "journal.db", RUN)
    with again.writing() as file:
        assert file.execute("SELECT id FROM run").fetchall() == [(RUN,)]
    again.close()


@pytest.mark.parametrize("length", [None, 100, 5_000, 17_000])
def test_a_damaged_journal_is_no_full_disk(tmp_path: Path, length: int | None) -> None:
    path = tmp_path / "journal.db"
    Journal(path, RUN).close()
    path.write_bytes(b"x" * 40_000 if length is None else path.read_bytes()[:length])
    check_state(tmp_path, RUN)
    with pytest.raises(
        RuntimeFailure, match=r"is damaged \(.*\); nothing was sent. Put the newest"
    ):
        Journal(path, RUN)


def test_a_journal_is_made_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    with monkeypatch.context() as patched:
        patched.setattr(journal, "_TABLES", (*journal._TABLES[:3], "broken off"))
        with pytest.raises(RuntimeFailure, match="cannot be written"):
            Journal(path, RUN)
    begun = Journal(path, RUN)
    HeardStore(begun).keep([Heard(1, 0, b"digest", b"signature")])
    assert HeardStore(begun).newest() == {1: 0}
    begun.close()
