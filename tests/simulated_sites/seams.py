"""What stands in the place of the machine: attributes of modules, while runs are simulated.

Nothing of tacit is changed: its modules find simulated `time`, `threading`, `sqlite3`, `secrets`
where they imported Python's. Pure functions of the manifest (its plan, its noise scales, its
tables) are computed once and kept, because a run starts its members many times.
"""

from __future__ import annotations

import functools
import gc
import importlib
import logging
import pkgutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import jax

import tacit.deploy
import tacit.privacy.ledger
from tacit.deploy.agreement import declared as declaring
from tacit.deploy.agreement.manifest import Manifest
from tacit.deploy.identity.keys import Card
from tacit.deploy.member import checking, divergence, paying, process, session
from tacit.deploy.messages import transport
from tacit.deploy.operate.watch import Watch
from tacit.privacy import accounting
from tacit.privacy.ledger import chain, spending
from tacit.privacy.noise import stream
from tacit.study import fitted
from tests.simulated_sites import cast, files, threads
from tests.simulated_sites.desk import answer, desk
from tests.simulated_sites.disk import SQLITE
from tests.simulated_sites.link import Transport
from tests.simulated_sites.observed import observers
from tests.simulated_sites.signing import public_key
from tests.simulated_sites.world import simulating, world

REPLACED = ("time", "threading", "sqlite3", "secrets", "datetime", "uuid")
"""Modules that no member may reach but by their name in a module of tacit."""


def modules() -> list[ModuleType]:
    """All modules that a member's process may run."""
    found = [tacit.deploy, tacit.privacy.ledger, stream]
    for package in (tacit.deploy, tacit.privacy.ledger):
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            # a standing agent starts members as processes of their own
            if not each.name.startswith(tacit.deploy.__name__ + ".standing"):
                found.append(importlib.import_module(each.name))
    return found


def _token_hex(count: int) -> str:
    return world().random(count, "token").hex()


def _token_bytes(count: int) -> bytes:
    return world().random(count, "token")


_STAND_INS: dict[str, Any] = {
    "time": threads.TIME,
    "threading": threads.THREADING,
    "sqlite3": SQLITE,
    "secrets": SimpleNamespace(token_hex=_token_hex, token_bytes=_token_bytes),
    "datetime": threads.Datetime,
    "uuid": SimpleNamespace(uuid4=lambda: SimpleNamespace(hex=world().random(16, "uuid").hex())),
}

_ENTRIES = 4096
"""Newest entries of ledgers, and sums of events, that are looked through once."""

_GARBAGE = 200_000
"""Objects after which those are looked for that refer to each other and to nothing else."""


_found: dict[Callable[..., Any], dict[Any, Any]] = {}
"""By function: what it said."""


def _same(value: Any) -> Any:
    """What tells objects apart: for the keys that pairs of members share, their contents."""
    return tuple(sorted(value.items())) if type(value) is dict else id(value)


def _kept(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, computed once for the same objects."""
    found = _found.setdefault(function, {})

    @functools.wraps(function)
    def kept(*given: Any, **named: Any) -> Any:
        key = (*map(_same, given), *((name, _same(value)) for name, value in sorted(named.items())))
        if key not in found:
            process = world().process if simulating() else None
            drawn = {} if process is None else dict(process.draws)
            found[key] = given, named, function(*given, **named)  # so that no id is used again
            if process is not None:
                process.draws = drawn  # what it drew now it does not draw another time
        return found[key][-1]

    return kept


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    """The method, computed once for an object, whatever else it is given."""
    found = _found.setdefault(function, {})

    def kept(own: Any, *given: Any) -> Any:
        if id(own) not in found:
            found[id(own)] = own, function(own, *given)
        return found[id(own)][1]

    return kept


def _of_events(function: Callable[..., Any]) -> Callable[..., Any]:
    """What events cost, computed once for the same ones: budgets are checked again and again."""
    found = functools.lru_cache(_ENTRIES)(function)
    return lambda events, delta: found(tuple(events), delta)


def _mixing(function: Callable[..., Any]) -> Callable[..., Any]:
    found = _found.setdefault(function, {})

    def kept(plan: Any, round: int) -> Any:
        key = id(plan.network), round
        if key not in found:
            found[key] = plan, function(plan, round)
        return found[key][1]

    return kept


def _rarely(write: Callable[[Any], None]) -> Callable[[Any], None]:
    """Writing the status, in one seed of 32: it costs a fifth of the time."""

    def written(own: Any) -> None:
        if world().chance.of_run("status") < 1 / 32:
            write(own)

    return written


def _records(function: Callable[..., Any]) -> Callable[..., Any]:
    """Reading a member's table, once."""
    found = _found.setdefault(function, {})

    def kept(manifest: Any, number: int, data: Path) -> Any:
        if (id(manifest), number) not in found:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "records.csv"
                path.write_text(cast.records(number))
                found[id(manifest), number] = function(manifest, number, path)
        return found[id(manifest), number]

    return kept


@contextmanager
def replaced() -> Generator[None, None, None]:
    """A process of Python whose modules of tacit run in simulated worlds."""
    versions = session.versions()
    with ExitStack() as stack:

        def put(module: Any, name: str, value: Any) -> None:
            stack.enter_context(patch.object(module, name, value))

        for module in modules():
            for name, stand_in in _STAND_INS.items():
                there = vars(module).get(name)
                if isinstance(there, ModuleType) or (name == "datetime" and there is not None):
                    put(module, name, stand_in)
        urandom = SimpleNamespace(urandom=lambda count: world().random(count, "noise"))
        put(stream, "os", urandom)
        put(process, "jax", SimpleNamespace(enable_x64=lambda _: nullcontext()))
        put(transport, "Transport", Transport)
        put(process, "AgentStep", desk)
        put(process, "_report", lambda state, run: None)
        put(process, "mixing_of", _mixing(process.mixing_of))
        for name in ("source", "unsigned", "offers", "toml"):
            put(Manifest, name, _once(getattr(Manifest, name)))
        for name in ("run", "summed", "relayed", "masked"):
            put(Manifest, name, property(_once(vars(Manifest)[name].fget)))
        put(Card, "public_key", public_key)
        put(checking, "read_manifest", lambda path: world().manifest)
        put(checking, "load", lambda folder: world().keys[folder])
        put(checking, "own_records", _records(checking.own_records))
        put(checking, "check_trusted", lambda manifest, folder, name: ())
        laid_out = ("declared", "check_secure", "releases", "forms")
        for name in (*laid_out, "neighbours", "sum_graph"):
            put(process, name, _kept(getattr(process, name)))
        put(process, "Sums", SimpleNamespace(of=_kept(process.Sums.of)))
        put(fitted, "schema", _kept(fitted.schema))
        for name in ("epsilon", "quick_epsilon"):
            put(accounting, name, _of_events(getattr(accounting, name)))
        put(spending, "Repeated", functools.lru_cache(_ENTRIES)(spending.Repeated))
        put(chain, "parsed", functools.lru_cache(_ENTRIES)(chain.parsed))
        put(paying, "charges", _kept(paying.charges))
        for module in (checking, session):
            put(module, "versions", lambda: versions)
        for module in (divergence, session):
            put(module, "answer", answer)
        put(declaring.Declared, "bounds", _kept(declaring.Declared.bounds))
        key = jax.random.key(0)
        random = SimpleNamespace(key=lambda _: key, fold_in=lambda key, _: key)
        put(declaring, "jax", SimpleNamespace(random=random))
        log = logging.getLogger("tacit.site")
        put(log, "disabled", True)
        put(Watch, "_write", _rarely(Watch._write))
        for where, name, value in observers():
            put(where, name, value)
        stack.enter_context(files.replaced())
        stack.enter_context(jax.enable_x64(True))
        # what compilers hold is large, and need not be looked through again and again
        gc.collect()
        gc.freeze()
        stack.callback(gc.unfreeze)
        stack.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(_GARBAGE, 10, 10)
        yield
