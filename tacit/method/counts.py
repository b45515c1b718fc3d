"""Private counts: the number of records, over all sites, with each level of declared columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit import checks
from tacit.data.cells import Column
from tacit.errors import ConfigError, PrivacyError
from tacit.method._oracle import combined, send_released
from tacit.method._records import check_records
from tacit.method.answer import NORMAL, Answer, Refused
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.worst_case import Neighbours, block_neighbours
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.laws import NoiseKind
from tacit.privacy.mechanism import NO_NOISE, Release
from tacit.privacy.query import own_public
from tacit.privacy.statistics import BlockSum, Counts
from tacit.problem.task import Task
from tacit.types import Context, Inbox, Index, Oracle, Relation, Role, Vector

if TYPE_CHECKING:
    import pandas as pd

_COUNTING = 1
"""Index of the phase that releases the counts."""


def _together(columns: Any) -> tuple[Any, ...]:
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ConfigError(
            f"columns={checks.shown(columns)} must be a list of columns of the records, such as "
            "[task.column('sex')]"
        )
    return tuple(columns)


class Tally(eqx.Module):
    """The server's state: the sum of all answers, and their number."""

    total: Float[Array, " m"]
    sites: Float[Array, ""]


@dataclass(frozen=True)
class CountTable:
    """The number of records with each level, with the error due to the noise.

    Attributes:
        columns: names of the counted columns, one per row.
        levels: levels of those columns, one per row.
        counts: released counts, without rounding; they may be below 0.
        errors: standard deviations of the noise in the counts.
        sites: number of sites whose records were counted.
        of_sites: number of all sites.
    """

    columns: tuple[str, ...]
    levels: tuple[str, ...]
    counts: tuple[float, ...]
    errors: tuple[float, ...]
    sites: int
    of_sites: int
    kind: ClassVar[str] = "counts"

    def frame(self) -> pd.DataFrame:
        """One row per level: count, standard error, and the ends of a 95 % interval."""
        import pandas as pd

        counts, errors = np.array(self.counts), np.array(self.errors)
        return pd.DataFrame(
            {
                "column": self.columns,
                "level": self.levels,
                "count": counts,
                "standard_error": errors,
                "lower": counts - NORMAL * errors,
                "upper": counts + NORMAL * errors,
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values."""
        rows: list[dict[str, Any]] = self.frame().to_dict("records")
        return {"kind": self.kind, "sites": self.sites, "of_sites": self.of_sites, "rows": rows}

    def sentence(self) -> str:
        """The sites whose records were counted, and what the intervals cover."""
        whose = (
            f"all {self.sites} sites"
            if self.sites == self.of_sites
            else f"{self.sites} of {self.of_sites} sites"
        )
        noise = (
            "Standard errors and 95 % intervals cover the noise only"
            if any(self.errors)
            else "No noise was added"
        )
        return (
            f"Counts of the records of {whose}. {noise}: the counts are a census of these records, "
            "not a sample of a larger population."
        )


class PrivateCounts(AbstractMethod):
    """Counts of records by the levels of declared columns, over all sites in one sum.

    One round: the server asks, every client answers with the noisy number of its records with each
    level, and the server adds up the answers. All columns are one release, each with the same
    share of the budget: the noise in the counts of one of `q` columns is `sqrt(q)` times as large
    as if it were the only column, and does not depend on its number of levels.

    Source: Dwork et al. (2006), section 3. There one holder has a histogram and adds Laplace noise;
    here every client adds Gaussian noise to its own.

    What leaves: each client's counts, to the server, which need not be trusted when `privacy` is
    given (Gaussian mechanism; status proved). Without it, not private. With `Privacy(masks=...)`
    the server can read only their sum.

    Args:
        columns: declared columns to count by, with numbers cut into intervals.
        privacy: budget and relation, or `None`. A clip of 1 or more has no effect, as a record adds
            1 to each column.

    Example:
        >>> from tacit.method import PrivateCounts
        >>> from tacit.data import Column
        >>> method = PrivateCounts([Column("sex", ("f", "m"), (0, 1))])
        >>> [(phase.name, phase.sender.value) for phase in method.phases()]
        [('question', 'server'), ('counts', 'client')]
    """

    name: ClassVar[str] = "counts"
    when: ClassVar[str] = (
        "the question is how many records have each level of some columns, and not a model"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"columns": (Column("sex", ("f", "m"), (0, 1)),)}
    )
    oracle: ClassVar[Oracle] = Oracle.ROWS
    columns: Sequence[Column] = eqx.field(static=True, converter=_together)
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        if not self.columns:
            raise ConfigError("columns is empty; give at least one column to count")
        for column in self.columns:
            remedy = "give columns of the records, such as [task.column('sex')]"
            checks.instance("columns", column, Column, remedy, ConfigError)
            if not column.levels:
                raise ConfigError(
                    f"columns: {column.name!r} is a number, of which every value could be a level "
                    "of its own; cut it into intervals by declared edges"
                )
        names = [column.name for column in self.columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(f"columns: {twice!r} stands twice; name each column once")
        if self.privacy is not None:
            _check_budget(self.privacy)

    def init(self, role: Role, x0: Vector, degree: Index) -> Tally:
        return Tally(jnp.zeros_like(x0[:-1]), jnp.zeros_like(x0[-1]))

    @property
    def only_rounds(self) -> int:
        return 1

    def start(self, task: Task) -> np.ndarray:
        return np.zeros(sum(len(column.levels) for column in self.columns) + 1)

    def numbers(self, task: Task) -> tuple[str, ...]:
        cells = [f"{column.name}={level}" for column in self.columns for level in column.levels]
        return (*cells, "sites")

    def phases(self) -> tuple[Phase, ...]:
        privacy = self.privacy
        release = (
            Release("counts", NO_NOISE)
            if privacy is None
            else Release("noised counts", privacy.mechanism, privacy.relation)
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
                name="counts",
                sender=Role.CLIENT,
                query=self.query,
                release=release,
                message=send_released,
                receiver=Role.SERVER,
                update=_add,
                combine=combined(privacy),
            ),
        )

    @property
    def query(self) -> BlockSum:
        """One block of counts per column, all with the same share of the budget."""
        share = 1.0 / len(self.columns)
        blocks = [Counts(each.cell, len(each.levels), share=share) for each in self.columns]
        relation = Relation.REPLACE_ONE if self.privacy is None else self.privacy.relation
        return BlockSum(tuple(blocks), relation=relation)

    def solution(self, state: Tally) -> Vector:
        return jnp.concatenate([*self.query.split(state.total), state.sites[None]])

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        """Refuse records without these columns, or with a private number that is not declared."""
        check_records(f"{type(self).__name__} counts", problem, self.columns, self.privacy)

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        return block_neighbours(self.privacy, problem.normaliser, owner)

    def answer(self, numbers: Float[np.ndarray, " p"], contract: Any) -> Answer:
        values, sites = np.asarray(numbers[:-1], dtype=float), float(numbers[-1])
        if not (np.isfinite(values).all() and sites >= 1):
            return Refused(
                "no site's records were counted, or a number is not finite",
                "ask again, with a network in which sites take part",
            )
        spreads = self.query.spread(sites * float(contract.spread(_COUNTING, round(sites))))
        rows = [
            (column.name, level, spread)
            for column, spread in zip(self.columns, spreads, strict=True)
            for level in column.levels
        ]
        columns, levels, errors = zip(*rows, strict=True)
        return CountTable(
            columns, levels, tuple(values.tolist()), errors, round(sites), contract.network.agents
        )


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
