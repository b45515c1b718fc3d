"""`tacit site upgrade`."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import tacit
from tacit.cli.console import FAILED, guarded, say
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.deploy.standing.entries import Entry
    from tacit.deploy.standing.installed import Found
    from tacit.deploy.standing.site import Site

_BACK_SECONDS = 60.0
"""How long an agent that starts again is waited for."""

_SILENT_SECONDS = 30.0
"""Seconds of silence after which an agent is said to hang."""

_END_SECONDS = 10.0
"""How long a command that was interrupted has to end by itself."""

_PAUSED = "The agent begins no run until then."


def upgrade(folder: Path, words: Sequence[str]) -> int:
    """See `tacit site upgrade --help`."""

    def command() -> int:
        from tacit.cli.standing_waiting import patiently
        from tacit.deploy.standing.asking import (
            Asked,
            ask,
            asked,
            runs,
            serving,
            upgrading,
            wait,
            withdraw,
        )
        from tacit.deploy.standing.installed import startable
        from tacit.deploy.standing.site import find

        site = find(folder)
        if not words:
            raise ConfigError(
                "give the command that installs the new version, after --, such as: tacit site "
                "upgrade -- pip install -U '.[deploy]'"
            )
        with upgrading(site):
            asked_at = time.time()
            ask(site, Asked.PAUSE)  # an agent that is started meanwhile pauses, too

            def paused() -> bool:
                said = serving(site)
                since = said.get("time", 0.0) > asked_at  # and not in an earlier upgrade
                return since and said.get("doing") == "paused" and not _begun(site)

            try:
                if runs(site):
                    _say_what_comes_first(site)
                patiently(site, lambda: not runs(site) or paused(), _SILENT_SECONDS)
                _check_ended(site)
                code = _install(site, words)
            except BaseException:
                withdraw(site, Asked.PAUSE)
                raise
            found = startable(site.folder)
            new = found.version
            _say_version(found)
            before = serving(site).get("since")
            other = new != tacit.__version__
            # it may have waited for its own version, which another had replaced
            back = other and serving(site).get("version") == new
            goes_on = asked(site) is Asked.PAUSE and runs(site)  # nobody has stopped it since
            again = goes_on and bool(new) and (code == 0 or other) and not back
            if again:  # until it is back, nobody may take it for stopped
                ask(site, Asked.RESTART)
                say("The agent starts again.")
                if not wait(
                    lambda: (
                        serving(site).get("since") not in (None, before)
                        or asked(site) is Asked.STOP
                    ),
                    _BACK_SECONDS,
                ):
                    say(
                        f"It is not back after {_BACK_SECONDS:.0f} s: look at what it printed. If "
                        f"it has ended: tacit site serve. If it does not start: {_back()}"
                    )
                    return FAILED
                return code
            withdraw(site, Asked.PAUSE)
            if goes_on:
                say("The agent goes on as it was." if new else _PAUSED)
            return code if new else FAILED

    return guarded(command, as_json=False)


def _say_what_comes_first(site: Site) -> None:
    begun = _begun(site)
    if not begun:
        say("The other sites are told first; up to two minutes, if one may be in a run ...")
        return
    say(
        f"Run {_ids(begun)} ends with the version that it began with: the agent finishes it first. "
        "Ctrl-C gives up; `tacit site refuse` withdraws from a run ..."
    )
    for each in begun:
        if each.refusals:
            say(
                f"{', '.join(each.refusals)} has refused run {each.run[:12]}, so it may not end: "
                f"{_refuse(site, each)}"
            )


def _check_ended(site: Site) -> None:
    """Refuse to install anything between the beginning and the end of a run.

    Raises:
        ConfigError: a run has begun and not ended.
    """
    if begun := _begun(site):
        by = {name for each in begun for name in each.refusals}
        told = f" ({', '.join(sorted(by))} has refused it)" if by else ""
        raise ConfigError(
            f"run {_ids(begun)} has begun{told}, and ends with the version that it began with, "
            f"{tacit.__version__}; let it end first (tacit site serve), or withdraw from it "
            f"({_refuse(site, begun[0])})"
        )
    for each, lacks in _kept(site):
        say(
            f"Run {each.run[:12]} was begun with other versions ({', '.join(lacks)}), and goes on "
            f"only with those; {_refuse(site, each)} withdraws from it."
        )


def _refuse(site: Site, entry: Entry) -> str:
    return f"tacit site refuse {entry.run[:12]} --site {site.folder}"


def _begun(site: Site) -> list[Entry]:
    """Runs that have begun and not ended, and go on with what is installed, or go on now.

    For others, what is about to be installed may be what they lack.

    Raises:
        ConfigError: one of them has failed, and is tried again only when the agent is started.
    """
    from tacit.deploy.standing.asking import runs, serving
    from tacit.deploy.standing.entries import State
    from tacit.deploy.standing.overview import SEE_LIST

    going = serving(site).get("run")
    begun = [each for each, lacks in _kept(site) if not lacks or each.run == going]
    if failed := [each for each in begun if each.state is State.FAILED]:
        first = "tacit site stop, " if runs(site) else ""
        raise ConfigError(
            f"run {_ids(failed)} has begun and failed ({SEE_LIST}), and goes on only with the "
            f"version that it began with, {tacit.__version__}: start the agent again, which "
            f"resumes it ({first}tacit site serve), or withdraw from it "
            f"({_refuse(site, failed[0])})"
        )
    return begun


def _kept(site: Site) -> list[tuple[Entry, list[str]]]:
    """Runs that have begun and are not over, with what is installed in other versions since."""
    from tacit.deploy.member.checking import changed_versions
    from tacit.deploy.standing.entries import State
    from tacit.deploy.standing.queue import Queue

    return [
        (each, changed_versions(each.state_folder))
        for each in Queue(site).entries()
        if each.state in (State.BEGUN, State.FAILED) and (each.state_folder / "journal.db").exists()
    ]


def _ids(entries: Sequence[Entry]) -> str:
    return ", ".join(each.run[:12] for each in entries)


def _install(site: Site, words: Sequence[str]) -> int:
    """Run what installs a version; an exit code.

    Raises:
        ConfigError: it cannot be run.
        KeyboardInterrupt: it was interrupted; what is installed then has been said.
    """
    from tacit.deploy.standing.asking import runs
    from tacit.deploy.standing.installed import startable

    try:
        return _run(words)
    except KeyboardInterrupt:
        found = startable(site.folder)
        _say_version(found)
        if not found.version and runs(site):
            say(_PAUSED)
        raise


def _run(words: Sequence[str]) -> int:
    """Run what installs a version; an exit code.

    Raises:
        ConfigError: it cannot be run.
    """
    command = list(words)
    if command[0] in ("pip", "pip3"):  # that of the environment of this tacit, whatever PATH says
        command[:1] = [sys.executable, "-m", "pip"]
    # it would go on without this process, and the agent would no longer be paused
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        code = _ended(subprocess.Popen(command))
    except OSError as error:
        raise ConfigError(f"{words[0]} cannot be run ({error.strerror})") from error
    finally:
        signal.signal(signal.SIGTERM, before)
    if code:
        say(f"{words[0]} ended with exit code {code}.")
        return FAILED
    return 0


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Wait until a command has ended; its exit code."""
    try:
        return process.wait()
    except KeyboardInterrupt:  # it hears Ctrl-C, too, and may put things back
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        raise
    finally:
        process.kill()
        process.wait()


def _say_version(found: Found) -> None:
    old, new = tacit.__version__, found.version
    if not new:
        say(
            f"tacit in {sys.prefix} was version {old}, and what is installed now {found.wrong}. "
            f"{_back()}"
        )
    elif new == old:
        say(f"tacit in {sys.prefix} is version {new}, as before.")
    else:
        say(f"tacit in {sys.prefix} was version {old} and is {new}.")


def _back() -> str:
    """How to go back to the version that was there."""
    return (
        f"Install {tacit.__version__} again, in a copy of the repository of that version: "
        f"{sys.executable} -m pip install '.[deploy]'"
    )
