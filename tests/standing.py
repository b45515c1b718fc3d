"""Three sites between peers that know each other, and a study that one of them proposes."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.deploy.agreement.manifest import agreed
from tacit.deploy.identity.pinning import trust
from tacit.deploy.standing.approval import Weighed, weigh
from tacit.deploy.standing.asking import agent_lock
from tacit.deploy.standing.entries import Decision, Entry, now
from tacit.deploy.standing.members import read_member, remember
from tacit.deploy.standing.queue import Queue
from tacit.deploy.standing.site import Site, find, join
from tacit.privacy.event import DiscreteGaussianRelease
from tacit.privacy.ledger.book import RECORD
from tacit.privacy.ledger.encoding import grouped_to_json
from tacit.privacy.ledger.lock import FileLock
from tacit.study.read import Source, parse_study
from tests.sites import STUDY, free_port, member, records

NAMES = ("north", "south", "west")


@dataclass(frozen=True)
class Three:
    """Three sites.

    Attributes:
        folder: folder of their folders.
        sites: the sites by name.
        queues: their queues by name.
    """

    folder: Path
    sites: Mapping[str, Site]
    queues: Mapping[str, Queue]

    def study(self, title: str = "A study", epsilon: float = 4.0) -> Source:
        """A study of the three."""
        text = STUDY.replace("epsilon = 4.0", f"epsilon = {epsilon}")
        return parse_study(f'title = "{title}"\n{text}', folder=self.folder)

    def offered(self, title: str = "A study", without: Sequence[str] = (), **change: Any) -> Entry:
        """A run in north's queue that nobody has decided, made without the checks of `invite`."""
        sites = [site for name, site in self.sites.items() if name not in without]
        members = [member(site.load_keys()) for site in sites]
        manifest = agreed(self.study(title), ["age", "intercept"], 0, members, **change)
        return self.queues["north"].offer(manifest)

    def proposed(self, title: str = "A study", without: Sequence[str] = ()) -> Entry:
        """A run that north has approved, without the checks of `approve`."""
        return self.approved("north", self.offered(title, without))

    def approved(self, name: str, entry: Entry) -> Entry:
        """A run that one of them approves as well, after it has got what is in another's queue."""
        queue = self.queues[name]
        mine = queue.take(entry.manifest) if entry.signed else entry
        charges = tuple(grouped_to_json([DiscreteGaussianRelease(4.0)]))
        queue.decide(mine, Decision(True, now(), "records", charges, RECORD))
        return queue.sign(mine, self.sites[name].load_keys())

    def ready(self, title: str = "A study") -> Entry:
        """A run that all have signed, in north's queue."""
        west = self.approved("west", self.approved("south", self.proposed(title)))
        return self.queues["north"].take(west.manifest)

    def weighed(self, name: str, entry: Entry) -> Weighed:
        """What an owner sees of a run."""
        return weigh(self.sites[name], self.queues[name], entry)


def gives(*words: object) -> tuple[int, str]:
    """The exit code of a command, and all that it printed."""
    done = CliRunner().invoke(app, ["site", *map(str, words)])
    return done.exit_code, done.output


def silent(three: Three) -> FileLock:
    """The lock of north's agent, which has said nothing for a while."""
    said = {"time": time.time() - 100.0, "pid": 1234, "doing": "meets"}
    (three.sites["north"].folder / "serving.json").write_text(json.dumps(said))
    return agent_lock(three.sites["north"])


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the three sites, which every test copies."""
    folder = tmp_path_factory.mktemp("made")
    table, sites = records(folder), dict[str, Site]()
    for name in NAMES:
        address = f"localhost:{free_port()}"
        sites[name], _ = join(folder / name, name, address, table, records=20, epsilon=5.0)
    for name, site in sites.items():
        for other in NAMES:
            if other != name:
                told = read_member(sites[other].folder / f"{other}.member.toml")
                trust(site.keys, told.card, told.card.fingerprint())
                remember(site, [told])
    return folder


@pytest.fixture
def three(made: Path, tmp_path: Path) -> Three:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    sites = {name: find(tmp_path / name) for name in NAMES}
    return Three(tmp_path, sites, {name: Queue(site) for name, site in sites.items()})
