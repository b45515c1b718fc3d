"""Verifying a bundle: whoever has the file and the signer's fingerprint needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from tacit.arguments import checked
from tacit.deploy.agreement.manifest import REHEARSAL, Manifest, Member
from tacit.deploy.files import write_text
from tacit.deploy.identity.keys import Card
from tacit.deploy.operate.archive import CONTENTS, SIGNATURE, Tampered, document, unpacked
from tacit.deploy.operate.finished import MANIFEST, parse_guarantee
from tacit.deploy.operate.recompute import MODEL_FILE, NotRecomputed, Rerun, shown
from tacit.deploy.operate.report import REPORT
from tacit.deploy.operate.signed import (
    check_agreement,
    check_signature,
    is_version,
    read_agreed,
    read_list,
    strangers,
)
from tacit.errors import ConfigError, LedgerDamaged, TacitError
from tacit.privacy.digits import rounded_up
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.extract import cost, read_extract
from tacit.privacy.ledger.spending import GRID_ERROR
from tacit.study.fitted import MODEL

_COMMON = {
    *("README.txt", "study.toml", MANIFEST, "result.json", "versions.json", REPORT, MODEL_FILE),
    *(CONTENTS, SIGNATURE),
}
_OF_A_SITE = {"guarantee.json", "ledger.json"}


class Verdict(StrEnum):
    """What a verification found."""

    VERIFIED = "verified"
    NOT_RECOMPUTED = "not recomputed"
    TAMPERED = "tampered"


@dataclass(frozen=True)
class Verified:
    """The result of a verification.

    Attributes:
        path: path of the bundle.
        verdict: "verified" if everything holds; "tampered" if something does not; "not recomputed"
            if signatures and digests hold, and what the bundle says could not be computed again,
            so that it is its signer's word.
        problem: first problem found; empty if verified.
        checked: checks that passed, as sentences.
        open: what a bundle alone cannot show, as sentences.
        member: name of the member that signed it; empty if that is not known.
        fingerprint: fingerprint of its card.
        run: id of the run.
        guarantee: guarantee of the owner, computed again from the manifest; `None` for a
            coordinator, or if not verified.
        page: report of the run, rendered again from the other files; empty if not verified.
    """

    path: Path
    verdict: Verdict
    problem: str
    checked: tuple[str, ...]
    open: tuple[str, ...] = ()
    member: str = ""
    fingerprint: str = ""
    run: str = ""
    guarantee: Guarantee | None = None
    page: str = field(default="", repr=False)

    @property
    def sound(self) -> bool:
        """Whether everything holds."""
        return self.verdict is Verdict.VERIFIED

    def write_report(self, path: Path) -> None:
        """Write the report that was rendered here; an older file is replaced.

        Args:
            path: path of the page.

        Raises:
            OSError: it cannot be written.
        """
        write_text(path, self.page)


@checked(ConfigError)
def verify_bundle(
    path: Path,
    *,
    fingerprint: str | None = None,
    card: Card | None = None,
    manifest: Manifest | None = None,
) -> Verified:
    """Verify a bundle. No file of it is written to disk and nothing in it is run.

    Args:
        path: path of the bundle.
        fingerprint: fingerprint of the signer's card, as its owner told it; spaces and case do not
            matter.
        card: card of the signer, from its owner.
        manifest: the verifier's own copy of the manifest.

    Raises:
        ConfigError: there is no such file, or it is not a bundle.
    """
    checked: list[str] = []
    try:
        files = unpacked(path)
        checked.append(f"{len(files)} files, each with the digest in the list, and no byte besides")
        return _verified(path, files, checked, fingerprint, card, manifest)
    except (Tampered, LedgerDamaged) as error:
        return Verified(path, Verdict.TAMPERED, str(error), tuple(checked))


def _verified(
    path: Path,
    files: Mapping[str, bytes],
    checked: list[str],
    fingerprint: str | None,
    card: Card | None,
    known: Manifest | None,
) -> Verified:
    contents, agreed = read_list(files), read_agreed(files)
    signer = next((m for m in agreed.members if m.name == contents["member"]), None)
    if signer is None:
        raise Tampered(f"the signer takes no part in the run of {MANIFEST}")
    check_signature(files, signer, fingerprint, card, known)
    told = signer.card.fingerprint()
    checked.append(f"signed by {signer.name}, whose card has the fingerprint {told}")
    site = signer is not agreed.coordinator
    if missing := sorted((_COMMON | (_OF_A_SITE if site else set())) - set(files)):
        raise Tampered(f"{', '.join(missing)} is missing")
    check_agreement(files, contents, agreed, known)
    checked.append(
        f"run {agreed.run.hex()[:12]}: all {len(agreed.members)} members signed the manifest, and "
        "with it the study"
    )
    open_ = strangers(agreed, signer, known, fingerprint is not None or card is not None)
    if agreed.rehearsal:
        open_.insert(0, REHEARSAL)
    stated = _stated(files, agreed, signer) if site else None
    if stated is not None:
        checked.append(_charged(files, agreed, stated, open_))
        if stated.followed:
            open_.append(
                "Whether the other members drew the noise and the masks that they should, and kept "
                "them to themselves: the guarantee is a model claim, not a certificate"
            )
    again, page, problem = None, "", ""
    try:
        again, page = _recomputed(files, contents, agreed, signer, stated, checked, open_)
    except NotRecomputed as error:
        problem = str(error)
        if stated is not None:
            open_.append(
                f"The guarantee: {shown(stated)} is what the signer says, and its conditions, the "
                "report and the answer are its word as well"
            )
    open_.append(
        f"What happened on the signer's machine is its word: the numbers in {MODEL_FILE}, what the "
        "ledger was charged, when the run ended and was bundled, and with which versions"
    )
    if again is not None:
        open_.append("Whether the assumptions of the guarantee hold, which are listed below")
    return Verified(
        path,
        Verdict.NOT_RECOMPUTED if problem else Verdict.VERIFIED,
        problem,
        tuple(checked),
        tuple(open_),
        signer.name,
        told,
        agreed.run.hex(),
        again,
        page,
    )


def _stated(files: Mapping[str, bytes], agreed: Manifest, signer: Member) -> Guarantee:
    """The guarantee that the signer states."""
    try:
        guarantee = parse_guarantee(document(files, "guarantee.json"), agreed)
    except TacitError as error:
        raise Tampered(str(error)) from error
    if guarantee.owner != signer.name:
        raise Tampered(f"guarantee.json is that of {guarantee.owner!r}, not of {signer.name!r}")
    if not (guarantee.certificate or guarantee.followed):
        raise Tampered(
            "guarantee.json is neither a certificate nor a claim about a protocol with secure "
            "noise: between sites nothing else is run"
        )
    return guarantee


def _recomputed(
    files: Mapping[str, bytes],
    contents: dict[str, Any],
    agreed: Manifest,
    signer: Member,
    stated: Guarantee | None,
    checked: list[str],
    open_: list[str],
) -> tuple[Guarantee | None, str]:
    """The guarantee and the report, computed again.

    Raises:
        NotRecomputed: they cannot be, or differ from those of another version of tacit.
    """
    versions = document(files, "versions.json")
    if not all(map(is_version, (*versions.values(), versions.get("tacit")))):
        raise Tampered("versions.json is not what a member of a run writes")
    rerun = Rerun.of(agreed, [versions["tacit"], contents["tacit"]])
    if missing := agreed.unsigned(masked=rerun.run.masked):
        raise Tampered(f"{MANIFEST} has no key for masks of {', '.join(missing)}")
    again = None
    if stated is not None:
        again = rerun.guarantee(stated, document(files, "guarantee.json"))
        checked.append(
            f"the guarantee follows from the manifest, with all its conditions: {shown(again)}, "
            "computed again"
        )
    rerun.check_words(files, signer.name)
    answers = rerun.answer(files)
    expected = _COMMON | (_OF_A_SITE if stated is not None else set()) | set(answers)
    if added := sorted(set(files) - expected):
        raise rerun.differs(f"`tacit bundle` writes no {', '.join(added)} for this run")
    checked.append(f"{', '.join(answers)}: what {MODEL_FILE} says, in numbers of this study")
    predicts = MODEL in answers
    page = rerun.page(files, signer.name, stated, predicts=predicts)
    if rerun.shows(page, files[REPORT]):
        checked.append(f"{REPORT} is the page that tacit makes of the other files")
    else:
        open_.append(
            f"Whether {REPORT} shows what the other files say: it is not the page that is made of "
            "them here. Do not rely on it, and write that page with --report"
        )
    if again != stated:  # in the last digits of epsilon
        page = rerun.page(files, signer.name, again, predicts=predicts)
    return again, page


def _charged(
    files: Mapping[str, bytes], agreed: Manifest, guarantee: Guarantee, open_: list[str]
) -> str:
    """Add up what the ledger was charged for the run."""
    found = read_extract(document(files, "ledger.json"), agreed.run.hex(), guarantee.owner)
    count = len(found.events)
    if count > guarantee.releases:
        raise Tampered(
            f"the ledger has {count:,} releases of this run, and the guarantee is for "
            f"{guarantee.releases:,}"
        )
    if found.neighbours != {guarantee.neighbours}:
        raise Tampered(
            f"the ledger's releases are charged for neighbours of another kind "
            f"({', '.join(sorted(found.neighbours))}) than the guarantee is about "
            f"({guarantee.neighbours})"
        )
    try:
        spent = cost(found.events, guarantee.delta)
    # events of numbers that no accountant takes
    except (TacitError, ArithmeticError, ValueError) as error:
        raise Tampered("the ledger's releases cannot be added up") from error
    if not spent <= guarantee.epsilon * (1.0 + GRID_ERROR):
        raise Tampered(
            f"the ledger's releases cost epsilon {rounded_up(spent)}, and the guarantee states "
            f"{rounded_up(guarantee.epsilon)}"
        )
    said = document(files, "result.json").get("epsilon_spent")
    if not isinstance(said, float) or not math.isclose(said, spent, rel_tol=GRID_ERROR):
        raise Tampered("result.json states another epsilon than the ledger's releases cost")
    times = "1 release" if count == 1 else f"{count:,} releases"
    told = (
        f"ledger: {times} of this run from {_when(found.first)} to {_when(found.last)}, which cost "
        "no more than the guarantee"
    )
    if found.alone:
        return f"{told}; {found.entries:,} entries follow from each other, and hold no other run"
    open_.append(
        "Whether the ledger has other releases of this run: it is charged for other runs, too, and "
        "the bundle has only what is about this one; `tacit ledger verify` checks all of it"
    )
    return told


def _when(time: str) -> str:
    return time[:16].replace("T", " ") + " UTC"
