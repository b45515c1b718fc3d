"""How long a member has waited, without the time in which its process was stopped."""

from __future__ import annotations

import time


class Waited:
    """Seconds since it was made, as far as this process ran.

    A process that was stopped, or whose machine was paused, has heard nobody meanwhile: when it
    goes on, it must not give up its neighbours for that time.

    Args:
        most: longest time between two calls that counts as a whole, in seconds.
    """

    def __init__(self, most: float) -> None:
        self._most, self._began = most, time.monotonic()
        self._last, self._stopped = self._began, 0.0

    def __call__(self) -> float:
        """Seconds so far; to be called again and again while waiting."""
        now = time.monotonic()
        self._stopped += max(now - self._last - self._most, 0.0)
        self._last = now
        return now - self._began - self._stopped
