"""`tacit rehearse`, `tacit status` and `tacit doctor`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.cli.answers import show
from tacit.cli.console import FAILED, emit, guarded, progress, say, table
from tacit.deploy.operate.status import read_status, spent
from tacit.errors import ConfigError
from tacit.method.answer import Minimiser
from tacit.privacy.digits import rounded_down, rounded_up, short
from tacit.privacy.wording import claim
from tacit.study.read import read_study

STALE = 10.0
"""Seconds after which a member that wrote its status is no longer running."""


def rehearse(
    study: Path | None, folder: Path, rounds: int | None, agents: int | None, *, json: bool
) -> int:
    """See `tacit rehearse --help`."""

    def command() -> int:
        from tacit.deploy.identity.parts import admit_pinned
        from tacit.deploy.operate.finished import read_finished
        from tacit.deploy.operate.rehearse import perform, prepare, with_agents, with_rounds
        from tacit.study import demo

        source = demo.study() if study is None else read_study(study, admit_pinned)
        if rounds is not None:
            source = with_rounds(source, rounds)
        if agents is not None:
            source = with_agents(source, agents)
        if source.study.run.hold_out:
            print(
                f"NOTE: hold_out={source.study.run.hold_out} in [run] is left out here: between "
                "sites nobody has all records. `tacit manifest new` refuses it; delete it before.",
                file=sys.stderr,
            )
        rehearsal = prepare(source, folder)
        count = len(rehearsal.manifest.members)
        if not json:
            say(f"{count} processes with temporary keys, in {folder}; each compiles first.")
        if rehearsal.unfit and not json:
            say(
                f"{rehearsal.unfit:,} records do not fit the study; in a run they count but "
                "contribute nothing. Each owner can list its own: tacit check STUDY --data FILE"
            )
        if not json:
            for name, told in rehearsal.failing.items():
                say(f"WARNING: the simulator of {name}: {told}")
        began = time.monotonic()
        with progress("members done", quiet=json) as told:
            found = perform(rehearsal, told=told)
        seconds = time.monotonic() - began
        if json:
            emit({"format": "tacit-rehearsal-1", "seconds": seconds, "members": _plain(found)})
            return FAILED if rehearsal.failing else 0
        members = rehearsal.manifest.members
        table(*_members([member.name for member in members], found))
        own = folder / "member-0" / "state"
        finished = read_finished(own)
        if finished.guarantee is not None and (told := claim(finished.guarantee.neighbours)):
            say(f"Epsilon: {told}.")
        say(f"The rehearsal took {seconds:.0f} s. Logs, states and models: {folder}")
        answer = finished.answer(finished.laid_out())
        show(answer)
        say()
        kept = "model.npz" if isinstance(answer, Minimiser) else f"{answer.kind}.csv"
        say(f"Answer of {members[0].name}: {own / kept}")
        if (own / "report.html").exists():
            say(f"Report of {members[0].name}: {own / 'report.html'}")
        held = source.held
        if held.copies:
            say(
                f"Copies of all {held.plural}: {folder / 'member-*' / held.copies}. If they are of "
                "real people, delete them when you are done."
            )
        say(
            f"The answer of this rehearsal carries noise, as a release does. If the {held.plural} "
            "are real, publishing it, or what you conclude from it, adds to what a later run "
            f"costs. Rehearse with made-up {held.plural}, or keep it to yourself."
        )
        return FAILED if rehearsal.failing else 0

    return guarded(command, as_json=json)


def _claimed(about: str) -> str:
    told = claim(about)
    return f" ({told})" if told else ""


def _members(
    names: list[str], found: list[dict[str, Any]]
) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
    """Headings and a row for each member, with times where there is more than one round."""
    timed = any(each["round_seconds"]["median"] is not None for each in found)
    times = ("Median round", "95th percentile") if timed else ()
    rows = [
        (
            name,
            f"member-{number}",
            each["rounds"],
            *(_seconds(each["round_seconds"][which]) for which in ("median", "p95")[: len(times)]),
            "" if each["epsilon_spent"] is None else rounded_up(each["epsilon_spent"]),
        )
        for number, (name, each) in enumerate(zip(names, found, strict=True))
    ]
    return ("Member", "Folder", "Rounds", *times, "Epsilon"), rows


def status(state: Path, *, follow: bool, json: bool) -> int:
    """See `tacit status --help`."""

    def command() -> int:
        if follow and not json:
            _follow(state)
        found = read_status(state)
        if json:
            emit(found | {"epsilon": spent(found)})
            return 0
        _show(found)
        return 0

    return guarded(command, as_json=json)


def _show(found: dict[str, Any]) -> None:
    say(f"{found['name']}, run {found['run'][:12]}: {_where(found)}")
    ago = time.time() - found["time"]
    if found["state"] == "finished":
        say("Finished; the model is in the same directory.")
    elif found["state"] == "starting":
        say(f"Started {ago:.0f} s ago and compiling, which takes up to a minute.")
    elif found["state"] == "stopped" or ago > STALE:
        say(f"Not running for {ago:.0f} s; rerun the same command to resume.")
    if found["round_seconds"] is not None:
        say(f"A round takes {_seconds(found['round_seconds'])}.")
    if (paid := spent(found)) is not None:
        say(
            f"Spent: epsilon {rounded_up(paid['spent'])} of {rounded_down(paid['epsilon'], 6)} "
            f"at delta {short(paid['delta'])}{_claimed(paid['about'])}."
        )
        say(f"Ledger: {found['paid']['ledger']}")
    table(
        ("Peer", "Last heard", "Typical wait", "Status"),
        [
            (
                name,
                _ago(each["silent_seconds"]),
                _seconds(each["waited_seconds"] or None),
                "finished" if each["finished"] else "skipped" if name in found["without"] else "",
            )
            for name, each in found["neighbours"].items()
        ],
    )
    counts = found["messages"]
    say(
        f"Messages: {counts.get('accepted', 0):,} accepted, {counts.get('repeated', 0):,} "
        f"repeated, {counts.get('refused', 0):,} refused."
    )
    if refused := found.get("connections", {}).get("refused", 0):
        say(f"Connections refused: {refused:,}; the log lists their origins.")


def _where(found: dict[str, Any]) -> str:
    told = f"round {found['round']} of {found['rounds']}"
    if found["waiting_for"]:
        told += f", waiting for {', '.join(found['waiting_for'])}"
    if found["without"]:
        told += f", continuing without {', '.join(found['without'])}"
    return told


def _follow(state: Path) -> None:
    before = ""
    if not state.is_dir():
        raise ConfigError(
            f"{state}: no such directory; give the --state directory of a member, which is made "
            "when it is started"
        )
    if not (state / "status.json").exists():
        say(f"{state} has no status yet; waiting for the member to start (Ctrl-C to quit).")
    while not (state / "status.json").exists():
        time.sleep(0.2)
    while True:
        found = read_status(state)
        if (now := _where(found)) != before:
            say(now)
        over = found["state"] in ("finished", "stopped")
        if over or time.time() - found["time"] > STALE:
            return
        before = now
        time.sleep(1.0)


def doctor(manifest: Path, keys: Path, data: Path | None, *, json: bool) -> int:
    """See `tacit doctor --help`."""

    def command() -> int:
        from tacit.cli.deploying import examined
        from tacit.cli.swapped import check_places
        from tacit.deploy.member.checking import Options

        check_places(manifest, "--manifest", data)
        return examined(Options(manifest, keys, Path(), data), json=json)

    return guarded(command, as_json=json)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{1e3 * value:.1f} ms"


def _ago(value: float | None) -> str:
    return "never" if value is None else f"{value:g} s ago"


def _plain(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value.tolist() if key == "solution" else value for key, value in each.items()}
        for each in found
    ]
