"""The installed tacit: processes that are started now get it, and it may not be this one's."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import tacit
from tacit.deploy.standing.entries import Entry, State

_PYTHON = (sys.executable, "-P")
COMMAND = (*_PYTHON, "-m", "tacit")
"""What starts it, whatever stands in the folder where the agent was started."""

_START = """
import sys
from pathlib import Path
import tacit.cli.deploying, tacit.deploy.standing.page, tacit.deploy.standing.serve
from tacit.deploy.standing.site import find
find(Path(sys.argv[1])).load_keys()
print(tacit.__version__)
"""
"""What an agent of the installed version does before it serves. One version asks another, so no
version may lack one of these names."""

_ANSWER_SECONDS = 60.0
_LONGEST_WHY = 300

_AGAIN_SECONDS, _AGAIN_FACTOR = 2.0, 10.0
"""Until another one is asked again: at least so many seconds, and so many times as long
as it took to answer, since the agent does nothing else meanwhile."""

_SETTLED_SECONDS = 30.0
"""For how long another version has to stay before an agent starts again with it: the command that
installs it may not have ended."""


class Found(NamedTuple):
    """An installed tacit.

    Attributes:
        version: its version; empty if it does not start.
        why: the last that it printed if it does not.
    """

    version: str
    why: str = ""

    @property
    def wrong(self) -> str:
        """That it does not start, and why, to go on with."""
        return "does not start" + (f" ({self.why})" if self.why else "")


def installed() -> Found:
    """The installed tacit, by what it says of its version: soon, and it may lack what it needs."""
    return _answer([*COMMAND, "--version"])


def startable(folder: Path) -> Found:
    """The installed tacit, if an agent of it starts for a site's folder; it takes some seconds."""
    return _answer([*_PYTHON, "-c", _START, str(folder)])


def _answer(command: list[str]) -> Found:
    try:
        found = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_ANSWER_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Found("", f"it has not answered for {_ANSWER_SECONDS:.0f} s")
    except OSError as error:
        return Found("", f"{command[0]}: {error.strerror}")
    words, told = found.stdout.split(), found.stderr.strip().splitlines()
    if words and found.returncode == 0:
        return Found(words[-1])
    return Found("", told[-1][:_LONGEST_WHY] if told else f"exit code {found.returncode}")


class Installed:
    """What an agent knows of the installed tacit.

    Args:
        folder: folder of the agent's site.

    Attributes:
        found: the installed tacit.
    """

    def __init__(self, folder: Path) -> None:
        self.found = Found(tacit.__version__)
        self._folder = folder
        self._mark: tuple[int, ...] | None = None
        self._again = self._since = 0.0

    @property
    def other(self) -> bool:
        """Whether it is not the version of this process."""
        return self.found.version != tacit.__version__

    @property
    def settled(self) -> bool:
        """Whether it is another version that starts, and has been for a while."""
        lasted = time.monotonic() - self._since > _SETTLED_SECONDS
        return self.other and bool(self.found.version) and lasted

    def unable(self, entries: Iterable[Entry]) -> list[str]:
        """Runs that have begun with the agent's version, and cannot go on with the installed."""
        if not self.other:
            return []
        begun = [each for each in entries if each.state is State.BEGUN]
        return [each.run for each in begun if each.began_with in ("", tacit.__version__)]

    def told(self, unable: Sequence[str] = ()) -> str:
        """What an agent says of another version, to go on with; empty if there is none.

        Args:
            unable: runs that cannot go on with it.
        """
        if not self.other:
            return ""
        found, own = self.found, tacit.__version__
        there = f"is {found.version}" if found.version else found.wrong
        told = f"; no run begins: this agent has tacit {own}, and the installed {there}"
        if unable:
            ids = ", ".join(run[:12] for run in unable)
            return f"{told}. Run {ids} ends with {own}: install that again, or refuse the run"
        if not found.version:
            return f"{told}; install {own} again"
        return f"{told}, and the agent starts again with it soon"

    def look(self, *, again: bool = False) -> None:
        """See which version it is, if its files have changed or it was not the agent's.

        Args:
            again: whether it is asked in any case.
        """
        mark, now = _mark(), time.monotonic()
        due = self.other and now > self._again
        if not (again or due or mark != self._mark):
            return
        found = installed()
        known = found == self.found and mark == self._mark
        if not known and found.version not in ("", tacit.__version__):
            found = startable(self._folder)
        answered = time.monotonic()
        self._mark = mark
        self._again = answered + max(_AGAIN_SECONDS, _AGAIN_FACTOR * (answered - now))
        if found.version != self.found.version:
            self._since = answered
        self.found = found


def _mark() -> tuple[int, ...]:
    try:
        about = Path(tacit.__file__).stat()
    except OSError:  # it is being replaced
        return ()
    return about.st_mtime_ns, about.st_size, about.st_ino
