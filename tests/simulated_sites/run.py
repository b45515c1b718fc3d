"""One seed: members that are started, killed and started again, until all have ended."""

from __future__ import annotations

import functools
import hashlib
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tacit.deploy.member import process as site
from tacit.deploy.member.checking import Options
from tacit.errors import TacitError
from tests.simulated_sites import cast, files, owner
from tests.simulated_sites.byzantine import Liar
from tests.simulated_sites.disk import bury
from tests.simulated_sites.faults import AT_PUBLISH, MESSAGES, POINTS, Fault
from tests.simulated_sites.hub import Process
from tests.simulated_sites.left import found
from tests.simulated_sites.link import Network
from tests.simulated_sites.ran import Ran
from tests.simulated_sites.signing import Signer, forget
from tests.simulated_sites.world import World, enter, leave

LIMIT = 900.0
"""Virtual seconds after which a run that has not ended stands still."""

AGAIN, FULL = 5.0, 10.0
"""Virtual seconds until an owner starts a member again that has ended with an error, or whose disk
was full."""

MOST_STARTS = 40
"""Starts of one member after which a run stands still."""

_PATIENCE = {"cannot be written": 20, "full": 20}
_TRIES = 2
"""Errors in a row after which an owner gives up, by a word in them."""


class Run:
    """Starts members, and starts them again.

    Args:
        ran: what becomes of the run.
        folder: folder of all files.
    """

    def __init__(self, ran: Ran, folder: Path) -> None:
        self.ran, self.shape = ran, ran.shape
        preempted = next((each.value for each in ran.faults if each.kind == "preempted"), 0.0)
        self.at = at = World(ran.seed, folder, preempted)
        at.history, at.equal_noise, at.ended = ran.history, ran.equal, self._killed
        at.reached = self._reached
        at.network, at.shape = Network(at), ran.shape
        self.starts: Counter[int] = Counter()
        self.running: dict[int, Process] = {}
        self.errors: dict[int, list[str]] = {}
        self.newest: dict[int, tuple[str, Path, int]] = {}
        self.at.manifest = cast.manifest(self.shape)
        for member in range(self.shape.members):
            own = self.folder(member)
            (own / "state").mkdir(parents=True, mode=0o700)
            (own / "keys").mkdir(mode=0o700)
            at.keys[own / "keys"] = keys_of(self.shape, member, own)
            if self.shape.masks and member < self.shape.agents:
                cast.put_mask_key(own / "keys", at.manifest.run, member)

    def folder(self, member: int) -> Path:
        """A member's folder."""
        return self.at.folder / f"m{member}"

    def go(self) -> None:
        """Run to the end."""
        at = self.at
        for fault in self.ran.faults:
            self._plan(fault)
        for member in range(self.shape.members):
            at.hub.at(at.chance.share("start", member), partial(self.start, member))
        enter(at)
        try:
            for member in range(self.shape.agents if self.shape.own_ledger else 0):
                cast.put_ledger(self.folder(member) / "own" / "ledger", member)
            lying = any(fault.kind == "lie" for fault in self.ran.faults)
            at.hub.run(4 * self.shape.patience if lying else LIMIT)
            for process in list(self.running.values()):
                at.hub.kill(process)
                bury(at, process)
        finally:
            leave()
        self.ran.seconds = at.hub.now
        self.ran.traceback = self.ran.traceback or "".join(at.hub.errors[:1])
        self.ran.counts.update(at.network.counts)
        self.ran.counts["starts"] = sum(self.starts.values())
        self.ran.counts.update(
            each[4]
            for each in at.history
            if each[1] in ("killed", "fault", "full", "rolled back") and each[4:]
        )
        hit = {each[2] for each in at.history if each[1] in ("killed", "full")}
        hit |= {fault.member for fault in self.ran.faults if fault.kind in ("copy", "twin")}
        for member in range(self.shape.members):
            thorough = member in hit or self.ran.seed % 8 == 0
            own = self.folder(member)
            self.ran.left[member] = found(own, at.manifest.run, thorough=thorough)

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
        if fault.kind in ("kill", "power cut"):
            self._kill(process, fault)
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
        elif fault.kind == "copy":
            aside = at.folder / f"copy-{fault.member}-{len(at.history)}"
            if owner.copy(self.folder(fault.member), str(fault.more[0]), aside):
                at.hub.at(fault.value, partial(self._put_back, fault, aside))
        elif fault.kind == "twin":
            if (self.folder(fault.member) / "state" / "bound.json").exists():
                twin = Process(fault.member, self.starts[fault.member], twin=True)
                self.starts[fault.member] += 1
                at.note("fault", twin, "twin")
                self._spawn(twin, "twin" if fault.value else "state")
        elif fault.kind == "lie":
            liar = at.network.liars.get(fault.member)
            if liar is None:
                liar = Liar(at, fault.member, signer(fault.member), at.manifest.run)
                at.network.liars[fault.member] = liar
            liar.lies[str(fault.more[0])] = int(fault.value)
            at.note("fault", None, "lie", fault.member, *fault.more)
        elif fault.kind == "stall" and process is not None:
            process.stalled = at.hub.now + fault.down
            at.note("fault", process, "stall")

    def _reached(self, fault: Fault) -> None:
        """A fault that is due at a publication happens, at a time that is known only now."""
        kind, now = fault.kind.removesuffix(AT_PUBLISH), self.at.hub.now
        if kind != fault.kind:
            value = fault.value + (now if kind == "copy" else 0.0)
            fault = replace(fault, kind=kind, at=now, value=value)
            self.ran.faults = [*self.ran.faults, fault]
            self._happen(fault)

    def _kill(self, process: Process | None, fault: Fault) -> None:
        if process is None or process.dead:
            return
        self.at.note("killed", process, fault.kind)
        process.cut = fault.kind == "power cut"
        self.at.hub.kill(process)
        self._killed(process, fault)

    def _put_back(self, fault: Fault, source: Path) -> None:
        """Put an older copy in the place of what a member has, and keep the newest."""
        at, member, what = self.at, fault.member, str(fault.more[0])
        process = self.running.get(member)
        if process is not None and not process.dead:
            at.note("killed", process, "copy")
            at.hub.kill(process)
        if process is not None:
            self._buried(process)
        newest = at.folder / f"newest-{member}-{len(at.history)}"
        owner.copy(self.folder(member), what, newest)
        owner.put(self.folder(member), what, source)
        at.note("rolled back", None, "copy", member, what)
        self.newest[member] = what, newest, len(at.history)
        for other in fault.more[1:]:
            self._kill(self.running.get(int(other)), Fault("kill", int(other), 0.0, fault.down))
        self.ran.ended.pop(member, None)
        at.hub.at(at.hub.now + max(fault.down, 0.01), partial(self.start, member))

    def start(self, member: int) -> None:
        """Start a member, unless it runs."""
        if member in self.running:
            return
        process = Process(member, self.starts[member])
        self.starts[member] += 1
        if self.starts[member] > MOST_STARTS:
            self.at.hub.over = True
            return
        self.running[member] = process
        self.at.note("started", process)
        self._spawn(process, "state")

    def _spawn(self, process: Process, state: str) -> None:
        self.at.hub.spawn(process, partial(self._member, process, state))

    def _member(self, process: Process, state: str) -> None:
        member, folder = process.member, self.folder(process.member)
        options = Options(
            manifest=folder / "manifest.toml",
            keys=folder / "keys",
            state=folder / state,
            data=None if member == self.shape.agents else folder / "records.csv",
            ledger=folder / "own" / "ledger" if self.shape.own_ledger else None,
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
        process.dead = True
        bury(self.at, process)
        if process.twin:
            return
        self.ran.ended[member] = told
        self.running.pop(member, None)
        self.at.hub.at(self.at.hub.now, partial(self._decide, member, told))

    def _decide(self, member: int, told: str) -> None:
        """What the owner does with a member that has ended."""
        at, errors = self.at, self.errors.setdefault(member, [])
        if told == "finished":
            errors.clear()
            if all(self.ran.ended.get(i) == "finished" for i in range(self.shape.members)):
                at.hub.over = True
            return
        again = partial(self.start, member)
        if told.startswith("PeerTimeout"):
            errors.clear()
            for other in range(self.shape.members):
                # who has finished serves once more
                at.hub.at(at.hub.now + AGAIN, partial(self.start, other))
            return
        errors.append(told)
        tries = next((most for word, most in _PATIENCE.items() if word in told), _TRIES)
        if member in self.newest and tries == _TRIES:
            what, newest, since = self.newest.pop(member)
            sent = [each[4:6] for each in at.history if each[1:3] == ("left", member)]
            later = [each[4:6] for each in at.history[since:] if each[1:3] == ("left", member)]
            if set(later) <= set(sent[: len(sent) - len(later)]):
                owner.put(self.folder(member), what, newest)
                at.note("newest back", None, member, what)
                errors.clear()
        if len(errors) < tries:
            at.hub.at(at.hub.now + (AGAIN if tries == _TRIES else FULL), again)
            return
        at.note("given up", None, member)

        def over() -> None:
            at.hub.over = True

        at.hub.at(at.hub.now + 1.2 * self.shape.patience, over)

    def _killed(self, process: Process, fault: Fault) -> None:
        at = self.at
        at.hub.at(at.hub.now, partial(self._buried, process))
        if not process.twin:
            again = partial(self.start, process.member)
            at.hub.at(at.hub.now + max(fault.down, 0.01), again)

    def _buried(self, process: Process) -> None:
        """What is left of a killed process is what its disk holds."""
        bury(self.at, process)
        if process.cut:
            files.lose(self.at, process)
            process.cut = False
        if self.running.get(process.member) is process:
            del self.running[process.member]
            self.ran.ended.pop(process.member, None)


def keys_of(shape: cast.Shape, member: int, folder: Path) -> Any:
    """A member's keys, which remember what they signed."""
    return replace(cast.keys(shape, member, folder / "keys"), identity=signer(member))


@functools.cache
def signer(member: int) -> Any:
    """A member's signing key."""
    return Signer(cast.identity(member))


def _memory() -> str | None:
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
    forget()
    ran = Ran(seed, shape, faults, equal)
    folder = Path(tempfile.mkdtemp(prefix="tacit-simulated-", dir=_memory()))
    try:
        Run(ran, folder).go()
    finally:
        shutil.rmtree(folder)
    return ran
