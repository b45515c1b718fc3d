"""The mail of one member: messages that left it, that came to it, and that it asks for.

A member that waits asks for what is missing. Here nobody can answer at once, so that is when a
site's task ends, and when a coordinator gives the platform new tasks. Whatever is lost on the way
is asked for again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path

from tacit.adapters.bag import Bag
from tacit.deploy.files import write_secret
from tacit.deploy.messages.carrier import Endpoint, Link
from tacit.deploy.messages.handshake import Question
from tacit.deploy.messages.wire import Address

_ASKED = "asked"
"""File with the nonce of a greeting that is yet to be answered, in a site's state folder."""


class Post(ABC):
    """Carrier and connection of a member. A subclass says what happens while it waits."""

    ask_every: float = 0.01

    @property
    def connections(self) -> dict[str, int]:
        """There are none."""
        return {}

    def connect(self, endpoint: Endpoint) -> Link:
        """Take on a member."""
        self.endpoint = endpoint
        self.out: dict[int, dict[str, bytes]] = {other: {} for other in endpoint.neighbours}
        self.asked: dict[int, dict[str, None]] = {other: {} for other in endpoint.neighbours}
        return self

    def doing(self, endpoint: Endpoint) -> str:
        """What carries its mail."""
        return "its mail is carried by a platform"

    def publish(self, key: str, data: bytes) -> None:
        """Put a message into the mail for all neighbours."""
        for letters in self.out.values():
            letters[key] = data

    def request(self, sender: int, keys: Iterable[str]) -> None:
        """Ask a neighbour for messages."""
        self.asked[sender].update(dict.fromkeys(keys))

    def question(self, asked: int, asker: int) -> Question:
        """A greeting for a neighbour that has none yet to answer."""
        return Question(asked, asker)

    def served(self, asks: Iterable[str]) -> dict[str, bytes]:
        """This member's messages that were asked for, as far as it has them."""
        found = {key: self.endpoint.serve(key) for key in asks}
        return {key: data for key, data in found.items() if data is not None}

    @abstractmethod
    def is_set(self) -> bool:
        """Whether to stop; asked between turns and while waiting."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""


class SitePost(Post):
    """The mail of a site: one bag comes, the member goes on as far as it can, one bag leaves.

    The greeting that the next start has to have answered is in the bag that leaves; its nonce waits
    in the state folder, and serves once.

    Args:
        bag: bag that came.
    """

    def __init__(self, bag: Bag) -> None:
        self._bag, self._letters = bag, dict(bag.letters)
        self._heard: list[str] = []
        self.stopped = False
        """Whether the member waits for another bag."""
        self.reply: Bag | None = None
        """Bag that leaves, once the connection has been closed."""

    def publish(self, key: str, data: bytes) -> None:
        # what a start repeats before it has heard anything has left before, and can be asked for
        if self._heard or key in self._bag.asks:
            super().publish(key, data)

    def request(self, sender: int, keys: Iterable[str]) -> None:
        for key in keys:
            if key in self._letters:
                self._deliver(sender, key)
            else:
                self.asked[sender][key] = None

    def question(self, asked: int, asker: int) -> Question:
        return next_question(self.endpoint.folder, asked, asker)

    def is_set(self) -> bool:
        (sender, asked), *_ = self.asked.items()
        if not asked:
            return False
        if not self._letters or any(map(_greets, asked)):
            self.stopped = True
            return True
        # what it did not ask for may be why what it asks for does not come
        for key in list(self._letters):
            self._deliver(sender, key)
        asked.clear()
        return False

    def close(self) -> None:
        (other, asked), *_ = self.asked.items()
        asks = dict.fromkeys(key for key in asked if not _greets(key))
        if self.stopped:
            # the next start knows nothing of what it could not use, nor of a last word
            asks |= dict.fromkeys(self._letters)
            asks |= dict.fromkeys(key for key in self._heard if Address.names_last(key))
            asks[next_question(self.endpoint.folder, other, self.endpoint.number).key()] = None
        letters = {**self.out[other], **self.served(self._bag.asks)}
        self.reply = Bag(self.endpoint.run, "", self.endpoint.number, letters, tuple(asks))

    def _deliver(self, sender: int, key: str) -> None:
        if _greets(key):  # before anything is sent, so that no answer serves twice
            (self.endpoint.folder / _ASKED).unlink(missing_ok=True)
        else:
            self._heard.append(key)
        self.endpoint.accept(sender, key, self._letters.pop(key))


def next_question(folder: Path, asked: int, asker: int) -> Question:
    """The greeting that a site's next start has to have answered; it is the same until then.

    Args:
        folder: state folder of the site.
        asked: number of the coordinator.
        asker: number of the site.
    """
    path = folder / _ASKED
    if path.exists():
        return Question(asked, asker, path.read_text())
    question = Question(asked, asker)
    write_secret(path, question.nonce.encode())
    return question


def _greets(key: str) -> bool:
    return Question.read(key) is not None
