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
    try:
        return FileLock(site.folder / "serve.lock")
    except BlockingIOError as error:
        raise SiteBusy(
            f"an agent serves {site.folder} already, and two would take part in one run; "
            "`tacit site stop` stops it"
        ) from error


def runs(site: Site) -> bool:
    """Whether an agent serves this site."""
    return _is_held(site.folder / "serve.lock")


def _is_held(path: Path) -> bool:
    if not path.exists():  # whoever holds it has made it; others would make it theirs
        return False
    try:
        FileLock(path).release()
    except BlockingIOError:
        return True
    return False


def serving(site: Site) -> dict[str, Any]:
    """What the agent last wrote of itself; empty if it does not run."""
    with suppress(OSError, ValueError):
        found: dict[str, Any] = json.loads((site.folder / "serving.json").read_bytes())
        if time.time() - found["time"] < STALE:
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
