"""Masks that pairs share on a grid: they cancel exactly, follow the proof, and serve once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tacit.errors import PrivacyError
from tacit.privacy.correlated import PairMasks, PairNoise, Pairs
from tacit.privacy.dose import Calibrated
from tacit.privacy.laws import GAUSSIAN
from tacit.privacy.masking import new_key, pair_key
from tacit.privacy.mechanism import Mechanism, gaussian
from tacit.privacy.noise import SecureNoise, SeededNoise
from tacit.privacy.noise.pairs import PairKeys, PairRelease, mask_error, pair_releases
from tacit.privacy.noise.sums import sum_releases
from tacit.privacy.sensitivity import ClippedGradient
from tacit.types import PublicContext, Relation, Unit

RUN = bytes(range(32))
LEVEL = 1e-9
"""Chance of a false alarm: secure noise has no seed."""

QUERY = ClippedGradient(lambda state: state, 1.0)


def contexts(agents: int, size: int, counts: list[int] | None = None) -> list[PublicContext]:
    return [
        PublicContext(i, agents, 0, 5, n, float(n), Unit.RECORD, 2, 5, size)
        for i, n in enumerate(counts or [50] * agents)
    ]


def made(
    agents: int = 4, size: int = 3, multiplier: float = 5.0, **masks: Any
) -> tuple[PairRelease, ...]:
    mechanism = replace(gaussian(multiplier), hides=PairNoise(PairMasks(**masks)))
    return pair_releases(mechanism, QUERY, contexts(agents, size), Relation.REPLACE_ONE)


def keys_of(releases: tuple[PairRelease, ...], run: bytes = RUN) -> list[PairKeys]:
    pairs = [new_key() for _ in releases]
    return [
        release.keys(
            run,
            agent,
            {
                other: pair_key(pairs[agent][0], pairs[other][1], run, agent, other)
                for other in range(len(releases))
                if other != agent
            },
        )
        for agent, release in enumerate(releases)
    ]


RING: Pairs = ((0, 1), (1, 2), (2, 3), (0, 3))


@pytest.mark.parametrize("pairs", [None, RING], ids=["all", "ring"])
def test_masks_cancel_exactly_in_the_sum(pairs: Pairs | None) -> None:
    releases = made(size=50, pairs=pairs)
    keys, grid = keys_of(releases), releases[0].grid
    answers = np.random.default_rng(0).uniform(-0.3, 0.3, (4, 50))
    steps, bare, masks = [], [], []
    for agent, (release, own) in enumerate(zip(releases, keys, strict=True)):
        mask = own.mask(release.masks, 50, 2, 0, 0)
        released = release(answers[agent], SeededNoise(agent), mask)
        steps.append(np.ldexp(released, -grid.exponent).astype(np.int64))
        assert (np.ldexp(released, -grid.exponent) == steps[-1]).all()
        rounded = grid.rounded(answers[agent])
        bare.append(SeededNoise(agent).added(rounded, GAUSSIAN.kind, release.scale))
        masks.append(mask)
    np.testing.assert_array_equal(np.sum(steps, axis=0), np.sum(bare, axis=0))
    assert not np.sum(masks, axis=0).any() and (np.std(masks, axis=1) > release.masks).all()
    if pairs is not None:
        assert [release.others for release in releases] == [(1, 3), (0, 2), (1, 3), (0, 2)]


def test_a_mask_is_for_one_pair_and_one_place_in_one_run() -> None:
    releases = made(agents=3, size=8)
    keys = keys_of(releases)
    first = {0: keys[0].keys[1]}
    one, other = PairKeys(RUN, 1, first), PairKeys(RUN, 0, {1: keys[0].keys[1]})
    place = (1, 0, 0)
    mask = one.mask(1e6, 8, *place)
    np.testing.assert_array_equal(mask, one.mask(1e6, 8, *place))  # as after a restart
    np.testing.assert_array_equal(mask, -other.mask(1e6, 8, *place))
    changed: list[Callable[[], Any]] = [
        lambda: one.mask(1e6, 8, 2, 0, 0),
        lambda: one.mask(1e6, 8, 1, 1, 0),
        lambda: one.mask(1e6, 8, 1, 0, 1),
        lambda: replace(one, run=RUN[::-1]).mask(1e6, 8, *place),
        lambda: PairKeys(RUN, 2, first).mask(1e6, 8, *place),
        lambda: PairKeys(RUN, 1, {2: first[0]}).mask(1e6, 8, *place),
        lambda: PairKeys(RUN, 1, {0: keys[0].keys[2]}).mask(1e6, 8, *place),
    ]
    for draw in changed:
        # a number of a million that two draws share has a chance of 1e-6 in each place
        assert np.sum(np.abs(draw()) == np.abs(mask)) <= 2
    assert keys[0].keys[1].hex() not in repr(keys[0])


def law(scale: float, half: int) -> np.ndarray:
    weights = np.exp(-(np.arange(-half, half + 1) ** 2) / (2 * scale**2))
    return weights / weights.sum()


def exact_noise(scale: float, masks: float, pairs: list[tuple[int, int]], half: int) -> np.ndarray:
    """The law of the noise of three agents on a cube, by convolution."""
    wide = np.arange(-half, half + 1)
    one = law(scale, half)
    found = one[:, None, None] * one[None, :, None] * one[None, None, :]
    for first, second in pairs:
        drawn, total = law(masks, half), np.zeros_like(found)
        for value, chance in zip(wide.tolist(), drawn.tolist(), strict=True):
            if chance < 1e-18:
                continue
            moved = found
            for axis, by in ((first, value), (second, -value)):
                moved = np.roll(moved, by, axis)  # what comes round again has no weight
            total += chance * moved
        found = total
    return found


def target(scale: float, ratio: float, pairs: list[tuple[int, int]], half: int) -> Any:
    """The discrete Gaussian law of the covariance of the proof, and the inverse of that."""
    laplacian = np.zeros((3, 3))
    for first, second in pairs:
        way = np.eye(3)[first] - np.eye(3)[second]
        laplacian += np.outer(way, way)
    inverse = np.linalg.inv(scale**2 * (np.eye(3) + ratio**2 * laplacian))
    axis = np.arange(-half, half + 1)
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
    weights = np.exp(-0.5 * np.einsum("...i,ij,...j", points, inverse, points))
    return weights / weights.sum(), inverse, laplacian


@pytest.mark.parametrize("pairs", [[(0, 1)], [(0, 1), (1, 2)], [(0, 1), (0, 2), (1, 2)]])
@pytest.mark.parametrize(("scale", "ratio"), [(0.9, 1.0), (0.8, 1.5), (1.2, 0.7)])
def test_the_law_is_as_near_to_the_gaussian_one_as_the_proof_says(
    scale: float, ratio: float, pairs: list[tuple[int, int]]
) -> None:
    half = 24
    found = exact_noise(scale, ratio * scale, pairs, half)
    gauss, inverse, laplacian = target(scale, ratio, pairs, half)
    middle = (slice(half - 4, half + 5),) * 3
    off = float(np.abs(np.log(found[middle] / gauss[middle])).max())
    # the error of the proof, summed over the dual lattice
    incidence = np.array([np.eye(3)[i] - np.eye(3)[j] for i, j in pairs]).T
    gram = scale**2 * np.linalg.inv(incidence.T @ incidence + ratio**-2 * np.eye(len(pairs)))
    dual = np.array([w for w in itertools.product(range(-6, 7), repeat=len(pairs)) if any(w)])
    e = float(np.exp(-2 * np.pi**2 * np.einsum("ki,ij,kj->k", dual, gram, dual)).sum())
    assert 1e-9 < off <= math.log((1 + e) / (1 - e)) + 1e-12
    # and what the code computes is above it
    largest = float(np.linalg.eigvalsh(laplacian).max())
    bound = math.exp(mask_error(len(pairs), largest, scale, ratio))
    assert off <= math.log((1 + e) / (1 - e)) <= bound
    degree = int(np.diag(laplacian).max())
    assert largest <= min(2 * degree, 3) + 1e-12
    # a shift by d costs no more than the Gaussian one, at several orders
    d, i = 2, pairs[0][0]
    moved = np.roll(found, d, i)
    for order in (1.5, 3.0):  # higher ones are decided beyond this cube
        inside = (slice(half - 14, half + 15),) * 3
        ratio_ = np.log(moved[inside] / found[inside])
        renyi = math.log(np.sum(found[inside] * np.exp(order * ratio_))) / (order - 1)
        claimed = order * d**2 * inverse[i, i] / 2
        assert renyi <= claimed + 2 * order / (order - 1) * bound
        if order < 2:
            assert renyi > 0.9 * claimed


def test_the_law_with_a_wrong_covariance_is_noticed() -> None:
    pairs = [(0, 1), (1, 2)]
    found = exact_noise(0.9, 0.9, pairs, 24)
    wrong, _, _ = target(0.9, 1.05, pairs, 24)
    middle = (slice(20, 29),) * 3
    off = float(np.abs(np.log(found[middle] / wrong[middle])).max())
    assert off > math.exp(mask_error(2, 3.0, 0.9, 1.0))


@pytest.mark.parametrize("agents", [2, 9, 200])
def test_in_runs_the_error_is_nothing(agents: int) -> None:
    (release, *_) = made(agents, 100, coalition=0, ratio=3.0)
    degree = len(release.others)
    error = mask_error(agents * degree // 2, min(2 * degree, agents), release.scale, 3.0)
    assert error < -1e6
    assert release.grid.sensitivity > 2**20


def test_the_scale_of_masks_is_no_smaller_and_does_not_hang_on_last_bits() -> None:
    for ratio in (0.3, 1.0, 2.981423969999719, 3.0, 57.1):
        (release, *_) = made(5, 4, ratio=ratio)
        wanted = ratio * release.scale
        assert wanted <= release.masks <= wanted * (1 + 2.0**-17)
        for other in (math.nextafter(ratio, 0.0), math.nextafter(ratio, 100.0)):
            assert made(5, 4, ratio=other)[0].masks == release.masks


def test_every_agent_has_the_step_and_the_noise_of_who_needs_most() -> None:
    mechanism = replace(gaussian(np.array([4.0, 8.0, 16.0])), hides=PairNoise(PairMasks()))
    sizes = [25, 50, 100]
    found = pair_releases(mechanism, QUERY, contexts(3, 4, sizes), Relation.REPLACE_ONE)
    assert len({each.grid.exponent for each in found}) == 1
    assert len({(each.scale, each.masks) for each in found}) == 1
    for each, multiplier in zip(found, (4.0, 8.0, 16.0), strict=True):
        assert each.scale >= multiplier * each.grid.sensitivity
    # room for all masks of an agent, beside its noise and its answer
    wide = sum(len(each.others) * each.masks + each.scale for each in found[:1])
    assert 200 * wide < 2**53
    plain = sum_releases(gaussian(np.array([4.0, 8.0, 16.0])), QUERY, contexts(3, 4, sizes),
                         Relation.REPLACE_ONE)  # fmt: skip
    assert plain[0].scale == found[0].scale


@pytest.mark.long
@pytest.mark.parametrize("pairs", [None, RING], ids=["all", "ring"])
def test_what_agents_release_has_the_covariance_of_the_proof(pairs: Pairs | None) -> None:
    """Secure noise and new keys: 16 entries and a sum at a level of 1e-9 each."""
    size, ratio = 40_000, 2.0
    releases = made(size=size, pairs=pairs, ratio=ratio, coalition=0)
    keys, step = keys_of(releases), releases[0].grid.step
    noise = np.stack(
        [
            release(np.zeros(size), SecureNoise(), own.mask(release.masks, size, 0, 0, 0))
            for release, own in zip(releases, keys, strict=True)
        ]
    ) / (releases[0].scale * step)  # fmt: skip
    expected = PairNoise(PairMasks(0, ratio=ratio, pairs=pairs)).covariance(4)
    spread = np.sqrt((np.outer(*[np.diag(expected)] * 2) + expected**2) / size)
    far = stats.norm.isf(LEVEL / 2)
    found = noise @ noise.T / size
    assert (abs(found - expected) < far * spread).all()
    assert (abs(found - expected * 1.1) > far * spread).any()  # a tenth more is noticed
    total = float(np.mean(noise.sum(axis=0) ** 2))  # own noise only: 4 of variance 1
    assert abs(total - 4.0) < far * 4.0 * math.sqrt(2.0 / size)
    for row in noise:
        standard = row / math.sqrt(expected[0, 0])
        assert stats.kstest(standard, "norm").pvalue > LEVEL


class Foreign(ClippedGradient):
    """A query that is not tacit's."""


def test_what_has_no_form_on_a_grid_is_refused() -> None:
    hides, public = PairNoise(PairMasks()), contexts(4, 3)
    good = replace(gaussian(5.0), hides=hides)
    foreign = Foreign(lambda state: state, 1.0)
    with pytest.raises(PrivacyError, match="Foreign has no secure form: nothing proves"):
        pair_releases(good, foreign, public, Relation.REPLACE_ONE)
    other = replace(GAUSSIAN, sample=lambda key, like: like)
    wrong = [
        gaussian(5.0),
        Mechanism(other, Calibrated(5.0), hides),
        Mechanism(GAUSSIAN, Calibrated(5.0, lambda round, rounds: 1.0 + round), hides),
    ]
    for mechanism in wrong:
        with pytest.raises(PrivacyError, match=r"has no secure form: masks that pairs share"):
            pair_releases(mechanism, QUERY, public, Relation.REPLACE_ONE)
    with pytest.raises(PrivacyError, match=r"noise_multiplier=0.0 of agent 0 must be positive"):
        made(multiplier=0.0)
    with pytest.raises(PrivacyError, match=r"noise of .* steps is too little for masks"):
        made(agents=200, size=2, multiplier=2e-6, ratio=3.0)
    (release, *_) = made()
    with pytest.raises(PrivacyError, match="larger rounding errors"):
        release(np.zeros(3, np.float32), SecureNoise(), np.zeros(3, np.int64))
    with pytest.raises(PrivacyError, match="2 entries"):
        release(np.zeros(2), SecureNoise(), np.zeros(3, np.int64))


def test_too_little_noise_says_how_much_is_needed() -> None:
    with pytest.raises(PrivacyError, match="too little for masks") as told:
        made(agents=200, size=2, multiplier=2e-6, ratio=3.0)
    needed = float(str(told.value).split("grid: ")[1].split(" are needed")[0])
    assert mask_error(19_900, 200.0, needed * 1.01, 3.0) < -800.0
    assert mask_error(19_900, 200.0, needed * 0.99, 3.0) > -800.0


def test_a_number_beyond_the_grid_is_its_end() -> None:
    (release, *_) = made()
    far = release(np.zeros(3), SeededNoise(0), np.array([2**60, -(2**60), 0]))
    ends = np.ldexp(far, -release.grid.exponent)
    assert ends[:2].tolist() == [2.0**53, -(2.0**53)] and abs(ends[2]) < 2**40
