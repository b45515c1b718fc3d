"""The laws of safe noise in millions of draws, and the hole in noise made of floats.

Secure noise has no seed, so these tests may fail by chance: each at a level of 1e-9.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from tacit.privacy.laws import NoiseKind
from tacit.privacy.noise import (
    AbstractNoise,
    OpenDPNoise,
    SecureNoise,
    discrete_gaussian,
    discrete_laplace,
    grid_release,
)
from tacit.privacy.noise.proposals import high_bits
from tacit.privacy.noise.stream import CipherStream
from tests.quick import only

LEVEL = 1e-9
CHUNK = 10**6
DRAWS = pytest.mark.parametrize(
    "draws", [CHUNK, pytest.param(10 * CHUNK, marks=pytest.mark.slow)], ids=["1e6", "1e7"]
)
LONG = pytest.mark.long
LAWS = pytest.mark.parametrize("law", [NoiseKind.GAUSSIAN, NoiseKind.LAPLACE])
SCALES = pytest.mark.parametrize(
    "scale", only({"1.0", str(2.0**44)}, [0.4, 1.0, 3.3, 1000.0, 2.0**20 + 0.1, 2.0**44], LONG)
)


def at_least(law: NoiseKind, scale: float, edges: np.ndarray) -> np.ndarray:
    """`P(Z >= edge)`, from SciPy's discrete Laplace law and from sums or integrals of Gauss's."""
    edges = np.asarray(edges, dtype=np.int64)
    if law is NoiseKind.LAPLACE:
        if scale < 100:
            return stats.dlaplace(1 / scale).sf(edges - 1)
        tail = np.exp(-np.maximum(np.abs(edges - 0.5) - 0.5, 0) / scale) / (1 + np.exp(-1 / scale))
        return np.where(edges > 0, tail, 1 - tail * np.exp(np.where(edges > 0, 0, -1 / scale)))
    if scale < 100:
        integers = np.arange(-5000, 5001)
        mass = np.exp(-0.5 * (integers / scale) ** 2)
        return (mass[::-1].cumsum()[::-1] / mass.sum())[edges + 5000]
    return stats.norm.sf((edges - 0.5) / scale)  # its error is of the order of 1 / scale^2


def edges_of(law: NoiseKind, scale: float, draws: int) -> np.ndarray:
    """Edges of cells, each of which expects at least 50 draws, out to the far tails."""
    candidates = np.unique(np.int64(np.round(np.linspace(-30, 30, 601) * scale)))
    kept, before = [], 1.0
    for edge, tail in zip(candidates, at_least(law, scale, candidates), strict=True):
        if before - tail > 50 / draws and tail > 50 / draws:
            kept.append(edge)
            before = tail
    return np.array(kept)


def chunks(law: NoiseKind, scale: float, draws: int) -> Iterator[np.ndarray]:
    zeros, noise = np.zeros(CHUNK, np.int64), SecureNoise()
    for _ in range(draws // CHUNK):
        yield noise.added(zeros, law, scale)


def fit(law: NoiseKind, scale: float, drawn: Iterator[np.ndarray], draws: int) -> float:
    """p-value of Pearson's test."""
    edges = edges_of(law, scale, draws)
    counts = np.zeros(edges.size + 1, np.int64)
    for chunk in drawn:
        counts += np.bincount(np.searchsorted(edges, chunk, side="right"), minlength=counts.size)
    tails = np.concatenate([[1.0], at_least(law, scale, edges), [0.0]])
    return float(stats.chisquare(counts, draws * (tails[:-1] - tails[1:])).pvalue)


@LAWS
@SCALES
@DRAWS
def test_draws_fit_their_law(law: NoiseKind, scale: float, draws: int) -> None:
    assert fit(law, scale, chunks(law, scale, draws), draws) > LEVEL


@LAWS
@pytest.mark.parametrize("wrong", [0.98, pytest.param(1.02, marks=LONG)])
def test_a_law_that_is_two_percent_off_is_noticed(law: NoiseKind, wrong: float) -> None:
    assert fit(law, 1000.0, chunks(law, 1000.0 * wrong, CHUNK), CHUNK) < LEVEL


@LAWS
@DRAWS
def test_the_far_tail_has_its_mass(law: NoiseKind, draws: int) -> None:
    scale = 1000.0
    far = int(scale * (9.0 if law is NoiseKind.LAPLACE else 4.0))  # about 1e-4 on both sides
    chance = 2 * float(at_least(law, scale, np.array([far]))[0])
    seen = sum(int(np.sum(np.abs(chunk) >= far)) for chunk in chunks(law, scale, draws))
    assert stats.binomtest(seen, draws, chance).pvalue > LEVEL


@pytest.mark.long
@LAWS
def test_low_bits_are_uniform_at_a_huge_scale(law: NoiseKind) -> None:
    draws = next(chunks(law, 2.0**40, CHUNK))
    assert stats.chisquare(np.bincount(draws % 256)).pvalue > LEVEL


@LAWS
def test_neighbouring_draws_are_uncorrelated(law: NoiseKind) -> None:
    draws = next(chunks(law, 1e6, CHUNK)).astype(float)
    for lag in (1, 2, 8, 1 << 14):
        correlation = np.corrcoef(draws[:-lag], draws[lag:])[0, 1]
        assert abs(correlation) < 7 / math.sqrt(CHUNK)


@LAWS
@pytest.mark.parametrize("scale", [2.0, pytest.param(1e5, marks=LONG)])
def test_draws_agree_with_opendp(law: NoiseKind, scale: float) -> None:
    pytest.importorskip("opendp", reason="the reference backend opendp is not installed")
    zeros = np.zeros(20_000, np.int64)
    sources: list[AbstractNoise] = [SecureNoise(), OpenDPNoise()]
    ours, theirs = (source.added(zeros, law, scale) for source in sources)
    edges = edges_of(law, scale, zeros.size)
    table = [
        np.bincount(np.searchsorted(edges, draws, side="right"), minlength=edges.size + 1)
        for draws in (ours, theirs)
    ]
    assert stats.chi2_contingency(table).pvalue > LEVEL
    assert fit(law, scale, iter([theirs]), zeros.size) > LEVEL


@functools.cache
def float32_noise(law: NoiseKind) -> np.ndarray:
    """Everything that JAX's float32 sampler can return: it uses 23 random bits."""
    fractions = (np.arange(2**23, dtype=np.uint32) | np.uint32(0x3F800000)).view(np.float32) - 1
    return np.asarray(_float32_noise(fractions, law))


@functools.partial(jax.jit, static_argnames="law")  # compiled, as JAX's own sampler is
def _float32_noise(fractions: jax.Array, law: NoiseKind) -> jax.Array:
    if law is NoiseKind.LAPLACE:
        low = np.float32(-1) + np.finfo(np.float32).epsneg
    else:
        low = np.nextafter(np.float32(-1), np.float32(0))
    u = jnp.maximum(low, fractions * (np.float32(1) - low) + low)
    if law is NoiseKind.LAPLACE:
        return jnp.sign(u) * jnp.log1p(-jnp.abs(u))
    return np.float32(np.sqrt(2)) * jax.lax.erf_inv(u)


@LAWS
def test_the_enumeration_holds_whatever_jax_draws(law: NoiseKind) -> None:
    draw = jax.random.laplace if law is NoiseKind.LAPLACE else jax.random.normal
    drawn = np.asarray(draw(jax.random.key(0), (10_000,), jnp.float32))
    assert np.isin(drawn, float32_noise(law)).all()


@pytest.mark.long
@LAWS
@pytest.mark.parametrize("moved", [1.0, pytest.param(0.1, marks=LONG)])
def test_most_outputs_of_float_noise_are_impossible_for_the_neighbour(
    law: NoiseKind, moved: float
) -> None:
    possible = float32_noise(law)
    neighbour = np.float32(moved) + possible
    impossible = ~np.isin(np.unique(possible), neighbour)
    assert 0.88 < impossible.mean() < 0.92


@LAWS
def test_every_output_on_the_grid_is_possible_for_both_neighbours(law: NoiseKind) -> None:
    """Near the value all are seen; that the whole range is reached is tested bit by bit."""
    draw = discrete_laplace if law is NoiseKind.LAPLACE else discrete_gaussian
    draws = draw(CipherStream(), 1.5, 10**6)
    for value in (0, 1):
        assert set(range(-4, 6)) <= set((value + draws).tolist())


@LAWS
@pytest.mark.parametrize("moved", [1.0, pytest.param(0.1, marks=LONG)])
def test_no_output_on_the_grid_is_impossible_for_the_neighbour(
    law: NoiseKind, moved: float
) -> None:
    """What one neighbour releases, the other reaches by noise within the range of the sampler."""
    release = grid_release(law, 1.0, sensitivity=1.0, dimension=1, largest=1.0)
    here, there = (int(release.grid.rounded([value])[0]) for value in (0.0, moved))
    released = here + next(chunks(law, release.scale, CHUNK))
    scale = release.scale if law is NoiseKind.LAPLACE else math.floor(release.scale) + 1.0
    shift, thresholds = high_bits(scale)
    reach = 2 ** (shift + len(thresholds)) - 1
    assert np.abs(released - there).max() <= reach
    # only beyond `reach - (there - here)` is an output of one impossible for the other
    beyond = (reach - (there - here)) / scale
    assert beyond > 95  # mass below exp(-95) < 2^-133
