"""Gaussian masks between sites: keys, what leaves, what is promised and charged, and refusals."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tacit._engine.agent_step import At
from tacit.deploy.agreement.declared import Declared, charges, check_secure, declared, releases
from tacit.deploy.agreement.manifest import Manifest
from tacit.deploy.identity import keys
from tacit.deploy.identity.pair_keys import forget, kept, pair_keys
from tacit.deploy.member.checking import Options, check
from tacit.deploy.standing.entries import Studied
from tacit.errors import BudgetExceeded, ConfigError, TacitError
from tacit.privacy import accounting
from tacit.privacy.event import DiscreteGaussianRelease, ProtocolClaim
from tacit.privacy.guarantee import Adversary, NoiseSource, Status
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.outbox import ReleaseId
from tests.sites import STUDY, a_manifest

NAMES = ("north", "south", "west")
MASKED = STUDY.replace('name = "dpsg"', 'name = "masked-gossip"')


@pytest.fixture
def made(tmp_path: Path) -> list[keys.Keys]:
    return [keys.create(tmp_path / name, name, f"{name}.example:7447") for name in NAMES]


def signed(made: list[keys.Keys], study: str = MASKED, **change: Any) -> Manifest:
    manifest = a_manifest(made, study, **change)
    for each in made:
        manifest = manifest.signed_by(each)
    return manifest


def laid_out(manifest: Manifest, *, grid: bool = True) -> Declared:
    with jax.enable_x64(True):
        return declared(manifest, grid=grid)


def shared_by(made: list[keys.Keys], manifest: Manifest, number: int) -> dict[int, bytes]:
    return pair_keys(made[number], number, manifest.run, manifest.offers())


@pytest.mark.not_quick
def test_signing_makes_the_keys_for_masks(made: list[keys.Keys]) -> None:
    manifest = a_manifest(made, MASKED)
    assert manifest.masked and not manifest.summed and not a_manifest(made).masked
    assert Studied.of(manifest).masked and not Studied.of(a_manifest(made)).masked
    assert Studied.of(manifest).claimed and not Studied.of(a_manifest(made)).claimed
    half = manifest.signed_by(made[0])
    assert half.unsigned() == ["south", "west"] and list(half.mask_keys) == ["north"]
    whole = signed(made)
    assert not whole.unsigned() and kept(made[0]) == [whole.run]
    # a key that another member offers in one's name is no key
    stolen = {**whole.mask_keys, "north": whole.mask_keys["south"]}
    assert whole.model_copy(update={"mask_keys": stolen}).unsigned() == ["north"]
    bent = base64.b64decode(whole.mask_keys["west"])
    changed = base64.b64encode(bytes(32) + bent[32:]).decode()
    altered = whole.model_copy(update={"mask_keys": {**whole.mask_keys, "west": changed}})
    assert altered.unsigned() == ["west"]
    forget(made[0], whole.run)
    with pytest.raises(ConfigError, match="does not hold the key for masks"):
        shared_by(made, whole, 0)


def test_members_have_to_know_those_who_hide_them(made: list[keys.Keys], tmp_path: Path) -> None:
    path = tmp_path / "manifest.toml"
    path.write_text(signed(made).toml())
    data = tmp_path / "records.csv"
    data.write_text("age,ill,site\n50,yes,north\n")
    with pytest.raises(ConfigError, match="invented members it would stand alone"):
        check(Options(path, made[0].folder, tmp_path / "state", data))


@pytest.mark.parametrize("masks", ["all", "neighbours"])
def test_the_guarantee_stays_a_model_claim_with_secure_noise(
    made: list[keys.Keys], masks: str
) -> None:
    study = MASKED.replace("step = 0.5", f'step = 0.5\nmasks = "{masks}"')
    run = laid_out(signed(made, study))
    check_secure(run)
    assert run.masked
    for each in run.guarantee:
        assert (each.status, each.noise) == (Status.MODEL, NoiseSource.SECURE)
        assert each.adversary is Adversary.COLLUDING and not each.certificate
        assert any("all agents follow the protocol" in one for one in each.assumptions)
        assert any("within a total variation of 2^-133" in one for one in each.assumptions)
        assert any("X25519" in one for one in each.assumptions)
        told = each.sentence()
        assert told.startswith("Model claim, not a proof")
        assert "Secure noise, but a model claim: not a certificate." in told
        # an epsilon that others have to keep is not added to one that a site keeps by itself
        assert each.neighbours.endswith("corrupted, if all agents follow the protocol")
        assert type(each).from_json(each.to_json()) == each
    seeded = laid_out(signed(made, study), grid=False)
    assert seeded.guarantee[0].noise is NoiseSource.SIMULATED


def test_what_members_release_cancels_in_the_sum_and_is_drawn_anew(made: list[keys.Keys]) -> None:
    """Masks are a thousand times the noise, so a sum with one left in it is seen."""
    study = MASKED.replace("step = 0.5", "step = 0.5\nratio = 1000.0")
    manifest = signed(made, study)
    run = laid_out(manifest)
    noised = [releases(run, i, shared_by(made, manifest, i))[0][0] for i in range(3)]
    release: Any = run.contract.release(0, 0)
    step, own = release.grid.step, release.scale

    def drawn(*at: int) -> np.ndarray:
        found = [each(np.zeros(2), At(*at)) for each in noised]
        return np.ldexp(np.stack(found), -release.grid.exponent)

    one, again, later = drawn(0, 0, 0), drawn(0, 0, 0), drawn(1, 0, 0)
    assert step == 2.0**release.grid.exponent and (one % 1.0 == 0.0).all()
    for each in (one, again, later):
        # own noise of three, at 9 standard deviations: 1e-18
        assert (abs(each.sum(axis=0)) < 9.0 * own * np.sqrt(3.0)).all()
        assert (abs(each).max(axis=1) > 10.0 * own).all()
    # the same place has the same masks, and noise of its own anew
    assert (abs(one - again) < 13.0 * own).all() and (one != again).any()
    assert abs(one - later).max() > 30.0 * own


def test_two_runs_share_no_mask(made: list[keys.Keys]) -> None:
    first = signed(made)
    second = signed(made, MASKED.replace("rounds = 5", "rounds = 6"))
    assert first.run != second.run
    assert not set(shared_by(made, first, 0).values()) & set(shared_by(made, second, 0).values())
    assert shared_by(made, first, 0)[2] == shared_by(made, first, 2)[0]


def test_what_is_charged_is_what_is_claimed(made: list[keys.Keys], tmp_path: Path) -> None:
    run = laid_out(signed(made))
    promised, all_ = run.guarantee[0], charges(run, 0)
    assert accounting.epsilon(all_, promised.delta) == pytest.approx(promised.epsilon)
    assert promised.releases == 4 and promised.epsilon <= 4.0  # one round only averages
    _, events = releases(run, 0)
    assert isinstance(events[0], ProtocolClaim)
    with Ledger.create(tmp_path / "ledger") as ledger:
        ledger.set_budget("north", "records", epsilon=4.1, delta=promised.delta)
        ledger.check("north", "records", all_, neighbours=promised.neighbours)
        with pytest.raises(BudgetExceeded):
            ledger.check("north", "records", [*all_, *all_], neighbours=promised.neighbours)
        # a dataset has charges of one kind: what is proved is not added to what others have to keep
        proved = laid_out(signed(made, STUDY)).guarantee[0]
        id = ReleaseId("north", bytes(32).hex(), 1, "gradient", 0)
        ledger.prepare(
            id, DiscreteGaussianRelease(50.0), b"bytes", input_hash="0" * 64, dataset="records",
            recipients=["south"], state=b"", owner="north", neighbours=proved.neighbours,
        )  # fmt: skip
        with pytest.raises(TacitError, match="if all agents follow the protocol"):
            ledger.check("north", "records", [], neighbours=promised.neighbours)


def test_a_silent_neighbour_is_never_left_out(made: list[keys.Keys]) -> None:
    with pytest.raises(TacitError, match=r'needs every message.*silent = "stop"'):
        laid_out(a_manifest(made, MASKED, silent="skip"))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("sampling = 0.5\nrelation = 'add_remove'", "sampling"),
        ("require = 'proved'", "'model', and require = 'proved'"),
        ("records_per_person = 2", "records_per_person: 2 cannot be combined with ProtocolClaim"),
    ],
)
def test_what_is_still_refused(made: list[keys.Keys], more: str, told: str) -> None:
    study = MASKED.replace("clip = 1.0", f"clip = 1.0\n{more}")
    if "sampling" in more:
        study = study.replace('loss = "logistic"', 'loss = "logistic"\nnormaliser = 20')
    with pytest.raises(TacitError, match=told):
        check_secure(laid_out(a_manifest(made, study)))
