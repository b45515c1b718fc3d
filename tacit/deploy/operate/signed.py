"""Who signed a bundle, and what all members of the run agreed to."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tacit.deploy.agreement.manifest import Manifest, Member, parse_manifest
from tacit.deploy.identity.keys import Card, fits, verify
from tacit.deploy.operate.archive import CONTENTS, CONTEXT, SIGNATURE, Tampered, document
from tacit.deploy.operate.finished import MANIFEST
from tacit.errors import TacitError

_SHOWN = 20
"""Members that are named one by one."""

_CONTENTS = {"format", "run", "member", "tacit", "ended", "bundled", "files"}


def read_list(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The signed list.

    Raises:
        Tampered: it is not one.
    """
    found = document(files, CONTENTS)
    if set(found) != _CONTENTS or not (_is_time(found["bundled"]) and is_version(found["tacit"])):
        raise Tampered(f"{CONTENTS} is not the list that `tacit bundle` writes")
    return found


def read_agreed(files: Mapping[str, bytes]) -> Manifest:
    """The manifest, of which the study is not looked at.

    Raises:
        Tampered: it is not one.
    """
    if MANIFEST not in files:
        raise Tampered(f"{MANIFEST} is missing")
    try:
        return parse_manifest(files[MANIFEST], MANIFEST, studied=False)
    except TacitError as error:
        raise Tampered(f"{MANIFEST} cannot be read: {error}") from error


def check_signature(
    files: Mapping[str, bytes],
    signer: Member,
    fingerprint: str | None,
    card: Card | None,
    known: Manifest | None,
) -> None:
    """Refuse a signature that is not the signer's, and a signer that is not the expected one."""
    try:
        signature = files[SIGNATURE].decode("ascii").removesuffix("\n")
        plain = base64.b64encode(base64.b64decode(signature, validate=True)) + b"\n"
    except ValueError as error:
        raise Tampered(f"{SIGNATURE} is not a signature") from error
    # several texts stand for the same bytes in base64
    if files[SIGNATURE] != plain or not verify(signer.card, CONTEXT + files[CONTENTS], signature):
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


def check_agreement(
    files: Mapping[str, bytes],
    contents: dict[str, Any],
    agreed: Manifest,
    known: Manifest | None,
) -> None:
    """Refuse a run that members did not sign, and files about another run."""
    run, result = agreed.run.hex(), document(files, "result.json")
    if known is not None and known.run != agreed.run:
        raise Tampered(
            f"it is about run {run[:12]}, and your manifest is of {known.run.hex()[:12]}"
        )
    if missing := agreed.unsigned(masked=False):
        raise Tampered(f"{MANIFEST} is not signed by {', '.join(missing)}")
    if files["study.toml"] != agreed.study.encode():
        raise Tampered(f"study.toml is another study than {MANIFEST} has")
    given = {*agreed.signatures, *agreed.mask_keys, *agreed.vouchers}
    if others := sorted(given - {each.name for each in agreed.members}):
        raise Tampered(f"{MANIFEST} names {', '.join(others)}, who take no part in the run")
    if (contents["run"], result.get("run")) != (run, run):
        raise Tampered(f"{CONTENTS} or result.json is about another run than {MANIFEST}")
    if result.get("ended") != contents["ended"] or not _is_time(contents["ended"], None):
        raise Tampered(f"{CONTENTS} and result.json say different things of when the run ended")
    if result.get("noise") != "secure" or result.get("member") not in (contents["member"], None):
        raise Tampered("result.json is that of a simulation, or of another member")


def strangers(
    agreed: Manifest, signer: Member, known: Manifest | None, expected: bool
) -> list[str]:
    """Which members the verifier has not identified."""
    if known is not None:
        return []
    others = [each for each in agreed.members if each is not signer]
    told = "; ".join(f"{each.name} {each.card.fingerprint()}" for each in others[:_SHOWN])
    told += f"; and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    return [
        *(
            []
            if expected
            else [
                f"Whether the signer is the {signer.name} that you know: compare the fingerprint "
                "with its owner over another channel, or give it with --fingerprint"
            ]
        ),
        "Whether the other members are those that you know: give your own copy of the manifest "
        f"with --manifest, or compare their fingerprints ({told})",
    ]


def _is_time(value: object, *others: object) -> bool:
    """Whether a value is a time in ISO 8601, or one of the others."""
    if value in others:
        return True
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def is_version(value: object) -> bool:
    """Whether a value may be the version of a package."""
    return isinstance(value, str) and len(value) < 100
