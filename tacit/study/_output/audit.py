"""The files of an audit: audit.json for programs, audit.html for readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tacit._engine.environment import environment
from tacit.audit.result import Audit
from tacit.errors import ConfigError, RuntimeFailure
from tacit.privacy.digits import rounded_down, rounded_up
from tacit.report import AuditData, TradeOff, write_audit
from tacit.study.run import Assembled

DOCUMENT, PAGE = "audit.json", "audit.html"


def prepare(folder: Path, *, force: bool = False) -> None:
    """Make sure that the files can be written, before anything runs.

    Args:
        folder: output directory; made if it does not exist.
        force: whether to replace older files.

    Raises:
        ConfigError: a directory that cannot be written to, or files in it: an older audit, unless
            it may be replaced, or anything else.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"--output {str(folder)!r} cannot be written ({error.strerror}); choose a directory "
            "that you may write to"
        ) from error
    others = sorted(each.name for each in folder.iterdir() if each.name not in (DOCUMENT, PAGE))
    if others:
        raise ConfigError(
            f"--output {str(folder)!r} holds something other than an audit ({others[0]}), to which "
            "none is added; choose another directory with --output"
        )
    older = [name for name in (DOCUMENT, PAGE) if (folder / name).exists()]
    if older and not force:
        raise ConfigError(
            f"{folder / older[0]} exists and is never overwritten unasked; give --force to replace "
            "it, or choose another directory with --output"
        )


def write(assembled: Assembled, found: Audit, folder: Path) -> dict[str, Any]:
    """Write both files, and return the document in audit.json.

    Args:
        assembled: the study.
        found: audit of the study.
        folder: output directory, checked with `prepare`.

    Raises:
        RuntimeFailure: the disk is full.
    """
    source = assembled.source
    document = {**found.to_dict(), "study": str(source.folder / source.name)}
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    try:
        (folder / DOCUMENT).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RuntimeFailure(
            f"{folder / DOCUMENT} cannot be written ({error.strerror}); make room and audit again"
        ) from error
    write_audit(folder / PAGE, page(source.study.title, assembled.method.name, found))
    return document


def attacked(found: Audit) -> str:
    """The data on which the guarantee was attacked."""
    return f"two data sets that differ for {found.claim.owner} only: {found.how}"


def _of_one_release(found: Audit) -> list[tuple[str, str]]:
    """The claim for one release, beside its value for all of them."""
    if found.alone is None:
        return []
    return [("Claimed for one release", rounded_up(found.alone.epsilon))]


def page(title: str, method: str, found: Audit) -> AuditData:
    """The contents of the HTML page."""
    claim, curve = found.claim, found.curve
    return AuditData(
        title=title,
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
            f"Method: {method}, {found.rounds:,} rounds.",
            f"Data: {attacked(found)}.",
            "The claim is about all data, so the audit chose those on which a leak shows best.",
            f"Score: {found.weighed()}.",
            "The noise was drawn by the seeded generator of the simulation.",
            *([found.measured()] if found.mu is not None else []),
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
