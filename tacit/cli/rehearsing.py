"""`tacit rehearse`, `tacit status` and `tacit doctor`."""

from __future__ import annotations

import json as formats
import time
from pathlib import Path
from typing import Any

from tacit.cli.console import emit, guarded, progress, say, table
from tacit.deploy.files import why
from tacit.errors import ConfigError
from tacit.study.read import read_study

STALE = 10.0
"""Seconds after which a status is of a member that does not run any more."""


def rehearse(
    study: Path | None, folder: Path, rounds: int | None, agents: int | None, *, json: bool
) -> int:
    """See `tacit rehearse --help`."""

    def command() -> int:
        from tacit.deploy.operate.rehearse import perform, prepare, with_agents, with_rounds
        from tacit.study import demo

        source = demo.study() if study is None else read_study(study)
        if rounds is not None:
            source = with_rounds(source, rounds)
        if agents is not None:
            source = with_agents(source, agents)
        rehearsal = prepare(source, folder)
        count = len(rehearsal.manifest.members)
        if not json:
            say(f"{count} processes with throw-away keys, in {folder}; each compiles first.")
        if rehearsal.unfit and not json:
            say(
                f"{rehearsal.unfit:,} records do not fit the study; in a run they count and "
                "contribute nothing. Each owner finds its own with: tacit check STUDY --data FILE"
            )
        began = time.monotonic()
        with progress("members done", quiet=json) as told:
            found = perform(rehearsal, told=told)
        seconds = time.monotonic() - began
        if json:
            emit({"format": "tacit-rehearsal-1", "seconds": seconds, "members": _plain(found)})
            return 0
        members = rehearsal.manifest.members
        table(
            ("Member", "Rounds", "Median round", "95 %", "Epsilon"),
            [
                (
                    member.name,
                    each["rounds"],
                    _seconds(each["round_seconds"]["median"]),
                    _seconds(each["round_seconds"]["p95"]),
                    "" if each["epsilon_spent"] is None else f"{each['epsilon_spent']:.4g}",
                )
                for member, each in zip(members, found, strict=True)
            ],
        )
        say(f"All of it took {seconds:.0f} s on this machine. Logs, states and models: {folder}")
        return 0

    return guarded(command, as_json=json)


def status(state: Path, *, follow: bool, json: bool) -> int:
    """See `tacit status --help`."""

    def command() -> int:
        if follow and not json:
            _follow(state)
        found = _status(state)
        if json:
            emit(found | {"epsilon": _spent(found)})
            return 0
        _show(found)
        return 0

    return guarded(command, as_json=json)


def _status(state: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = formats.loads((state / "status.json").read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{state} has no status ({why(error)}); give the --state directory of a member that "
            "has been started"
        ) from error
    return found


def _show(found: dict[str, Any]) -> None:
    say(f"{found['name']}, run {found['run'][:12]}: {_where(found)}")
    ago = time.time() - found["time"]
    if found["state"] == "finished":
        say("It has finished; the model stands beside this status.")
    elif found["state"] == "starting":
        say(f"It was started {ago:.0f} s ago and is compiling, which takes a minute at most.")
    elif found["state"] == "stopped" or ago > STALE:
        say(f"It has not been running for {ago:.0f} s; the same command as before goes on.")
    if found["round_seconds"] is not None:
        say(f"A round takes {_seconds(found['round_seconds'])}.")
    if (spent := _spent(found)) is not None:
        say(f"Spent: epsilon {spent['spent']:.4g} of {spent['epsilon']:.4g} at {spent['delta']:g}.")
        say(f"Ledger: {found['paid']['ledger']}")
    table(
        ("Neighbour", "Last heard", "Usual wait", ""),
        [
            (
                name,
                _ago(each["silent_seconds"]),
                _seconds(each["waited_seconds"] or None),
                "finished" if each["finished"] else "left out" if name in found["without"] else "",
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
        say(f"Connections refused at the gate: {refused:,}; the log says from where.")


def _where(found: dict[str, Any]) -> str:
    told = f"round {found['round']} of {found['rounds']}"
    if found["waiting_for"]:
        told += f", waiting for {', '.join(found['waiting_for'])}"
    if found["without"]:
        told += f", going on without {', '.join(found['without'])}"
    return told


def _follow(state: Path) -> None:
    before = ""
    if not (state / "status.json").exists():
        say(f"{state} has no status yet; waiting for its member to be started (Ctrl-C ends this).")
    while not (state / "status.json").exists():
        time.sleep(0.2)
    while True:
        found = _status(state)
        if (now := _where(found)) != before:
            say(now)
        over = found["state"] in ("finished", "stopped")
        if over or time.time() - found["time"] > STALE:
            return
        before = now
        time.sleep(1.0)


def _spent(found: dict[str, Any]) -> dict[str, Any] | None:
    """What the ledger has counted; `None` for who releases nothing."""
    paid = found["paid"]
    if not paid:
        return None
    from tacit.privacy.ledger import read

    for each in read(Path(paid["ledger"])).balances:
        if (each.owner, each.dataset) == (paid["owner"], paid["dataset"]):
            return {"spent": each.spent, "epsilon": each.epsilon, "delta": each.delta}
    return None


def doctor(manifest: Path, keys: Path, data: Path | None, *, json: bool) -> int:
    """See `tacit doctor --help`."""

    def command() -> int:
        from tacit.cli.deploying import examined
        from tacit.deploy.member.process import Options

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
