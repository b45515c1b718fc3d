"""One seed: members that are started, killed and started again, until all have ended."""

from __future__ import annotations

import functools
import hashlib
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tacit.deploy.member import process as site
from tacit.errors import TacitError
from tests.simulated_sites import cast, files
from tests.simulated_sites.disk import bury
from tests.simulated_sites.faults import MESSAGES, POINTS, Fault
from tests.simulated_sites.hub import Process
from tests.simulated_sites.link import Network
from tests.simulated_sites.signing import Signer
from tests.simulated_sites.world import World, enter, leave

LIMIT = 900.0
"""Virtual seconds after which a run that has not ended stands still."""

AGAIN = 5.0
"""Virtual seconds until an owner starts a member again that has ended with an error."""


@dataclass
class Ran:
    """What became of a run.

    Attributes:
        seed: its seed.
        shape: kind of run.
        faults: what went wrong.
        history: what happened: time, kind, member, number of its start, and more.
        ended: by member, how it ended: "finished", an error, or nothing yet.
        models: by member, the digest of its model.
        counts: faults that happened, starts, messages.
        seconds: virtual seconds.
    """

    seed: int
    shape: cast.Shape
    faults: Sequence[Fault]
    history: list[tuple[Any, ...]] = field(default_factory=list)
    ended: dict[int, str] = field(default_factory=dict)
    models: dict[int, str] = field(default_factory=dict)
    ledgers: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    traceback: str = ""

    def digest(self) -> str:
        """A digest of everything that happened."""
        return hashlib.sha256(
            repr((self.history, sorted(self.models.items()))).encode()
        ).hexdigest()


class Run:
    """Starts members, and starts them again."""

    def __init__(
        self, seed: int, shape: cast.Shape, faults: Sequence[Fault], folder: Path, *, equal: bool
    ) -> None:
        preempted = next((each.value for each in faults if each.kind == "preempted"), 0.0)
        self.at = at = World(seed, folder, preempted)
        at.equal_noise, at.ended = equal, self._killed
        at.network = Network(at)
        self.ran = Ran(seed, shape, faults, at.history)
        self.shape, self.faults = shape, faults
        self.starts: Counter[int] = Counter()
        self.running: dict[int, Process] = {}
        self.manifest = at.manifest = manifest_of(shape)
        at.keys = {
            self.folder(i) / "keys": keys_of(shape, i, self.folder(i)) for i in range(shape.members)
        }
        for member in range(shape.members):
            folder = self.folder(member)
            (folder / "state").mkdir(parents=True, mode=0o700)
            (folder / "keys").mkdir(mode=0o700)
            if shape.masks and member < shape.agents:
                cast.put_mask_key(folder / "keys", self.manifest.run, member)

    def folder(self, member: int) -> Path:
        return self.at.folder / f"m{member}"

    def go(self) -> Ran:
        at = self.at
        for fault in self.faults:
            self._plan(fault)
        for member in range(self.shape.members):
            at.hub.at(at.chance.share("start", member), partial(self.start, member))
        enter(at)
        try:
            at.hub.run(LIMIT)
            for process in list(self.running.values()):
                at.hub.kill(process)
                bury(at, process)
        finally:
            leave()
        self.ran.seconds = at.hub.now
        self.ran.counts.update(at.network.counts)
        self.ran.counts["starts"] = sum(self.starts.values())
        self.ran.counts.update(f"fault: {each[4]}" for each in at.history if each[1] == "killed")
        return self.ran

    def _plan(self, fault: Fault) -> None:
        at = self.at
        if fault.kind in POINTS:
            at.due[POINTS[fault.kind], fault.member, int(fault.at)] = fault
        elif fault.kind in MESSAGES:
            at.network.faults[fault.member, int(fault.value), int(fault.at)] = fault.kind
        elif fault.kind != "preempted":
            at.hub.at(fault.at, partial(self._happen, fault))

    def _happen(self, fault: Fault) -> None:
        at, process = self.at, self.running.get(fault.member)
        if fault.kind == "kill" and process is not None:
            at.note("killed", process, fault.kind)
            at.hub.kill(process)
            self._killed(process, fault)
        elif fault.kind == "power cut" and process is not None:
            at.note("killed", process, fault.kind)
            process.cut = True
            at.hub.kill(process)
            self._killed(process, fault)
        elif fault.kind == "cut":
            for one in fault.more:
                for other in range(self.shape.members):
                    if other not in fault.more:
                        for link in ((one, other), (other, one))[: 2 if fault.value else 1]:
                            at.network.cut[link] = at.hub.now + fault.down
            at.note("fault", None, "cut", *fault.more)
        elif fault.kind == "clock":
            at.jumped[fault.member] += fault.value
            at.note("fault", None, "clock", fault.member)
        elif fault.kind == "stall" and process is not None:
            process.stalled = at.hub.now + fault.down
            at.note("fault", process, "stall")

    def start(self, member: int) -> None:
        """Start a member, unless it runs."""
        if member in self.running:
            return
        process = Process(member, self.starts[member])
        self.starts[member] += 1
        self.running[member] = process
        self.at.note("started", process)
        self.at.hub.spawn(process, partial(self._member, process))

    def _member(self, process: Process) -> None:
        member, folder = process.member, self.folder(process.member)
        options = site.Options(
            manifest=folder / "manifest.toml",
            keys=folder / "keys",
            state=folder / "state",
            data=None if member == self.shape.agents else folder / "records.csv",
        )
        told = "finished"
        try:
            outcome = site.run(options)
            if outcome.solution is not None:
                model = hashlib.sha256(outcome.solution.tobytes()).hexdigest()[:16]
                self.ran.models[member] = model
        except TacitError as error:
            told = f"{type(error).__name__}: {str(error).replace(self.at.root, '')}"
        except Exception as error:
            told = f"traceback: {type(error).__name__}: {error}"
            self.ran.traceback = traceback.format_exc()
        self.at.note("ended", process, told[:160])
        self.ran.ended[member] = told
        for each in process.threads:
            each.token += 1
        process.dead = True
        bury(self.at, process)
        self.running.pop(member, None)
        self._decide(member, told)

    def _decide(self, member: int, told: str) -> None:
        at = self.at
        if told != "finished":
            at.hub.at(at.hub.now + AGAIN, partial(self.start, member))
        missing = [i for i in range(self.shape.members) if self.ran.ended.get(i) != "finished"]
        if not missing:
            at.hub.over = True
            return
        if told.startswith("PeerTimeout"):
            for other in range(self.shape.members):
                at.hub.at(at.hub.now + AGAIN, partial(self.start, other))

    def _killed(self, process: Process, fault: Fault) -> None:
        at = self.at
        at.hub.at(at.hub.now + max(fault.down, 0.01), partial(self._again, process))

    def _again(self, process: Process) -> None:
        bury(self.at, process)
        if process.cut:
            files.lose(self.at, process)
        self.running.pop(process.member, None)
        self.ran.ended.pop(process.member, None)
        self.start(process.member)


def keys_of(shape: cast.Shape, member: int, folder: Path) -> Any:
    """A member's keys; a client of a coordinator has no address."""
    found = replace(cast.keys(member, folder / "keys"), identity=signer(member))
    if shape.star and member < shape.agents:
        return replace(found, card=replace(found.card, address=""))
    return found


@functools.cache
def signer(member: int) -> Any:
    """A member's signing key."""
    return Signer(cast.identity(member))


_manifests: dict[cast.Shape, Any] = {}


def manifest_of(shape: cast.Shape) -> Any:
    """The signed manifest of a kind of run."""
    if shape not in _manifests:
        with tempfile.TemporaryDirectory() as folder:
            _manifests[shape] = cast.manifest(shape, Path(folder))
    return _manifests[shape]


def _base() -> str | None:
    """A folder in memory, if there is one."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def simulate(
    seed: int, shape: cast.Shape = cast.RING, faults: Sequence[Fault] = (), *, equal: bool = False
) -> Ran:
    """Run one seed.

    Args:
        seed: seed of the run.
        shape: kind of run.
        faults: what goes wrong.
        equal: whether noise is a function of the round, so that models can be compared.
    """
    folder = Path(tempfile.mkdtemp(prefix="tacit-simulated-", dir=_base()))
    try:
        return Run(seed, shape, faults, folder, equal=equal).go()
    finally:
        shutil.rmtree(folder)
