"""An agent's keys: Ed25519 for signatures, and a certificate for its connections.

A folder of keys holds

    identity.pem    signs messages and manifests; readable by its owner only
    tls.pem         the key of the certificate; readable by its owner only
    tls.crt         the certificate, with the agent's name
    authority.crt   who signed it: a consortium's authority, or the agent's own
    card.toml       what others need to know: no secret

An agent without a consortium's authority has its own, which signs nothing else: its key is
discarded at once. Others trust it by putting its card into the manifest.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import unicodedata
from dataclasses import dataclass, field, fields
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.arguments import checked
from tacit.deploy.files import why, write_text
from tacit.deploy.identity.certificates import (
    DAYS,
    LONGEST,
    certify,
    check_authority,
    check_days,
    secret,
)
from tacit.deploy.messages.address import host_and_port
from tacit.errors import ConfigError
from tacit.study._grammar import toml

_ALPHABETS = {"LATIN", "GREEK", "CYRILLIC"}
"""Alphabets with letters that look the same; a name keeps to one of them."""

WARN_DAYS = 30
"""From how many days before its end on a certificate is warned of."""

_CARD = "tacit-card-1"

_LARGEST = 64 << 10
"""Bytes of a card, at most: one certificate, one key and a name."""


@dataclass(frozen=True)
class Card:
    """What others need to know about an agent.

    Attributes:
        name: name of the agent, as in its certificate.
        address: `host:port` where it listens; empty if it only dials out.
        signing_key: public Ed25519 key, 32 bytes in base64.
        authority: certificate of the authority that signed the agent's certificate, PEM.
        voucher: the authority's signature over the rest (`tacit.deploy.identity.vouch`), or empty.
    """

    name: str
    address: str
    signing_key: str
    authority: str
    voucher: str = field(default="", compare=False)

    def public_key(self) -> Ed25519PublicKey:
        """The key that verifies the agent's signatures.

        Raises:
            ConfigError: it is not such a key.
        """
        try:
            return Ed25519PublicKey.from_public_bytes(
                base64.b64decode(self.signing_key, validate=True)
            )
        except ValueError as error:
            raise ConfigError(
                f"signing_key={self.signing_key!r} of {self.name!r} is not an Ed25519 key in "
                "base64; take the card that `tacit keys new` wrote"
            ) from error

    def fingerprint(self) -> str:
        """A digest of the whole card in groups of four, to compare over another channel."""
        digest = hashes.Hash(hashes.SHA256())
        digest.update(self.whole())
        return grouped(digest.finalize())

    def whole(self) -> bytes:
        """Everything that identifies the agent, in the form that is digested."""
        return "\n".join((self.name, self.address, self.signing_key, self.authority)).encode()

    def toml(self) -> str:
        """The card as a file."""
        return (
            f'format = "{_CARD}"\nname = "{self.name}"\naddress = "{self.address}"\n'
            f'signing_key = "{self.signing_key}"\nauthority = """\n{self.authority}"""\n'
            + (f"voucher = {json.dumps(self.voucher)}\n" if self.voucher else "")
        )


def grouped(digest: bytes) -> str:
    """A digest in a form to read aloud: 32 letters and digits in groups of four."""
    text = base64.b32encode(digest).decode()[:32]
    return " ".join(text[i : i + 4] for i in range(0, 32, 4))


def fits(told: str, fingerprint: str) -> bool:
    """Whether a fingerprint is the one that was read out; spaces and case do not matter.

    Raises:
        ConfigError: a part of one, or more than one.
    """
    said, known = ("".join(each.split()).upper() for each in (told, fingerprint))
    if len(said) != len(known):
        raise ConfigError(
            f"{told!r} has {len(said)} letters and digits, and all of it has {len(known)}: "
            f"{len(known) // 4} groups of 4; give it as it was told"
        )
    return said == known


@dataclass(frozen=True)
class Keys:
    """The keys of one agent, as they are in its folder.

    Attributes:
        folder: folder of the keys.
        card: card of the agent, which others know.
        identity: private key that signs.
        begins: beginning of the certificate's validity.
        expires: its end.
    """

    folder: Path
    card: Card
    identity: Ed25519PrivateKey
    begins: dt.datetime
    expires: dt.datetime

    @property
    def certificate(self) -> Path:
        """File of the certificate."""
        return self.folder / "tls.crt"

    @property
    def private(self) -> Path:
        """File of the certificate's key."""
        return self.folder / "tls.pem"

    @property
    def renewal(self) -> str:
        """The command that renews the certificate, by request if an authority vouches for it."""
        if self.card.voucher:
            return f"`tacit keys request {self.folder}`"
        return f"`tacit keys rotate {self.folder}`"

    def days_left(self, now: dt.datetime | None = None) -> float:
        """Days until the certificate ends; negative afterwards."""
        return (self.expires - (now or dt.datetime.now(dt.UTC))) / dt.timedelta(days=1)

    def hours_until(self, now: dt.datetime | None = None) -> float:
        """Hours until the certificate begins, by a clock that is behind; negative afterwards."""
        return (self.begins - (now or dt.datetime.now(dt.UTC))) / dt.timedelta(hours=1)


def check_name(name: str, where: str = "") -> None:
    """Refuse a name that cannot be in a certificate or a file name, or that may be confused.

    Args:
        name: name of an agent: letters and digits of any language, and inside also spaces and
            `. - _ ' ( ) , & +`; up to 64 bytes of UTF-8.
        where: place of the name, for the message.

    Raises:
        ConfigError: such a name.
    """
    composed = unicodedata.normalize("NFKC", name)
    plain = [unicodedata.category(letter)[0] in "LMN" for letter in name]
    alphabets = {unicodedata.name(letter, "").split(" ")[0] for letter in name} & _ALPHABETS
    reason = None
    if not name or len(name.encode(errors="replace")) > LONGEST:
        reason = f"it must have 1 to {LONGEST} bytes of UTF-8"
    elif not all(good or letter in " .-_'(),&+" for good, letter in zip(plain, name, strict=True)):
        reason = "use letters, digits, spaces and . - _ ' ( ) , & + only"
    elif not plain[0] or not (plain[-1] or name[-1] in ".)"):
        reason = "begin and end with a letter or digit"
    elif composed != name:
        reason = f"write it as {composed!r}, so that names which look alike are equal"
    elif len(alphabets) > 1:
        reason = f"its letters are {' and '.join(sorted(alphabets))}, some of which look alike"
    if reason is not None:
        raise ConfigError(f"{where}name={name!r} cannot be an agent's name: {reason}")


@checked(ConfigError)
def create(
    folder: Path,
    name: str,
    address: str = "",
    authority: Path | None = None,
    days: int = DAYS,
) -> Keys:
    """Make an agent's keys in a new folder.

    Args:
        folder: folder that is new or empty.
        name: name of the agent.
        address: `host:port` where it listens; empty if it only dials out.
        authority: folder of a consortium's authority; the agent gets its own if `None`.
        days: validity of the certificate in days, at least 1.

    Raises:
        ConfigError: a name or an address that cannot be used, or a folder that is not empty.
    """
    check_name(name)
    check_days(days)
    host = host_and_port(address)[0] if address else ""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(
            f"{folder} is not empty; keys are never overwritten. Give a new folder, or `tacit keys "
            "rotate` to replace the keys in it"
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    identity = Ed25519PrivateKey.generate()
    secret(folder / "identity.pem", identity)
    certify(folder, name, host, authority, days)
    public = identity.public_key().public_bytes_raw()
    card = Card(
        name=name,
        address=address,
        signing_key=base64.b64encode(public).decode(),
        authority=(folder / "authority.crt").read_text(),
    )
    write_text(folder / "card.toml", card.toml())
    return load(folder)


@checked(ConfigError)
def renew(
    folder: Path, authority: Path | None = None, days: int = DAYS, *, identity: bool = False
) -> Keys:
    """Replace the certificate and its key; the card changes.

    Args:
        folder: folder with the keys.
        authority: folder of a consortium's authority; the agent gets its own if `None`.
        days: validity of the certificate in days, at least 1.
        identity: whether to replace the signing key as well, for example if somebody may have
            copied it: signatures by the old key are refused in every run whose manifest has the new
            card.

    Raises:
        ConfigError: the folder contains no keys, or a number of days out of range.
    """
    check_days(days)  # before a key is replaced
    # if this was killed, the card may be that of the previous keys: it is written last
    _check_made(folder)
    before = read_card(folder / "card.toml")
    if identity:
        secret(folder / "identity.pem", Ed25519PrivateKey.generate())
    host = host_and_port(before.address)[0] if before.address else ""
    certify(folder, before.name, host, authority, days)
    own = read_identity(folder)
    public = base64.b64encode(own.public_key().public_bytes_raw()).decode()
    card = Card(before.name, before.address, public, (folder / "authority.crt").read_text())
    write_text(folder / "card.toml", card.toml())
    return load(folder)


def _check_made(folder: Path) -> None:
    if not (folder / "card.toml").exists():
        raise ConfigError(
            f"there are no keys in {folder}; make some with `tacit keys new {folder}`"
        )


@checked(ConfigError)
def load(folder: Path) -> Keys:
    """Read an agent's keys.

    Raises:
        ConfigError: a file is missing, cannot be read, does not fit the others, or is open to
            others than its owner.
    """
    if (folder / "request.toml").exists() and not (folder / "card.toml").exists():
        raise ConfigError(
            f"{folder} waits for its certificate: send {folder / 'request.toml'} to the keeper of "
            f"the authority, and take what comes back with `tacit keys accept {folder} FILE`. "
            f"`tacit keys show {folder}` says the fingerprint to tell"
        )
    _check_made(folder)
    card = read_card(folder / "card.toml")
    for name in ("identity.pem", "tls.pem"):
        path = folder / name
        if path.exists() and os.name == "posix" and path.stat().st_mode & 0o077:
            raise ConfigError(
                f"{path} can be read by others than its owner; `chmod 600 {path}`, and make new "
                "keys if somebody may have copied it"
            )
    identity = read_identity(folder)
    try:
        certificate = x509.load_pem_x509_certificate((folder / "tls.crt").read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(_unreadable(folder / "tls.crt", error)) from error
    public = base64.b64encode(identity.public_key().public_bytes_raw()).decode()
    if public != card.signing_key:
        raise ConfigError(
            f"{folder / 'card.toml'} is the card of other keys: `tacit keys rotate` was "
            "interrupted (give it again), or a file was replaced (make new keys)"
        )
    begins, expires = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return Keys(folder, card, identity, begins, expires)


def read_identity(folder: Path) -> Ed25519PrivateKey:
    """The key with which an agent signs.

    Raises:
        ConfigError: it is missing, or is not such a key.
    """
    path = folder / "identity.pem"
    try:
        found = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError) as error:
        raise ConfigError(_unreadable(path, error)) from error
    if not isinstance(found, Ed25519PrivateKey):
        raise ConfigError(f"{path} is not an Ed25519 key; make new keys")
    return found


def _unreadable(path: Path, error: Exception) -> str:
    """What to do about a key or a certificate that cannot be read."""
    if isinstance(error, OSError):
        return f"{path} cannot be read ({why(error)}); restore it from a copy of the folder"
    what = "empty" if not path.stat().st_size else "damaged, or no PEM file"
    return (
        f"{path} is {what}; restore it from a copy of the folder. If there is none, make new keys "
        "with `tacit keys new`, and tell the other members"
    )


def read_card(path: Path) -> Card:
    """Read an agent's card.

    Raises:
        ConfigError: it is not a card.
    """
    try:
        data = toml.read_bytes(path, _LARGEST)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({why(error)}); it should be a card.toml"
        ) from error
    return parse_card(data, str(path))


def parse_card(data: bytes | str, path: str) -> Card:
    """Check the text of an agent's card.

    Args:
        data: text of the file.
        path: name of the file in messages.

    Raises:
        ConfigError: it is not a card.
    """
    raw = data.encode() if isinstance(data, str) else data
    if raw.lstrip().startswith(b"-----BEGIN"):
        what = "a private key, which is never sent," if b"PRIVATE KEY" in raw else "a PEM file"
        raise ConfigError(f"{path} is {what} and not an agent's card; give its card.toml")
    found = toml.parse(data, path, _LARGEST)
    names = {each.name for each in fields(Card)}
    told = toml.other_than("an agent's card", found)
    if found.pop("format", None) != _CARD or set(found) | {"voucher"} != names:
        raise ConfigError(f"{path} is {told}; `tacit keys new` writes one")
    card = Card(**{key: str(value) for key, value in found.items()})
    check_name(card.name, f"{path}: ")
    if card.address:
        host_and_port(card.address, f"{path}: ")
    check_authority(card.authority, f"{path}: ")
    card.public_key()
    return card


def sign(identity: Ed25519PrivateKey, text: bytes) -> str:
    """A signature in base64."""
    return base64.b64encode(identity.sign(text)).decode()


def verify(card: Card, text: bytes, signature: str) -> bool:
    """Whether a signature is the agent's."""
    try:
        card.public_key().verify(base64.b64decode(signature, validate=True), text)
    except (InvalidSignature, ValueError):
        return False
    return True
