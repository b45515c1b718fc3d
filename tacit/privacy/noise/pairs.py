"""Releases on one grid for all agents, with discrete Gaussian masks that pairs of them share.

Every agent rounds its answer to multiples of the same `2^k`, adds discrete Gaussian noise of its
own, and for each agent that it shares a mask with another discrete Gaussian draw, which one of the
two adds and the other subtracts. All of it is integers, so the masks cancel exactly in the sum. The
noise of all has nearly the discrete Gaussian law of the covariance of real noise: how nearly is
bounded by `mask_error`, and a run is refused in which that is not below `1e-300`.

Both agents draw a mask from a stream under a key that nobody else has. Every comparison in the
sampler is as an exact one would decide it, so two machines read the same mask off equal words.

Proof: docs/proofs/masks.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64, Int64

from tacit.arguments.own import is_own
from tacit.errors import PrivacyError
from tacit.privacy.correlated import PairNoise
from tacit.privacy.dose import Calibrated
from tacit.privacy.laws import GAUSSIAN
from tacit.privacy.masking import mask_label, stream_key
from tacit.privacy.mechanism import Mechanism
from tacit.privacy.noise.gaussian import discrete_gaussian
from tacit.privacy.noise.grid import Grid
from tacit.privacy.noise.source import AbstractNoise
from tacit.privacy.noise.stream import SharedStream
from tacit.privacy.noise.sums import LARGEST, SumRelease, level_grids
from tacit.privacy.query import AbstractQuery
from tacit.ranges import Listed
from tacit.types import PublicContext, Relation

_MARK = b"gaussian mask 1\n"
"""Tells these masks from those of sums."""

_SMALLEST_ERROR = -800.0
"""Logarithm of the largest error per coordinate: below 1e-300 over all coordinates of any run."""

_BITS = 20
"""Leading bits that the scale of masks has, so that it does not hang on a machine's last ones."""


@dataclass(frozen=True)
class PairKeys:
    """What one agent knows of the masks of a run: keys that it shares with others.

    Attributes:
        run: id of the run, 32 bytes.
        agent: number of the agent.
        keys: key of 32 bytes (`masking.pair_key`) for every agent that it shares masks with.
    """

    run: bytes
    agent: int
    keys: Mapping[int, bytes] = field(repr=False)

    def mask(
        self, scale: float, size: int, round: int, phase: int, step: int
    ) -> Int64[np.ndarray, " n"]:
        """All masks of one release together, as this agent adds them, in steps; shape `(size,)`.

        The same arguments give the same masks, so a place in the run has one release.

        Args:
            scale: scale of every mask, in steps.
            size: number of coordinates.
            round: round of the release, from 0.
            phase: number of its phase in the method's table.
            step: step within the phase.

        Raises:
            PrivacyError: a number out of range, a key of another length, or the package
                `cryptography` is missing.
        """
        total = np.zeros(size, np.int64)
        for other, key in self.keys.items():
            pair = sorted((self.agent, other))
            label = mask_label(self.run, round, phase, step, pair, _MARK)
            drawn = discrete_gaussian(SharedStream(stream_key(key, label)), scale, size)
            total += drawn if self.agent < other else -drawn
        return total


@dataclass(frozen=True)
class PairRelease:
    """One agent's release, fixed by public constants before any data are seen.

    Attributes:
        grid: grid to which values are rounded; all agents have the same step.
        scale: scale of the agent's own noise in steps; the same for all agents.
        masks: scale of every mask in steps.
        others: numbers of the agents that it shares masks with.
    """

    grid: Grid
    scale: float
    masks: float
    others: tuple[int, ...]

    def __call__(
        self, value: Listed, noise: AbstractNoise, mask: Int64[np.ndarray, " n"]
    ) -> Float64[np.ndarray, "*_shape"]:
        """The release, float64 of the shape of `value`; every entry is a grid point.

        Args:
            value: the private answer, with the grid's number of entries.
            noise: source of the agent's own noise.
            mask: its masks for this release and no other, from `PairKeys.mask`.

        Raises:
            PrivacyError: a value that the grid was not made for; nothing is then released.
        """
        steps = SumRelease(self.grid, self.scale).noised(value, noise) + mask
        # the last integers that a float64 holds, which no draw reaches
        return self.grid.value(np.clip(steps, -LARGEST, LARGEST)).reshape(np.shape(value))

    def keys(self, run: bytes, agent: int, shared: Mapping[int, bytes]) -> PairKeys:
        """What the agent draws its masks from.

        Args:
            run: id of the run, 32 bytes.
            agent: number of the agent.
            shared: keys that it shares with all others, by number.
        """
        return PairKeys(run, agent, {other: shared[other] for other in self.others})


def pair_releases(
    mechanism: Mechanism,
    query: AbstractQuery,
    contexts: Sequence[PublicContext],
    relation: Relation,
    most_records: Sequence[int] | None = None,
) -> tuple[PairRelease, ...]:
    """The releases of all agents on the coarsest grid that any of them needs.

    Args:
        mechanism: Gaussian noise of one scale for all agents, of which pairs share a part.
        query: one of tacit's queries whose computed answers have a bound.
        contexts: declared constants, one context per agent.
        relation: adjacency of the data sets.
        most_records: public bound on the number of records of every agent, as for `on_grid`.

    Raises:
        PrivacyError: a mechanism or a query that has no such form, too little noise for a grid, or
            as for `on_grid`.
    """
    if not is_own(type(query)):
        raise PrivacyError(
            f"{type(query).__name__} has no secure form: nothing proves that the answers of a "
            "query that is not tacit's keep the bound that it states; simulate it"
        )
    hides, agents = mechanism.hides, len(contexts)
    calibrated = type(mechanism.dose) is Calibrated and not mechanism.varying
    if not (isinstance(hides, PairNoise) and mechanism.law is GAUSSIAN and calibrated):
        raise PrivacyError(
            f"{mechanism.name} has no secure form: masks that pairs share are drawn on a grid for "
            "Gaussian noise of one scale only; leave out what varies it by round, or simulate it"
        )
    ratio, graph = hides.masks.size(agents), hides.masks.graph(agents)
    degree, pairs = int(graph.sum(axis=1).max()), int(graph.sum()) // 2
    reach = 1.0 + ratio * degree
    grids, scale = level_grids(mechanism, query, contexts, relation, most_records, reach)
    error = mask_error(pairs, min(2 * degree, agents), scale, ratio)
    if error > _SMALLEST_ERROR:
        least = scale * math.sqrt(
            (math.log(5.0 * pairs) - _SMALLEST_ERROR)
            / _exponent(min(2 * degree, agents), scale, ratio)
        )
        raise PrivacyError(
            f"noise of {scale:.3g} steps is too little for masks that pairs of agents share on a "
            f"grid: {least:.3g} are needed, which take a smaller bound on the values, more noise, "
            "or masks with fewer others"
        )
    return tuple(
        PairRelease(grid, scale, _rounded(ratio * scale), tuple(np.flatnonzero(row).tolist()))
        for grid, row in zip(grids, graph, strict=True)
    )


def mask_error(pairs: int, largest: float, scale: float, ratio: float) -> float:
    """How far the noise of all agents is from the discrete Gaussian law, in one coordinate.

    Args:
        pairs: number of pairs that share a mask, at least 1.
        largest: upper bound on the eigenvalues of the Laplacian of the mask graph, positive.
        scale: scale of an agent's own noise, in steps, positive.
        ratio: scale of the masks over that, positive.

    Returns:
        The natural logarithm of `t`: the ratio of the probabilities of every point lies within
            `exp(-t)` and `exp(t)`, for the honest agents left by any coalition.

    Example:
        >>> round(mask_error(pairs=45, largest=10.0, scale=1000.0, ratio=3.0))
        -1952224
    """
    return math.log(5.0 * pairs) - _exponent(largest, scale, ratio)


def _exponent(largest: float, scale: float, ratio: float) -> float:
    return 2.0 * math.pi**2 * scale**2 / (largest + ratio**-2)


def _rounded(scale: float) -> float:
    """No smaller, larger by at most 5e-6, and with few bits: larger masks hide more."""
    mantissa, exponent = math.frexp(scale * (1.0 + 2.0**-18))
    return math.ldexp(round(mantissa * 2**_BITS), exponent - _BITS)
