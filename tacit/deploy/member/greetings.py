"""Where neighbours are, as they say when they are asked."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tacit.deploy.identity.keys import Card
from tacit.deploy.messages.carrier import Link
from tacit.deploy.messages.handshake import HELLO, Hello, Question, read_hello
from tacit.errors import WireError


class Greetings:
    """Questions to neighbours, and their answers. `take` may be called from any thread.

    Args:
        run: id of the run.
        member: number of this member.
        cards: cards of the neighbours, by number.

    Attributes:
        answers: last answers, by number.
        answered: set by every answer, and by whoever wants waiting to end.
    """

    def __init__(self, run: bytes, member: int, cards: dict[int, Card]) -> None:
        self._run, self._member, self._cards = run, member, cards
        self._questions: dict[int, Question] = {}
        self._earliest: dict[int, int] = {}
        self.answers: dict[int, Hello] = {}
        self.answered = threading.Event()

    def ask(self, link: Link, senders: Sequence[int]) -> None:
        """Ask neighbours where they are."""
        for sender in senders:
            # it stays the same until it is answered: on a slow line an answer takes longer than
            # the interval between questions
            question = self._questions.get(sender)
            if question is None:
                question = link.question(sender, self._member)
                self._questions[sender] = question
            link.request(sender, [question.key()])

    def is_one(self, sender: int, key: str) -> bool:
        """Whether a name is that of a neighbour's answer."""
        return key.startswith(f"{sender}/{HELLO}/") and sender in self._cards

    def take(self, sender: int, key: str, data: bytes) -> bool:
        """Believe an answer to a question of this member, once.

        Returns:
            Whether it is one.

        Raises:
            EnvironmentMismatch: the neighbour has other versions.
        """
        question = self._questions.get(sender)
        if question is None or question.key() != key:
            return False  # answered already, or never asked
        try:
            hello = read_hello(data, question, self._run, self._cards[sender])
        except WireError:
            return False
        self._questions.pop(sender, None)
        # one that has only just caught up was waiting until now, and its message is on the way
        self._earliest[sender] = min(hello.round, self._earliest.get(sender, hello.round))
        self.answers[sender] = hello
        return True

    def begin(self) -> None:
        """Note that a wait begins: what is said from now on is of this wait."""
        self._earliest = {}

    def earliest(self, sender: int, otherwise: int) -> int:
        """The earliest round that a neighbour said it was in since the wait began."""
        return self._earliest.get(sender, otherwise)

    def forget(self, sender: int) -> None:
        """Take a neighbour's answer as not given: it has to answer again."""
        self.answers.pop(sender, None)

    def wait(self, seconds: float) -> None:
        """Wait for an answer of anybody, at most `seconds`."""
        self.answered.wait(seconds)
        self.answered.clear()
