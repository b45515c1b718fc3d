"""Beside an agent, at one site of the graph, the part that adds up for all peers.

Whoever announces sums and adds them up needs no trust, so one member's site does it for all: a
second part in the process of its agent, with its keys, and with state and a record of its own. The
others run an agent alone. All sites pass on messages until nobody needs any.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tacit.deploy.member.ending import LINGER
from tacit.deploy.member.run_spec import Stopping
from tacit.deploy.messages.relaying import Relay
from tacit.deploy.operate.results import Outcome

ADDING = "adding"
"""Name of the folder in the state of an agent, and of the one beside its keys, for that part."""

Part = Callable[[Stopping], Outcome]
"""Takes part until it has ended, or is told to stop."""


class _Either:
    """Whether somebody else asks to stop, or the other part has failed."""

    def __init__(self, asked: Stopping | None) -> None:
        self._asked, self.failed = asked, threading.Event()

    @property
    def asked(self) -> bool:
        """Whether somebody else asks to stop."""
        return self._asked is not None and self._asked.is_set()

    def is_set(self) -> bool:
        """Whether to stop after the current turn, or while waiting."""
        return self.failed.is_set() or self.asked


def together(
    relay: Relay, agent: Part, adding: Part | None, asked: Stopping | None, patience: float
) -> Outcome:
    """Run an agent, and beside it the part that adds up, if that is here.

    Args:
        relay: connections of the site.
        agent: the agent's part.
        adding: the part that adds up; `None` at all other sites.
        asked: event that is set to stop.
        patience: time to wait for a silent neighbour, in seconds.

    Returns:
        The agent's outcome.

    Raises:
        TacitError: either part has failed; the other is then stopped.
    """
    stopping = _Either(asked)
    failed: list[Exception] = []

    def add_up(part: Part) -> None:
        try:
            part(stopping)
        except KeyboardInterrupt:
            pass  # the agent stops, too
        except Exception as error:
            failed.append(error)
            stopping.failed.set()

    beside: Any = None
    if adding is not None:
        beside = threading.Thread(target=add_up, args=(adding,))
        beside.start()
    try:
        try:
            outcome = agent(stopping)
        except KeyboardInterrupt:
            if failed:
                raise failed[0] from None
            raise
        except Exception:
            stopping.failed.set()
            raise
        finally:
            if beside is not None:
                beside.join()
        if failed:
            raise failed[0]
        if stopping.asked:
            return outcome
        if adding is not None:
            relay.finish()
        elif outcome.solution is not None:  # a member that is started again has served already
            relay.wait_until_over(max(patience, LINGER), lambda: stopping.asked)
        return outcome
    finally:
        relay.close()
