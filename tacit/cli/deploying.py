"""`tacit agent` and `tacit coordinator`: a member of a run between sites."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tacit.cli.console import FAILED, INTERRUPTED, dumped, emit, guarded, say
from tacit.cli.swapped import check_places
from tacit.deploy.member.checking import Options
from tacit.deploy.member.memory import forget_compiling
from tacit.deploy.member.process import run
from tacit.deploy.operate.doctor import Finding, examine
from tacit.deploy.operate.results import Outcome, answer_files
from tacit.escape import one_line, visible
from tacit.method.answer import Minimiser
from tacit.privacy.digits import rounded_up


@dataclass(frozen=True)
class Logs:
    """How a member logs.

    Attributes:
        verbose: whether every message sent is logged.
        as_json: whether each line is a JSON object.
    """

    verbose: bool = False
    as_json: bool = False

    def begin(self) -> None:
        """Log to standard error from now on."""
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(JsonLines() if self.as_json else PlainLines())
        logging.basicConfig(level=logging.WARNING, handlers=[handler])
        logging.getLogger("tacit.site").setLevel(logging.DEBUG if self.verbose else logging.INFO)


class PlainLines(logging.Formatter):
    """Time, level and message in a line of a terminal."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - so named by logging
        """A record as a line, also of several; what steers a terminal is spelt out."""
        return visible(one_line(super().formatMessage(record)))


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, message, and the fields that the message was made of."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = record.args if isinstance(record.args, dict) else {}
        line = {"time": time, "level": record.levelname, "message": record.getMessage(), **fields}
        return dumped(line, default=str)


def take_part(
    options: Options, logs: Logs, *, dry_run: bool, json: bool, attended: bool = False
) -> int:
    """Run a member; see `tacit agent --help`.

    Args:
        options: locations of the files.
        logs: how it logs.
        dry_run: whether to check everything and release nothing.
        json: whether to print JSON.
        attended: whether to stop when standard input ends, as when the agent that started this one
            is killed.
    """
    logs.begin()
    stopping = threading.Event()
    if attended:
        threading.Thread(target=_until_left, args=(stopping,), daemon=True).start()

    def command() -> int:
        check_places(options.manifest, "--manifest", options.data)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        try:
            outcome = run(options, stopping, only_check=dry_run, between=forget_compiling)
        except KeyboardInterrupt:
            print(
                "stopped; nothing is lost: rerun the same command to resume. The others wait as "
                "long as the manifest says",
                file=sys.stderr,
            )
            return INTERRUPTED
        if dry_run:
            # and the neighbours: addresses, certificates, clocks, versions
            return examined(options, json=json, beforehand=True)
        _tell(outcome, options, json=json)
        return 0

    return guarded(command, as_json=json)


def _until_left(stopping: threading.Event) -> None:
    """Stop when nobody holds the other end of standard input any longer."""
    while os.read(0, 1024):
        pass
    stopping.set()


def examined(options: Options, *, json: bool, beforehand: bool = False) -> int:
    """Try every step and show which fails; `beforehand`, peers need not be running yet."""
    marks = {True: "ok     ", False: "WRONG  ", None: "?      "}
    found: list[Finding] = []
    for finding in examine(options):
        told = finding
        if beforehand and (finding.later or finding.busy):
            told = replace(finding, good=False if finding.busy else None)
        found.append(told)
        if not json:
            say(f"{marks[told.good]}{told.what}: {told.told}")
    wrong = any(finding.good is False for finding in found)
    if json:
        emit({"format": "tacit-doctor-1", "findings": [vars(each) for each in found]})
    elif not wrong:
        say(
            "No problem found, the budget suffices, and nothing was released. Leave out --dry-run "
            "to take part."
            if beforehand
            else "No problem found."
        )
        if untried := [finding.what for finding in found if finding.good is None]:
            say(f"Not tested: {', '.join(untried)}.")
    return FAILED if wrong else 0


def _charged(epsilon: float, total: float | None, options: Options) -> str:
    """What the run was charged, and to which budget; a ledger of its own knows of no other run."""
    said = f"Epsilon charged to the ledger for this run: {rounded_up(epsilon)}"
    if options.ledger is None:
        return (
            f"{said}. That ledger is of this run alone: what other runs cost the same data is not "
            "in it. Give --ledger to add runs up."
        )
    if total is None:
        return f"{said}."
    return (
        f"{said}; all runs on its budget for {options.dataset!r}, this one included: "
        f"{rounded_up(total)}."
    )


def _tell(outcome: Outcome, options: Options, *, json: bool) -> None:
    state = options.state
    if json:
        emit(outcome.document())
        return
    say(f"Run {outcome.run[:12]}: finished after {outcome.rounds} rounds.")
    if outcome.simulated:
        say("The noise came from a seed: this was a rehearsal and protects nobody.")
    for name, first, back in outcome.absences:
        until = "the end" if back is None or back >= outcome.rounds else f"round {back}"
        say(f"Without {name} from round {first + 1} to {until}.")
    if outcome.compared is not None:
        if outcome.compared.own:
            say(
                f"WARNING: in {outcome.compared.own} the coordinator sent this member a "
                "different message than it claims. Do not use the model before you have talked to "
                "the others."
            )
        if outcome.compared.other:
            say(
                f"WARNING: others received something else: {outcome.compared.others()}. Do not use "
                "the model before you have talked to them."
            )
        if outcome.compared.same:
            say(f"{', '.join(outcome.compared.same)} received the same in every round.")
        if outcome.compared.silent:
            say(f"Not compared with {', '.join(outcome.compared.silent)}.")
    if outcome.epsilon is not None:
        say(_charged(outcome.epsilon, outcome.epsilon_of_account, options))
    if written := [str(state / name) for name in _written(outcome, state)]:
        say(f"Answer: {', '.join(written)}")
    if (state / "report.html").exists():
        say(f"Report: {state / 'report.html'}")


def _written(outcome: Outcome, state: Path) -> list[str]:
    """Names of the files of the answer that are there."""
    if outcome.solution is None:  # of a run that had finished before
        return sorted(path.name for path in state.glob("*.csv"))
    minimised = outcome.answer is None or isinstance(outcome.answer, Minimiser)
    names = [*(["model.npz"] if minimised else []), *answer_files(outcome)]
    return [name for name in names if (state / name).exists()]
