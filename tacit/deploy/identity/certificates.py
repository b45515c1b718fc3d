"""Certificates of connections, and a consortium's authority that signs them."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tacit.arguments import checked
from tacit.deploy.files import why, write_bytes, write_secret
from tacit.errors import ConfigError

DAYS = 365
"""How long a certificate is good for."""

_MOST_DAYS = 36_500
"""A hundred years; a certificate cannot name a year beyond 9999."""

_LONGEST = 64
"""Maximum number of characters of a name in a certificate."""

_EARLIER = dt.timedelta(days=1)
"""Certificates are good from then on, so that they are at a neighbour whose clock is slow."""

LONGEST = 64
"""Bytes of a name in a certificate, at most."""


def check_days(days: int) -> None:
    """Refuse a validity in days that no certificate can have.

    Raises:
        ConfigError: fewer than one day, or more than a hundred years.
    """
    if not 1 <= days <= _MOST_DAYS:
        bound = "at least 1" if days < 1 else f"at most {_MOST_DAYS}, a hundred years"
        raise ConfigError(f"days={days} must be {bound}")


@checked(ConfigError)
def create_authority(folder: Path, name: str, days: int = 10 * DAYS) -> None:
    """Make a consortium's authority in a new folder: `authority.pem` and `authority.crt`.

    Raises:
        ConfigError: a folder that is not empty, a number of days out of range, or a name that is
            empty or too long.
    """
    check_days(days)
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty; keys are never overwritten. Give a new folder")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not name.strip() or len(name) > _LONGEST:
        raise ConfigError(
            f"name={name!r} cannot be an authority's name: it has 1 to {_LONGEST} characters"
        )
    key, certificate = _authority(name, days)
    secret(folder / "authority.pem", key)
    write_bytes(folder / "authority.crt", certificate.public_bytes(serialization.Encoding.PEM))


def check_authority(text: str, where: str = "") -> None:
    """Refuse anything but exactly one certificate of an authority.

    The certificates in a card are trusted for connections, so no further one may be hidden in it.

    Args:
        text: certificate in a card, PEM.
        where: place of the certificate, for the message.

    Raises:
        ConfigError: no certificate, several, or one that may not sign others.
    """
    try:
        (found,) = x509.load_pem_x509_certificates(text.encode())
        plain = found.public_bytes(serialization.Encoding.PEM).decode() == text
        signs = found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, x509.ExtensionNotFound):
        plain = signs = False
    if not (plain and signs):
        raise ConfigError(
            f"{where}authority is not one certificate of an authority in PEM, and nothing else; "
            "take the card that `tacit keys new` wrote"
        )


def certify(folder: Path, name: str, host: str, authority: Path | None, days: int) -> None:
    """Write a new certificate and its key: `tls.crt`, `tls.pem` and `authority.crt`.

    Args:
        folder: folder of the keys.
        name: name in the certificate.
        host: host for which it is valid; `localhost` for a member that only dials out.
        authority: folder of a consortium's authority; the member gets its own if `None`.
        days: validity of the certificate, in days.

    Raises:
        ConfigError: the authority cannot be read.
    """
    if authority is None:
        signer, above = _authority(f"{name}, own authority", days)
    else:
        signer, above = read_authority(authority)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = issue(key.public_key(), name, host, signer, above, days)
    secret(folder / "tls.pem", key)
    encoding = serialization.Encoding.PEM
    write_bytes(folder / "tls.crt", certificate.public_bytes(encoding))
    write_bytes(folder / "authority.crt", above.public_bytes(encoding))


def issue(
    public: ec.EllipticCurvePublicKey,
    name: str,
    host: str,
    signer: ec.EllipticCurvePrivateKey,
    above: x509.Certificate,
    days: int,
) -> x509.Certificate:
    """A member's certificate.

    Args:
        public: public key of the member.
        name: name in the certificate.
        host: host for which it is valid; `localhost` for a member that only dials out.
        signer: key of the authority.
        above: certificate of the authority.
        days: validity of the certificate, in days.
    """
    names: list[x509.GeneralName] = [x509.DNSName("localhost")]
    if host:
        names = [_general(host)]
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(above.subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(
            x509.ExtendedKeyUsage(
                [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            ),
            critical=False,
        )
        .sign(signer, hashes.SHA256())
    )


def request_for(key: ec.EllipticCurvePrivateKey, name: str) -> str:
    """A request for a certificate of a key, signed by that key, PEM."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(_named(name))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def common_name(name: x509.Name) -> str:
    """The common name in a certificate or a request; empty if there is none."""
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else ""


def _authority(name: str, days: int) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return key, certificate


def read_authority(folder: Path) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """Key and certificate of a consortium's authority.

    Raises:
        ConfigError: they cannot be read.
    """
    try:
        key = serialization.load_pem_private_key((folder / "authority.pem").read_bytes(), None)
        certificate = x509.load_pem_x509_certificate((folder / "authority.crt").read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the authority in {folder} cannot be read ({why(error)}); make one with `tacit keys "
            "authority`"
        ) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ConfigError(f"{folder / 'authority.pem'} is not an elliptic curve key; make another")
    return key, certificate


def _named(name: str) -> x509.Name:
    fits = name.encode()[:LONGEST].decode(errors="ignore")
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, fits)])


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def secret(path: Path, key: Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> None:
    """Write a private key to a file that only its owner can ever read."""
    data = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_secret(path, data)
