"""`tacit agent` and `tacit coordinator`: a member of a run between sites."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from pathlib import Path

from tacit.cli.console import INTERRUPTED, emit, guarded, say
from tacit.deploy.agent import Options, Outcome, run


def take_part(options: Options, *, dry_run: bool, json: bool, verbose: bool) -> int:
    """Run a member; see `tacit agent --help`."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(message)s",
        stream=sys.stderr,
    )
    stopping = threading.Event()

    def command() -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        try:
            outcome = run(options, stopping, only_check=dry_run)
        except KeyboardInterrupt:
            print("stopped; give the same command to go on", file=sys.stderr)
            return INTERRUPTED
        _tell(outcome, options.state, dry_run=dry_run, json=json)
        return 0

    return guarded(command, as_json=json)


def _tell(outcome: Outcome, state: Path, *, dry_run: bool, json: bool) -> None:
    document = {
        "format": "tacit-site-result-1",
        "run": outcome.run,
        "rounds": outcome.rounds,
        "noise": "simulated: protects nobody" if outcome.simulated else "secure",
        "epsilon_spent": outcome.epsilon,
        "refused_messages": outcome.refused,
    }
    if json:
        emit(document)
        return
    if dry_run:
        say("Everything is in order, and nothing was released. Leave out --dry-run to take part.")
        return
    say(f"Run {outcome.run[:12]}: {outcome.rounds} rounds, done.")
    if outcome.simulated:
        say("The noise came from a seed: a rehearsal, which protects nobody.")
    if outcome.epsilon is not None:
        say(f"The ledger has counted an epsilon of {outcome.epsilon:.4g} in all.")
    if outcome.solution is not None:
        say(f"The model: {state / 'model.npz'}, {state / 'coefficients.csv'}")
