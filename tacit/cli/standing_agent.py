"""`tacit site serve`, `stop` and `upgrade`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from tacit.cli.console import FAILED, guarded, say
from tacit.errors import ConfigError


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
            os.execv(sys.executable, [sys.executable, "-m", "tacit", *words])
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
        from tacit.deploy.standing.asking import Asked, ask, runs, serving, wait
        from tacit.deploy.standing.site import find

        site = find(folder)
        if not words:
            raise ConfigError(
                "give the command that installs the new version, after --, such as: tacit site "
                "upgrade -- pip install -U '.[deploy]'"
            )
        if not runs(site):
            return _installed(words)
        ask(site, Asked.PAUSE)
        try:
            if serving(site).get("doing") == "runs":
                say("The agent finishes the run that it is in first (Ctrl-C to give up) ...")
            wait(lambda: serving(site).get("doing") == "paused" or not runs(site))
            code = _installed(words)
        except BaseException:
            ask(site, None)
            raise
        ask(site, Asked.RESTART if code == 0 and runs(site) else None)
        say("The agent starts again." if code == 0 else "The agent goes on as it was.")
        return code

    return guarded(command, as_json=False)


def _installed(words: Sequence[str]) -> int:
    try:
        code = subprocess.run(list(words), check=False).returncode
    except OSError as error:
        raise ConfigError(f"{words[0]} cannot be run ({error.strerror})") from error
    if code:
        say(f"{words[0]} ended with exit code {code}.")
    return FAILED if code else 0
