"""What sites would draw is right, and mistakes in grid, stream and masks are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import DPSG, GradientDescent, Privacy, network, problem
from tacit.audit.checks import Check
from tacit.audit.deployed import deployed_checks, mask_checks
from tacit.errors import PrivacyError
from tacit.method import MaskedGossip
from tacit.privacy.masked import Masks
from tacit.privacy.noise.pairs import PairKeys
from tests.statistical.planted import (
    Plant,
    constant_key,
    grid_noise_halved,
    one_mask_for_all_rounds,
)

AGENTS = 3


def failed(noise: str = "gaussian") -> set[str]:
    import jax

    rows = np.random.default_rng(0).normal(size=(4, 2))
    task = problem.empirical_risk([rows] * AGENTS, [np.ones(4)] * AGENTS, problem.Squared())
    delta = 1e-6 if noise == "gaussian" else 0.0
    method = DPSG(step=0.1, privacy=Privacy(clip=1.0, epsilon=1.0, delta=delta, noise=noise))
    with jax.enable_x64(True):
        found = deployed_checks(task, network.ring(AGENTS), method, 3, 0)
    return {check.what for check in found if check.failed}


@pytest.mark.long
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_noise_between_sites_is_what_is_charged(noise: str) -> None:
    assert failed(noise) == set()


@pytest.mark.long
@pytest.mark.parametrize(
    ("plant", "finds"),
    [(grid_noise_halved, "size"), (constant_key, "draws are independent")],
)
def test_mistakes_between_sites_are_found(
    plant: Plant, finds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert finds in failed()


@pytest.mark.parametrize("agents", [pytest.param(2, marks=pytest.mark.long), 4])
def test_masks_cancel_and_serve_once(agents: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(check.failed for check in mask_checks(agents))
    one_mask_for_all_rounds(monkeypatch)
    found = {check.what for check in mask_checks(agents) if check.failed}
    # bits of one mask, counted over and over, may well be too uneven
    assert {"no word twice"} <= found <= {"no word twice", "bits"}


def test_a_masked_sum_between_sites_has_the_noise_that_is_charged() -> None:
    import jax

    rows: Any = np.random.default_rng(0).normal(size=(4, 2))
    task = problem.empirical_risk([rows] * AGENTS, [np.ones(4)] * AGENTS, problem.Squared())
    privacy = Privacy(clip=1.0, epsilon=1.0, masks=Masks(coalition=1))
    with jax.enable_x64(True):
        hub = network.Coordinator(AGENTS)
        found = deployed_checks(task, hub, GradientDescent(step=0.1, privacy=privacy), 3, 0)
    assert len(found) == 8 and not any(check.failed for check in found)


def shared(masks: str = "all") -> list[Check]:
    """What is found of noise that pairs share, of five agents."""
    import jax

    rows: Any = np.random.default_rng(0).normal(size=(4, 2))
    task = problem.empirical_risk([rows] * 5, [np.ones(4)] * 5, problem.Squared())
    privacy = Privacy(clip=1.0, epsilon=1.0)
    method = MaskedGossip(step=0.1, masks=masks, privacy=privacy)  # type: ignore[arg-type]
    with jax.enable_x64(True):
        return deployed_checks(task, network.ring(5), method, 6, 0)


@pytest.mark.parametrize("masks", [pytest.param("all", marks=pytest.mark.long), "neighbours"])
def test_noise_that_pairs_share_between_sites_is_what_is_charged(masks: str) -> None:
    found = shared(masks)
    assert len(found) == 6 and not any(check.failed for check in found)
    assert all("between sites" in check.of for check in found)


@pytest.mark.long
@pytest.mark.parametrize(
    ("mistake", "finds"),
    [
        ("small masks", "size"),
        ("no masks", "size"),
        ("one sign", "masks cancel"),
        ("one mask for all rounds", "draws are independent"),
    ],
)
def test_mistakes_in_noise_that_pairs_share_are_found(
    mistake: str, finds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = PairKeys.mask

    def wrong(self: PairKeys, scale: float, size: int, round: int, *at: int) -> Any:
        match mistake:
            case "small masks":
                return right(self, scale / 2.0, size, round, *at)
            case "no masks":
                return 0 * right(self, scale, size, round, *at)
            case "one sign":
                return abs(right(self, scale, size, round, *at))
            case _:
                return right(self, scale, size, round // 4, *at)

    monkeypatch.setattr(PairKeys, "mask", wrong)
    assert finds in {check.what for check in shared() if check.failed}


def test_what_stays_in_the_simulation_is_refused() -> None:
    task = problem.empirical_risk(
        [np.ones((4, 2))] * AGENTS, [np.ones(4)] * AGENTS, problem.Squared(), normaliser=4.0
    )
    privacy = Privacy(clip=1.0, epsilon=1.0, sampling=0.5, relation="add_remove")
    method = DPSG(step=0.1, privacy=privacy)
    with pytest.raises(PrivacyError, match=r"sampling=0\.5 \(phase 'iterate'\)"):
        deployed_checks(task, network.ring(AGENTS), method, 3, 0)
