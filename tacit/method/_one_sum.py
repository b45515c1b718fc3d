"""Methods of one round that release one sum of statistics of the records."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit import checks
from tacit.data.cells import Column
from tacit.errors import ConfigError, PrivacyError
from tacit.method._oracle import combined, send_released
from tacit.method._records import check_records
from tacit.method.answer import Answer, Refused
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.worst_case import Neighbours, block_neighbours
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.laws import NoiseKind
from tacit.privacy.mechanism import NO_NOISE, Release
from tacit.privacy.query import own_public
from tacit.privacy.statistics import BlockSum
from tacit.problem.task import Task
from tacit.types import Context, Inbox, Index, Oracle, Relation, Role, Vector

_ANSWERS = 1
"""Index of the phase that releases the sum."""


class Tally(eqx.Module):
    """The server's state: the sum of all answers, and their number."""

    total: Float[Array, " m"]
    sites: Float[Array, ""]


class OneSum(AbstractMethod):
    """A method of one round: the server asks, and every client answers with a sum of its records.

    Attributes:
        answers: name of what is released, such as "counts".
    """

    oracle: ClassVar[Oracle] = Oracle.ROWS
    answers: ClassVar[str]

    @property
    @abc.abstractmethod
    def read(self) -> Sequence[Column]:
        """Columns of the records that are asked for."""

    @property
    @abc.abstractmethod
    def query(self) -> BlockSum:
        """What every client adds up."""

    @abc.abstractmethod
    def told(
        self, parts: Sequence[np.ndarray], spreads: Sequence[float], sites: int, of_sites: int
    ) -> Answer:
        """The answer, from the sum of every block and the standard deviation of its noise."""

    def check_budget(self) -> None:
        super().check_budget()
        if self.privacy is not None:
            _check_budget(self.privacy)

    def init(self, role: Role, x0: Vector, degree: Index) -> Tally:
        return Tally(jnp.zeros_like(x0[:-1]), jnp.zeros_like(x0[-1]))

    @property
    def only_rounds(self) -> int:
        return 1

    @property
    def relation(self) -> Relation:
        """Adjacency under which blocks have their shares of the budget."""
        return Relation.REPLACE_ONE if self.privacy is None else self.privacy.relation

    def start(self, task: Task) -> np.ndarray:
        return np.zeros(len(self.numbers(task)))

    def phases(self) -> tuple[Phase, ...]:
        privacy = self.privacy
        release = (
            Release(self.answers, NO_NOISE)
            if privacy is None
            else Release(f"noised {self.answers}", privacy.mechanism, privacy.relation)
        )
        return (
            Phase(
                name="question",
                sender=Role.SERVER,
                message=_ask,
                receiver=Role.CLIENT,
                update=_hear,
            ),
            Phase(
                name=self.answers,
                sender=Role.CLIENT,
                query=self.query,
                release=release,
                message=send_released,
                receiver=Role.SERVER,
                update=_add,
                combine=combined(privacy),
            ),
        )

    def solution(self, state: Tally) -> Vector:
        split = [part.ravel() for part in self.query.split(state.total)]
        return jnp.concatenate([*split, state.sites[None]])

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        """Refuse records without these columns, or with a private number that is not declared."""
        check_records(f"{type(self).__name__} counts", problem, self.read, self.privacy)

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        return block_neighbours(self.privacy, problem.normaliser, owner)

    def answer(self, numbers: Float[np.ndarray, " p"], contract: Any) -> Answer:
        values, sites = np.asarray(numbers[:-1], dtype=float), float(numbers[-1])
        if not (np.isfinite(values).all() and sites >= 1):
            return Refused(
                "no site's records were counted, or a number is not finite",
                "ask again, with a network in which sites take part",
            )
        query = self.query
        spreads = query.spread(sites * float(contract.spread(_ANSWERS, round(sites))))
        ends = np.cumsum([block.length for block in query.blocks])[:-1]
        return self.told(np.split(values, ends), spreads, round(sites), contract.network.agents)


def together(columns: Any) -> tuple[Any, ...]:
    """Columns as a tuple.

    Raises:
        ConfigError: a name, or something else that is no list.
    """
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ConfigError(
            f"columns={checks.shown(columns)} must be a list of columns of the records, such as "
            "[task.column('sex')]"
        )
    return tuple(columns)


def check_columns(columns: Sequence[Any], doing: str) -> None:
    """Refuse no columns, what is no column, and one that stands twice.

    Args:
        columns: argument of that name.
        doing: what is done with columns, such as "count".
    """
    if not columns:
        raise ConfigError(f"columns is empty; give at least one column to {doing}")
    for column in columns:
        remedy = "give columns of the records, such as [task.column('sex')]"
        checks.instance("columns", column, Column, remedy, ConfigError)
    names = [column.name for column in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"columns: {twice!r} stands twice; name each column once")


def _check_budget(privacy: Privacy) -> None:
    if privacy.noise is not NoiseKind.GAUSSIAN:
        raise PrivacyError(
            f"noise={str(privacy.noise)!r}: intervals of counts are of Gaussian noise; leave noise "
            "at 'gaussian'"
        )
    if privacy.sampling < 1.0:
        raise PrivacyError(
            f"sampling={privacy.sampling!r} would count a sample, and the intervals are of the "
            "noise alone; leave it at 1"
        )
    clips = np.atleast_1d(np.asarray(privacy.clip, dtype=float))
    if min(own_public(privacy.clip, agent) for agent in range(len(clips))) < 1.0:
        raise PrivacyError(
            f"clip={checks.shown(privacy.clip)} would cut what a record adds, which is 1 to each "
            "column; leave it at 1"
        )


def _ask(state: Tally, released: None, context: Context) -> tuple[Tally, Vector]:
    return state, jnp.zeros((1,), state.total.dtype)


def _hear(state: Tally, inbox: Inbox, context: Context) -> Tally:
    return state


def _add(state: Tally, inbox: Inbox, context: Context) -> Tally:
    return Tally(inbox.total, inbox.degree.astype(state.total.dtype))
