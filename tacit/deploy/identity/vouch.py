"""Vouchers for members' cards: anyone who trusts the authority need not compare the cards.

A voucher is the authority's signature over the whole card, valid until the certificate that was
issued with it ends. It is kept beside a card and beside a manifest, and is part of neither.
"""

from __future__ import annotations

import base64
import datetime as dt

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tacit.deploy.identity.certificates import check_authority
from tacit.deploy.identity.keys import Card, grouped

_CONTEXT = b"tacit voucher 1\n"


def vouch(card: Card, key: ec.EllipticCurvePrivateKey, until: dt.datetime) -> str:
    """An authority's voucher for a card.

    Args:
        card: card that names this authority.
        key: key of the authority.
        until: end of the voucher's validity.
    """
    end = until.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    signature = key.sign(_text(card, end), ec.ECDSA(hashes.SHA256()))
    return f"{end} {base64.b64encode(signature).decode()}"


def vouched(card: Card, voucher: str, now: dt.datetime | None = None) -> bool:
    """Whether the authority in a card vouches for the card, and the voucher is still valid."""
    end, _, signature = voucher.partition(" ")
    try:
        until = dt.datetime.strptime(end, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=dt.UTC)
        key = x509.load_pem_x509_certificate(card.authority.encode()).public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey):
            return False
        given = base64.b64decode(signature, validate=True)
        key.verify(given, _text(card, end), ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return (now or dt.datetime.now(dt.UTC)) <= until


def authority_fingerprint(pem: str) -> str:
    """A digest of an authority's certificate, to compare over another channel.

    Raises:
        ConfigError: it is not exactly one certificate of an authority.
    """
    check_authority(pem)
    certificate = x509.load_pem_x509_certificate(pem.encode())
    digest = hashes.Hash(hashes.SHA256())
    digest.update(b"tacit authority 1\n" + certificate.public_bytes(serialization.Encoding.DER))
    return grouped(digest.finalize())


def _text(card: Card, end: str) -> bytes:
    digest = hashes.Hash(hashes.SHA256())
    digest.update(card.whole())
    return _CONTEXT + end.encode() + b"\n" + digest.finalize()
