"""`tacit audit`: try to refute the guarantee of a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacit.cli.console import REFUTED, emit, guarded, printing, progress, say, table
from tacit.privacy.digits import rounded_down, rounded_up

if TYPE_CHECKING:
    from tacit.audit import Audit

FOLDER = Path("audit")
"""Where the files go by default."""


def audit_study(
    path: Path,
    output: Path | None,
    *,
    owner: str | None,
    trials: int,
    rounds: int | None,
    seed: int | None,
    force: bool,
    json: bool,
) -> int:
    """Audit a study; see `tacit audit --help`."""

    def command() -> int:
        from tacit.study import assemble, audit
        from tacit.study._output import audit as files
        from tacit.study.read import read_study

        folder = FOLDER if output is None else output
        source = read_study(path)
        files.prepare(folder, force=force)
        assembled = assemble(source)
        if not json:
            say(
                f"First the noise of all agents is tested, then up to {trials:,} runs are made on "
                "either of two data sets. Compiling both may take minutes before runs are counted."
            )
        with progress("runs on either data set", quiet=json) as told:
            found = audit(assembled, owner, trials=trials, rounds=rounds, seed=seed, progress=told)
        document = files.write(assembled, found, folder)
        with printing(f"the results are in {folder}"):
            if json:
                emit({**document, "output": str(folder)})
            else:
                _tell(found, folder)
        return REFUTED if found.refuted else 0

    return guarded(command, as_json=json)


def _tell(found: Audit, folder: Path) -> None:
    from tacit.report.canvas import without_figures
    from tacit.study._output.audit import DOCUMENT, PAGE, attacked

    claim = found.claim
    say(f"Claim: {found.stated.sentence()}")
    say()
    say(
        f"Attack: {attacked(found)}. {found.trials:,} runs of {found.rounds:,} rounds on each "
        f"data set; {found.weighed()}."
    )
    table(
        ["Estimator", "Epsilon at least", "Claimed epsilon", "False alarms", "Missed"],
        [
            [
                bound.estimator,
                rounded_down(bound.epsilon),
                rounded_up(claim.epsilon),
                f"{bound.false_alarms:.3f}",
                f"{bound.missed:.3f}",
            ]
            for bound in found.bounds
        ],
    )
    say(found.sentence())
    if found.mu is not None:
        say(found.measured())
    say(found.power())
    say(found.tested())
    say(f"Report: {folder / PAGE}{without_figures()}")
    say(f"Numbers: {folder / DOCUMENT}")
