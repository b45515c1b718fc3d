"""Beside an agent, at one site of the graph, the part that adds up for all peers.

Whoever announces sums and adds them up needs no trust, so one member's site does it for all: a
second part in the process of its agent, with its keys, and with state and a record of its own. The
others run an agent alone. All sites pass on messages until nobody needs any.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from tacit.deploy.agreement.binding import Binding
from tacit.deploy.identity.keys import Keys
from tacit.deploy.member.ending import LINGER
from tacit.deploy.member.run_spec import Stopping
from tacit.deploy.messages.outgoing import Outgoing
from tacit.deploy.messages.relaying import Relay
from tacit.deploy.operate.results import Outcome

ADDING = "adding"
"""Name of the folder in the state of an agent, and of the one beside its keys, for that part."""

Part = Callable[[Stopping, Callable[[], None]], Outcome]
"""Takes part until it has ended, or is told to stop; calls the function once it is bound to its
state, and perhaps later."""


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


class _Beside:
    """The part that adds up, in a thread of its own.

    It begins when its agent is bound to its state: where the agent is refused, as with a state that
    was emptied, that part must not begin anew.
    """

    def __init__(self, part: Part | None, stopping: _Either) -> None:
        self._part, self._stopping = part, stopping
        self._thread: threading.Thread | None = None
        self.error: Exception | None = None

    def begin(self) -> None:
        """Begin, if it is here and has not begun."""
        if self._part is not None and self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(self._part,))
            self._thread.start()

    def join(self) -> None:
        """Wait until it has ended."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, part: Part) -> None:
        try:
            part(self._stopping, lambda: None)
        except KeyboardInterrupt:
            pass  # the agent stops, too
        except Exception as error:
            self.error = error
            self._stopping.failed.set()


def check_state(keys: Keys, run: bytes, state: Path, number: int) -> None:
    """Refuse a state with which that part cannot go on, and change nothing.

    The agent's start is recorded in its state before that part begins; so what that part would
    refuse is refused first, and the newest state goes on when it is put back.

    Args:
        keys: keys of the agent.
        run: id of the run, 32 bytes.
        state: folder for the state of that part; need not exist.
        number: number of that part in the run.

    Raises:
        RuntimeFailure: it was lost, or is an older copy.
    """
    with Binding(keys, run, state, part=ADDING) as binding:
        # a journal without that record would be refused for ever
        if binding.check("") is not None and binding.begun:
            Outgoing(
                state / "journal.db", run.hex(), None, {}, number, lambda address: None, binding
            ).close()


def together(
    relay: Relay,
    agent: Part,
    adding: Part | None,
    asked: Stopping | None,
    patience: float,
    between: Callable[[], None],
) -> Outcome:
    """Run an agent, and beside it the part that adds up, if that is here.

    Args:
        relay: connections of the site.
        agent: the agent's part.
        adding: the part that adds up; `None` at all other sites.
        asked: event that is set to stop.
        patience: time to wait for a silent neighbour, in seconds.
        between: function that an agent calls which is alone at its site; beside another part, which
            may be compiling, what was compiled is not forgotten.

    Returns:
        The agent's outcome.

    Raises:
        TacitError: either part has failed; the other is then stopped.
    """
    stopping = _Either(asked)
    beside = _Beside(adding, stopping)
    try:
        try:
            outcome = agent(stopping, between if adding is None else beside.begin)
        except KeyboardInterrupt:
            if beside.error is not None:
                raise beside.error from None
            raise
        except Exception:
            stopping.failed.set()
            raise
        finally:
            beside.join()
        if beside.error is not None:
            raise beside.error
        if stopping.asked:
            return outcome
        if adding is not None:
            relay.finish()
        else:
            again = outcome.solution is None  # it had finished before this start
            seconds = LINGER if again else max(patience, LINGER)
            relay.wait_until_over(seconds, lambda: stopping.asked)
        return outcome
    finally:
        relay.close()
