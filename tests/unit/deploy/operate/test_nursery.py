"""Members share what they have loaded: exit codes, logs, and an end with who started them."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tacit.deploy.operate.nursery import Command, Processes


def test_each_is_a_command_with_a_log_and_a_code_and_none_outlives_the_block(
    tmp_path: Path,
) -> None:
    def command(name: str, *words: str) -> Command:
        return Command([sys.executable, "-m", "tacit", *words], str(tmp_path / name))

    (tmp_path / "good").write_text("before\n")
    waiting = tmp_path / "waiting"
    with Processes(
        [
            command("good", "--version"),
            command("bad", "agent", "--no-such-option"),
            command("waiting", "status", str(tmp_path), "--follow"),
        ]
    ) as running:
        ends = time.monotonic() + 60.0
        while running.codes.count(None) > 1 or not (waiting.exists() and waiting.read_text()):
            assert time.monotonic() < ends, running.codes
            running.wait(0.05)
        assert running.codes == [0, 2, None]
        running.wait(0.05)  # nothing new
        assert len(users(waiting)) == 1 or sys.platform != "linux"
    assert (tmp_path / "good").read_text().startswith("before\ntacit ")
    assert "--no-such-option" in (tmp_path / "bad").read_text()
    assert users(waiting) == set()


def users(path: Path) -> set[str]:
    """Processes that have a file open; none where the system does not say."""
    found = set[str]()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if link.readlink() == path:
                found.add(link.parts[2])
        except OSError:
            continue
    return found
