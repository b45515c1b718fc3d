"""`tacit account`: what a study guarantees, without running it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.cli.console import emit, guarded, say, table
from tacit.kinds import Unit
from tacit.privacy.digits import rounded_up
from tacit.privacy.guarantee import Guarantee, Status
from tacit.privacy.plan import Spent, Stated

if TYPE_CHECKING:
    from tacit._engine.planning import Account, MeanNoise
    from tacit._engine.result import ReleaseRow

FORMAT = "tacit-account-1"


def account(study: Path, rounds: int | None, *, json: bool) -> int:
    """Answer; see `tacit account --help`."""

    def command() -> int:
        from tacit.study import account as account_for
        from tacit.study import assemble, mean_noise
        from tacit.study._output.files import jsonable
        from tacit.study.evaluations import evaluations
        from tacit.study.read import read_study

        assembled = assemble(read_study(study))
        found = account_for(assembled, rounds)
        noise = mean_noise(assembled, rounds)
        replaced, asked = found.replacing(), evaluations(assembled, rounds)
        if not json:
            say(
                f"{study}: {len(found.owners)} owners, {found.rounds[-1]:,} rounds of "
                f"{type(assembled.method).name}. Nothing was run: the answer follows from "
                f"{assembled.source.held.known}."
            )
            if asked is not None:
                say(asked.sentence())
            _tell(found, noise, replaced)
            privacy, status = assembled.source.study.privacy, found.guarantee.worst.status
            if privacy is not None and privacy.require == "proved" and status is not Status.PROVED:
                say(
                    f"A run is refused: require = 'proved' in [privacy], and the guarantee of "
                    f"{found.guarantee.worst.owner} is {status.value!r}."
                )
            return 0
        emit(
            jsonable(
                {
                    "format": FORMAT,
                    "question": "study",
                    "study": str(study),
                    "rounds": int(found.rounds[-1]),
                    "owners": [_owner(promise, row) for promise, row in _releases(found)],
                    "curve": [each._asdict() for each in found.curve()],
                    "weakest": found.guarantee.worst.owner,
                    "at_deltas": [each._asdict() for each in found.at_deltas()],
                    # as documents of earlier versions, where it says nothing
                    **({} if replaced is None else {"replacing": replaced._asdict()}),
                    **({} if asked is None else {"evaluations": asdict(asked)}),
                    "mean_noise": None if noise is None else asdict(noise),
                    "guarantee": found.guarantee.to_dict(),
                }
            )
        )
        return 0

    return guarded(command, as_json=json)


def _releases(found: Account) -> list[tuple[Guarantee, ReleaseRow]]:
    return [
        (promise, row)
        for promise, rows in zip(found.guarantee, found.releases, strict=True)
        for row in rows
    ]


def _owner(promise: Guarantee, row: ReleaseRow) -> dict[str, Any]:
    return {
        "owner": promise.owner,
        "phase": row.phase,
        "released": row.released,
        "times": row.times,
        "mechanism": row.mechanism,
        "sensitivity": row.sensitivity,
        "noise_multiplier": row.noise_multiplier,
        "noise_scale": row.noise_scale,
        **({"noise_range": row.noise_range} if row.noise_range else {}),
        **({"sensitivity_range": row.sensitivity_range} if row.sensitivity_range else {}),
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "status": promise.status.value,
    }


def _tell(found: Account, noise: MeanNoise | None, replaced: Stated | None) -> None:
    from tacit.study._output.words import adversary

    worst = found.guarantee.worst
    table(
        [
            "Owner",
            "Releases",
            "Sensitivity",
            "Noise",
            "Noise multiplier",
            "Noise scale",
            "Epsilon",
            "Delta",
            "Status",
        ],
        [_cells(promise, row) for promise, row in _releases(found)],
    )
    say(
        "The sensitivity is the most by which the protected unit can change one release; the noise "
        "multiplier is the noise scale divided by it."
        + (
            " Under secure aggregation both are the share of one site, which alone costs more than "
            "this epsilon: the shares of the honest sites add up in the sum, which is all that is "
            "read."
            if worst.min_cohort
            else ""
        )
        + (
            " Where both change from round to round, it is the smaller of that of the first and "
            "the last."
            if any(row.noise_range for _, row in _releases(found))
            else ""
        )
    )
    if worst.min_cohort:
        say(f"Adversary: {adversary(worst)}")
    if worst.sites_per_person > 1:
        say(
            f"One person's records may be at {worst.sites_per_person} sites (sites_per_person). "
            "Such a study is simulated only: between sites it is refused, since each site's ledger "
            "sees its own releases only."
        )
    if worst.sites_per_person == 1 and len(found.owners) > 1:
        say(
            "Each owner's line is about all data of that owner together, so the owners' epsilons "
            "do not add up."
            if worst.unit is Unit.AGENT
            else "Each record is held by one owner only, so the owners' epsilons do not add up: "
            "for any record the line of its own owner holds."
        )
    if replaced is not None:
        say(
            f"The number of records is private: protected is whether one {worst.unit.value} is "
            "there. Replacing it is removing it and adding another, which costs epsilon = "
            f"{rounded_up(replaced.epsilon)} at delta = {rounded_up(replaced.delta)}."
        )
    if noise is not None:
        show_mean_noise(noise)
    if deltas := found.at_deltas():
        show_curve(found.curve(), " (largest of all owners)")
        show_deltas(deltas)
    say("In words:")
    say(found.guarantee.sentence())


def _cells(promise: Guarantee, row: ReleaseRow) -> list[str]:
    if row.noise_scale is None or row.sensitivity is None:
        sizes = ["follows the records", row.mechanism, "-", "follows the records"]
    elif row.noise_scale > 0.0:
        assert row.noise_multiplier is not None
        sizes = [
            row.moved,
            row.mechanism,
            rounded_up(row.noise_multiplier),
            row.scale,
        ]
    else:
        sizes = ["-", "none", "-", "-"]
    return [
        promise.owner,
        f"{row.times:,}",
        *sizes,
        rounded_up(promise.epsilon),
        rounded_up(promise.delta),
        promise.status.value,
    ]


def show_deltas(rows: Sequence[Stated]) -> None:
    """The same releases at other deltas."""
    say("The same releases stated at other deltas (all of these hold at once):")
    table(["Delta", "Epsilon"], [[rounded_up(row.delta), rounded_up(row.epsilon)] for row in rows])


def show_curve(rows: Sequence[Spent], whose: str) -> None:
    """Epsilon by rounds."""
    say(f"Epsilon spent by number of rounds{whose}:")
    table(["Rounds", "Epsilon"], [[f"{row.rounds:,}", rounded_up(row.epsilon)] for row in rows])


def show_mean_noise(found: MeanNoise) -> None:
    """The noise of a study in three ways."""
    coalition = 1 if found.coalition is None else found.coalition
    several = {0: "outsiders", 1: "1 agent"}.get(coalition, f"{coalition} agents")
    declared, alone = (
        (" (this study)", "") if found.coalition is not None else ("", " (this study)")
    )
    rows = (
        (f"local noise{alone}", found.local),
        (f"secure aggregation, against {several}{declared}", found.masked[coalition]),
        ("central noise", found.central),
    )
    say(f"Noise in the mean of {found.agents} answers per round, in three ways within this budget:")
    table(
        ["", "Standard deviation", "Relative variance"],
        [[name, f"{each:.4g}", f"{(each / found.central) ** 2:.4g}"] for name, each in rows],
    )
    if found.warning:
        say(found.warning)
    elif found.coalition is None and found.saves(coalition):
        say(
            f"{as_toml(coalition=coalition)} in [privacy] would make the noise "
            f"{found.gain(coalition):.3g} times smaller, provided that no two agents pool what "
            "they know."
        )


def as_toml(**numbers: int) -> str:
    """The key of [privacy] that asks for masks.

    Example:
        >>> as_toml(coalition=1, min_cohort=9)
        'masks = { coalition = 1, min_cohort = 9 }'
    """
    return f"masks = {{ {', '.join(f'{name} = {value}' for name, value in numbers.items())} }}"
