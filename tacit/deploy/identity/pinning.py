"""Cards that an owner has compared over another channel, pinned beside its keys.

A manifest with a different card of the same name is not signed and not run: somebody may have
replaced a neighbour's card by their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacit.deploy.agreement.manifest import Manifest
from tacit.deploy.files import why, write_text
from tacit.deploy.identity.keys import Card, fits, read_card
from tacit.deploy.identity.vouch import authority_fingerprint, vouched
from tacit.errors import ConfigError
from tacit.study._grammar import toml

_FOLDER = "trusted"
_AUTHORITY = "authority.crt"
_LARGEST = 64 << 10
"""Bytes of a certificate, at most."""


def trust(
    folder: Path, card: Card, fingerprint: str | None = None, *, replace: bool = False
) -> None:
    """Pin a card.

    Args:
        folder: folder of one's own keys.
        card: card of another member.
        fingerprint: fingerprint that its owner told; spaces and case do not matter. Not compared if
            `None`.
        replace: whether a pinned card may be replaced, as after a rotation.

    Raises:
        ConfigError: the fingerprint differs, or a different card of this name is pinned.
    """
    if fingerprint is not None and not fits(fingerprint, card.fingerprint()):
        raise ConfigError(
            f"the fingerprint of {card.name!r} is {card.fingerprint()}, and its owner says "
            f"{fingerprint}: this card is not its owner's, or one of the two was read wrongly. It "
            "is not trusted"
        )
    if card.name == read_card(folder / "card.toml").name:
        raise ConfigError(f"{card.name!r} is your own name; give another member's card")
    before = trusted(folder).get(card.name)
    if before is not None and before.fingerprint() != card.fingerprint() and not replace:
        raise ConfigError(
            f"another card of {card.name!r} is trusted ({before.fingerprint()}); compare the new "
            f"one with its owner ({card.fingerprint()}), then give --replace"
        )
    path = folder / _FOLDER / f"{card.name}.toml"
    kept_card(path, card.name)
    path.parent.mkdir(exist_ok=True, mode=0o700)
    write_text(path, card.toml())


def kept_card(path: Path, name: str) -> Card | None:
    """The card in a file that is called after its member, if there is one.

    Raises:
        ConfigError: the file is that of another member, because this system ignores case in names
            of files.
    """
    card = read_card(path) if path.exists() else None
    if card is not None and card.name != name:
        raise ConfigError(
            f"{path} holds the card of {card.name!r}, because this system does not tell upper from "
            f"lower case in names of files; give {name!r} another name"
        )
    return card


def trusted(folder: Path) -> dict[str, Card]:
    """The pinned cards, by name."""
    cards = [read_card(path) for path in sorted((folder / _FOLDER).glob("*.toml"))]
    return {card.name: card for card in cards}


def distrust(folder: Path, name: str) -> None:
    """Unpin the card of a member, if one is pinned."""
    (folder / _FOLDER / f"{name}.toml").unlink(missing_ok=True)


def trust_authority(
    folder: Path, pem: str, fingerprint: str | None = None, *, replace: bool = False
) -> str:
    """Pin an authority: every card that it vouches for counts as compared.

    Args:
        folder: folder of one's own keys.
        pem: certificate of the authority.
        fingerprint: fingerprint that its keeper told. Not compared if `None`.
        replace: whether a pinned authority may be replaced.

    Returns:
        The fingerprint of the authority.

    Raises:
        ConfigError: the fingerprint differs, or a different authority is pinned.
    """
    own = authority_fingerprint(pem)
    if fingerprint is not None and not fits(fingerprint, own):
        raise ConfigError(
            f"the fingerprint of this authority is {own}, and its keeper says {fingerprint}: it is "
            "another's, or one of the two was read wrongly. It is not trusted"
        )
    before = trusted_authority(folder)
    if before is not None and before != pem and not replace:
        raise ConfigError(
            f"another authority is trusted ({authority_fingerprint(before)}); compare the new one "
            f"with its keeper ({own}), then give --replace"
        )
    (folder / _FOLDER).mkdir(exist_ok=True, mode=0o700)
    write_text(folder / _FOLDER / _AUTHORITY, pem)
    return own


def read_certificate(path: Path) -> str:
    """Read a certificate from a file, PEM.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return toml.read_bytes(path, _LARGEST).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read ({why(error)}); it should be an authority's authority.crt"
        ) from error


def trusted_authority(folder: Path) -> str | None:
    """The certificate of the pinned authority, PEM; `None` without one."""
    path = folder / _FOLDER / _AUTHORITY
    return path.read_text(encoding="utf-8") if path.exists() else None


def check_trusted(manifest: Manifest, folder: Path, own: str) -> Sequence[str]:
    """Compare a manifest's cards with those that are pinned.

    Args:
        manifest: manifest that is to be signed or run.
        folder: folder of one's own keys.
        own: name of this member.

    Returns:
        Names of members whose cards are neither pinned nor vouched for by the pinned authority.

    Raises:
        ConfigError: a member's card differs from the pinned one.
    """
    known, authority = trusted(folder), trusted_authority(folder)
    for member in manifest.members:
        pinned = known.get(member.name)
        if pinned is not None and pinned.fingerprint() != member.card.fingerprint():
            raise ConfigError(
                f"the manifest has another card of {member.name!r} ({member.card.fingerprint()}) "
                f"than the one that is trusted here ({pinned.fingerprint()}). Ask its owner: after "
                "a rotation, `tacit keys trust --replace` takes the new one"
            )
    return [
        member.name
        for member in manifest.members
        if member.name not in known
        and member.name != own
        and not (
            member.authority == authority
            and vouched(member.card, manifest.vouchers.get(member.name, ""))
        )
    ]
