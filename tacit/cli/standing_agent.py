"""`tacit site serve`, `stop` and `upgrade`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tacit
from tacit.cli.console import FAILED, guarded, say
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.deploy.standing.site import Site

_BACK_SECONDS = 60.0
"""How long an agent that starts again is waited for."""


def serve(folder: Path, port: int | None, *, verbose: bool, json_logs: bool) -> int:
    """See `tacit site serve --help`."""
    from tacit.cli.deploying import Logs

    def command() -> int:
        from tacit.deploy.standing.asking import Asked
        from tacit.deploy.standing.page import Page
        from tacit.deploy.standing.serve import Agent
        from tacit.deploy.standing.site import find

        site, stopping = find(folder), threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        Logs(verbose=verbose, as_json=json_logs).begin()
        with Page(site, port or 0) as page:
            say(f"Status page: {page.address}")
            sys.stdout.flush()
            now = Agent(site, stopping, page=page.address).serve()
        if now is Asked.RESTART:
            words = ["site", "serve", "--site", str(folder)]
            words += [] if port is None else ["--page", str(port)]
            words += ["--verbose"] * verbose + ["--json-logs"] * json_logs
            sys.stdout.flush()
            # the installed tacit, and not one in the folder where the agent was started
            os.execv(sys.executable, [sys.executable, "-P", "-m", "tacit", *words])
        say("Stopped; nothing is lost: `tacit site serve` resumes.")
        return 0

    return guarded(command, as_json=False)


def stop(folder: Path) -> int:
    """See `tacit site stop --help`."""

    def command() -> int:
        from tacit.deploy.standing.asking import Asked, ask, runs, wait
        from tacit.deploy.standing.site import find

        site = find(folder)
        if not runs(site):
            say("No agent is running.")
            return 0
        ask(site, Asked.STOP)
        wait(lambda: not runs(site))
        say("Stopped; nothing is lost: `tacit site serve` resumes.")
        return 0

    return guarded(command, as_json=False)


def upgrade(folder: Path, words: Sequence[str]) -> int:
    """See `tacit site upgrade --help`."""

    def command() -> int:
        from tacit.deploy.standing.asking import Asked, ask, runs, serving, upgrading, wait
        from tacit.deploy.standing.site import find

        site = find(folder)
        if not words:
            raise ConfigError(
                "give the command that installs the new version, after --, such as: tacit site "
                "upgrade -- pip install -U '.[deploy]'"
            )
        with upgrading(site):
            if not runs(site):
                _check_ended(site)
                return _installed(words)
            before = serving(site).get("since")
            ask(site, Asked.PAUSE)
            try:
                if begun := _begun(site):
                    say(
                        f"Run {begun} ends with the version that it began with: the agent finishes "
                        "it first. Ctrl-C gives up; `tacit site refuse` withdraws from a run ..."
                    )
                wait(lambda: serving(site).get("doing") == "paused" or not runs(site))
                _check_ended(site)  # the agent may have been stopped meanwhile
                code = _installed(words)
            except BaseException:
                ask(site, None)
                raise
            ask(site, Asked.RESTART if code == 0 and runs(site) else None)
            if runs(site):
                say("The agent starts again." if code == 0 else "The agent goes on as it was.")
            if code == 0 and runs(site):  # until it is back, nobody may take it for stopped
                wait(lambda: serving(site).get("since") not in (None, before), _BACK_SECONDS)
            return code

    return guarded(command, as_json=False)


def _check_ended(site: Site) -> None:
    """Refuse to install anything between the beginning and the end of a run.

    Raises:
        ConfigError: a run has begun and not ended.
    """
    if begun := _begun(site):
        raise ConfigError(
            f"run {begun} has begun, and ends with the version that it began with, "
            f"{tacit.__version__}; let it end first (tacit site serve), or withdraw from it (tacit "
            f"site refuse {begun.partition(',')[0]})"
        )


def _begun(site: Site) -> str:
    """Ids of the runs that have begun and not ended, in one text."""
    from tacit.deploy.standing.entries import State
    from tacit.deploy.standing.queue import Queue

    entries = Queue(site).entries()
    return ", ".join(each.run[:12] for each in entries if each.state is State.BEGUN)


def _installed(words: Sequence[str]) -> int:
    """Run what installs a version, and say which one is there then."""
    command = list(words)
    if command[0] in ("pip", "pip3"):  # that of the environment of this tacit, whatever PATH says
        command[:1] = [sys.executable, "-m", "pip"]
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise ConfigError(f"{words[0]} cannot be run ({error.strerror})") from error
    if code:
        say(f"{words[0]} ended with exit code {code}.")
        return FAILED
    asked = [sys.executable, "-P", "-m", "tacit", "--version"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    version = (found.stdout.split() or ["unknown"])[-1]
    if version == tacit.__version__:
        say(f"tacit in {sys.prefix} is version {version}, as before.")
    else:
        say(f"tacit in {sys.prefix} was version {tacit.__version__} and is {version}.")
    return 0
