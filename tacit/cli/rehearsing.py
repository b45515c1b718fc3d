"""`tacit rehearse`, `tacit status` and `tacit doctor`."""

from __future__ import annotations

import json as formats
import time
from pathlib import Path
from typing import Any

from tacit.cli.console import FAILED, emit, guarded, progress, say, table
from tacit.config.read import read_study
from tacit.errors import ConfigError


def rehearse(study: Path | None, folder: Path, rounds: int | None, *, json: bool) -> int:
    """See `tacit rehearse --help`."""

    def command() -> int:
        from tacit import demo
        from tacit.deploy.rehearse import perform, prepare, shortened

        source = demo.study() if study is None else read_study(study)
        if rounds is not None:
            source = shortened(source, rounds)
        rehearsal = prepare(source, folder)
        count = len(rehearsal.manifest.members)
        if not json:
            say(f"{count} processes with throw-away keys, in {folder}; each compiles first.")
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


def status(state: Path, *, json: bool) -> int:
    """See `tacit status --help`."""

    def command() -> int:
        try:
            found: dict[str, Any] = formats.loads((state / "status.json").read_text())
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{state} has no status ({error}); give the --state directory of a member that has "
                "been started"
            ) from error
        if json:
            emit(found)
            return 0
        done, rounds = found["round"] + 1, found["rounds"]
        say(f"{found['name']}, run {found['run'][:12]}: round {done} of {rounds}")
        if found["round_seconds"] is not None:
            say(f"A round takes {_seconds(found['round_seconds'])}.")
        if found["waiting_for"]:
            say(f"Waiting for {', '.join(found['waiting_for'])}.")
        table(
            ("Neighbour", "Last heard", "Finished"),
            [
                (name, f"{each['silent_seconds']:g} s ago", "yes" if each["finished"] else "")
                for name, each in found["neighbours"].items()
            ],
        )
        counts = found["messages"]
        say(
            f"Messages: {counts.get('accepted', 0):,} accepted, {counts.get('repeated', 0):,} "
            f"repeated, {counts.get('refused', 0):,} refused."
        )
        return 0

    return guarded(command, as_json=json)


def doctor(manifest: Path, keys: Path, data: Path | None, *, json: bool) -> int:
    """See `tacit doctor --help`."""

    def command() -> int:
        from tacit.deploy.agent import Options
        from tacit.deploy.doctor import examine

        marks = {True: "ok     ", False: "WRONG  ", None: "?      "}
        found: list[Any] = []
        for finding in examine(Options(manifest, keys, Path(), data)):
            found.append(finding)
            if not json:
                say(f"{marks[finding.good]}{finding.what}: {finding.told}")
        wrong = sum(finding.good is False for finding in found)
        if json:
            emit({"format": "tacit-doctor-1", "findings": [vars(each) for each in found]})
        elif not wrong:
            say("Nothing is wrong.")
        return FAILED if wrong else 0

    return guarded(command, as_json=json)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{1e3 * value:.1f} ms"


def _plain(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value.tolist() if key == "solution" else value for key, value in each.items()}
        for each in found
    ]
