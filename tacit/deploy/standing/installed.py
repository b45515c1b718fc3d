"""The installed tacit: processes that are started now get it, and it may not be this one's."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import tacit

COMMAND = (sys.executable, "-P", "-m", "tacit")
"""What starts it, whatever stands in the folder where the agent was started."""

_AGAIN_SECONDS = 2.0
_SETTLED_SECONDS = 30.0
"""For how long another version has to stay before an agent starts again with it: the command that
installs it may not have ended."""


def installed() -> str:
    """Version of the installed tacit; empty if it does not start."""
    found = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=False)
    words = found.stdout.split()
    return words[-1] if words and found.returncode == 0 else ""


class Installed:
    """What an agent knows of the installed tacit.

    Attributes:
        version: its version; empty if it does not start.
    """

    def __init__(self) -> None:
        self.version = tacit.__version__
        self._mark: tuple[int, ...] | None = None
        self._looked = self._since = 0.0

    @property
    def other(self) -> bool:
        """Whether it is not the version of this process."""
        return self.version != tacit.__version__

    @property
    def settled(self) -> bool:
        """Whether it is another version that starts, and has been for a while."""
        lasted = time.monotonic() - self._since > _SETTLED_SECONDS
        return self.other and bool(self.version) and lasted

    def told(self) -> str:
        """What an agent says of another version, to go on with; empty if there is none."""
        if not self.other:
            return ""
        there = f"is {self.version}, and the agent starts again with it soon"
        told = there if self.version else "does not start; install it again"
        return (
            f"; no run begins: this agent has tacit {tacit.__version__}, and the installed {told}"
        )

    def look(self, *, again: bool = False) -> None:
        """See which version it is, if its files have changed or it did not start.

        Args:
            again: whether it is asked in any case.
        """
        mark, now = _mark(), time.monotonic()
        broken = not self.version and now - self._looked > _AGAIN_SECONDS
        if not (again or broken or mark != self._mark):
            return
        found = installed()
        self._mark, self._looked = mark, now
        if found != self.version:
            self.version, self._since = found, now


def _mark() -> tuple[int, ...]:
    try:
        about = Path(tacit.__file__).stat()
    except OSError:  # it is being replaced
        return ()
    return about.st_mtime_ns, about.st_size, about.st_ino
