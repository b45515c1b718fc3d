"""Certificates by request: the member's keys stay in its folder, the authority's key in its own.

A member writes a request, signed by its own keys. The keeper of the authority compares its
fingerprint with the member over another channel and approves it; the answer holds no secret. A
renewal is signed by the signing key that the authority already knows.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, fields, replace
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.deploy.files import why, write_text
from tacit.deploy.identity.certificates import (
    DAYS,
    check_authority,
    check_days,
    common_name,
    issue,
    read_authority,
    request_for,
    secret,
)
from tacit.deploy.identity.keys import (
    Card,
    Keys,
    check_name,
    fits,
    grouped,
    load,
    read_card,
    read_identity,
    sign,
    verify,
)
from tacit.deploy.identity.pinning import kept_card
from tacit.deploy.identity.vouch import vouch
from tacit.deploy.messages.address import host_and_port
from tacit.errors import ConfigError
from tacit.study._grammar import toml

_REQUEST, _APPROVAL = "tacit-request-1", "tacit-approval-1"
_CONTEXT = b"tacit request 1\n"
_LARGEST = 64 << 10
"""Bytes of a request or an approval, at most."""


@dataclass(frozen=True)
class Request:
    """What a member asks an authority to sign.

    Attributes:
        name: name of the member.
        address: `host:port` where it listens; empty if it only dials out.
        signing_key: public Ed25519 key, in base64.
        csr: certificate signing request for the certificate's key, PEM, signed by that key.
        signature: signature of the whole request by the signing key.
    """

    name: str
    address: str
    signing_key: str
    csr: str
    signature: str = ""

    def card(self, authority: str = "") -> Card:
        """The card that the request becomes."""
        return Card(self.name, self.address, self.signing_key, authority)

    def text(self) -> bytes:
        """The bytes that the signing key signs."""
        parts = [self.name, self.address, self.signing_key, self.csr]
        return _CONTEXT + json.dumps(parts).encode()

    def fingerprint(self) -> str:
        """A digest of the whole request, to compare over another channel."""
        digest = hashes.Hash(hashes.SHA256())
        digest.update(self.text())
        return grouped(digest.finalize())

    def toml(self) -> str:
        """The request as a file."""
        return _toml(_REQUEST, {each.name: getattr(self, each.name) for each in fields(self)})


def ask(folder: Path, name: str | None = None, address: str = "") -> Request:
    """Write `request.toml`, with a new key for the certificate; the old one serves until `accept`.

    Args:
        folder: a new folder, or that of one's own keys whose certificate is to be renewed.
        name: name of the member; `None` renews.
        address: `host:port` where it listens; empty if it only dials out.

    Raises:
        ConfigError: a name or an address that cannot be used, or keys that already exist.
    """
    if (folder / "request.toml").exists() and not (folder / "card.toml").exists():
        waits = read_request(folder / "request.toml")
        raise ConfigError(
            f"{folder} has a request of {waits.name!r} already, fingerprint {waits.fingerprint()}: "
            f"send it, and take what comes back with `tacit keys accept {folder} FILE`. For "
            "another name or address give a new folder"
        )
    if name is None:
        before = load(folder).card
        name, address = before.name, before.address
    else:
        check_name(name)
        if address:
            host_and_port(address)
        if folder.exists() and any(folder.iterdir()):
            raise ConfigError(
                f"{folder} is not empty; keys are never overwritten. Give a new folder, or leave "
                "--name and --address out to renew the certificate in it"
            )
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        secret(folder / "identity.pem", Ed25519PrivateKey.generate())
    identity = read_identity(folder)
    key = ec.generate_private_key(ec.SECP256R1())
    secret(folder / "request.pem", key)
    public = base64.b64encode(identity.public_key().public_bytes_raw()).decode()
    unsigned = Request(name, address, public, request_for(key, name))
    made = replace(unsigned, signature=sign(identity, unsigned.text()))
    write_text(folder / "request.toml", made.toml())
    return made


def read_request(path: Path) -> Request:
    """Read a request, and check that its author has both keys.

    Raises:
        ConfigError: it is not a request, or is signed by other keys.
    """
    found = Request(**_read(path, _REQUEST, {each.name for each in fields(Request)}))
    check_name(found.name, f"{path}: ")
    if found.address:
        host_and_port(found.address, f"{path}: ")
    found.card().public_key()
    try:
        csr = x509.load_pem_x509_csr(found.csr.encode())
        good = csr.is_signature_valid and common_name(csr.subject) == found.name
        good = good and isinstance(csr.public_key(), ec.EllipticCurvePublicKey)
    except ValueError:
        good = False
    if not good or not verify(found.card(), found.text(), found.signature):
        raise ConfigError(
            f"{path} is not signed by the keys that are in it: it was changed on its way, or is "
            "another's; let the member send it again"
        )
    return found


def approve(
    authority: Path,
    request: Request,
    output: Path,
    fingerprint: str | None = None,
    days: int = DAYS,
    *,
    replace_key: bool = False,
) -> Card:
    """Sign a request with an authority's key, vouch for the card, and record the approval.

    Args:
        authority: folder of the authority.
        request: request of a member.
        output: file for the member, to be written.
        fingerprint: fingerprint of the request that the member told. A renewal needs none: it is
            signed by the key that was approved before, for the same address.
        days: validity of the certificate in days, at least 1.
        replace_key: whether a signing key that was approved for this name may be replaced.

    Returns:
        The member's card, which is also kept in `issued` in the authority's folder.

    Raises:
        ConfigError: a missing or different fingerprint, or a name for which a different key was
            approved.
    """
    check_days(days)
    if fingerprint is not None and not fits(fingerprint, request.fingerprint()):
        raise ConfigError(
            f"the fingerprint of this request is {request.fingerprint()}, and its member says "
            f"{fingerprint}: it was changed on its way, or one of the two was read wrongly. "
            "Nothing is signed"
        )
    signer, above = read_authority(authority)
    pem = above.public_bytes(serialization.Encoding.PEM).decode()
    card, known = request.card(pem), authority / "issued" / f"{request.name}.toml"
    before = kept_card(known, request.name)
    if before is not None and before.signing_key != card.signing_key and not replace_key:
        raise ConfigError(
            f"another signing key was approved for {card.name!r}; compare the new one with its "
            f"member ({request.fingerprint()}), then give --replace"
        )
    if fingerprint is None and before != card:
        raise ConfigError(
            f"nothing like this was approved for {card.name!r} before: ask the member for the "
            "fingerprint that `tacit keys request` printed, over another channel, and give it with "
            "--fingerprint"
        )
    host = host_and_port(card.address)[0] if card.address else ""
    csr = x509.load_pem_x509_csr(request.csr.encode())
    public = csr.public_key()
    assert isinstance(public, ec.EllipticCurvePublicKey)
    certificate = issue(public, card.name, host, signer, above, days)
    card = replace(card, voucher=vouch(card, signer, certificate.not_valid_after_utc))
    known.parent.mkdir(mode=0o700, exist_ok=True)
    write_text(known, card.toml())
    written = certificate.public_bytes(serialization.Encoding.PEM).decode()
    parts = {"certificate": written, "authority": pem, "voucher": card.voucher}
    write_text(output, _toml(_APPROVAL, parts))
    return card


def accept(folder: Path, approval: Path, *, replace_authority: bool = False) -> Keys:
    """Install an approved certificate: it is used from now on, with the key that was made for it.

    Args:
        folder: folder in which the request was written.
        approval: file that the authority's keeper sent.
        replace_authority: whether a different authority may replace the one in the card, after
            which manifests must be made anew.

    Raises:
        ConfigError: it is for a different request or name, or from a different authority.
    """
    if not (folder / "request.toml").exists():
        raise ConfigError(
            f"no request waits in {folder}: give the folder in which `tacit keys request` was "
            "given. A request is gone when its approval was accepted"
        )
    found = _read(approval, _APPROVAL, {"certificate", "authority", "voucher"})
    request = read_request(folder / "request.toml")
    check_authority(found["authority"], f"{approval}: ")
    above = x509.load_pem_x509_certificate(found["authority"].encode())
    try:
        key = serialization.load_pem_private_key((folder / "request.pem").read_bytes(), None)
        certificate = x509.load_pem_x509_certificate(found["certificate"].encode())
        certificate.verify_directly_issued_by(above)
        good = certificate.public_key() == key.public_key()
    except OSError as error:
        raise ConfigError(
            f"{folder / 'request.pem'} cannot be read ({why(error)}); it is where `tacit keys "
            "request` was given, and is gone when its approval was accepted"
        ) from error
    except Exception as error:  # the library raises several kinds
        raise ConfigError(f"{approval} holds no certificate of its authority ({error})") from error
    if not good or common_name(certificate.subject) != request.name:
        raise ConfigError(
            f"{approval} answers another request than {folder / 'request.toml'}: send that one"
        )
    card = replace(request.card(found["authority"]), voucher=found["voucher"])
    path = folder / "card.toml"
    before = read_card(path) if path.exists() else None
    if before is not None and before.authority != card.authority and not replace_authority:
        raise ConfigError(
            f"{approval} is of another authority than the card in {folder}: manifests with that "
            "card would end. If it is meant, give --replace, and let the others have the new card"
        )
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    secret(folder / "tls.pem", key)
    write_text(folder / "tls.crt", found["certificate"])
    write_text(folder / "authority.crt", found["authority"])
    write_text(path, card.toml())
    (folder / "request.pem").unlink()
    (folder / "request.toml").unlink()
    return load(folder)


def _toml(kind: str, parts: dict[str, str]) -> str:
    # texts of base64, PEM and checked names only, which JSON writes as TOML does
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in parts.items()]
    return "\n".join([f'format = "{kind}"', *lines]) + "\n"


def _read(path: Path, kind: str, names: set[str]) -> dict[str, str]:
    try:
        data = toml.read_bytes(path, _LARGEST)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({why(error)}); check the path") from error
    found = toml.parse(data, str(path))
    told = toml.other_than(f"a file of the format {kind!r}", found)
    if found.pop("format", None) != kind or set(found) != names:
        writes = "`tacit keys request`" if kind == _REQUEST else "`tacit keys approve`"
        raise ConfigError(f"{path} is {told}; {writes} writes one")
    return {key: str(value) for key, value in found.items()}
