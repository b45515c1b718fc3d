"""The process that takes part in a run."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

from tacit.deploy.operate.status import read_status
from tacit.deploy.standing.entries import Entry, State
from tacit.deploy.standing.installed import COMMAND
from tacit.deploy.standing.site import Site
from tacit.errors import ConfigError

_END_SECONDS = 120.0
"""After which a process that was asked to stop is killed, which loses nothing."""


class Child:
    """A member's process in one run.

    It ends by itself, after the turn it is in, when its standard input is closed: so when this
    process is killed.

    Args:
        site: the site.
        entry: the run.

    Attributes:
        again: whether the run has ended here before: then it only serves others, for a while.
    """

    def __init__(self, site: Site, entry: Entry) -> None:
        self.entry, self.began = entry, time.monotonic()
        self.again = entry.state is State.FINISHED
        self._asked = False
        self._log = entry.folder / "log.txt"
        self._process = started(_command(site, entry), self._log)
        self._met_at: float | None = None

    @property
    def code(self) -> int | None:
        """Exit code; `None` as long as it runs."""
        return self._process.poll()

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self._asked

    def stop(self) -> None:
        """Ask it to stop after the turn that it is in."""
        if not self._asked and self._process.stdin is not None:
            self._process.stdin.close()
        self._asked = True

    def end(self) -> int:
        """Wait until it has stopped."""
        self.stop()
        try:
            return self._process.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def status(self) -> dict[str, Any]:
        """What it last said of itself, since it was started; empty if nothing."""
        try:
            found = read_status(self.entry.state_folder)
        except ConfigError:
            return {}
        age = time.time() - float(found.get("time", 0.0))
        return found if age <= time.monotonic() - self.began + 1.0 else {}

    def failure(self) -> str:
        """The last line that it printed."""
        try:
            lines = self._log.read_text(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1][:1000] if lines else ""

    def unmet(self) -> tuple[frozenset[str], frozenset[str], float]:
        """Neighbours heard, neighbours never heard, and for how many seconds it has run."""
        status = self.status()
        if status.get("state") != "running":
            self._met_at = None
            return frozenset(), frozenset(), 0.0
        self._met_at = time.monotonic() if self._met_at is None else self._met_at
        around = status["neighbours"]
        heard = {name for name, each in around.items() if each["silent_seconds"] is not None}
        return frozenset(heard), frozenset(around) - heard, time.monotonic() - self._met_at


def last_error(entry: Entry) -> str:
    """The error with which a run's process last stopped; empty if with none."""
    try:
        lines = (entry.folder / "log.txt").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return next((each[7:1007] for each in reversed(lines) if each.startswith("error: ")), "")


def _command(site: Site, entry: Entry) -> list[str]:
    decision = entry.decision
    assert decision is not None and decision.approved
    own = decision.dataset
    words = ["coordinator" if own is None else "agent", "--attended"]
    words += ["--manifest", str(entry.folder / "manifest.toml"), "--keys", str(site.keys)]
    words += ["--state", str(entry.state_folder)]
    if own is not None:
        words += ["--data", str(site.datasets[own]), "--ledger", str(site.ledger)]
        words += ["--dataset", own]
    return [*COMMAND, *words]


def started(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """A process whose output goes to a run's log."""
    with log.open("ab") as file:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file, stderr=file)
