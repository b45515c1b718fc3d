"""Signed bundles of runs that have ended, written by a process of their own."""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from tacit.deploy.standing.child import started
from tacit.deploy.standing.entries import Entry, State
from tacit.deploy.standing.installed import COMMAND
from tacit.deploy.standing.site import Site

log = logging.getLogger("tacit.site")

_TRIES = 3
"""How often a bundle is tried: a ledger may be locked for a moment."""


class Bundling:
    """Writes one bundle after the other.

    Args:
        site: the site.
    """

    def __init__(self, site: Site) -> None:
        self._site, self._tries = site, Counter[str]()
        self._now: Bundle | None = None

    @property
    def busy(self) -> bool:
        """Whether a bundle is being written."""
        return self._now is not None

    def step(self, entries: Sequence[Entry], going: str | None) -> None:
        """Begin the bundle of a run that has ended; a failure costs nothing but the file.

        Args:
            entries: runs for which one may be begun.
            going: run whose process has not ended: it still compares with the others, and writes
                the report last.
        """
        if self._now is not None:
            if self._now.code is None:
                return
            _told(self._now)
            self._now = None
        for each in entries:
            missing = each.state is State.FINISHED and not each.bundle.exists()
            if not missing or each.decision is None or each.run == going:
                continue
            if self._tries[each.run] < _TRIES:
                self._tries[each.run] += 1
                with suppress(OSError):
                    shutil.copy(each.state_folder / "report.html", each.report)
                self._now = Bundle(self._site, each)
                return

    def end(self) -> None:
        """End what is being written."""
        if self._now is not None:
            self._now.end()
            self._now = None


class Bundle:
    """The process that writes the signed bundle of a run that has ended.

    Args:
        site: the site.
        entry: the run.
    """

    def __init__(self, site: Site, entry: Entry) -> None:
        self.entry = entry
        words = ["bundle", str(entry.state_folder), "--keys", str(site.keys), "--force"]
        words += ["--output", str(entry.bundle)]
        words += ["--ledger", str(site.ledger)]
        self._process = started([*COMMAND, *words], entry.folder / "log.txt")

    @property
    def code(self) -> int | None:
        """Exit code; `None` as long as it runs."""
        return self._process.poll()

    def end(self) -> None:
        """End it; a bundle is written completely or not at all."""
        self._process.kill()
        self._process.wait()


def _told(bundle: Bundle) -> None:
    folder, good = bundle.entry.folder, bundle.code == 0
    told = "report and bundle are in %(place)s" if good else "no bundle, see %(place)s"
    place = folder if good else folder / "log.txt"
    log.info("run %(run)s: " + told, {"run": bundle.entry.run[:12], "place": str(place)})
