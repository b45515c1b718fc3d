"""Tests of what a site would draw: noise on a grid from secret streams, and masks of both kinds.

A simulation draws neither. So an audit makes the releases that the sites of a deployment would
make, with the same grids, streams, keys and masks, from answers that it chose itself. It tests the
noise in the same way as simulated noise, and also the masks. No key or number of a real run is
used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import UInt64

from tacit._engine.charging import Owners
from tacit._engine.contract import contract
from tacit.audit.checks import Check, normal_checks, standard
from tacit.errors import PrivacyError
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork
from tacit.privacy.masking import mask, mask_label, new_key, opened, pair_key, sealed
from tacit.privacy.noise import GridRelease, SecureNoise
from tacit.privacy.noise.pairs import PairKeys, PairRelease
from tacit.privacy.noise.sums import SumRelease
from tacit.privacy.query import sensitivity_of
from tacit.problem.task import Task

_AGENTS, _DRAWS, _ROWS = 4, 4, 64
"""At most so many agents release so often in a row, so many times over."""

_WORDS = 256
_RUN = bytes(32)

Drawn = Callable[[np.ndarray], np.ndarray]
"""From an answer to what is released."""


def deployed_checks(
    problem: Task, network: AbstractNetwork, method: AbstractMethod, rounds: int, seed: int
) -> list[Check]:
    """Tests of the noise and the masks that the sites of a deployment would draw.

    Args:
        problem: problem whose declared numbers are used.
        network: network of the agents.
        method: method, with its budget.
        rounds: number of rounds for which the noise is calibrated.
        seed: seed of the answers that are released.

    Raises:
        PrivacyError: the method cannot be run between sites.
    """
    privacy = method.privacy
    if privacy is None or privacy.sites_per_person > 1:
        raise PrivacyError("persons at several sites stay in the simulation")
    counts = np.asarray(problem.counts).astype(int).tolist()
    agreed = contract(
        problem, network, method, rounds=rounds, seed=seed, grid=True, most_records=counts
    )
    agents, rng = range(min(problem.agents, _AGENTS)), np.random.default_rng(seed)
    found: list[Check] = []
    for index, phase in enumerate(agreed.phases):
        if phase.release is None:
            continue
        releases = [agreed.release(index, agent) for agent in agents]
        grid = releases[0].grid
        of = f"noise of {phase.release.name!r} between sites"
        pairs = [release for release in releases if isinstance(release, PairRelease)]
        if pairs:
            found += pair_checks(of, index, pairs, problem.names)
            continue
        drawn = [partial(_drawn, each) for each in releases if not isinstance(each, PairRelease)]
        at = grid.step, grid.dimension
        found += _noise_checks(of, phase, drawn, agreed.owners, problem.names, at, rng)
    summed = [index for index, phase in enumerate(agreed.phases) if phase.hides.summed]
    return found + (mask_checks(len(agents), summed) if summed else [])


def _noise_checks(
    of: str,
    phase: Phase,
    released: list[Drawn],
    owners: Owners,
    names: Any,
    grid: tuple[float, int],
    rng: np.random.Generator,
) -> list[Check]:
    assert phase.query is not None and phase.release is not None
    step, size = grid
    mechanism = phase.release.mechanism
    assert mechanism.law is not None
    draws = np.empty((_ROWS, len(released) * _DRAWS, size))
    coarse = 0.0
    for agent, draw in enumerate(released):
        public = owners.contexts[agent]
        sensitivity = sensitivity_of(phase.query, public, phase.release.relation)
        scale = mechanism.scale(phase.query, public, phase.release.relation)
        coarse = max(coarse, step / scale)
        for row in range(_ROWS):
            for column in range(_DRAWS):
                answer = rng.uniform(-0.5, 0.5, size) * sensitivity / size
                noise = np.asarray(draw(answer)) - answer
                draws[row, agent * _DRAWS + column] = noise / scale
    columns = [
        f"{names[agent]} in draw {draw + 1}"
        for agent in range(len(released))
        for draw in range(_DRAWS)
    ]
    return normal_checks(of, standard(draws, mechanism.law.kind), columns, coarse)


def pair_checks(
    of: str, phase: int, releases: Sequence[PairRelease], names: Sequence[str]
) -> list[Check]:
    """Tests of noise that pairs share: masks cancel, and all of it has the covariance of the proof.

    Every agent shares masks with those of the given ones that it shares any with. What they release
    together is made independent by the inverse of a root of the covariance.

    Args:
        of: subject of the tests.
        phase: number of the phase in the method's table.
        releases: releases of the first agents, at least 2.
        names: names of the agents.
    """
    first, agents = releases[0], len(releases)
    made = [new_key() for _ in releases]
    keys = [
        PairKeys(
            _RUN,
            agent,
            {
                other: pair_key(made[agent][0], made[other][1], _RUN, agent, other)
                for other in release.others
                if other < agents
            },
        )
        for agent, release in enumerate(releases)
    ]
    covariance = np.eye(agents)
    for agent, other in ((i, j) for i, own in enumerate(keys) for j in own.keys):
        ratio = first.masks / first.scale
        covariance[agent, agent] += ratio**2
        covariance[agent, other] -= ratio**2
    root, size, wrong = np.linalg.cholesky(covariance), first.grid.dimension, 0
    draws = np.empty((_ROWS, agents * _DRAWS, size))
    for row, draw in product(range(_ROWS), range(_DRAWS)):
        place = row * _DRAWS + draw, phase, 0
        masks = [own.mask(first.masks, size, *place) for own in keys]
        wrong += int(np.any(np.sum(masks, axis=0)))
        released = [
            release(np.zeros(size), SecureNoise(), mask)
            for release, mask in zip(releases, masks, strict=True)
        ]
        noise = np.stack(released) / (first.scale * first.grid.step)
        draws[row, draw::_DRAWS] = np.linalg.solve(root, noise)
    columns = [f"{names[agent]} in draw {n + 1}" for agent in range(agents) for n in range(_DRAWS)]
    return [
        Check(of, "masks cancel", f"{wrong} sums are wrong", 0.0 if wrong else 1.0),
        *normal_checks(of, draws, columns, 1.0 / first.scale),
    ]


def _drawn(release: GridRelease | SumRelease, answer: np.ndarray) -> np.ndarray:
    """The release, in the unit of the values; for a part of a sum, before its mask is added."""
    if isinstance(release, GridRelease):
        return release(answer, noise=SecureNoise())
    return np.ldexp(release.noised(answer, SecureNoise()).astype(float), release.grid.exponent)


def mask_checks(agents: int, phases: Sequence[int] = (0,)) -> list[Check]:
    """Tests of masks: they cancel in a sum, look random, and are used only once.

    Args:
        agents: number of agents in a sum, at least 2.
        phases: numbers of the phases that are summed, each in every turn, at one iterate.
    """
    from scipy.stats import binom, poisson

    made = [new_key() for _ in range(agents)]
    keys = [
        {
            other: pair_key(made[agent][0], made[other][1], _RUN, agent, other)
            for other in range(agents)
            if other != agent
        }
        for agent in range(agents)
    ]
    cohort = list(range(agents))
    masks: list[UInt64[np.ndarray, " n"]] = []
    wrong = 0
    for number, phase in product(range(_DRAWS), phases):
        label = mask_label(_RUN, number, phase, number, cohort, number.to_bytes(8, "big"))
        drawn = [mask(keys[agent], agent, cohort, label, _WORDS) for agent in cohort]
        values = [np.arange(_WORDS) * (agent + 1) - 100 for agent in cohort]
        messages = [sealed(value, each) for value, each in zip(values, drawn, strict=True)]
        wrong += int(np.sum(opened(messages) != np.sum(values, axis=0)))
        # of two agents, one has the other's mask with the opposite sign
        masks += drawn[: max(agents - 1, 1)]
    words = np.concatenate(masks)
    ones = int(np.unpackbits(words.view(np.uint8)).sum())
    twice = len(words) - len(np.unique(words))
    fair = 2.0 * float(binom.cdf(min(ones, 64 * len(words) - ones), 64 * len(words), 0.5))
    of = "masks between sites"
    return [
        Check(of, "they cancel", f"{wrong} sums are wrong", 0.0 if wrong else 1.0),
        Check(of, "bits", f"{ones / 64 / len(words):.4f} of them are 1", min(fair, 1.0)),
        Check(
            of,
            "no word twice",
            f"{twice:,} of {len(words):,} words stand there twice",
            float(poisson.sf(twice - 1, len(words) ** 2 / 2.0**65)) if twice else 1.0,
        ),
    ]
