"""Keys that any two agents of a run share, for the masks between them.

Each signer of a manifest of a run with masks makes an X25519 key for this run alone, and puts its
public half beside the signature, signed. So all agents have all public keys before the run, without
the coordinator. The private half is deleted when the run has ended: from then on nobody can remove
a mask, whatever was recorded.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.deploy.files import check_private, write_secret
from tacit.deploy.identity.keys import Card, Keys
from tacit.errors import ConfigError
from tacit.privacy.masking import new_key, pair_key

_CONTEXT = b"tacit mask key 1\n"
_LENGTH = 32


def offer(keys: Keys, run: bytes) -> str:
    """The signed public half of a member's key for a run, in base64; created if missing.

    Args:
        keys: keys of the member.
        run: id of the run, 32 bytes.

    Raises:
        ConfigError: others may read the private half.
    """
    path = _private(keys.folder, run)
    if not path.exists():
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_secret(path, new_key()[0])
    public = _public(_read(path))
    return base64.b64encode(public + keys.identity.sign(_CONTEXT + run + public)).decode()


def offered(card: Card, run: bytes, text: str) -> bytes | None:
    """The public key in an offer, 32 bytes; `None` if it is not this agent's for this run."""
    try:
        data = base64.b64decode(text, validate=True)
        public, signature = data[:_LENGTH], data[_LENGTH:]
        card.public_key().verify(signature, _CONTEXT + run + public)
    except (InvalidSignature, ValueError):
        return None
    return public


def pair_keys(keys: Keys, number: int, run: bytes, offers: Mapping[int, bytes]) -> dict[int, bytes]:
    """The keys that a member shares with every other, by number.

    Args:
        keys: keys of the member.
        number: number of the member.
        run: id of the run.
        offers: public keys of all agents, including its own.

    Raises:
        ConfigError: the private half is not in its folder, does not fit, or others may read it.
        PrivacyError: a public key that would reveal the masks to anyone.
    """
    path = _private(keys.folder, run)
    private = _read(path) if path.exists() else None
    if private is None or _public(private) != offers[number]:
        raise ConfigError(
            f"{keys.folder} does not hold the key for masks that {keys.card.name!r} put into the "
            "manifest: it was signed elsewhere or again, or the run has ended. Sign it here, and "
            "let everybody take this copy"
        )
    return {
        other: pair_key(private, public, run, number, other)
        for other, public in offers.items()
        if other != number
    }


def check_writable(keys: Keys) -> None:
    """Refuse, before anything is answered, a folder in which a run's key cannot be deleted.

    Raises:
        ConfigError: the folder of the keys for masks may not be written, as on a read-only mount.
    """
    folder = keys.folder / "masks"
    if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(
            f"{folder} cannot be written by this user: a key for masks is deleted there when its "
            "run has ended. The other keys may be read-only; make this folder writable "
            "(ReadWritePaths= in a systemd unit, a mount of its own in a container)"
        )


def has_key(keys: Keys, run: bytes) -> bool:
    """Whether the private half for a run exists, as it does until the run has ended."""
    return _private(keys.folder, run).exists()


def kept(keys: Keys) -> list[bytes]:
    """Ids of the runs whose private halves exist."""
    return [bytes.fromhex(path.stem) for path in sorted((keys.folder / "masks").glob("*.key"))]


def forget(keys: Keys, run: bytes) -> None:
    """Delete the private half: what was masked with it stays masked."""
    key = _private(keys.folder, run)
    if key.exists():  # a read-only folder refuses to delete even a missing file
        key.unlink()


def _private(folder: Path, run: bytes) -> Path:
    return folder / "masks" / f"{run.hex()}.key"


def _read(path: Path) -> bytes:
    check_private(path.parent)
    check_private(path)
    return path.read_bytes()


def _public(private: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
