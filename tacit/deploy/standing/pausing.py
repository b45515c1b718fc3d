"""When an agent that was asked to pause has paused: no run that others have begun waits for it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

_TOLD_SECONDS = 5.0
"""How long the others have to learn of a pause; who is heard after that begins no run."""

_LONGEST_SECONDS = 120.0
"""How long somebody is waited for who may be in a run. Without this member such a run is set aside
within that, and then its members say that they have begun it."""


@dataclass
class Pause:
    """A pause that others are told of.

    Attributes:
        over: whether nothing is left to wait for.
    """

    over: bool = False
    _since: float | None = None

    def step(
        self, *, asked: bool, busy: bool, needed: frozenset[str], heard: Mapping[str, float]
    ) -> None:
        """See whether the agent has paused.

        Args:
            asked: whether it shall pause.
            busy: whether something goes on that comes first.
            needed: members that may have begun a run that is ready here.
            heard: when each member was last heard, as `time.monotonic` has it.
        """
        now = time.monotonic()
        if not asked or busy or self._since is None:
            self._since, self.over = now if asked else None, False
            return
        told = self._since + _TOLD_SECONDS
        silent = any(heard.get(name, 0.0) < told for name in needed)
        self.over = now > told and not (silent and now < self._since + _LONGEST_SECONDS)
