"""The coordinator's part of a run inside a platform: its member gives tasks while it waits."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from tacit.adapters.bag import BUSY, FINISHED, MAIL, REFUSED, WHO, Bag
from tacit.adapters.post import Post
from tacit.adapters.site import read_site
from tacit.arguments import checked
from tacit.deploy.agreement.manifest import Manifest, read_manifest
from tacit.deploy.member.compare import names_word
from tacit.deploy.member.process import run
from tacit.deploy.operate.results import Outcome, answer_files
from tacit.errors import ConfigError, RuntimeFailure, WireError

log = logging.getLogger("tacit.site")

Place = TypeVar("Place")
"""How a platform names a site, such as the id of an organisation or of a node."""

_PAUSE = 1.0
"""Seconds after which tasks are given again, if no site answered one."""

_LAST = 3
"""Tasks at most that a site is given after the end."""


class Platform(Protocol[Place]):
    """What a platform has to do for a run."""

    def places(self) -> list[Place]:
        """The sites that can be given tasks."""
        ...

    def exchange(self, bags: Mapping[Place, bytes], seconds: float) -> dict[Place, bytes]:
        """Give sites a task each, which calls `step` there, and return their answers.

        Args:
            bags: argument of the task, by site.
            seconds: time to wait for answers, in seconds.

        Returns:
            The answers that came; a site that failed or is silent has none.
        """
        ...


@checked(ConfigError)
def coordinate(folder: Path, platform: Platform[Any]) -> Outcome:
    """Coordinate a run inside a platform, from its start or from where it stopped.

    Args:
        folder: folder of the coordinator, with `hosted.toml`.
        platform: what gives the sites their tasks.

    Raises:
        TacitError: as for `tacit.deploy.run`; and RuntimeFailure if a site refuses its task.
    """
    options = read_site(folder)
    post = _HubPost(read_manifest(options.manifest), platform)
    return run(options, post, carrier=post)


@checked(ConfigError)
def summary(outcome: Outcome) -> dict[str, Any]:
    """What a coordinator has at the end as plain values, for a platform's result.

    Args:
        outcome: what it has.
    """
    values = [] if outcome.solution is None else outcome.solution.tolist()
    return {
        **outcome.document(),
        "answer": dict(zip(outcome.names, values, strict=False)),
        "files": answer_files(outcome),
    }


class _HubPost(Post, Generic[Place]):
    """The mail of a coordinator: while its member waits, all sites are given tasks.

    Args:
        manifest: manifest of the run.
        platform: what gives the tasks.
    """

    def __init__(self, manifest: Manifest, platform: Platform[Place]) -> None:
        self._manifest, self._platform = manifest, platform
        self._where: dict[int, Place] = {}
        self._asks: dict[int, tuple[str, ...]] = {}
        self._refused: set[Place] = set()

    def is_set(self) -> bool:
        if any(self.asked.values()) and not self._exchange():
            time.sleep(min(_PAUSE, self._manifest.patience / 10))
        return False

    def close(self) -> None:
        """Give the sites what they still ask for at the end: the last words of the others."""
        try:
            for _ in range(_LAST):
                asked = [key for asks in self._asks.values() for key in asks if names_word(key)]
                if not asked or not self._exchange():
                    break
        except RuntimeFailure as error:  # the run is over
            log.warning("%(error)s", {"error": error})

    def _exchange(self) -> bool:
        """Give every site with mail a task; whether anyone answered."""
        self._find()
        bags: dict[int, Bag] = {}
        for number in self._where:
            asks = tuple(self.asked[number])
            letters = {**self.out[number], **self.served(self._asks.get(number, ()))}
            if asks or letters:
                bags[number] = Bag(self.endpoint.run, MAIL, -1, letters, asks)
        for asked in self.asked.values():
            asked.clear()
        told = self._give({self._where[number]: bag for number, bag in bags.items()})
        for number in bags:
            bag = told.get(self._where[number])
            if bag is None:
                continue
            # the letters have arrived; what else was lost is asked for
            self.out[number].clear()
            self._asks[number] = () if bag.status == FINISHED else bag.asks
            for key, data in bag.letters.items():
                self.endpoint.accept(number, key, data)
        return bool(told)

    def _find(self) -> None:
        """Ask places that have not said so yet which member they are."""
        if len(self._where) == len(self.endpoint.neighbours):
            return
        known = {*self._where.values(), *self._refused}
        asked = [place for place in self._platform.places() if place not in known]
        found = self._give(dict.fromkeys(asked, Bag(self.endpoint.run, WHO)))
        for place, bag in found.items():
            if bag.member not in self.endpoint.neighbours:
                continue
            if bag.member in self._where:
                raise RuntimeFailure(
                    f"two places of the platform say that they are {self._name(bag.member)!r}: "
                    f"{self._where[bag.member]} and {place}. Two with one name would answer one "
                    "question twice; correct the folder of one of them"
                )
            self._where[bag.member], self._asks[bag.member] = place, bag.asks
        # a place that takes no part, such as the coordinator's own, refuses as well
        lacking = [
            self._name(number) for number in self.endpoint.neighbours if number not in self._where
        ]
        if lacking and self._refused and not {*asked} - {*found} - self._refused:
            self._stop(
                f"{', '.join(map(repr, lacking))} cannot be found: "
                f"{', '.join(map(str, self._refused))} refused the question who is there"
            )

    def _give(self, bags: Mapping[Place, Bag]) -> dict[Place, Bag]:
        """Give tasks, and read the answers; what is no answer of this run is none."""
        bags = {place: bag for place, bag in bags.items() if place not in self._refused}
        if not bags:
            return {}
        sent = {place: bag.data() for place, bag in bags.items()}
        found: dict[Place, Bag] = {}
        # half, so that a task that was lost is given once more before patience ends
        for place, data in self._platform.exchange(sent, self._manifest.patience / 2).items():
            try:
                bag = Bag.read(data)
            except WireError as error:
                log.warning("%(place)s: %(error)s", {"place": place, "error": error})
                continue
            if bag.status == REFUSED:
                self._refused.add(place)
                for number, where in self._where.items():
                    if where == place:
                        self._stop(f"{self._name(number)!r} ({place}) refused its task")
            elif bag.status != BUSY and bag.run == self.endpoint.run:
                found[place] = bag
        return found

    def _stop(self, told: str) -> None:
        """Stop because of a refusal, unless the run goes on without silent members."""
        told += ". Why is in log.txt in the state folder there"
        if self._manifest.silent != "skip":
            raise RuntimeFailure(
                f"{told}. Everything is stored: once the owner has seen to it, start the same task "
                "again, and the run resumes"
            )
        log.warning("%(told)s", {"told": told})

    def _name(self, number: int) -> str:
        return self._manifest.members[number].name
