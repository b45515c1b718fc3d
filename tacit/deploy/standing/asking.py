"""How commands ask a running agent to stop, to pause for an upgrade, or to start again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

from tacit.deploy.files import write_json
from tacit.deploy.standing.site import Site
from tacit.errors import SiteBusy
from tacit.privacy.ledger.lock import FileLock

_POLL_SECONDS = 0.2
_UPGRADE, _EVERYBODY = "upgrade.lock", 0o666
"""The file that an upgrade locks; whoever gets into the site's folder may."""

_RESTARTING, _RESTART_SECONDS = "restarting", 60.0
"""The file that an agent leaves when it starts again, and how long that may take."""

_LOOKED_SECONDS = 1.0
"""For how long whoever looks whether an agent runs may hold its lock."""

STALE = 10.0
"""Seconds after which what an agent wrote of itself is no longer true."""


class Asked(StrEnum):
    """What an agent is asked to do."""

    STOP = "stop"
    PAUSE = "pause"
    RESTART = "restart"


def ask(site: Site, what: Asked | None) -> None:
    """Leave a request for the agent; `None` withdraws it."""
    path = site.folder / "asked.json"
    if what is None:
        path.unlink(missing_ok=True)
    else:
        write_json(path, {"asked": what.value})
        path.chmod(0o644)  # an administrator may ask what another user's agent has to read


def withdraw(site: Site, what: Asked) -> None:
    """Withdraw a request, unless another one has taken its place."""
    if asked(site) is what:
        ask(site, None)


def asked(site: Site) -> Asked | None:
    """The request that waits for the agent; a pause only as long as its upgrade goes on."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = Asked(json.loads((site.folder / "asked.json").read_bytes())["asked"])
        if found is not Asked.PAUSE or _is_held(site.folder / _UPGRADE):
            return found
    return None


@contextmanager
def upgrading(site: Site) -> Generator[None, None, None]:
    """Hold what says that an upgrade goes on: it ends with the process, however that ends.

    Raises:
        SiteBusy: another upgrade of this site goes on.
    """
    try:
        lock = FileLock(site.folder / _UPGRADE, _EVERYBODY)
    except BlockingIOError as error:
        raise SiteBusy(
            f"another upgrade of {site.folder} goes on; wait until it has ended"
        ) from error
    try:
        yield
    finally:
        lock.release()


def agent_lock(site: Site) -> FileLock:
    """The lock that the agent holds while it runs.

    Raises:
        SiteBusy: another process serves this site.
    """
    found: list[FileLock] = []

    def locked() -> bool:
        with suppress(BlockingIOError):
            found.append(FileLock(site.folder / "serve.lock"))
        return bool(found)

    if not wait(locked, _LOOKED_SECONDS):
        raise SiteBusy(
            f"an agent serves {site.folder} already, and two would take part in one run; "
            "`tacit site stop` stops it"
        )
    return found[0]


def restarting(site: Site) -> None:
    """Note that the agent starts again when it has let go of its lock."""
    with suppress(OSError):  # a full disk
        (site.folder / _RESTARTING).touch()


def restarted(site: Site) -> None:
    """Note that an agent has started, and holds its lock."""
    (site.folder / _RESTARTING).unlink(missing_ok=True)


def forget(site: Site) -> None:
    """Forget what an agent was asked that has ended; one that starts again heeds a stop."""
    kept = (Asked.PAUSE, Asked.STOP) if _restarts(site) else (Asked.PAUSE,)
    if asked(site) not in kept:
        ask(site, None)


def runs(site: Site) -> bool:
    """Whether an agent serves this site, or is about to do so again."""
    lock = site.folder / "serve.lock"
    return _is_held(lock) or _restarts(site) or _is_held(lock)  # it may just have started


def _restarts(site: Site) -> bool:
    with suppress(OSError):
        return time.time() - (site.folder / _RESTARTING).stat().st_mtime < _RESTART_SECONDS
    return False


def _is_held(path: Path) -> bool:
    if not path.exists():  # whoever holds it has made it; others would make it theirs
        return False
    try:
        FileLock(path).release()
    except BlockingIOError:
        return True
    return False


def serving(site: Site) -> dict[str, Any]:
    """What the agent says of itself; empty if it does not run, or hangs."""
    found = last_said(site)
    return found if time.time() - found.get("time", 0.0) < STALE else {}


def last_said(site: Site) -> dict[str, Any]:
    """What an agent last wrote of itself, however long ago; empty if nothing."""
    with suppress(OSError, ValueError):
        found: dict[str, Any] = json.loads((site.folder / "serving.json").read_bytes())
        return found
    return {}


def wait(until: Callable[[], bool], seconds: float | None = None) -> bool:
    """Wait until something is so; whether it is, after so many seconds at most."""
    ends = None if seconds is None else time.monotonic() + seconds
    while not until():
        if ends is not None and time.monotonic() > ends:
            return False
        time.sleep(_POLL_SECONDS)
    return True
