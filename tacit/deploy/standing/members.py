"""Members of a consortium as one of them knows them, and the code that confirms all at once.

Whoever proposes a study compares every card with its owner. Everybody else compares one code, the
digest of all cards: on a call with all members, each hears that the others have the same code, and
each member's own tacit refuses a list in which its own card is another. So an equal code means that
every card is its owner's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.deploy.agreement.manifest import MOST_RECORDS, Manifest
from tacit.deploy.files import make_folder, why, write_text
from tacit.deploy.identity.keys import Card, fits, grouped, parse_card
from tacit.deploy.identity.pinning import check_trusted, distrust, trust, trusted
from tacit.errors import ConfigError
from tacit.study._grammar import toml

if TYPE_CHECKING:
    from tacit.deploy.standing.site import Site

_FORMAT = "tacit-member-1"
_CONTEXT = b"tacit members 1\n"
_LARGEST = 128 << 10


@dataclass(frozen=True)
class MemberFile:
    """What a member sends to whoever proposes a study.

    Attributes:
        card: its card.
        records: declared number of its records; `None` for a coordinator.
    """

    card: Card
    records: int | None

    def toml(self) -> str:
        """The file."""
        declared = "" if self.records is None else f"records = {self.records}\n"
        return f'format = "{_FORMAT}"\n{declared}card = {json.dumps(self.card.toml())}\n'


def read_member(path: Path) -> MemberFile:
    """Read a member's file.

    Raises:
        ConfigError: it is not one.
    """
    try:
        data = toml.read_bytes(path, _LARGEST)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({why(error)}); it should be the file that `tacit site join` "
            "wrote"
        ) from error
    found = toml.parse(data, str(path))
    records = found.get("records")
    good = records is None or (type(records) is int and 1 <= records <= MOST_RECORDS)
    known = set(found) <= {"format", "records", "card"} and isinstance(found.get("card"), str)
    if found.get("format") != _FORMAT or not good or not known:
        raise ConfigError(f"{path} is not a member's file; `tacit site join` writes one")
    return MemberFile(parse_card(found["card"], str(path)), records)


def code_of(cards: Iterable[Card]) -> str:
    """The code of these members: a digest of all their cards, whatever their order."""
    digest = hashlib.sha256(_CONTEXT)
    for whole in sorted(card.whole() for card in cards):
        digest.update(hashlib.sha256(whole).digest())
    return grouped(digest.digest())


def code_of_run(manifest: Manifest) -> str:
    """The code of the members of a run."""
    return code_of(member.card for member in manifest.members)


def strangers(site: Site, manifest: Manifest) -> list[str]:
    """Members of a run whose cards nobody has confirmed here.

    Raises:
        ConfigError: a member's card differs from the confirmed one.
    """
    return list(check_trusted(manifest, site.keys, site.load_keys().card.name))


def check_code(manifest: Manifest, code: str) -> None:
    """Refuse a code that is not that of a run's members.

    Raises:
        ConfigError: another code.
    """
    if not fits(code, code_of_run(manifest)):
        raise ConfigError(
            f"the code of these members is not {code}: the file was changed on its way, or the "
            "code was read wrongly. Nobody is trusted, and nothing is approved; ask whoever "
            "proposed the study to read it out again, and to send the file again if it differs"
        )


def confirm(site: Site, manifest: Manifest, code: str) -> None:
    """Pin the cards of all members of a run, if their code is the one that was told.

    Raises:
        ConfigError: another code, or another card of the same name is pinned.
    """
    check_code(manifest, code)
    name = site.load_keys().card.name
    for member in manifest.members:
        if member.name != name:
            trust(site.keys, member.card)


def remember(site: Site, members: Iterable[MemberFile]) -> None:
    """Keep what members declared, for the next study."""
    make_folder(site.members)
    for each in members:
        write_text(site.members / f"{each.card.name}.toml", each.toml())


def declared_in(manifest: Manifest, own: str) -> list[MemberFile]:
    """What the other members of a run declared in it."""
    found = [MemberFile(each.card, each.records) for each in manifest.agents]
    if manifest.coordinator is not None:
        found.append(MemberFile(manifest.coordinator.card, None))
    return [each for each in found if each.card.name != own]


def known(site: Site) -> Mapping[str, MemberFile]:
    """Confirmed members, by name, with what they declared last."""
    pinned = trusted(site.keys)
    found = {path.stem: read_member(path) for path in sorted(site.members.glob("*.toml"))}
    return {
        name: MemberFile(card, found[name].records)
        for name, card in pinned.items()
        if name in found
    }


def remove(site: Site, name: str) -> None:
    """Trust a member no longer: its agent is not talked to, and no run with it is begun.

    Raises:
        ConfigError: there is no such member.
    """
    if name not in trusted(site.keys):
        raise ConfigError(
            f"{name!r} is not a member that {site.folder} trusts "
            f"({', '.join(trusted(site.keys)) or 'nobody'})"
        )
    distrust(site.keys, name)
    (site.members / f"{name}.toml").unlink(missing_ok=True)
