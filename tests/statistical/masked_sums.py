"""Runs of masked sums as they really leave, and the best attacker of one agent among them.

Keys, masks and noise are the real ones: X25519, AES, the discrete Gaussian law, sums modulo 2^64.
The attacker knows how a protocol is carried out, mistakes included. It takes off the masks that it
knows, finds by elimination every whole combination of messages in which no mask is left, and weighs
those by their joint covariance: the likelihood ratio, since sums of that noise are all but normal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from scipy import stats

from tacit.audit.binomial import tail
from tacit.privacy.laws import NoiseKind
from tacit.privacy.masking import mask, mask_label, pair_key, sealed
from tacit.privacy.masks import UNIFORM
from tacit.privacy.noise import SeededNoise

MU = 1.5
"""Of every claim: the noise is made for it."""

MOVED = np.array([600, 1200, -1200])
"""What the owner's record adds to its value, in steps: as long as the sensitivity."""

SENSITIVITY = float(np.linalg.norm(MOVED))
OWNER = 0


@dataclass(frozen=True)
class Sum:
    """One attempt at a sum, of which all messages are read in the end.

    Attributes:
        cohort: who is summed.
        number: of the attempt.
        masks: the attempt whose masks are used; another one's is a mistake.
        noise: likewise of the noise.
        turn: 1, or -1 where the owner's record moves the sum the other way.
    """

    cohort: tuple[int, ...]
    number: int = 0
    masks: int | None = None
    noise: int | None = None
    turn: int = 1

    @property
    def label(self) -> int:
        return self.number if self.masks is None else self.masks

    @property
    def draw(self) -> int:
        return self.number if self.noise is None else self.noise


@dataclass(frozen=True)
class Protocol:
    """Some sums, what is claimed of them, and who looks on.

    Attributes:
        sums: all that are asked for.
        claimed: `mu` of all sums together with noise of the size of the sensitivity.
        coalition: who tells the attacker its keys, values and noise.
        exposed: an agent whose masks are revealed to all.
        share: of the noise that the claim needs, as it is drawn.
        ratio: of a Gaussian mask to the noise; `UNIFORM` modulo 2^64; 0 for none.
        ring: whether only neighbours on a ring share masks.
    """

    sums: tuple[Sum, ...]
    claimed: float
    coalition: tuple[int, ...] = ()
    exposed: int | None = None
    share: float = 1.0
    ratio: float = UNIFORM
    ring: bool = False

    @property
    def agents(self) -> tuple[int, ...]:
        return self.sums[0].cohort

    @property
    def scale(self) -> float:
        """Of the noise of one agent, in steps."""
        return self.share * self.claimed * SENSITIVITY / MU

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Who share masks."""
        count = len(self.agents)
        every = combinations(self.agents, 2)
        return [(i, j) for i, j in every if not self.ring or j - i in (1, count - 1)]

    @cached_property
    def messages(self) -> list[tuple[Sum, int]]:
        """Those of honest agents; a member of the coalition tells nothing about others."""
        return [(s, i) for s in self.sums for i in s.cohort if i not in self.coalition]

    def told(self, pair: tuple[int, int]) -> bool:
        """Whether the attacker knows the masks of two agents."""
        return self.exposed in pair or not set(pair).isdisjoint(self.coalition)

    @cached_property
    def unknown(self) -> np.ndarray:
        """How often, and with which sign, every message has every unknown mask."""
        hidden = [pair for pair in self.pairs if not self.told(pair)]
        columns = [(label, p) for label in {s.label for s in self.sums} for p in hidden]
        found = [
            [
                (s.label == label and set(pair) <= set(s.cohort))
                * ((i == pair[0]) - (i == pair[1]))
                for label, pair in columns
            ]
            for s, i in self.messages
        ]
        return np.array(found, dtype=int).reshape(len(self.messages), len(columns))

    @cached_property
    def readable(self) -> np.ndarray:
        """Combinations of messages that the attacker weighs, one a row."""
        if self.ratio == UNIFORM:
            return cancelling(self.unknown)
        return np.eye(len(self.messages), dtype=int)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Of what is readable, in multiples of the variance of one agent's noise."""
        noise = [[i == j and s.draw == t.draw for t, j in self.messages] for s, i in self.messages]
        total = np.array(noise, dtype=float)
        if self.ratio != UNIFORM:
            total = total + self.ratio**2 * self.unknown @ self.unknown.T
        return self.readable @ total @ self.readable.T

    @cached_property
    def turns(self) -> np.ndarray:
        """How often what is readable has what the owner's record adds."""
        return self.readable @ np.array([s.turn * (i == OWNER) for s, i in self.messages])

    @property
    def mu(self) -> float:
        """What the attacker learns, from the covariance."""
        squared = self.turns @ np.linalg.solve(self.covariance, self.turns)
        return float(np.sqrt(squared) * SENSITIVITY / self.scale)

    def scores(self, rng: np.random.Generator, side: int, runs: int) -> np.ndarray:
        """Log-likelihood ratio, to a factor, of runs on D (side 0) or D'; keys serve for all."""
        read = self.read(rng, side, runs)
        weights = np.linalg.solve(self.covariance, self.turns)
        known = self.readable @ np.array([value(i) for _, i in self.messages])
        middle = known + self.turns[:, None] * MOVED / 2.0
        return np.einsum("r,ard,d->a", weights, read - middle, MOVED)

    def read(self, rng: np.random.Generator, side: int, runs: int) -> np.ndarray:
        """What is readable of runs that share their keys, shape `(runs, readings, 3)`."""
        run = rng.bytes(32)
        keys = _keys(rng, self.agents, run)
        noise = SeededNoise(int(rng.integers(2**63)))
        size = runs * len(MOVED)

        def drawn(scale: float) -> np.ndarray:
            return noise.added(np.zeros(size, np.int64), NoiseKind.GAUSSIAN, scale)

        draws = {(s.draw, i): drawn(self.scale) for s, i in self.messages}
        gaussian: dict[Any, np.ndarray] = {}
        if 0.0 < self.ratio < UNIFORM:
            labels = {s.label for s in self.sums}
            gaussian = {(n, p): drawn(self.ratio * self.scale) for n in labels for p in self.pairs}
        rows = []
        for s, i in self.messages:
            moved = value(i) + (s.turn * MOVED if i == OWNER and side == 0 else 0)
            steps = np.tile(moved, runs) + draws[s.draw, i]
            if self.ratio == UNIFORM:
                label = mask_label(run, s.label, 0, 0, s.cohort, b"an iterate")
                sent = sealed(steps, mask(keys[i], i, s.cohort, label, size))
                for j in s.cohort:
                    if j != i and self.told((i, j)):
                        two = sorted((i, j))
                        sent -= mask({j: keys[j][i]}, i, two, label, size)
            else:
                sent = sealed(steps, np.zeros(size, np.uint64))
                for pair in self.pairs:
                    if i in pair and not self.told(pair) and gaussian:
                        sign = 1 if i == pair[0] else -1
                        sent += (sign * gaussian[s.label, pair]).view(np.uint64)
            rows.append(sent)
        combined = self.readable.astype(np.int64).view(np.uint64) @ np.stack(rows)
        return combined.view(np.int64).reshape(len(combined), runs, -1).swapaxes(0, 1)


def value(agent: int) -> np.ndarray:
    """What an agent has without the record: known to the attacker."""
    return np.array([7, -11, 5]) * (agent + 1)


def cancelling(unknown: np.ndarray) -> np.ndarray:
    """A basis of the whole combinations of rows that are 0: masks cancel in no others.

    Every column has a 1 and a -1, or is 0, in the rows of one sum; rows may stand there twice. Such
    a matrix is totally unimodular, so elimination leaves whole numbers.

    Args:
        unknown: shape `(messages, masks)`.

    Returns:
        One combination a row, shape `(readings, messages)`.
    """
    rows = np.hstack([unknown, np.eye(len(unknown), dtype=int)])
    done = 0
    for column in range(unknown.shape[1]):
        held = done + np.flatnonzero(rows[done:, column])
        if held.size == 0:
            continue
        rows[[done, held[0]]] = rows[[held[0], done]]
        assert abs(rows[done, column]) == 1
        below = rows[done + 1 :]
        below -= np.outer(below[:, column] * rows[done, column], rows[done])
        done += 1
    assert not rows[done:, : unknown.shape[1]].any()
    return rows[done:, unknown.shape[1] :]


@dataclass(frozen=True)
class Verdict:
    """What a number of guesses says about a claim of `MU`.

    Attributes:
        right: guesses.
        made: guesses in all.
    """

    right: int
    made: int

    @property
    def p(self) -> float:
        """Probability of as many right guesses or more under any mechanism that keeps the claim.

        Docs/proofs/audit.md, theorem 1 with every coin guessed: exact.
        """
        return float(tail(self.right, self.made, stats.norm.cdf(MU / 2.0)))

    @property
    def mu(self) -> float:
        """The estimate; its standard error is `error`."""
        return float(2.0 * stats.norm.ppf(self.right / self.made))

    @property
    def error(self) -> float:
        """From the binomial law of the guesses."""
        rate = self.right / self.made
        slope = stats.norm.pdf(self.mu / 2.0) / 2.0
        return float(np.sqrt(rate * (1.0 - rate) / self.made) / slope)


def verdict(scores: Any, others: Any) -> Verdict:
    """Every run guessed, D where the likelihood ratio is above 1: the optimal test."""
    right = int(np.sum(np.asarray(scores) > 0.0) + np.sum(np.asarray(others) <= 0.0))
    return Verdict(right, len(scores) + len(others))


def audited(protocol: Protocol, seed: int, blocks: int, runs: int) -> Verdict:
    """So many blocks of runs on either side; each block has keys of its own."""
    rng = np.random.default_rng(seed)
    sides = [
        np.concatenate([protocol.scores(rng, side, runs) for _ in range(blocks)]) for side in (0, 1)
    ]
    return verdict(*sides)


def _keys(
    rng: np.random.Generator, agents: tuple[int, ...], run: bytes
) -> Mapping[int, dict[int, bytes]]:
    """The key of every pair, as each of the two derives it."""
    private = {agent: rng.bytes(32) for agent in agents}
    public = {
        agent: X25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw()
        for agent, key in private.items()
    }
    return {
        one: {
            other: pair_key(private[one], public[other], run, one, other)
            for other in agents
            if other != one
        }
        for one in agents
    }
