"""Waiting for an agent, which may hang."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tacit.cli.console import say

if TYPE_CHECKING:
    from tacit.deploy.standing.site import Site


def patiently(site: Site, until: Callable[[], bool], seconds: float) -> None:
    """Wait until something is so, and say once if the agent hangs meanwhile.

    Args:
        site: the site.
        until: whether it is so.
        seconds: seconds of silence after which it is said to hang.
    """
    from tacit.deploy.standing.asking import last_said, runs, serving, wait

    heard, told = time.monotonic(), False

    def now() -> bool:
        nonlocal heard, told
        if until():
            return True
        if serving(site):
            heard = time.monotonic()
        elif not told and time.monotonic() - heard > seconds and runs(site):
            told = True
            process = last_said(site).get("pid")
            say(
                "The agent"
                + (f" (process {process})" if process else "")
                + f" has said nothing for {seconds:.0f} s: it hangs, or its disk is full. End it "
                "to go on without it, or give up with Ctrl-C ..."
            )
        return False

    wait(now)
