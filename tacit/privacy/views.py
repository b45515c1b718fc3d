"""What a single agent, or a coalition, learns from Gaussian gossip averaging.

Every agent `u` holds a value `x_u` and adds noise `N(0, s^2 I)`; then all average with a fixed
weight matrix `W`: at every step each agent `w` sends its value to those that weigh it, and then
replaces it by `sum_j W_wj (what j sent)`, its own included. Two ways to add the noise:

- `GossipNoise.ONCE`: to `x_u`, before the first step; afterwards values are sent unchanged.
- `GossipNoise.EVERY_STEP`: afresh to every value that is sent.

An observer that follows the protocol, shares nothing with others and sees only what is sent to it
sees `Y = A x + B z`, with `z` the noise of all *other* agents. That is a Gaussian release with
(`linear_mu`)

    mu = sqrt( (A d)' (B B')^+ A d ) / s,

infinite where `A d` is outside the range of `B`, for neighbours `d` apart: nothing is lost, so
these are exact values (in double precision), not bounds. They rest on a model of who sees what,
which nothing enforces: the guarantees are `model` claims. Proofs: docs/proofs/gossip.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from jaxtyping import Bool, Float

from tacit.arguments import checked
from tacit.errors import PrivacyError
from tacit.kinds import Relation, Unit
from tacit.privacy import accounting, gaussian_dp
from tacit.privacy.guarantee import Adversary, Guarantee, NoiseSource, Status
from tacit.privacy.guarantees import Guarantees

ASSUMPTION = (
    "the observers follow the protocol, pool what they know with nobody else and see nothing but "
    "the values sent to them, and the agents do nothing but average values of which each has its "
    "own Gaussian noise"
)
"""What a view assumes."""

_DEPENDENT = 1e-14
"""Length below which the remainder of a unit vector after projection is rounding."""

_FAINT = 1e-9
"""Weights below this are refused: their effect cannot be distinguished from rounding."""

_OUTSIDE = 1e-9
"""Share of a change outside the range of the noise that counts as rounding."""


class GossipNoise(StrEnum):
    """When noise is added in gossip averaging."""

    ONCE = "once"
    EVERY_STEP = "every_step"


@checked(PrivacyError)
def linear_mu(
    change: Float[np.ndarray, " seen"], noise: Float[np.ndarray, "rows sources"], scale: float
) -> float:
    """Gaussian-DP parameter of seeing `Y = A x + B z`, `z ~ N(0, scale^2 I)`, exactly.

    Args:
        change: `A d`, how neighbours `d` apart change what is seen, shape `(seen,)`.
        noise: `B`, effect of the noise on what is seen, shape `(seen, sources)`.
        scale: standard deviation of every source of noise, positive.

    Returns:
        `sqrt((A d)' (B B')^+ A d) / scale`; infinite if some combination of what is seen contains
        the change and no noise.

    Raises:
        PrivacyError: shapes that do not fit, or a scale that is not positive.

    Example:
        >>> mixed = np.array([[0.5, 0.5]])  # one sees the mean of two values with noise 2 each
        >>> round(linear_mu(mixed @ [1.0, 0.0], mixed, 2.0), 6)  # (1/2) / (2 / sqrt 2)
        0.353553
    """
    if change.shape != noise.shape[:1]:
        raise PrivacyError(
            f"the change has {change.shape[0]} entries and the noise {noise.shape[0]} rows; both "
            "have one for each value that is seen"
        )
    if not scale > 0.0:
        raise PrivacyError(f"scale={scale!r} must be positive")
    size = float(np.linalg.norm(change))
    if size == 0.0:
        return 0.0
    left, singular, _ = np.linalg.svd(noise, full_matrices=False)
    smallest = np.finfo(float).eps * max(noise.shape) * singular.max(initial=0.0)
    kept = singular > smallest
    along = left[:, kept].T @ change
    outside = np.linalg.norm(change - left[:, kept] @ along)
    if outside > _OUTSIDE * size:
        return math.inf
    return float(np.linalg.norm(along / singular[kept])) / scale


@checked(PrivacyError)
def gossip_mu(
    weights: Float[np.ndarray, "agents agents"],
    steps: int,
    observers: Sequence[int],
    noise: GossipNoise = GossipNoise.ONCE,
) -> Float[np.ndarray, " agents"]:
    """What observers learn about every agent's value, relative to reading every message.

    Args:
        weights: `W`; row `i` holds the weights that agent `i` gives, including its own.
        steps: number of averaging steps, at least 0.
        observers: numbers of the agents that pool what they see, at least one.
        noise: when noise is added.

    Returns:
        Gaussian-DP parameter for each agent, for noise equal to the sensitivity, shape `(agents,)`:
        divide by the noise multiplier. Within [0, 1], where 1 is the parameter against an observer
        of every message; 0 for the observers, whose values are their own.

    Raises:
        PrivacyError: weights that are not a square matrix of finite numbers with rows that sum to
            1, or observers that are not agents.

    Example:
        >>> ring = np.eye(5) / 2 + (np.roll(np.eye(5), 1, 0) + np.roll(np.eye(5), -1, 0)) / 4
        >>> gossip_mu(ring, 1, [0]).round(3)  # the neighbours' own noise alone hides their values
        array([0., 1., 0., 0., 1.])
        >>> gossip_mu(ring, 3, [0], GossipNoise.EVERY_STEP).round(3)
        array([0.   , 1.   , 0.273, 0.273, 1.   ])
    """
    seen = _observed(weights, steps, observers)
    if noise is GossipNoise.ONCE:
        return _once(weights, steps, seen, observers)
    return _every_step(weights, steps, seen, observers)


@checked(PrivacyError)
def gossip_pairs(
    weights: Float[np.ndarray, "agents agents"], steps: int, noise: GossipNoise = GossipNoise.ONCE
) -> Float[np.ndarray, "agents agents"]:
    """`gossip_mu` for every single observer (row) and every owner (column)."""
    return np.stack([gossip_mu(weights, steps, [v], noise) for v in range(len(weights))])


@checked(PrivacyError)
def gossip_guarantees(
    weights: Float[np.ndarray, "agents agents"],
    steps: int,
    noise_multiplier: float,
    delta: float,
    observers: Sequence[int],
    *,
    noise: GossipNoise = GossipNoise.ONCE,
    names: Sequence[str] | None = None,
    unit: Unit = Unit.RECORD,
    relation: Relation = Relation.REPLACE_ONE,
) -> Guarantees:
    """What one run of gossip averaging guarantees each owner against one agent or a coalition.

    Args:
        weights: weight matrix, as for `gossip_mu`.
        steps: number of averaging steps.
        noise_multiplier: standard deviation of the noise over the l2 sensitivity of an owner's
            value, positive.
        delta: delta of the guarantees, in [1e-12, 1).
        observers: numbers of the agents that observe and pool what they see.
        noise: when noise is added.
        names: names of the agents; "agent 0" and so on by default.
        unit: unit that the sensitivity protects.
        relation: adjacency that the sensitivity refers to.

    Returns:
        A `model` claim for every agent that is not an observer.

    Raises:
        PrivacyError: an argument out of range, or nobody left to protect.

    Example:
        >>> complete = np.full((4, 4), 0.25)
        >>> promise = gossip_guarantees(complete, 2, 3.0, 1e-6, [0])
        >>> len(promise), promise.worst.status.value, round(promise.worst.epsilon, 3)
        (3, 'model', 1.448)
    """
    accounting.check_delta(delta)
    if not noise_multiplier > 0.0 or delta == 0.0:
        raise PrivacyError(
            f"noise_multiplier={noise_multiplier!r} and delta={delta!r} must both be positive: "
            "Gaussian noise never gives a pure guarantee"
        )
    mu = gossip_mu(weights, steps, observers, noise) / noise_multiplier
    agents = len(weights)
    labels = [f"agent {number}" for number in range(agents)] if names is None else list(names)
    if len(labels) != agents:
        raise PrivacyError(f"{len(labels)} names for {agents} agents; give one per agent")
    looking = tuple(labels[v] for v in sorted(set(observers)))
    adversary = Adversary.NEIGHBOUR if len(looking) == 1 else Adversary.COALITION
    epsilons = gaussian_dp.epsilon_from_mu(mu, delta)
    owners = [u for u in range(agents) if u not in set(observers)]
    if not owners:
        raise PrivacyError("every agent is an observer: nobody is left to protect from them")
    times = 1 if noise is GossipNoise.ONCE else steps
    return Guarantees(
        tuple(
            Guarantee(
                owner=labels[u],
                epsilon=float(epsilons[u]),
                delta=delta,
                unit=unit,
                relation=relation,
                theorem="Gaussian mechanism seen through linear gossip, exact",
                status=Status.MODEL,
                noise=NoiseSource.SIMULATED,
                releases=times,
                assumptions=(ASSUMPTION,),
                reason="nothing in the software checks or enforces what the agents look at",
                adversary=adversary,
                observers=looking,
            )
            for u in owners
        )
    )


def muffliato_mu(
    weights: Float[np.ndarray, "agents agents"], steps: int
) -> Float[np.ndarray, "agents agents"]:
    r"""Sum of each message's own loss, for every observer (row) and owner (column).

    .. math::

        \mu_{uv}^2 = \sum_t \sum_{w \text{ sends to } v}
            \frac{(W^t)_{wu}^2}{\lVert (W^t)_w\rVert^2}

    (Cyffers, Even, Bellet, Massoulie 2022, theorem 1). For comparison only: messages that share
    their noise reveal more together than the sum of what each reveals alone, so with noise added
    once this is **not an upper bound** (docs/proofs/gossip.md has a counterexample of three
    agents). It is the exact value for messages whose noises are independent. `gossip_mu` is exact
    in either case.

    Args:
        weights: weight matrix, as for `gossip_mu`.
        steps: number of averaging steps, at least 0.
    """
    agents = len(weights)
    total = np.zeros((agents, agents))
    seen = np.stack([_observed(weights, steps, [v]) for v in range(agents)])
    power = np.eye(agents)
    for _ in range(steps):
        total += seen.astype(float) @ (power**2 / np.sum(power**2, axis=1, keepdims=True))
        power = weights @ power
    np.fill_diagonal(total, 0.0)
    return np.sqrt(total)


def check_rows(weights: Float[np.ndarray, "agents agents"]) -> None:
    """Refuse weights that do not average.

    Raises:
        PrivacyError: a negative weight, or a row that does not sum to 1.
    """
    wrong = np.flatnonzero((weights < 0.0).any(axis=1) | ~np.isclose(weights.sum(axis=1), 1.0))
    if wrong.size:
        row = weights[wrong[0]]
        raise PrivacyError(
            f"row {wrong[0]} of weights sums to {row.sum():g}, and its smallest weight is "
            f"{row.min():g}: rows must be at least 0 and sum to 1, as "
            "tacit.network.weight_matrix(graph) makes them"
        )


def _observed(
    weights: Float[np.ndarray, "agents agents"], steps: int, observers: Sequence[int]
) -> Bool[np.ndarray, " agents"]:
    """Which agents' values reach the observers."""
    if not np.all(np.isfinite(weights)):
        raise PrivacyError("a weight is not a finite number; correct the weight matrix")
    sizes = np.abs(weights)
    if np.any((sizes > 0.0) & (sizes < _FAINT)):
        raise PrivacyError(
            f"a weight of {sizes[sizes > 0.0].min():g} is too small to be told from rounding; make "
            f"it 0, or at least {_FAINT:g}"
        )
    check_rows(weights)
    if steps < 0:
        raise PrivacyError(f"steps={steps!r} must be at least 0")
    agents = len(weights)
    looking = sorted(set(observers))
    if not looking or looking[0] < 0 or looking[-1] >= agents:
        raise PrivacyError(
            f"observers={list(observers)!r} must be numbers of agents, from 0 to {agents - 1}"
        )
    reached = np.any(weights[looking] != 0.0, axis=0)
    reached[looking] = False
    return reached


def _once(
    weights: Float[np.ndarray, "agents agents"],
    steps: int,
    seen: Bool[np.ndarray, " agents"],
    observers: Sequence[int],
) -> Float[np.ndarray, " agents"]:
    """Length of each unit vector's projection on what is observed: here A = B.

    What is observed is spanned by the observers' own values, which they know without noise, and
    the rows of `W^t` of their senders. An orthonormal basis is grown one application of `W` at a
    time, because the powers themselves lose what distant agents send to rounding.
    """
    agents = len(weights)
    basis = np.eye(agents)[sorted(set(observers))]
    fresh = np.eye(agents)[seen]
    for _ in range(steps):
        basis, fresh = _grown(basis, fresh)
        fresh = fresh @ weights  # empty once nothing new arrives
    length = np.sqrt(np.minimum(np.sum(basis**2, axis=0), 1.0))
    length[list(observers)] = 0.0
    return length


def _every_step(
    weights: Float[np.ndarray, "agents agents"],
    steps: int,
    seen: Bool[np.ndarray, " agents"],
    observers: Sequence[int],
) -> Float[np.ndarray, " agents"]:
    """Energy of the innovations: what each step shows beyond what earlier ones predict.

    Messages obey `m_t = W m_(t-1) + z_t`, of which the observers see the entries `seen`. The
    covariance of `m_t` given everything seen, and the part still unseen of a change in each
    agent's value (a column of `change`), go through the filter together.
    """
    agents = len(weights)
    looking = list(observers)
    own_noise = np.eye(agents)
    own_noise[looking, looking] = 0.0  # the observers know their own noise
    change, unknown = np.eye(agents), np.zeros((agents, agents))
    energy = np.zeros(agents)
    for step in range(steps if seen.any() else 0):
        if step > 0:
            change, unknown = weights @ change, weights @ unknown @ weights.T
        unknown = unknown + own_noise
        precision = np.linalg.inv(unknown[np.ix_(seen, seen)])  # at most 1: own noise is fresh
        gain = unknown[:, seen] @ precision
        energy += np.sum(change[seen] * (precision @ change[seen]), axis=0)
        change, unknown = change - gain @ change[seen], unknown - gain @ unknown[seen]
    energy[looking] = 0.0
    return np.sqrt(np.minimum(energy, 1.0))


def _grown(
    basis: Float[np.ndarray, "known agents"], vectors: Float[np.ndarray, "some agents"]
) -> tuple[Float[np.ndarray, "more agents"], Float[np.ndarray, "new agents"]]:
    """An orthonormal basis with the directions of `vectors` added, and those directions."""
    known = len(basis)
    for vector in vectors:
        size = np.linalg.norm(vector)
        rest = vector / size if size > 0.0 else vector
        for _ in range(2):  # a single pass loses orthogonality
            rest = rest - basis.T @ (basis @ rest)
        left = np.linalg.norm(rest)
        if left > _DEPENDENT:
            basis = np.vstack([basis, rest / left])
    return basis, basis[known:]
