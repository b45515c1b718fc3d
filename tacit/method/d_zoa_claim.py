"""The D-ZOA paper's privacy claim, as printed. Status: model, not proved.

The paper (Gratton et al. 2021) treats the iterate that leaves an agent as a Gaussian vector whose
variance is that of independent inner steps, added up (lemma 1), and takes the *upper bound* of its
eq (17) as this variance. The steps depend on each other, and a bound is not a variance: see
docs/errata.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Float, Int

from tacit.arguments import checked
from tacit.errors import ConfigError, PrivacyError
from tacit.method._schedule import positive
from tacit.privacy.event import GaussianRelease, ModelClaim

_ASSUMPTION = (
    "every iterate that leaves an agent is Gaussian with exactly the variance that eq (17) bounds "
    "from above, no record's gradient is longer than c1, and directions, inner steps and step size "
    "are those of eqs (22), (23) and the printed schedule"
)
_REASON = (
    "covariances of inner steps that depend on each other are added up, and what is meant as an "
    "upper bound on the sum is used as the variance of the iterates, which is far smaller"
)

_MOST_STEPS = 1_000_000


@checked(ConfigError)
@dataclass(frozen=True)
class PaperClaim:
    """One iteration claimed `(epsilon, delta)`-DP by Gratton et al. (2021), theorem 1.

    Source: Gratton et al. (2021), section IV-E, theorem 1, eqs (20), (21); Gratton et al. (2020),
    section IV-C, theorem 1, eqs (25), (26).

    Attributes:
        epsilon: epsilon claimed per iteration, positive.
        delta: delta claimed per iteration, in (0, 1).
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise PrivacyError(f"epsilon={self.epsilon!r} must be positive and finite")
        if not 0 < self.delta < 1:
            raise PrivacyError(f"delta={self.delta!r} must be in (0, 1)")

    @property
    def event(self) -> ModelClaim:
        """The Gaussian release that the claim amounts to: `sigma / sensitivity` of theorem 1."""
        multiplier = math.sqrt(2.1 * math.log(1.25 / self.delta)) / self.epsilon
        return ModelClaim(
            GaussianRelease(multiplier), "Gratton et al. (2021), theorem 1", _ASSUMPTION, _REASON
        )

    def total(self, rounds: int) -> float:
        """Epsilon of the whole run as printed in eq (25); exact composition may exceed it.

        Source: Gratton et al. (2021), section IV-F, theorem 2, eq (25); Gratton et al. (2020),
        section IV-D, theorem 2, eq (29).

        Example:
            >>> round(PaperClaim(0.15, 1e-3).total(200), 2)
            2.04
        """
        ratio = rounds * math.log(1 / self.delta) / (1.05 * math.log(1.25 / self.delta))
        return self.epsilon * math.sqrt(ratio)


@checked(ConfigError)
def inner_directions(
    claim: PaperClaim,
    *,
    penalty: float,
    degrees: Int[ArrayLike, " agents"],
    counts: Int[ArrayLike, " agents"],
    dimension: int,
    inner_steps: int,
    radius: float,
    optimum: float,
    initial_step: float = 0.54,
    gradient_bound: float = 1.0,
) -> Int[np.ndarray, " agents"]:
    """`J_k` of eq (22): few enough directions that the claimed variance covers the sensitivity.

    The solution of the equation is rounded to the nearest integer, as in section VI. Where it is
    rounded up, the claimed epsilon slightly exceeds `claim.epsilon`.

    Needs `||b*||`, which is private: the paper's recipe is circular, and using it leaks.

    Source: Gratton et al. (2021), section IV-C, lemma 2, eq (17); section IV-E, corollary 1, eq
    (22).

    Args:
        claim: claim per iteration.
        penalty: ADMM penalty `rho`.
        degrees: degrees `|V_k|`, shape `(agents,)`; one more for each in closed neighbourhoods.
        counts: records per agent, `N_k`, shape `(agents,)`.
        dimension: number of parameters, `P`.
        inner_steps: number of inner steps, `T`; at least `minimum_inner_steps`.
        radius: radius `R`.
        optimum: norm of the optimum, `||b*||`.
        initial_step: initial step size, `alpha0`.
        gradient_bound: largest gradient norm `c1`, assumed, not enforced.

    Raises:
        PrivacyError: eq (22) gives less than half a direction, or `inner_steps` is too small.
    """
    needed = minimum_inner_steps(dimension, radius, optimum, initial_step)
    if inner_steps < needed:
        raise PrivacyError(
            f"inner_steps={inner_steps} is below the {needed} that eq (23) of Gratton et al. "
            "(2021) needs; raise inner_steps or initial_step"
        )
    # D = c R^2 alpha0^2 / log(2P) (s1 (1 + log P) + s2) - 4 ||b*||^2 / T, with c = 1/2
    spread = initial_step**2 * _spread(dimension, inner_steps, radius)
    spread -= 4 * optimum**2 / inner_steps
    reach = claim.epsilon * penalty * np.asarray(degrees) * np.asarray(counts) / gradient_bound
    exact = reach**2 * spread / (2.1 * dimension * math.log(1.25 / claim.delta))
    directions = np.rint(exact).astype(int)
    if np.min(directions) < 1:
        raise PrivacyError(
            f"eq (22) of Gratton et al. (2021) gives J = {np.min(exact):.3g} directions at agent "
            f"{int(np.argmin(exact))}, which rounds to none; raise epsilon, penalty or the number "
            "of records"
        )
    return directions


@checked(ConfigError)
def initial_step(
    claim: PaperClaim,
    *,
    penalty: float,
    degrees: Int[ArrayLike, " agents"],
    counts: Int[ArrayLike, " agents"],
    dimension: int,
    inner_steps: int,
    radius: float,
    optimum: float,
    directions: int,
    gradient_bound: float = 1.0,
) -> Float[np.ndarray, " agents"]:
    """`alpha0_k` that eq (27) of Gratton et al. (2020) gives for `directions`.

    That is eq (22) of 2021 the other way round: `J` is fixed, and the step size carries the noise.
    It is the inverse of `inner_directions` in `initial_step` and needs `||b*||` likewise; arguments
    and leak are the same.

    Source: Gratton et al. (2020), section IV-C, corollary 1, eq (27).

    Args:
        claim: claim per iteration.
        penalty: ADMM penalty `rho`.
        degrees: degrees `|V_k|`, shape `(agents,)`; one more for each in closed neighbourhoods.
        counts: records per agent, `N_k`, shape `(agents,)`.
        dimension: number of parameters, `P`.
        inner_steps: number of inner steps, `T`.
        radius: radius `R`.
        optimum: norm of the optimum, `||b*||`.
        directions: number of directions `J`, at least 1.
        gradient_bound: largest gradient norm `c1`, assumed, not enforced.

    Example:
        >>> size = dict(penalty=4.0, dimension=10, inner_steps=100, radius=2.0, optimum=2.0)
        >>> size |= dict(degrees=np.array([2]), counts=np.array([20]))
        >>> [alpha0] = initial_step(PaperClaim(0.5, 1e-3), directions=30, **size)
        >>> inner_directions(PaperClaim(0.5, 1e-3), initial_step=alpha0, **size)
        array([30])
    """
    positive("directions", directions)
    reach = claim.epsilon * penalty * np.asarray(degrees) * np.asarray(counts) / gradient_bound
    needed = directions * 2.1 * dimension * math.log(1.25 / claim.delta) / reach**2
    needed += 4 * optimum**2 / inner_steps
    return np.sqrt(needed / _spread(dimension, inner_steps, radius))


def _spread(dimension: int, inner_steps: int, radius: float) -> float:
    """`c R^2 / log(2P) (s1 (1 + log P) + s2)`, with c = 1/2."""
    t = np.arange(1, inner_steps + 1)
    sums = float(np.sum(1 / t)) * (1 + math.log(dimension)) + float(np.sum(t**-1.5))
    return 0.5 * radius**2 / math.log(2 * dimension) * sums


@checked(ConfigError)
def minimum_inner_steps(
    dimension: int, radius: float, optimum: float, initial_step: float = 0.54
) -> int:
    """Smallest `T` for which the claimed variance of eq (22) is positive (eq (23)).

    Source: Gratton et al. (2021), section IV-E, corollary 1, eq (23).
    """
    t = np.arange(1, _MOST_STEPS + 1)
    scale = 0.5 * radius**2 * initial_step**2 / math.log(2 * dimension)
    spread = scale * (np.cumsum(1 / t) * (1 + math.log(dimension)) + np.cumsum(t**-1.5))
    enough = np.flatnonzero(spread > 4 * optimum**2 / t)
    if not len(enough):
        raise PrivacyError(
            f"no inner_steps up to {_MOST_STEPS} satisfies eq (23) with radius={radius:g}, "
            f"||b*||={optimum:g}, initial_step={initial_step:g}"
        )
    return int(t[enough[0]])


@checked(ConfigError)
def printed_step(
    dimension: int,
    radius: float,
    lipschitz: float,
    initial_step: Float[ArrayLike, "*agents"] = 0.54,
) -> Any:
    """Step size at t = 1 as printed: `alpha0 R / (L sqrt(P log 2P))`, one per `alpha0`.

    Source: Gratton et al. (2021), section III-B, eq (9). The formula itself has no number; it
    follows that one.
    """
    return initial_step * radius / (lipschitz * math.sqrt(dimension * math.log(2 * dimension)))
