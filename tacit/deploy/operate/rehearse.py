"""All members of a run as real processes on this machine, with temporary keys.

A consortium tries everything beforehand: the study, the split of the records, the budget, the time
per round. Nothing here is private from this machine.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

from tacit.arguments import checked
from tacit.deploy.agreement.binding import folder_of
from tacit.deploy.agreement.declare import rounded
from tacit.deploy.agreement.declared import check_secure, counts_are_public, declared
from tacit.deploy.agreement.manifest import REHEARSAL, Manifest, Member, agreed
from tacit.deploy.agreement.own import own_records
from tacit.deploy.agreement.trial import simulated
from tacit.deploy.files import write_text
from tacit.deploy.identity.certificates import create_authority
from tacit.deploy.identity.keys import WARN_DAYS, Card, Keys, check_name, create
from tacit.deploy.identity.pinning import trust
from tacit.deploy.operate.nursery import Command, Processes
from tacit.errors import ConfigError, RuntimeFailure
from tacit.study._grammar.locate import lines
from tacit.study._sections.data import site_column
from tacit.study._sections.network import CoordinatorSection
from tacit.study.costs import build_costs, owner_text
from tacit.study.read import Source, parse_study
from tacit.study.tables import divide_total

HOST = "127.0.0.1"
_PORTS = range(20_000, 32_000)


@dataclass(frozen=True)
class Rehearsal:
    """Everything that the members of a rehearsal need, in one folder.

    Attributes:
        folder: folder that contains a folder for each member.
        manifest: manifest, signed by all members.
        unfit: number of records that do not fit the study: they count, and contribute nothing.
        failing: what members' simulators raise on their records at the start, by member; empty if
            nothing.
    """

    folder: Path
    manifest: Manifest
    unfit: int = 0
    failing: Mapping[str, str] = field(default_factory=dict)

    def command(self, number: int, *more: str) -> list[str]:
        """The command that starts a member; the same command resumes it."""
        coordinates = number == len(self.manifest.agents)
        own = self.folder / f"member-{number}"
        return [
            sys.executable,
            "-m",
            "tacit",
            "coordinator" if coordinates else "agent",
            "--manifest",
            str(self.folder / "manifest.toml"),
            "--keys",
            str(own / "keys"),
            "--state",
            str(own / "state"),
            *([] if coordinates else ["--data", str(_records(self.folder, number))]),
            *more,
        ]

    def ledger(self, number: int) -> Path:
        """The path of an agent's ledger, beside its keys."""
        return folder_of(self.folder / f"member-{number}" / "keys", self.manifest.run) / "ledger"

    def log(self, number: int) -> Path:
        """The file that a member's output goes to."""
        return self.folder / f"member-{number}" / "log.txt"

    def start(self, number: int, *more: str) -> subprocess.Popen[bytes]:
        """Start a member; its output goes to its log."""
        with self.log(number).open("ab") as file:
            return subprocess.Popen(self.command(number, *more), stdout=file, stderr=file)


@checked(ConfigError)
def prepare(
    source: Source, folder: Path, patience: float = 60.0, silent: str = "stop"
) -> Rehearsal:
    """Divide the study's records among the members, make their keys and a manifest signed by all.

    Args:
        source: the study; records that it holds out stay with the sites.
        folder: folder that is new or empty.
        patience: time to wait for a silent neighbour, in seconds.
        silent: what to do then, "stop" or "skip".

    Raises:
        ConfigError: a study that cannot be run between sites.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"output={str(folder)!r} is a file; give a new folder")
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty; give a new folder, with --output")
    source = without_scores(source)
    owned = _costs_of(source) if source.costs else _records_of(source)
    with source.section("partition"):
        for name in owned.names:
            check_name(name, "rename the site in the data: ")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        keys = _keys(source, owned.names, folder)
        for number in range(len(owned.names)):
            owned.write(number, folder / f"member-{number}")
        counts = [*owned.counts, 1]
        if not counts_are_public(source, owned.names):
            counts = [rounded(each) for each in counts]
        members = [_member(each.card, n) for each, n in zip(keys, counts, strict=False)]
        count = len(owned.names)
        above = members[count] if len(members) > count else None
        manifest = agreed(
            marked(source),
            owned.features,
            owned.classes,
            members[:count],
            above,
            patience,
            silent,
        )
        with jax.enable_x64(True):
            check_secure(declared(manifest))
        failing = dict[str, str]()
        for number, name in enumerate(manifest.names):
            own_records(manifest, number, _records(folder, number))
            failing[name] = simulated(manifest, number, _records(folder, number)) or ""
        for each in keys:
            manifest = manifest.signed_by(each)
            if manifest.masked:  # who hide each other must have compared each other's cards
                for other in keys:
                    if other is not each:
                        trust(each.folder, other.card)
        write_text(folder / "manifest.toml", manifest.toml())
    except BaseException:
        shutil.rmtree(folder)  # the next attempt finds the folder as this one did
        raise
    failing = {name: told for name, told in failing.items() if told}
    return Rehearsal(folder, manifest, owned.unfit, failing)


@dataclass(frozen=True)
class _Owned:
    """What the members of a rehearsal own."""

    names: tuple[str, ...]
    features: tuple[str, ...]
    classes: int
    counts: Sequence[int]
    write: Callable[[int, Path], None]
    unfit: int = 0


def _records_of(source: Source) -> _Owned:
    """The records of a study, divided among its sites."""
    sites, total, frame = divide_total(source)  # the records that a run accepts
    return _Owned(
        sites.names,
        sites.feature_names,
        len(total.prepared.levels),
        sites.counts,
        lambda number, own: _write_records(source, frame.iloc[sites.rows[number]], own),
        int(total.unfit.sum()),
    )


def _costs_of(source: Source) -> _Owned:
    """The simulators of a study, each of which becomes the file of its owner."""
    problem = build_costs(source)

    def write(number: int, own: Path) -> None:
        (path := own / "simulator.toml").write_text(owner_text(source, number))
        path.chmod(0o600)

    ones = [1] * problem.agents
    return _Owned(problem.names, problem.parameter_names, 0, ones, write)


def _keys(source: Source, sites: Sequence[str], folder: Path) -> list[Keys]:
    """Keys of every member, signed by one authority; a coordinator's come last."""
    star = isinstance(source.study.network, CoordinatorSection)
    names = [*sites, *(["coordinator"] if star else [])]
    create_authority(folder / "authority", "rehearsal")
    return [
        create(
            folder / f"member-{number}" / "keys",
            name,
            f"{HOST}:{port}" if not star or number == len(names) - 1 else "",
            folder / "authority",
            days=WARN_DAYS + 1,  # the shortest without a warning
        )
        for number, (name, port) in enumerate(zip(names, free_ports(len(names)), strict=True))
    ]


def _member(card: Card, records: int) -> Member:
    return Member(
        name=card.name,
        address=card.address,
        signing_key=card.signing_key,
        authority=card.authority,
        records=records,
    )


def _records(folder: Path, number: int) -> Path:
    own = folder / f"member-{number}"
    written = [own / "simulator.toml", own / "records.parquet"]
    return next((path for path in written if path.exists()), own / "records.csv")


def _write_records(source: Source, frame: pd.DataFrame, own: Path) -> None:
    """Write a member's records; the study reads the same values from them."""
    data = source.study.data
    if str(data.path).lower().endswith((".parquet", ".pq")):
        frame.to_parquet(path := own / "records.parquet")
        path.chmod(0o600)
        return
    # in single precision fewer digits are written
    exact = frame.astype(dict.fromkeys(frame.select_dtypes("float32"), "float64"))
    written = {"sep": data.separator or ",", "encoding": data.encoding, "decimal": data.decimal}
    exact.to_csv(path := own / "records.csv", index=False, **written)
    path.chmod(0o600)


def without_scores(source: Source) -> Source:
    """The study without records held out for scores, which only a simulation can have."""
    text = re.sub(r"(?m)^[ \t]*(hold_out|split_seed)[ \t]*=.*\n?", "", source.text)
    return parse_study(text, source.name, source.folder)


def marked(source: Source) -> Source:
    """The study with the note that this is a rehearsal: everybody signs it, every report has it."""
    note = json.dumps(REHEARSAL)
    text, found = re.subn(r"(?m)^notes[ \t]*=[ \t]*\[", rf"notes = [{note}, ", source.text, count=1)
    text = text if found else f"notes = [{note}]\n{text}"
    return parse_study(text, source.name, source.folder)


def with_rounds(source: Source, rounds: int) -> Source:
    """The study with another number of rounds."""
    return _with(source, ("run", "rounds"), rounds)


def with_agents(source: Source, agents: int) -> Source:
    """The study with its records divided among another number of agents.

    Raises:
        ConfigError: the sites come from a column, and their number is different.
    """
    partition = source.study.partition
    if source.costs:
        return _with_owners(source, agents)
    if site_column(partition) is not None:
        count = len(partition.sites or divide_total(source)[0].names)
        if count != agents:
            raise ConfigError(
                f"the column {partition.column!r} divides the records among {count} sites, not "
                f'{agents}: leave --agents out, or divide them with [partition] by = "even"'
            )
        return source
    return _with(source, ("partition", "sites"), agents)


def _with_owners(source: Source, agents: int) -> Source:
    owners: Any = source.study.partition
    if isinstance(owners.sites, int):
        return _with(source, ("partition", "sites"), agents)
    if len(owners.names) != agents:
        raise ConfigError(
            f"the study names {len(owners.names)} sites, not {agents}: leave --agents out, or give "
            "their number as sites in [partition]"
        )
    return source


def _with(source: Source, key: tuple[str, str], value: int) -> Source:
    """The study with another whole number at a key of its text."""
    rows = source.text.splitlines(keepends=True)
    at = lines(source.text)[key] - 1
    old = rf"(\b{key[-1]}\b[\"']?\s*=\s*)[\d_]+"
    rows[at] = re.sub(old, rf"\g<1>{value}", rows[at], count=1)
    return parse_study("".join(rows), source.name, source.folder)


@checked(ConfigError)
def perform(
    rehearsal: Rehearsal,
    more: Sequence[str] = (),
    seconds: float = 3600.0,
    told: Callable[[int, int], None] | None = None,
) -> list[Any]:
    """Start every member, and wait for all of them.

    Args:
        rehearsal: rehearsal that `prepare` made.
        more: further options for every member.
        seconds: time limit, in seconds.
        told: function called with (finished members, all members).

    Returns:
        Every member's result, as in `model.npz` and `result.json` of its state folder.

    Raises:
        RuntimeFailure: a member failed; the message contains the last lines that it printed.
    """
    number = len(rehearsal.manifest.members)
    commands = [Command(rehearsal.command(i, *more), str(rehearsal.log(i))) for i in range(number)]
    ends, finished = time.monotonic() + seconds, -1
    with Processes(commands) as running:
        while None in running.codes:
            if time.monotonic() > ends:
                raise RuntimeFailure(f"the rehearsal has not ended in {seconds:g} seconds")
            if told is not None and finished != (now := number - running.codes.count(None)):
                finished = now
                told(finished, number)
            running.wait(0.05)
            for i, code in enumerate(running.codes):
                if code:
                    raise RuntimeFailure(_told(rehearsal, i, code))
    if told is not None:
        told(number, number)
    return [results(rehearsal, i) for i in range(number)]


def results(rehearsal: Rehearsal, number: int) -> dict[str, Any]:
    """The result of a member."""
    state = rehearsal.folder / f"member-{number}" / "state"
    document: dict[str, Any] = json.loads((state / "result.json").read_bytes())
    if (state / "model.npz").exists():
        document["solution"] = np.load(state / "model.npz")["solution"]
    return document


def _told(rehearsal: Rehearsal, number: int, code: int) -> str:
    log = rehearsal.log(number).read_text(errors="replace")
    name = rehearsal.manifest.members[number].name
    return f"{name!r} ended with exit code {code}; it printed last:\n" + "\n".join(
        log.splitlines()[-8:]
    )


def free_ports(count: int) -> list[int]:
    """Ports of this machine at which nobody listens.

    They are below those that systems assign to outgoing connections, one of which could otherwise
    take the port of a member that does not listen yet.
    """
    with ExitStack() as stack:
        found: list[int] = []
        for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
            with suppress(OSError):
                stack.enter_context(socket.socket()).bind((HOST, port))
                found.append(port)
            if len(found) == count:
                return found
    raise RuntimeFailure(f"{count} free ports were not found on this machine")
