"""`tacit account`: what a study guarantees; what noise, rounds or epsilon follow from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from tacit.cli.console import emit, guarded, say, table
from tacit.errors import ConfigError
from tacit.privacy import accounting
from tacit.privacy.digits import rounded_up
from tacit.privacy.event import Event
from tacit.privacy.guarantee import Guarantee, Status
from tacit.types import Unit

FORMAT = "tacit-account-1"

DELTA = 1e-6
"""Where nothing else is said."""


@dataclass(frozen=True)
class Question:
    """What was asked by options; `None` for an option that was not given.

    Attributes:
        epsilon: budget of the whole run.
        delta: of the whole run.
        rounds: in which an owner takes part.
        noise_multiplier: noise scale over what one record moves an answer by.
        noise: law of the noise.
        sampling: probability with which a record takes part in a round.
        relation: what is a neighbour.
        clip: largest norm of one record's contribution.
        records: of one owner.
        graph: a network to average values on.
        agents: on that graph.
        gossip_rounds: averaging steps on it.
        observer: numbers of the agents that pool what they see.
        fresh_noise: noise at every step instead of once.
        masks: a graph of pairs that share masks which cancel in the sum.
        coalition: how many agents pool what they know of the masks.
        absent: how many others may be missing from a sum.
        attempts: releases of the whole run, repeated rounds included.
        large_delta: accept a delta of one over the number of records or more.
    """

    epsilon: float | None = None
    delta: float | None = None
    rounds: int | None = None
    noise_multiplier: float | None = None
    noise: str | None = None
    sampling: float | None = None
    relation: str | None = None
    clip: float | None = None
    records: int | None = None
    graph: str | None = None
    agents: int | None = None
    gossip_rounds: int | None = None
    observer: tuple[int, ...] | None = None
    fresh_noise: bool | None = None
    masks: str | None = None
    coalition: int | None = None
    absent: int | None = None
    attempts: int | None = None
    large_delta: bool | None = None

    def given(self) -> list[str]:
        """The options that were given, as they are typed."""
        return [
            option(field.name) for field in fields(self) if getattr(self, field.name) is not None
        ]

    def refuse(self, names: Sequence[str], why: str) -> None:
        """Refuse options that contradict others.

        Raises:
            ConfigError: one of them was given.
        """
        for name in names:
            if getattr(self, name) is not None:
                raise ConfigError(f"{option(name)} {why}")


def option(name: str) -> str:
    """A field as it is typed on the command line."""
    return "--" + name.replace("_", "-")


def account(study: Path | None, question: Question, *, json: bool) -> int:
    """Answer; see `tacit account --help`."""

    def command() -> int:
        if study is not None:
            _study(study, question, json=json)
        elif question.masks is not None:
            from tacit.cli.masking import masks

            masks(question, json=json)
        elif question.graph is not None or question.gossip_rounds is not None:
            from tacit.cli.gossip import gossip

            gossip(question, json=json)
        else:
            from tacit.cli.planning import plan

            question.refuse(
                ("coalition", "absent", "attempts"), "is about masks; add --masks, or leave it out"
            )
            question.refuse(
                ("agents", "observer", "fresh_noise"),
                "is about averaging on a graph; add --graph and --gossip-rounds, or leave it out",
            )
            plan(question, json=json)
        return 0

    return guarded(command, as_json=json)


def other_deltas(delta: float) -> list[float]:
    """Deltas to state a guarantee at besides, descending."""
    if delta == 0.0:
        return [1e-6, 1e-9, 0.0]
    near = [delta * 10.0**power for power in (4, 2, 0, -2, -4)]
    return [d for d in near if accounting.SMALLEST_DELTA <= d <= 0.1 or d == delta]


def at_deltas(events: Sequence[Event], delta: float) -> list[dict[str, Any]]:
    """One and the same sequence of releases, stated at several deltas."""
    return [
        {"delta": one, "epsilon": accounting.epsilon(events, one)} for one in other_deltas(delta)
    ]


def show_deltas(rows: Sequence[dict[str, Any]]) -> None:
    """The table of `at_deltas`."""
    say("The same releases stated at other deltas (all of these hold at once):")
    table(
        ["Delta", "Epsilon"],
        [[rounded_up(row["delta"]), rounded_up(row["epsilon"])] for row in rows],
    )


def show_curve(rows: Sequence[dict[str, Any]], whose: str) -> None:
    """Epsilon as the rounds go by."""
    say(f"What is spent as the rounds go by{whose}:")
    table(
        ["After rounds", "Epsilon"],
        [[f"{int(row['rounds']):,}", rounded_up(row["epsilon"])] for row in rows],
    )


def _study(path: Path, question: Question, *, json: bool) -> None:
    from tacit.cli.masking import show_mean_noise
    from tacit.study import account as account_for
    from tacit.study import assemble, mean_noise
    from tacit.study._output.files import jsonable
    from tacit.study._output.words import adversary
    from tacit.study.read import read_study

    given = [name for name in question.given() if name != "--rounds"]
    if given:
        raise ConfigError(
            f"{given[0]} cannot be given beside {path}: the study says that itself. Change it in "
            "the file, or leave the file out and ask by numbers; only --rounds may be tried out"
        )
    assembled = assemble(read_study(path))
    method = type(assembled.method).name
    found = account_for(assembled, question.rounds)
    worst = found.guarantee.worst
    weakest = next(i for i, g in enumerate(found.guarantee) if g is worst)
    shown = np.unique(np.linspace(1, len(found.rounds) - 1, 6).round().astype(int))
    curve = [
        {"rounds": int(found.rounds[i]), "epsilon": float(found.epsilon[i].max())} for i in shown
    ]
    protected = worst.status is not Status.NONE
    noise = mean_noise(assembled, question.rounds)
    deltas = at_deltas(found.events[weakest], worst.delta) if protected else []
    owners = [
        _owner(promise, row)
        for promise, rows in zip(found.guarantee, found.releases, strict=True)
        for row in rows
    ]
    if json:
        emit(
            jsonable(
                {
                    "format": FORMAT,
                    "question": "study",
                    "study": str(path),
                    "rounds": int(found.rounds[-1]),
                    "owners": owners,
                    "curve": curve,
                    "weakest": worst.owner,
                    "at_deltas": deltas,
                    "mean_noise": None if noise is None else asdict(noise),
                    "guarantee": found.guarantee.to_dict(),
                }
            )
        )
        return
    say(
        f"{path}: {len(found.owners)} owners, {found.rounds[-1]:,} rounds of "
        f"{method}. Nothing was run: the answer follows from the "
        "study and from how many records each owner has."
    )
    table(
        ["Owner", "Releases", "Moves by", "Noise", "Multiplier", "Scale", "Epsilon", "Delta", ""],
        [_cells(row) for row in owners],
    )
    say(
        '"Moves by" is the most that the protected unit can change one release, and "multiplier" '
        "the scale of the noise over it."
    )
    if worst.min_cohort:
        say(f"Adversary: {adversary(worst)}")
    if worst.sites_per_person == 1 and len(found.owners) > 1:
        say(
            "Each owner's line is about all data of that owner together, so the owners' epsilons "
            "do not add up."
            if worst.unit is Unit.AGENT
            else "A record stands at one owner only, so the owners' epsilons do not add up: for "
            "anybody's record its own owner's line holds."
        )
    if noise is not None:
        show_mean_noise(noise)
    if protected:
        show_curve(curve, " (largest of all owners)")
        show_deltas(deltas)
    say("In words:")
    say(found.guarantee.sentence())


def _owner(promise: Guarantee, row: Any) -> dict[str, Any]:
    if row.sensitivity is None or row.noise_scale is None:
        multiplier = None
    else:
        multiplier = row.noise_scale / row.sensitivity if row.sensitivity > 0.0 else 0.0
    return {
        "owner": promise.owner,
        "phase": row.phase,
        "released": row.released,
        "times": row.times,
        "mechanism": row.mechanism,
        "sensitivity": row.sensitivity,
        "noise_multiplier": multiplier,
        "noise_scale": row.noise_scale,
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "status": promise.status.value,
    }


def _cells(row: dict[str, Any]) -> list[str]:
    if row["noise_scale"] is None:
        sizes = ["follows the records", row["mechanism"], "-", "follows the records"]
    elif row["noise_scale"] > 0.0:
        sizes = [
            rounded_up(row["sensitivity"]),
            row["mechanism"],
            f"{row['noise_multiplier']:.4g}",
            f"{row['noise_scale']:.4g}",
        ]
    else:
        sizes = ["-", "none", "-", "-"]
    return [
        row["owner"],
        f"{row['times']:,}",
        *sizes,
        rounded_up(row["epsilon"]),
        rounded_up(row["delta"]),
        row["status"],
    ]
