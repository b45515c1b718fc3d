"""Keys that pairs of agents share: signed with the manifest, deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.deploy.agreement.manifest import parse_manifest
from tacit.deploy.identity import keys
from tacit.deploy.identity.pair_keys import forget, kept, offer, offered, pair_keys
from tacit.deploy.identity.pinning import trust
from tacit.deploy.member.checking import Options, check
from tacit.errors import ConfigError
from tests.sites import STUDY, a_manifest, member, records

RUN, OTHER = bytes(32), bytes(31) + b"1"
MASKED = STUDY.replace("clip = 1.0", "clip = 1.0\nmasks = true").replace(
    'graph = "ring"', 'graph = "coordinator"'
).replace('name = "dpsg"', 'name = "gradient-descent"')  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> list[keys.Keys]:
    names = ("north", "south", "west", "hub")
    return [keys.create(tmp_path / name, name, "localhost:1") for name in names]


def offers_of(made: list[keys.Keys]) -> dict[int, bytes]:
    """What each agent offers for the run, as all others read it."""
    found = {i: offered(each.card, RUN, offer(each, RUN)) for i, each in enumerate(made)}
    return {i: each for i, each in found.items() if each is not None}


def test_both_ends_get_one_key_and_nobody_else_has_it(made: list[keys.Keys]) -> None:
    offers = offers_of(made)
    shared = [pair_keys(each, i, RUN, offers) for i, each in enumerate(made)]
    assert all(shared[i][j] == shared[j][i] for i in range(4) for j in range(4) if i != j)
    assert len({shared[i][j] for i in range(4) for j in range(i)}) == 6


def test_an_offer_is_its_agents_and_its_runs(made: list[keys.Keys]) -> None:
    text = offer(made[0], RUN)
    assert offered(made[0].card, RUN, text) == offered(made[0].card, RUN, offer(made[0], RUN))
    assert offered(made[1].card, RUN, text) is None
    assert offered(made[0].card, OTHER, text) is None
    assert offered(made[0].card, RUN, text[:-8]) is None
    assert offered(made[0].card, RUN, "") is None


def test_a_key_that_is_gone_or_anothers_is_told(made: list[keys.Keys]) -> None:
    offers = offers_of(made)
    forget(made[0], RUN)
    with pytest.raises(ConfigError, match="signed elsewhere or again, or the run has ended"):
        pair_keys(made[0], 0, RUN, offers)
    offer(made[0], RUN)  # signed again: another key
    with pytest.raises(ConfigError, match="let everybody take this copy"):
        pair_keys(made[0], 0, RUN, offers)
    assert kept(made[0]) == [RUN]
    forget(made[0], RUN)
    assert kept(made[0]) == []


def test_a_key_that_others_may_read_is_refused(made: list[keys.Keys]) -> None:
    offers = offers_of(made)
    folder = made[0].folder / "masks"
    (folder / f"{RUN.hex()}.key").chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        pair_keys(made[0], 0, RUN, offers)
    (folder / f"{RUN.hex()}.key").chmod(0o600)
    folder.chmod(0o755)
    with pytest.raises(ConfigError, match="chmod 700"):
        offer(made[0], RUN)
    folder.chmod(0o700)
    assert pair_keys(made[0], 0, RUN, offers)


def test_a_masked_manifest_needs_every_agents_key(made: list[keys.Keys]) -> None:
    manifest = a_manifest(made, MASKED, coordinator=member(made[3]))
    assert manifest.summed and manifest.unsigned() == ["north", "south", "west", "hub"]
    for each in made:
        manifest = manifest.signed_by(each)
    assert manifest.unsigned() == [] and sorted(manifest.offers()) == [0, 1, 2]
    assert parse_manifest(manifest.toml().encode()) == manifest
    swapped = {**manifest.mask_keys, "south": manifest.mask_keys["north"]}
    forged = manifest.model_copy(update={"mask_keys": swapped})
    assert forged.run == manifest.run and forged.unsigned() == ["south"]
    assert not a_manifest(made).summed and not a_manifest(made).signed_by(made[0]).mask_keys


def test_no_agent_starts_before_it_has_pinned_the_others(
    made: list[keys.Keys], tmp_path: Path
) -> None:
    manifest = a_manifest(made, MASKED, coordinator=member(made[3]))
    for each in made:
        manifest = manifest.signed_by(each)
    path = tmp_path / "run.toml"
    path.write_text(manifest.toml())
    options = Options(path, made[0].folder, tmp_path / "state", records(tmp_path))
    trust(made[0].folder, made[1].card)
    with pytest.raises(ConfigError, match="compared the cards of 'west'"):
        check(options)
    trust(made[0].folder, made[2].card)
    assert check(options)[2] == 0
    hub = Options(path, made[3].folder, tmp_path / "state")  # it hides nobody, and is not hidden
    assert check(hub)[2] == 3
