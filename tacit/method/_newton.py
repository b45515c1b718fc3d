"""Methods of several sums, each asked at a point that follows from those before it."""

from __future__ import annotations

import abc
import math
from functools import cached_property
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.method._oracle import combined, send_released
from tacit.method.answer import Answer, Refused
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.rounds import Rounds
from tacit.method.worst_case import Neighbours, block_neighbours
from tacit.privacy.mechanism import NO_NOISE, Release
from tacit.privacy.statistics import BlockSum
from tacit.problem.task import Task
from tacit.types import Context, Inbox, Index, Oracle, Role, Vector


class Fit(eqx.Module):
    """Every point that was asked, and every sum that was released: all of it public.

    Attributes:
        point: point at which the next sum is asked: of a regression, coefficients of the scaled
            columns, and two numbers that residuals are measured by.
        points: all points so far, shape `(sums - 1, k)`.
        first: first sum, shape `(m,)`.
        others: other sums, shape `(sums - 1, n)`.
        sites: number of sites in each sum, shape `(sums,)`.
    """

    point: Float[Array, " k"]
    points: Float[Array, "rest k"]
    first: Float[Array, " m"]
    others: Float[Array, "rest n"]
    sites: Float[Array, " sums"]


class NewtonSums(AbstractMethod):
    """A first sum that gives a start, then sums from each of which follows a Newton step."""

    oracle: ClassVar[Oracle] = Oracle.ROWS

    @property
    @abc.abstractmethod
    def shares(self) -> tuple[float, ...]:
        """Share of the budget of each sum."""

    @abc.abstractmethod
    def asks(self) -> tuple[BlockSum, ...]:
        """Make the query of each sum; those after the first are one object."""

    @cached_property
    def queries(self) -> tuple[BlockSum, ...]:
        """The query of each sum."""
        return self.asks()

    @property
    @abc.abstractmethod
    def points(self) -> int:
        """Number of entries of a point."""

    @abc.abstractmethod
    def begun(self, first: Any, noise: Any) -> Any:
        """The start, from the first sum and the standard deviation of the noise in it."""

    @abc.abstractmethod
    def moved(self, state: Fit, total: Any, noise: Any) -> Any:
        """The next point, from another sum and the standard deviation of the noise in it.

        Args:
            state: everything so far; its point is that at which the sum was asked.
            total: released sum, shape `(n,)`.
            noise: standard deviation of the noise in each of its entries.
        """

    @abc.abstractmethod
    def told(self, numbers: Float[np.ndarray, " p"], contract: Any) -> Answer:
        """The answer, from the numbers of a solution, all finite."""

    @property
    def only_rounds(self) -> int:
        """One round per sum."""
        return len(self.shares)

    @property
    def times(self) -> tuple[float, ...]:
        """Noise of each sum over that of the last."""
        return tuple(math.sqrt(self.shares[-1] / share) for share in self.shares)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Number of later sums, and sizes of a point, of the first sum and of another one."""
        first, other = (query.size(0) for query in self.queries[:2])
        return self.only_rounds - 1, self.points, first, other

    def init(self, role: Role, x0: Vector, degree: Index) -> Fit:
        rest, point, first, other = self.sizes
        return Fit(
            *(
                jnp.zeros(s, x0.dtype)
                for s in (point, (rest, point), first, (rest, other), self.only_rounds)
            )
        )

    def start(self, task: Task) -> np.ndarray:
        return np.zeros(len(self.numbers(task)))

    def numbers(self, task: Task) -> tuple[str, ...]:
        rest, point, first, other = self.sizes
        return (
            *(f"point {t + 2}.{i}" for t in range(rest) for i in range(point)),
            *(f"sum 1.{i}" for i in range(first)),
            *(f"sum {t + 2}.{i}" for t in range(rest) for i in range(other)),
            *(f"sites {t + 1}" for t in range(self.only_rounds)),
        )

    def phases(self) -> tuple[Phase, ...]:
        asking = Phase(
            name="point", sender=Role.SERVER, message=_ask, receiver=Role.CLIENT, update=_hear
        )
        rest = range(1, self.only_rounds)
        # without noise all sums but the first are the same, and compiled once
        parts = [rest] if self.privacy is None else [range(t, t + 1) for t in rest]
        later = (self._sum(each, self.move) for each in parts)
        return (asking, self._sum(range(1), self.begin), *later)

    def _sum(self, rounds: range, update: Any) -> Phase:
        """The phase of the sums of some rounds."""
        t, release = rounds.start, Release("sum", NO_NOISE)
        if self.privacy is not None:
            mechanism = self.privacy.mechanism_of(self.times[t])
            release = Release("noisy sum", mechanism, self.privacy.relation)
        return Phase(
            name=f"sum {t + 1}",
            sender=Role.CLIENT,
            query=self.queries[t],
            release=release,
            message=send_released,
            receiver=Role.SERVER,
            update=update,
            combine=combined(self.privacy),
            rounds=Rounds(t, rounds.stop),
        )

    def begin(self, state: Fit, inbox: Inbox, context: Context) -> Fit:
        """The server takes the start."""
        sites = state.sites.at[0].set(inbox.degree.astype(state.sites.dtype))
        state = Fit(state.point, state.points, inbox.total, state.others, sites)
        noise = self.noise(self.times[0], state.sites[0])
        return self._at(state, self.begun(state.first, noise), 0)

    def move(self, state: Fit, inbox: Inbox, context: Context) -> Fit:
        """The server takes a Newton step."""
        t = context.round
        others = state.others.at[t - 1].set(inbox.total)
        sites = state.sites.at[t].set(inbox.degree.astype(state.sites.dtype))
        state = Fit(state.point, state.points, state.first, others, sites)
        times = jnp.asarray(self.times, state.sites.dtype)[t]
        return self._at(state, self.moved(state, inbox.total, self.noise(times, sites[t])), t)

    def _at(self, state: Fit, point: Any, t: Any) -> Fit:
        """The state with another point, at which nothing is asked after the last sum."""
        kept = state.points.at[jnp.minimum(t, self.only_rounds - 2)].set(point)
        points = jnp.where(t < self.only_rounds - 1, kept, state.points)
        return Fit(point, points, state.first, state.others, state.sites)

    def spread(self, contract: Any, t: int, sites: int) -> float:
        """Standard deviation of the noise in the mean of sites' answers in a sum.

        Args:
            contract: contract of the run.
            t: number of the sum, from 0.
            sites: number of sites in it.
        """
        return 0.0 if self.privacy is None else float(contract.spread(t + 1, sites))

    def noise(self, times: Any, sites: Any) -> Any:
        """Standard deviation of the noise in each entry of a sum over sites."""
        if self.privacy is None:
            return jnp.zeros_like(sites)
        return jnp.max(jnp.asarray(self.privacy.noise_multiplier)) * times * jnp.sqrt(sites)

    def solution(self, state: Fit) -> Vector:
        parts = (state.points, state.first, state.others, state.sites)
        return jnp.concatenate([part.reshape(-1) for part in parts])

    def answer(self, numbers: Float[np.ndarray, " p"], contract: Any) -> Answer:
        sites = np.asarray(numbers[-self.only_rounds :], dtype=float)
        if not (np.isfinite(numbers).all() and (sites >= 1).all()):
            return Refused(
                "a sum has no site in it, or a number that is not finite",
                "run again, with a network in which sites take part",
            )
        return self.told(numbers, contract)

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        return block_neighbours(self.privacy, problem.normaliser, owner)


def _ask(state: Fit, released: None, context: Context) -> tuple[Fit, Vector]:
    return state, state.point


def _hear(state: Fit, inbox: Inbox, context: Context) -> Fit:
    return Fit(inbox.total, state.points, state.first, state.others, state.sites)
