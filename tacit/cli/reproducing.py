"""`tacit reproduce`: the figures of papers, each with a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.cli.console import cores as cores_of
from tacit.cli.console import emit, guarded, progress, said_cores, say, table
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.papers import Scale, Target

FOLDER = Path("reproduction")
"""Where the pages go by default."""


def reproduce_targets(
    names: Sequence[str],
    *,
    paper: str | None,
    every: bool,
    listed: bool,
    fast: bool,
    output: Path | None,
    cores: int | None,
    json: bool,
) -> int:
    """Reproduce; see `tacit reproduce --help`."""

    def command() -> int:
        from tacit.papers import Scale

        folder = FOLDER if output is None else output
        scale = Scale.FAST if fast else Scale.FULL
        count = cores_of(cores, "--cores")
        if listed:
            chosen = _chosen(names, paper, every=every or not (names or paper))
            _list(chosen, folder, count, json=json)
            return 0
        chosen = _chosen(names, paper, every=every)
        _run(chosen, folder, scale, count, json=json)
        return 0

    return guarded(command, as_json=json)


def _chosen(names: Sequence[str], paper: str | None, *, every: bool) -> list[Target]:
    """The targets that were asked for, in one of three ways."""
    from tacit.papers import find, targets

    ways = [bool(names), paper is not None, every]
    if sum(ways) != 1:
        raise ConfigError(
            "name figures, or a paper with --paper NAME, or give --all; `tacit reproduce --list` "
            "lists them"
        )
    if every:
        return targets()
    return targets(paper) if paper is not None else [find(name) for name in dict.fromkeys(names)]


def _list(listed: Sequence[Target], folder: Path, cores: int, *, json: bool) -> None:
    """Every target with what is shown there, and how long it takes."""
    from tacit.papers import Scale, seconds_left

    absent = {target.name for target in listed if not target.pieces(Scale.FULL)}
    rows = [
        (
            target.name,
            target.title,
            seconds_left([target], folder, Scale.FAST, cores),
            seconds_left([target], folder, Scale.FULL, cores),
        )
        for target in listed
    ]
    if json:
        keys = ("name", "title", "seconds_fast", "seconds_full")
        emit(
            {
                "format": "tacit-targets-1",
                "cores": cores,
                "targets": [dict(zip(keys, row, strict=True)) for row in rows],
            }
        )
        return
    table(
        ["Figure", "What the paper shows", "--fast", "In full"],
        [
            [name, title, *(_time(seconds, name in absent) for seconds in (fast, full))]
            for name, title, fast, full in rows
        ],
    )
    say(f"Approximate times on {said_cores(cores)}, without work already stored in {folder}.")
    if absent:
        say(f"No records: `tacit reproduce {min(absent)}` says where to get them.")
    say("`tacit reproduce FIGURE` reproduces one; --all --fast gives a first impression of all.")


def _run(chosen: Sequence[Target], folder: Path, scale: Scale, cores: int, *, json: bool) -> None:
    from tacit.papers import reproduce, seconds_left

    left = seconds_left(chosen, folder, scale, cores)
    if not json:
        what = chosen[0].name if len(chosen) == 1 else f"{len(chosen)} figures"
        say(
            f"{what}, {scale.value} scale: about {duration(left)} on {said_cores(cores)}. Safe to "
            "interrupt: rerun the same command to resume."
        )
    with progress("reproducing", quiet=json) as bar:
        found = reproduce(
            chosen,
            folder,
            scale=scale,
            cores=cores,
            told=None if bar is None else lambda done, total: bar(round(done), round(total)),
        )
    if json:
        emit(
            {
                "format": "tacit-reproduction-1",
                "scale": scale.value,
                "output": str(folder),
                "targets": [
                    {
                        "name": target.name,
                        "verdict": shown.verdict.value,
                        "shortened": shown.shortened,
                        "sentence": shown.sentence,
                        "claims": [
                            {
                                "place": claim.place,
                                "said": claim.said,
                                "verdict": claim.verdict.value,
                                "found": claim.found,
                            }
                            for claim in shown.claims
                        ],
                        "comparison": [dict(row) for row in shown.comparison],
                    }
                    for target, shown in zip(chosen, found, strict=True)
                ],
            }
        )
        return
    for target, shown in zip(chosen, found, strict=True):
        say()
        say(f"{target.name}: {shown.stated}. {shown.sentence}")
    say()
    say(f"Pages: {folder / 'index.html'}")


def _time(seconds: float, absent: bool) -> str:
    if absent:
        return "no records"
    return duration(seconds) if seconds > 0.0 else "stored"


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 1.0:
        return "under 1 s"
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    minutes = seconds / 60.0
    return f"{minutes:.0f} min" if minutes < 90.0 else f"{minutes / 60.0:.1f} h"
