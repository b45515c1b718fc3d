"""Verifying a bundle: whoever has the file and the signer's fingerprint needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from tacit import __version__
from tacit.arguments import checked
from tacit.deploy.agreement.declared import check_secure, declared
from tacit.deploy.agreement.manifest import Manifest, Member, parse_manifest
from tacit.deploy.identity.keys import Card, fits, verify
from tacit.deploy.operate.archive import CONTENTS, CONTEXT, SIGNATURE, Tampered, unpacked
from tacit.deploy.operate.finished import MANIFEST, parse_guarantee
from tacit.deploy.operate.report import REPORT
from tacit.errors import ConfigError, LedgerDamaged, TacitError
from tacit.privacy.digits import rounded_up
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.extract import read_extract
from tacit.privacy.ledger.spending import GRID_ERROR, SLACK, Spending
from tacit.privacy.tally import Tally

_COMMON = {
    "README.txt",
    "study.toml",
    MANIFEST,
    "result.json",
    "versions.json",
    REPORT,
    "model.npz",
}
_OF_A_SITE = {"guarantee.json", "ledger.json"}


@dataclass(frozen=True)
class Verified:
    """The result of a verification.

    Attributes:
        path: path of the bundle.
        sound: whether everything holds.
        problem: first problem found; empty if sound.
        checked: checks that passed, as sentences.
        open: what a bundle alone cannot show, as sentences.
        member: name of the member that signed it; empty if that is not known.
        fingerprint: fingerprint of its card.
        run: id of the run.
        guarantee: guarantee of the owner; `None` for a coordinator, or if not sound.
    """

    path: Path
    sound: bool
    problem: str
    checked: tuple[str, ...]
    open: tuple[str, ...] = ()
    member: str = ""
    fingerprint: str = ""
    run: str = ""
    guarantee: Guarantee | None = None


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
        return Verified(path, False, str(error), tuple(checked))


def _verified(
    path: Path,
    files: Mapping[str, bytes],
    checked: list[str],
    fingerprint: str | None,
    card: Card | None,
    known: Manifest | None,
) -> Verified:
    contents = _json(files, CONTENTS)
    agreed = _manifest(files)
    signer = next((m for m in agreed.members if m.name == contents.get("member")), None)
    if signer is None:
        raise Tampered(f"the signer takes no part in the run of {MANIFEST}")
    _check_signature(files, signer, fingerprint, card, known)
    told = signer.card.fingerprint()
    checked.append(f"signed by {signer.name}, whose card has the fingerprint {told}")
    _check_agreement(files, contents, agreed, known)
    checked.append(
        f"run {agreed.run.hex()[:12]}: all {len(agreed.members)} members signed the manifest, and "
        "with it the study"
    )
    open_: list[str] = []
    if fingerprint is None and card is None and known is None:
        open_.append(
            f"Whether the signer is the {signer.name} that you know: compare the fingerprint with "
            "its owner over another channel, or give it with --fingerprint"
        )
    _check_kind(files, agreed, signer)
    guarantee = None
    if signer is not agreed.coordinator:
        guarantee = _guarantee(files, agreed, signer)
        checked.append(_recomputed(agreed, guarantee, open_))
        checked.append(_charged(files, agreed, guarantee, open_))
    open_.append("Whether the assumptions of the guarantee hold; report.html lists them")
    return Verified(
        path,
        True,
        "",
        tuple(checked),
        tuple(open_),
        signer.name,
        told,
        agreed.run.hex(),
        guarantee,
    )


def _manifest(files: Mapping[str, bytes]) -> Manifest:
    if MANIFEST not in files:
        raise Tampered(f"{MANIFEST} is missing")
    try:
        return parse_manifest(files[MANIFEST], MANIFEST)
    except TacitError as error:
        raise Tampered(f"{MANIFEST} cannot be read: {error}") from error


def _check_signature(
    files: Mapping[str, bytes],
    signer: Member,
    fingerprint: str | None,
    card: Card | None,
    known: Manifest | None,
) -> None:
    """Refuse a signature that is not the signer's, and a signer that is not the expected one."""
    try:
        signature = files[SIGNATURE].decode("ascii")
    except UnicodeDecodeError as error:
        raise Tampered(f"{SIGNATURE} is not a signature") from error
    if not signature.endswith("\n") or not verify(
        signer.card, CONTEXT + files[CONTENTS], signature[:-1]
    ):
        raise Tampered(
            f"the signature is not that of {signer.name!r} in {MANIFEST}: another key signed, or "
            f"{CONTENTS} was changed"
        )
    own = signer.card.fingerprint()
    wrong = fingerprint is not None and not fits(fingerprint, own)
    if wrong or (card is not None and card.fingerprint() != own):
        raise Tampered(
            f"it is signed by {signer.name!r} with the fingerprint {own}, and you expect "
            f"{fingerprint or (card and card.fingerprint())}: another signed it, or the two cards "
            "are of different dates"
        )
    if known is not None and signer.card not in [each.card for each in known.members]:
        raise Tampered(f"{signer.name!r} with the fingerprint {own} is not in your manifest")


def _check_agreement(
    files: Mapping[str, bytes],
    contents: dict[str, Any],
    agreed: Manifest,
    known: Manifest | None,
) -> None:
    run = agreed.run.hex()
    if known is not None and known.run != agreed.run:
        raise Tampered(
            f"it is about run {run[:12]}, and your manifest is of {known.run.hex()[:12]}"
        )
    if missing := agreed.unsigned():
        raise Tampered(f"{MANIFEST} is not signed by {', '.join(missing)}")
    if files.get("study.toml") != agreed.study.encode():
        raise Tampered(f"study.toml is another study than {MANIFEST} has")
    if {contents.get("run"), _json(files, "result.json").get("run")} != {run}:
        raise Tampered(f"{CONTENTS} or result.json is about another run than {MANIFEST}")


def _check_kind(files: Mapping[str, bytes], agreed: Manifest, signer: Member) -> None:
    """Refuse a bundle without a file that every bundle has."""
    needed = _COMMON | (set() if signer is agreed.coordinator else _OF_A_SITE)
    if missing := sorted(needed - set(files)):
        raise Tampered(f"{', '.join(missing)} is missing")


def _guarantee(files: Mapping[str, bytes], agreed: Manifest, signer: Member) -> Guarantee:
    try:
        guarantee = parse_guarantee(_json(files, "guarantee.json"), agreed)
    except TacitError as error:
        raise Tampered(str(error)) from error
    if guarantee.owner != signer.name:
        raise Tampered(f"guarantee.json is that of {guarantee.owner!r}, not of {signer.name!r}")
    if not guarantee.certificate:
        raise Tampered("guarantee.json is not a certificate: not proved, or without secure noise")
    return guarantee


def _recomputed(agreed: Manifest, guarantee: Guarantee, open_: list[str]) -> str:
    """Compute the guarantee again from the manifest."""
    stated = f"epsilon {rounded_up(guarantee.epsilon)} at delta {rounded_up(guarantee.delta)}"
    try:
        with jax.enable_x64(True):
            run = declared(agreed)
            check_secure(run)
            again = run.guarantee[agreed.number(guarantee.owner)]
    except TacitError as error:
        open_.append(f"Whether the guarantee follows from the manifest: {error}")
        return f"the guarantee is stated: {stated}"
    same = (again.delta, again.neighbours, again.releases, again.status) == (
        guarantee.delta,
        guarantee.neighbours,
        guarantee.releases,
        guarantee.status,
    )
    if not same or again.epsilon > guarantee.epsilon * (1.0 + GRID_ERROR):
        raise Tampered(
            f"the guarantee does not follow from the manifest: {stated}, and tacit {__version__} "
            f"computes epsilon {rounded_up(again.epsilon)} at delta {rounded_up(again.delta)}"
        )
    return f"the guarantee follows from the manifest: {stated}, computed again"


def _charged(
    files: Mapping[str, bytes], agreed: Manifest, guarantee: Guarantee, open_: list[str]
) -> str:
    """Add up what the ledger was charged for the run."""
    found = read_extract(_json(files, "ledger.json"), agreed.run.hex(), guarantee.owner)
    count = len(found.events)
    if count > guarantee.releases:
        raise Tampered(
            f"the ledger has {count:,} releases of this run, and the guarantee is for "
            f"{guarantee.releases:,}"
        )
    spending = Spending()
    spending.add(Tally.of(found.events))
    spent = spending.epsilon(guarantee.delta)
    slack = SLACK if spending.is_exact(guarantee.delta) else GRID_ERROR
    if not spent <= guarantee.epsilon * (1.0 + slack):
        raise Tampered(
            f"the ledger's releases cost epsilon {rounded_up(spent)}, and the guarantee states "
            f"{rounded_up(guarantee.epsilon)}"
        )
    if not found.whole:
        open_.append(
            "Whether the ledger has other releases of this run: it is charged for other runs too, "
            "and only entries about this one are here; `tacit ledger verify` checks all of them"
        )
    whole = "the whole ledger" if found.whole else "an extract"
    times = "1 release" if count == 1 else f"{count:,} releases"
    return (
        f"{whole}: {found.entries:,} entries, {times} from {_when(found.first)} to "
        f"{_when(found.last)}, which cost no more than the guarantee"
    )


def _json(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    if name not in files:
        raise Tampered(f"{name} is missing")
    try:
        found = json.loads(files[name])
    except ValueError as error:
        raise Tampered(f"{name} cannot be read") from error
    if not isinstance(found, dict):
        raise Tampered(f"{name} cannot be read")
    return found


def _when(time: str) -> str:
    return time[:16].replace("T", " ") + " UTC"
