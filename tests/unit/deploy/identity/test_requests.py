"""Certificates by request: no private key travels, and one fingerprint a site is compared."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from typer.testing import CliRunner

from tacit.cli import app
from tacit.deploy.agreement.manifest import agreed, parse_manifest, read_manifest
from tacit.deploy.identity import certificates, keys
from tacit.deploy.identity.pinning import check_trusted, trust, trust_authority
from tacit.deploy.identity.requests import accept, approve, ask, read_request
from tacit.deploy.identity.vouch import authority_fingerprint, vouched
from tacit.deploy.member.checking import Options, check
from tacit.errors import ConfigError
from tacit.study.read import parse_study
from tests.sites import STUDY, member, records

RUN = CliRunner()
MASKED = STUDY.replace("clip = 1.0", "clip = 1.0\nmasks = true").replace(
    'graph = "ring"', 'graph = "coordinator"'
).replace('name = "dpsg"', 'name = "gradient-descent"')  # fmt: skip


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    certificates.create_authority(tmp_path / "authority", "all")
    return tmp_path / "authority"


def enrolled(folder: Path, authority: Path, name: str, address: str = "") -> keys.Keys:
    """Keys whose certificate the authority has signed by request."""
    made = ask(folder / name, name, address)
    request = read_request(folder / name / "request.toml")
    approve(authority, request, folder / f"{name}.toml", made.fingerprint())
    return accept(folder / name, folder / f"{name}.toml")


def test_no_private_key_leaves_its_folder(tmp_path: Path, authority: Path) -> None:
    made = enrolled(tmp_path, authority, "north", "127.0.0.1:7447")
    certificate = x509.load_pem_x509_certificate(made.certificate.read_bytes())
    above = x509.load_pem_x509_certificate((authority / "authority.crt").read_bytes())
    certificate.verify_directly_issued_by(above)
    assert certificates.common_name(certificate.subject) == "north"
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name) for name in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert made.card.authority == (authority / "authority.crt").read_text()
    assert vouched(made.card, made.card.voucher)
    for name in ("identity.pem", "tls.pem"):
        assert (made.folder / name).stat().st_mode & 0o777 == 0o600
    assert not (made.folder / "request.pem").exists()
    # what was sent, and what the authority keeps
    secrets = [(made.folder / name).read_text() for name in ("identity.pem", "tls.pem")]
    secrets.append((authority / "authority.pem").read_text())
    for path in (tmp_path / "north.toml", authority / "issued" / "north.toml"):
        assert "PRIVATE" not in path.read_text()
        assert not any(secret.splitlines()[1] in path.read_text() for secret in secrets)
    assert keys.read_card(authority / "issued" / "north.toml") == made.card


def test_a_renewal_needs_no_call_and_changes_no_card(tmp_path: Path, authority: Path) -> None:
    before = enrolled(tmp_path, authority, "north")
    old = before.certificate.read_bytes(), before.private.read_bytes()
    # `rotate` would give it an authority of its own, which nobody pinned
    assert before.renewal == f"`tacit keys request {before.folder}`"
    own = keys.create(tmp_path / "own", "own")
    assert own.renewal == f"`tacit keys rotate {own.folder}`"
    ask(before.folder)
    # the old one serves until the answer is there
    assert (before.certificate.read_bytes(), before.private.read_bytes()) == old
    request = read_request(before.folder / "request.toml")
    approve(authority, request, tmp_path / "again.toml", days=700)
    after = accept(before.folder, tmp_path / "again.toml")
    assert after.card.fingerprint() == before.card.fingerprint()
    assert after.days_left() > 690
    assert after.private.read_bytes() != old[1]
    with pytest.raises(ConfigError, match="request"):
        accept(before.folder, tmp_path / "again.toml")


def test_a_first_request_needs_its_fingerprint(tmp_path: Path, authority: Path) -> None:
    made = ask(tmp_path / "north", "north")
    for told, word in ((None, "--fingerprint"), ("ABCD" * 8, "Nothing is signed")):
        with pytest.raises(ConfigError, match=word):
            approve(authority, made, tmp_path / "north.toml", told)
    assert not (tmp_path / "north.toml").exists() and not (authority / "issued").exists()


def test_a_name_is_not_taken_from_its_member(tmp_path: Path, authority: Path) -> None:
    enrolled(tmp_path, authority, "north")
    other = ask(tmp_path / "elsewhere", "north")
    with pytest.raises(ConfigError, match="--replace"):
        approve(authority, other, tmp_path / "out.toml", other.fingerprint())
    with pytest.raises(ConfigError, match="--replace"):
        approve(authority, other, tmp_path / "out.toml")
    # nor is its address changed without a call
    moved = ask(tmp_path / "moved", "south", "south.example:1")
    approve(authority, moved, tmp_path / "out.toml", moved.fingerprint())
    identity = keys.read_identity(tmp_path / "moved")
    again = replace(moved, address="south.example:2")
    again = replace(again, signature=keys.sign(identity, again.text()))
    with pytest.raises(ConfigError, match="--fingerprint"):
        approve(authority, again, tmp_path / "out.toml")
    approve(authority, other, tmp_path / "out.toml", other.fingerprint(), replace_key=True)


@pytest.mark.parametrize("key", ["name", "address", "signing_key", "csr", "signature"])
def test_a_request_that_was_changed_is_refused(tmp_path: Path, key: str) -> None:
    north = ask(tmp_path / "north", "north", "north.example:1")
    other = ask(tmp_path / "other", "other", "other.example:1")
    (tmp_path / "request.toml").write_text(replace(north, **{key: getattr(other, key)}).toml())
    with pytest.raises(ConfigError, match="not signed by the keys"):
        read_request(tmp_path / "request.toml")


def test_an_answer_to_another_request_is_refused(tmp_path: Path, authority: Path) -> None:
    for name in ("north", "south"):
        made = ask(tmp_path / name, name)
        approve(authority, made, tmp_path / f"{name}.toml", made.fingerprint())
    with pytest.raises(ConfigError, match="answers another request"):
        accept(tmp_path / "north", tmp_path / "south.toml")
    accept(tmp_path / "north", tmp_path / "north.toml")
    # another authority takes no one's place unasked
    certificates.create_authority(tmp_path / "rogue", "all")
    made = ask(tmp_path / "north")
    approve(tmp_path / "rogue", made, tmp_path / "rogue.toml", made.fingerprint())
    with pytest.raises(ConfigError, match="another authority"):
        accept(tmp_path / "north", tmp_path / "rogue.toml")


def test_a_voucher_is_for_one_card_and_ends(tmp_path: Path, authority: Path) -> None:
    north, south = (enrolled(tmp_path, authority, name).card for name in ("north", "south"))
    assert vouched(north, north.voucher) and not vouched(north, south.voucher)
    assert not vouched(replace(north, signing_key=south.signing_key), north.voucher)
    assert not vouched(replace(north, address="elsewhere.example:1"), north.voucher)
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=400)
    assert not vouched(north, north.voucher, later)
    end, _, signature = north.voucher.partition(" ")
    assert not vouched(north, f"2999{end[4:]} {signature}")
    for nonsense in ("", " ", "x y", end, f"{end} !"):
        assert not vouched(north, nonsense)
    # who has an authority of its own is vouched for by nobody
    alone = keys.create(tmp_path / "alone", "alone").card
    assert not vouched(alone, north.voucher)


def test_who_pins_the_authority_compares_no_card(tmp_path: Path, authority: Path) -> None:
    made = [enrolled(tmp_path, authority, name) for name in ("north", "south", "west")]
    made.append(enrolled(tmp_path, authority, "hub", "127.0.0.1:7447"))
    members = [member(each) for each in made]
    vouchers = {each.card.name: each.card.voucher for each in made}
    features = ["age", "intercept"]
    source = parse_study(MASKED)
    manifest = agreed(source, features, 0, members[:3], members[3], vouchers=vouchers)
    assert manifest.run == agreed(source, features, 0, members[:3], members[3]).run
    for each in made:
        manifest = manifest.signed_by(each)
    assert parse_manifest(manifest.toml().encode()) == manifest
    (tmp_path / "run.toml").write_text(manifest.toml())
    options = Options(tmp_path / "run.toml", made[0].folder, tmp_path / "state", records(tmp_path))
    with pytest.raises(ConfigError, match="nobody has compared the cards"):
        check(options)
    pem = (authority / "authority.crt").read_text()
    with pytest.raises(ConfigError, match="not trusted"):
        trust_authority(made[0].folder, pem, "ABCD" * 8)
    trust_authority(made[0].folder, pem, authority_fingerprint(pem).lower())
    check(options)
    # a voucher that is another's, or none, is as good as nothing
    swapped = manifest.model_copy(update={"vouchers": {**vouchers, "south": vouchers["west"]}})
    assert check_trusted(swapped, made[0].folder, "north") == ["south"]
    # another authority of the same name says nothing here
    certificates.create_authority(tmp_path / "rogue", "all")
    rogue = [
        enrolled(tmp_path / "rogues", tmp_path / "rogue", each.card.name, each.card.address)
        for each in made
    ]
    words = {each.card.name: each.card.voucher for each in rogue}
    invented = [member(each) for each in rogue]
    forged = agreed(source, features, 0, invented[:3], invented[3], vouchers=words)
    assert check_trusted(forged, made[0].folder, "north") == ["south", "west", "hub"]
    with pytest.raises(ConfigError, match="--replace"):
        trust_authority(made[0].folder, rogue[0].card.authority)
    # a card that was compared goes before the authority's word
    trust(made[0].folder, rogue[1].card)
    with pytest.raises(ConfigError, match="another card of 'south'"):
        check_trusted(manifest, made[0].folder, "north")


@pytest.mark.not_quick
def test_the_commands_do_all_of_it(tmp_path: Path) -> None:
    def done(*command: str, code: int = 0) -> str:
        said = RUN.invoke(app, ["keys", *command])
        assert said.exit_code == code, said.output
        return said.output

    north, all_ = str(tmp_path / "north"), str(tmp_path / "all")
    certificate = done("authority", all_, "--name", "Three clinics").split("fingerprint")[1]
    told = done("request", north, "--name", "north", "--address", "127.0.0.1:7447")
    fingerprint = told.split("channel: ")[1].split("\n")[0]
    request, back = f"{north}/request.toml", str(tmp_path / "north.toml")
    # who did not write the fingerprint down sees it again
    for again in (["show", north], ["request", north, "--name", "north"], ["request", north]):
        code = 0 if again[0] == "show" else 2
        assert fingerprint in " ".join(done(*again, code=code).split())
    assert f"accept {north}" in " ".join(done("trust", north, request, code=2).split())
    done("approve", all_, request, back, code=2)
    done("approve", all_, request, back, "--fingerprint", fingerprint)
    assert "Fingerprint: " in done("accept", north, back)
    assert "was accepted" in done("accept", north, back, code=2)
    pin = ["trust", north, f"{all_}/authority.crt", "--fingerprint"]
    assert "Trusted: the authority" in done(*pin, " ".join(certificate.split()[:8]))
    done(*pin, "AAAA", code=2)
    # and a manifest is made of the cards that the authority's keeper has
    for name in ("south", "west"):
        enrolled(tmp_path, tmp_path / "all", name, "127.0.0.1:7448")
    (tmp_path / "study.toml").write_text(STUDY)
    cards = [
        part
        for name in ("north", "south", "west")
        for part in ("--agent", f"{all_}/issued/{name}.toml=20")
    ]
    made = ["manifest", "new", str(tmp_path / "study.toml"), str(tmp_path / "run.toml")]
    said = RUN.invoke(app, [*made, "--data", str(records(tmp_path)), *cards])
    assert said.exit_code == 0, said.output
    manifest = read_manifest(tmp_path / "run.toml")
    assert check_trusted(manifest, tmp_path / "north", "north") == []
