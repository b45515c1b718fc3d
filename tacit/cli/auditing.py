"""`tacit audit`: does the guarantee of a study survive an attack?"""

from __future__ import annotations

import difflib
import json as json_module
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.cli.console import REFUTED, emit, guarded, progress, say, table
from tacit.errors import ConfigError, RuntimeFailure
from tacit.privacy.digits import rounded_down, rounded_up

if TYPE_CHECKING:
    from tacit.audit import Audit
    from tacit.report import AuditData
    from tacit.study import Assembled

DOCUMENT, PAGE = "audit.json", "audit.html"
FOLDER = Path("audit")
"""Where the files go if nothing is said."""


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
        from tacit.audit import audit_method
        from tacit.study import assemble
        from tacit.study.read import read_study

        folder = FOLDER if output is None else output
        source = read_study(path)
        _prepare(folder, force=force)
        assembled = assemble(source)
        settings = source.study.run
        who = _owner(assembled.problem.names, owner)
        with progress("runs on either data set", quiet=json) as told, source.blamed():
            found = audit_method(
                assembled.problem,
                assembled.network,
                assembled.method,
                rounds=settings.rounds if rounds is None else rounds,
                owner=who,
                trials=trials,
                seed=settings.seed if seed is None else seed,
                progress=told,
            )
        document = {**found.to_dict(), "study": str(path)}
        _write(folder, document, _page(assembled, found))
        if json:
            emit({**document, "output": str(folder)})
        else:
            _tell(assembled, found, folder)
        return REFUTED if found.refuted else 0

    return guarded(command, as_json=json)


def _owner(names: Sequence[str], owner: str | None) -> int:
    """The number of the owner whose data are audited; the first where none is named."""
    if owner is None:
        return 0
    if owner in names:
        return list(names).index(owner)
    close = difflib.get_close_matches(owner, names, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"they are {', '.join(names[:8])}"
    raise ConfigError(f"--owner {owner!r} is none of the {len(names)} owners; {hint}")


def _prepare(folder: Path, *, force: bool) -> None:
    """Make sure, before anything runs, that the files can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"--output {str(folder)!r} cannot be written ({error.strerror}); choose a directory "
            "that you may write to"
        ) from error
    older = [name for name in (DOCUMENT, PAGE) if (folder / name).exists()]
    if older and not force:
        raise ConfigError(
            f"{folder / older[0]} exists and is never overwritten unasked; give --force to replace "
            "it, or choose another directory with --output"
        )


def _write(folder: Path, document: dict[str, Any], page: AuditData) -> None:
    from tacit.report import write_audit

    text = json_module.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    try:
        (folder / DOCUMENT).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RuntimeFailure(
            f"{folder / DOCUMENT} cannot be written ({error.strerror}); make room and audit again"
        ) from error
    write_audit(folder / PAGE, page)


def _tell(assembled: Assembled, found: Audit, folder: Path) -> None:
    claim = found.claim
    say(f"The claim: {found.stated.sentence()}")
    say()
    say(
        f"The attack: {_what(found)}. {found.trials:,} runs of {found.rounds:,} rounds on each of "
        f"the two data sets; {found.weighed()}."
    )
    table(
        ["Estimator", "Epsilon is at least", "Claimed", "False alarms", "Missed"],
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
    say(found.power())
    say(found.tested())
    say(f"Report: {folder / PAGE}")
    say(f"Numbers: {folder / DOCUMENT}")


def _what(found: Audit) -> str:
    return f"two data sets that differ for {found.claim.owner} only: {found.how}"


def _of_one_release(found: Audit) -> list[tuple[str, str]]:
    """The claim for one release, beside what it comes to for all of them."""
    if found.alone is None:
        return []
    return [("Claimed for one release", rounded_up(found.alone.epsilon))]


def _page(assembled: Assembled, found: Audit) -> AuditData:
    """What the HTML page shows."""
    from tacit._engine.environment import environment
    from tacit.report import AuditData, TradeOff

    claim, curve = found.claim, found.curve
    return AuditData(
        title=assembled.source.study.title,
        claim=found.stated.sentence(),
        verdict=found.sentence(),
        refuted=found.refuted,
        facts=(
            *_of_one_release(found),
            ("Claimed epsilon", rounded_up(claim.epsilon)),
            ("At least", rounded_down(found.best.epsilon)),
            ("Delta", rounded_up(claim.delta)),
            ("Confidence", f"{100 * found.confidence:g} %"),
            ("Runs per data set", f"{found.trials:,}"),
        ),
        bounds=[
            {
                "estimator": bound.estimator,
                "epsilon_is_at_least": rounded_down(bound.epsilon),
                "claimed": rounded_up(claim.epsilon),
                "false_alarms": bound.false_alarms,
                "missed": bound.missed,
            }
            for bound in found.bounds
        ],
        power=found.power(),
        curve=TradeOff(curve.false_alarms, curve.measured, curve.low, curve.high, curve.claimed),
        how=(
            f"Method: {assembled.method.name}, {found.rounds:,} rounds.",
            f"Data: {_what(found)}.",
            "The claim is about all data, so the audit chose those on which a leak shows best.",
            f"Score: {found.weighed()}.",
            "The noise was drawn by the seeded generator of the simulation.",
            found.tested(),
        ),
        checks=[
            {
                "what": check.of,
                "tested": check.what,
                "found": check.found,
                "result": "failed" if check.failed else "passed",
            }
            for check in found.checks
        ],
        environment={**environment(), "seed": str(found.seed)},
    )
