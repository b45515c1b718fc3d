"""How long a member has waited, without the time in which its process was stopped."""

from __future__ import annotations

import time


class Waited:
    """Seconds since it was made, as far as this process ran.

    A process that was stopped has heard nobody meanwhile: when it goes on, it must ask its
    neighbours once more before it gives them up.

    Args:
        every: seconds between two calls, about.
        most: seconds between two calls beyond which the process was stopped: they count as `every`.
    """

    def __init__(self, every: float, most: float) -> None:
        self._every, self._most = every, most
        self._began = self._last = time.monotonic()
        self._stopped = 0.0

    def __call__(self) -> float:
        """Seconds so far; to be called again and again while waiting."""
        now = time.monotonic()
        gap = now - self._last
        if gap > self._most:
            self._stopped += gap - self._every
        self._last = now
        return now - self._began - self._stopped
