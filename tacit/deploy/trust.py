"""Cards that an owner has compared over another channel: pinned beside its keys.

A manifest with another card of the same name is not signed and not run: somebody may have put its
own card in the place of a neighbour's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacit.deploy.files import write_text
from tacit.deploy.keys import Card, read_card
from tacit.deploy.manifest import Manifest
from tacit.errors import ConfigError

_FOLDER = "trusted"


def trust(
    folder: Path, card: Card, fingerprint: str | None = None, *, replace: bool = False
) -> None:
    """Pin a card.

    Args:
        folder: of one's own keys.
        card: of another member.
        fingerprint: as its owner told it; spaces and case do not matter. Not compared when `None`.
        replace: whether a card that is pinned already may be replaced, as after a rotation.

    Raises:
        ConfigError: the fingerprint is another, or another card of this name is pinned.
    """
    if fingerprint is not None and _plain(fingerprint) != _plain(card.fingerprint()):
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
    (folder / _FOLDER).mkdir(exist_ok=True, mode=0o700)
    write_text(folder / _FOLDER / f"{card.name}.toml", card.toml())


def trusted(folder: Path) -> dict[str, Card]:
    """The pinned cards, by name."""
    cards = [read_card(path) for path in sorted((folder / _FOLDER).glob("*.toml"))]
    return {card.name: card for card in cards}


def check_trusted(manifest: Manifest, folder: Path, own: str) -> Sequence[str]:
    """Compare a manifest's cards with those that are pinned.

    Args:
        manifest: what is to be signed or run.
        folder: of one's own keys.
        own: name of this member.

    Returns:
        Names of members whose cards are not pinned.

    Raises:
        ConfigError: a member's card is another than the pinned one.
    """
    known = trusted(folder)
    for member in manifest.members:
        pinned = known.get(member.name)
        if pinned is not None and pinned.fingerprint() != member.card.fingerprint():
            raise ConfigError(
                f"the manifest has another card of {member.name!r} ({member.card.fingerprint()}) "
                f"than the one that is trusted here ({pinned.fingerprint()}). Ask its owner: after "
                "a rotation, `tacit keys trust --replace` takes the new one"
            )
    return [m.name for m in manifest.members if m.name not in known and m.name != own]


def _plain(fingerprint: str) -> str:
    return "".join(fingerprint.split()).upper()
