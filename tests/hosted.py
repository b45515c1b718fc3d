"""A study between three made-up sites and a coordinator, each in the folder of a platform."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from tacit.adapters import step, write_site
from tacit.deploy import Options, Rehearsal, prepare
from tacit.study.read import Source
from tests.end_to_end.site_study import STAR, a_study, simulated

SEED = 5
MASKS = "masks = { coalition = 1, attempts = 2 }"


class Hosted:
    """Sites, each in a folder with `hosted.toml`, and what their exact simulation answers.

    Args:
        folder: new folder.
        budget: more of the section [privacy].
        rounds: number of rounds.
        seed: seed of simulated noise; `None` for secure noise.
        silent: what the run does about a silent site.
    """

    def __init__(
        self,
        folder: Path,
        budget: str = "",
        rounds: int = 2,
        seed: int | None = SEED,
        silent: str = "stop",
        patience: float = 600.0,
    ) -> None:
        self.source: Source = a_study(folder, STAR, rounds, budget)
        self.rehearsal: Rehearsal = prepare(self.source, folder / "sites", patience, silent)
        self.folders = [folder / "sites" / f"member-{number}" for number in range(4)]
        for own in self.folders:
            data = own / "records.csv"
            files = (self.rehearsal.folder / "manifest.toml", own / "keys", own / "state")
            write_site(own, Options(*files, data if data.exists() else None, test_seed=seed))
        self.hub = self.folders[3]

    def expected(self) -> np.ndarray:
        """The answer of the exact simulation with the same noise."""
        return simulated(self.source, SEED)[0]

    def solution(self, number: int) -> np.ndarray:
        """The answer that a member has on its disk."""
        return np.load(self.folders[number] / "state" / "model.npz")["solution"]


class InThisProcess:
    """A platform that calls the sites' turns here; `between` may change what they are given.

    Args:
        hosted: the sites.
        between: function of the place, the bag and the turn itself that gives the answer, or none.
    """

    def __init__(
        self,
        hosted: Hosted,
        between: Callable[[Path, bytes, Callable[[], bytes]], bytes | None] | None = None,
    ) -> None:
        self.hosted, self.between = hosted, between
        self.answers: list[dict[Path, bytes]] = []

    def places(self) -> list[Path]:
        return self.hosted.folders[:3]

    def exchange(self, bags: Mapping[Path, bytes], seconds: float) -> dict[Path, bytes]:
        found: dict[Path, bytes] = {}
        for place, bag in bags.items():

            def turn(place: Path = place, bag: bytes = bag) -> bytes:
                return step(place, bag)

            answer = turn() if self.between is None else self.between(place, bag, turn)
            if answer is not None:
                found[place] = answer
        self.answers.append(found)
        return found
