"""`tacit site serve` and `stop`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from tacit.cli.console import guarded, say

_TURN_SECONDS = 150.0
"""Seconds of silence after which an agent is said to hang: one that stops may be in a turn."""


def serve(folder: Path, port: int | None, *, verbose: bool, json_logs: bool) -> int:
    """See `tacit site serve --help`."""
    from tacit.cli.deploying import Logs

    def command() -> int:
        from tacit.deploy.standing.asking import Asked
        from tacit.deploy.standing.installed import COMMAND
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
            os.execv(sys.executable, [*COMMAND, *words])
        say("Stopped; nothing is lost: `tacit site serve` resumes.")
        return 0

    return guarded(command, as_json=False)


def stop(folder: Path) -> int:
    """See `tacit site stop --help`."""

    def command() -> int:
        from tacit.cli.standing_waiting import patiently
        from tacit.deploy.standing.asking import Asked, ask, asked, runs, withdraw
        from tacit.deploy.standing.site import find

        site = find(folder)
        if not runs(site):
            say("No agent is running.")
            return 0

        def stopped() -> bool:
            if asked(site) is not Asked.STOP:  # an upgrade may have asked for something else since
                ask(site, Asked.STOP)
            return not runs(site)

        patiently(site, stopped, _TURN_SECONDS)
        withdraw(site, Asked.STOP)
        say("Stopped; nothing is lost: `tacit site serve` resumes.")
        return 0

    return guarded(command, as_json=False)
