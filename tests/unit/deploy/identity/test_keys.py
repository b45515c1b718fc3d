"""Keys: whole, their owner's alone, and never overwritten."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509

from tacit.deploy.identity import certificates, keys
from tacit.deploy.identity.keys import create, load, read_card
from tacit.deploy.identity.pinning import trust, trusted
from tacit.errors import ConfigError


def test_private_keys_are_their_owners_alone(tmp_path: Path) -> None:
    made = keys.create(tmp_path / "keys", "north", "north.example:7447")
    for name in ("identity.pem", "tls.pem"):
        assert (made.folder / name).stat().st_mode & 0o777 == 0o600
    assert made.folder.stat().st_mode & 0o777 == 0o700
    (made.folder / "tls.pem").chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        keys.load(made.folder)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    keys.create(tmp_path / "keys", "north")
    with pytest.raises(ConfigError, match="never overwritten"):
        keys.create(tmp_path / "keys", "north")
    with pytest.raises(ConfigError, match="never overwritten"):
        certificates.create_authority(tmp_path / "keys", "all")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a/b",
        "x" * 65,
        "ä" * 33,
        " a",
        "a ",
        "a*",
        "a\u0308",
        "a\n",
        'a"b',
        "a\u202eb",
        "n\u043erth",
    ],
)
def test_names_that_could_be_mistaken_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="name="):
        keys.create(tmp_path / "keys", name)
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize("name", ["Zürich", "São Paulo (sul)", "St. Luke's Hosp.", "दिल्ली", "7"])
def test_names_of_any_language_are_borne(tmp_path: Path, name: str) -> None:
    made = keys.create(tmp_path / "keys", name)
    assert keys.load(made.folder).card.name == name
    assert keys.renew(made.folder).card.name == name


@pytest.mark.parametrize("address", ["north", "north:", ":7447", "north:0", "north:70000"])
def test_addresses_need_host_and_port(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError, match="host:port"):
        keys.create(tmp_path / "keys", "north", address)


@pytest.mark.parametrize(
    "address",
    [
        "h:1#root_ca_certificate_base64=AAAA:7447",
        "north.example#verify_name_on_connect=false:7447",
        "north.example?rel=0:7447",
        "[fe80::1%#enable_mtls=false]:7447",
        "[::1:7447",
        "north example:7447",
        "north.example:07447",
        "north.example:\u0667\u0664\u0664\u0667",
        "n\u00f6rth.example:7447",
        "-north:7447",
        "north..example:7447",
        "north\x1b[2K:7447",
    ],
)
def test_nothing_but_host_and_port_stands_in_an_address(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError, match="host:port"):
        keys.create(tmp_path / "keys", "north", address)
    # nor in the card of another
    made = keys.create(tmp_path / "other", "other", "other.example:7447")
    hostile = replace(made.card, address=address)
    (tmp_path / "card.toml").write_text(hostile.toml(), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"host:port|card\.toml"):
        keys.read_card(tmp_path / "card.toml")


@pytest.mark.parametrize("address", ["10.0.0.7:1", "[2001:db8::7]:65535", "site_a:7447", "A.b-c:9"])
def test_addresses_of_all_kinds(tmp_path: Path, address: str) -> None:
    assert keys.create(tmp_path / "keys", "north", address).card.address == address


def test_the_fingerprint_is_of_the_address_as_well(tmp_path: Path) -> None:
    card = keys.create(tmp_path / "keys", "north", "north.example:7447").card
    assert replace(card, address="elsewhere.example:7447").fingerprint() != card.fingerprint()


def test_the_authority_of_a_card_is_one_certificate(tmp_path: Path) -> None:
    north, south = (keys.create(tmp_path / name, name).card for name in ("north", "south"))
    leaf = (tmp_path / "north" / "tls.crt").read_text()
    for authority in (north.authority + south.authority, leaf, "", f"note\n{north.authority}"):
        (tmp_path / "card.toml").write_text(replace(north, authority=authority).toml())
        with pytest.raises(ConfigError, match="not one certificate of an authority"):
            keys.read_card(tmp_path / "card.toml")


def test_a_certificate_bears_name_and_host_and_its_authoritys_signature(tmp_path: Path) -> None:
    certificates.create_authority(tmp_path / "all", "Three clinics")
    made = keys.create(tmp_path / "keys", "north", "127.0.0.1:7447", tmp_path / "all", days=10)
    certificate = x509.load_pem_x509_certificate(made.certificate.read_bytes())
    authority = x509.load_pem_x509_certificate(made.card.authority.encode())
    certificate.verify_directly_issued_by(authority)
    assert certificate.subject.rfc4514_string() == "CN=north"
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name) for name in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert 9.9 < made.days_left() < 10.1
    assert made.days_left(made.expires + dt.timedelta(days=1)) == pytest.approx(-1.0)


def test_renewal_keeps_the_identity_and_changes_the_certificate(tmp_path: Path) -> None:
    before = keys.create(tmp_path / "keys", "north", days=1)
    old = before.certificate.read_bytes()
    after = keys.renew(tmp_path / "keys", days=100)
    assert after.card.signing_key == before.card.signing_key
    assert after.certificate.read_bytes() != old
    assert after.days_left() > 99
    assert after.card.fingerprint() != before.card.fingerprint()


def test_a_rotated_identity_signs_and_the_old_one_does_not(tmp_path: Path) -> None:
    before = keys.create(tmp_path / "keys", "north", "north.example:7447")
    after = keys.renew(tmp_path / "keys", identity=True)
    assert after.card.signing_key != before.card.signing_key
    text = b"something"
    assert keys.verify(after.card, text, keys.sign(after.identity, text))
    assert not keys.verify(after.card, text, keys.sign(before.identity, text))
    assert (tmp_path / "keys" / "identity.pem").stat().st_mode & 0o077 == 0


def test_a_signature_is_one_persons_over_one_text(tmp_path: Path) -> None:
    north, south = (keys.create(tmp_path / name, name) for name in ("north", "south"))
    signature = keys.sign(north.identity, b"text")
    assert keys.verify(north.card, b"text", signature)
    assert not keys.verify(north.card, b"test", signature)
    assert not keys.verify(south.card, b"text", signature)
    assert not keys.verify(north.card, b"text", "no base64!")


def test_cards_of_other_keys_are_noticed(tmp_path: Path) -> None:
    north, south = (keys.create(tmp_path / name, name) for name in ("north", "south"))
    (north.folder / "card.toml").write_text(south.card.toml())
    with pytest.raises(ConfigError, match="card of other keys"):
        keys.load(north.folder)
    (north.folder / "card.toml").write_text("name = 3")
    with pytest.raises(ConfigError, match=r"card\.toml is not an agent's card"):
        keys.load(north.folder)


def test_a_system_without_upper_and_lower_case_loses_no_card(tmp_path: Path) -> None:
    own, north = (keys.create(tmp_path / name, name) for name in ("own", "north"))
    other = keys.create(tmp_path / "other", "North").card
    trust(own.folder, other)
    # on macOS and Windows this is one file
    (own.folder / "trusted" / "North.toml").rename(own.folder / "trusted" / "north.toml")
    with pytest.raises(ConfigError, match=r"card of 'North'.*give 'north' another name"):
        trust(own.folder, north.card)
    assert trusted(own.folder) == {"North": other}


def test_a_validity_that_no_certificate_can_have_is_refused_before_a_key_is_written(
    tmp_path: Path,
) -> None:
    made = keys.create(tmp_path / "keys", "north")
    before = (made.folder / "identity.pem").read_bytes()
    match = "days=99999999 must be at most 36500"
    with pytest.raises(ConfigError, match=match):
        keys.create(tmp_path / "more", "north", days=99_999_999)
    with pytest.raises(ConfigError, match=match):
        keys.renew(made.folder, days=99_999_999, identity=True)
    with pytest.raises(ConfigError, match="days=0 must be at least 1"):
        certificates.create_authority(tmp_path / "more", "all", days=0)
    assert (made.folder / "identity.pem").read_bytes() == before
    assert not (tmp_path / "more").exists()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("identity.pem", "", "identity.pem is empty; restore it from a copy"),
        ("identity.pem", "-----BEGIN PRIVATE", "identity.pem is damaged, or no PEM file; restore"),
        ("tls.crt", "", "tls.crt is empty; restore it from a copy"),
    ],
)
def test_keys_that_are_damaged(tmp_path: Path, name: str, text: str, said: str) -> None:
    folder = create(tmp_path / "north", "north").folder
    (folder / name).write_text(text)
    with pytest.raises(ConfigError, match=said):
        load(folder)


@pytest.mark.parametrize(
    ("name", "said"),
    [("identity.pem", "a private key, which is never sent"), ("tls.crt", "is a PEM file")],
)
def test_a_key_is_no_card(tmp_path: Path, name: str, said: str) -> None:
    folder = create(tmp_path / "north", "north").folder
    with pytest.raises(ConfigError, match=f"{said}.* give its card.toml"):
        read_card(folder / name)
