"""Copies of a manifest: what their members have signed is kept, and only what can be read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.deploy.identity import certificates, keys
from tacit.deploy.identity.requests import accept, approve, ask, read_request
from tacit.deploy.standing.merging import merged, written
from tacit.errors import ConfigError
from tests.sites import STUDY, a_manifest
from tests.standing import Three

JUNK = "2999-01-01T00:00:00Z " + "A" * 1_000_000


@pytest.mark.parametrize("beside", ["vouchers", "mask_keys", "signatures"])
def test_what_nobody_has_signed_is_not_kept(three: Three, beside: str) -> None:
    """Otherwise a few copies would make a manifest too large to be read again."""
    entry = three.proposed()
    queue, manifest = three.queues["north"], entry.manifest
    before = (entry.folder / "manifest.toml").read_bytes()
    for name in ("one", "two", "south"):
        given = {name: JUNK, **getattr(manifest, beside)}
        copy = manifest.model_copy(update={beside: given})
        queue.take(copy)
        assert (entry.folder / "manifest.toml").read_bytes() == before
    assert three.queues["south"].take(copy).manifest == manifest


def test_a_mask_key_of_whoever_has_none_is_not_kept(tmp_path: Path) -> None:
    made = [keys.create(tmp_path / name, name, "localhost:1") for name in ("a", "b", "c")]
    signed = a_manifest(made).signed_by(made[0])
    junk = signed.model_copy(update={"mask_keys": {"a": JUNK}})
    assert merged(signed, junk, masked=False) == signed


def test_the_voucher_of_a_members_authority_is_kept(tmp_path: Path) -> None:
    authority, made = tmp_path / "authority", list[keys.Keys]()
    certificates.create_authority(authority, "all")
    for name in ("a", "b", "c"):
        asked = ask(tmp_path / name, name, "localhost:1")
        answer = tmp_path / f"{name}.toml"
        given = read_request(tmp_path / name / "request.toml")
        approve(authority, given, answer, asked.fingerprint())
        made.append(accept(tmp_path / name, answer))
    manifest = a_manifest(made)
    good = {each.card.name: each.card.voucher for each in made}
    with_all = manifest.model_copy(update={"vouchers": {**good, "d": good["a"]}})
    with_wrong = manifest.model_copy(update={"vouchers": {"a": good["b"], "b": good["b"]}})
    for one, other in ((manifest, with_all), (with_wrong, with_all), (with_all, with_wrong)):
        assert merged(one, other, masked=False).vouchers == good
    assert merged(manifest, with_wrong, masked=False).vouchers == {"b": good["b"]}


def test_a_manifest_that_could_not_be_read_again_is_not_written(three: Three) -> None:
    """A study of 1 MB fits, but with quotes of both kinds each of its letters is written as six."""
    manifest = three.offered().manifest
    study = manifest.study + "# '''" + "\N{LATIN SMALL LETTER E WITH ACUTE}" * 400_000
    large = manifest.model_copy(update={"study": study}).signed_by(three.sites["north"].load_keys())
    with pytest.raises(ConfigError, match="larger than"):
        three.queues["south"].take(large)
    with pytest.raises(ConfigError, match="larger than"):
        three.queues["north"].offer(large)
    assert list(three.sites["south"].runs.iterdir()) == []
    assert written(manifest) == manifest.toml()
    assert STUDY in written(manifest)
