"""Private Cox regression by a piecewise-exponential likelihood, from four private sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from tacit.data.cells import Column, Scale
from tacit.data.design import Design, design_of
from tacit.errors import ConfigError
from tacit.method import _cox_rows as rows
from tacit.method import _cox_steps as steps
from tacit.method._glm_arguments import check_budget
from tacit.method._newton import Fit, NewtonSums
from tacit.method._one_sum import check_columns, together
from tacit.method._records import check_records
from tacit.method._times import check_event, check_time, edges_of, ends_of
from tacit.method.answer import Refused
from tacit.method.coefficients import CURVATURE
from tacit.method.cox_answer import HazardRatios
from tacit.network.base import AbstractNetwork
from tacit.privacy.blocks import full
from tacit.privacy.budget import Privacy
from tacit.privacy.statistics import BlockSum, Clipped, Counts, Parts
from tacit.problem.task import Task
from tacit.ranges import Count, Positive
from tacit.types import Relation

SHARES = (0.08, 0.14, 0.28, 0.5)
"""Share of the budget of each sum."""

_SCORE = 0.7
"""Share of a sum for the score; the rest is for the information."""

_NO_LIMIT = 1000.0
"""Cumulative hazard that no record reaches."""


class PrivateCox(NewtonSums):
    """Cox regression by private Newton steps, with intervals that include the noise.

    The hazard is `exp(a_j + x'b)` in the piece `j` of time: as a Cox model with a baseline that is
    constant in each piece. The first sum gives events and exposures by piece, and so a start
    without effects. Every other sum is asked at a public point and releases score and
    information, from which the next point follows. The last two sums are pooled.

    A record is followed until its cumulative hazard at the public point reaches `limit`, and what
    comes later is left out. That bounds what it adds, and leaves the mean of the score at the true
    parameters 0, as a censoring does.

    The piecewise-exponential likelihood is that of Holford (1980); here it is asked in noisy sums.

    What leaves: one vector of each site in each sum, with noise if `privacy` is given (Gaussian
    mechanism; status proved). Without it, not private. With `Privacy(masks=...)` the server can
    read only their sum.

    Args:
        time: declared column of the time until the event or the censoring, a number with bounds;
            the lower one at least 0. Edges cut it into the pieces. A record whose time reaches the
            upper bound counts as followed to it without an event.
        event: declared column of two levels, the second of which is the event.
        columns: declared columns that the hazard depends on: numbers with bounds, or levels, which
            are compared with the first.
        pieces: number of equal pieces between the bounds, where no edges are given.
        limit: cumulative hazard up to which a record is followed, positive; by default 1 with a
            budget, and none without. A larger one leaves out less and needs more noise.
        privacy: budget and relation, or `None`. Its clip is not used; leave it at 1.
    """

    name: ClassVar[str] = "cox"
    when: ClassVar[str] = "the question is what the hazard of an event depends on: hazard ratios"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {
            "time": Column("age", (), (2,), Scale(0.0, 120.0, 60.0, 60.0)),
            "event": Column("ill", ("false", "true"), (3,), Scale(0.0, 1.0, 0.0, 1.0), (0.5,)),
            "columns": (Column("sex", ("f", "m"), (0, 1)),),
        }
    )
    time: Column = eqx.field(static=True)
    event: Column = eqx.field(static=True)
    columns: Sequence[Column] = eqx.field(static=True, converter=together)
    pieces: Count = eqx.field(static=True, default=6)
    limit: Positive | None = eqx.field(static=True, default=None)
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        self.check_budget()
        check_time(self.time)
        check_event(self.event)
        check_columns(self.columns, "regress on")
        names = [column.name for column in self.columns]
        for key, column in (("time", self.time), ("event", self.event)):
            if column.name in names:
                raise ConfigError(f"{key}={column.name!r} is among the columns as well")
        if self.time.name == self.event.name:
            raise ConfigError(f"column {self.time.name!r} is both time and event")
        _ = self.design  # refuses a column that cannot be one of a regression
        if self.privacy is not None:
            check_budget(self.privacy)

    @cached_property
    def design(self) -> Design:
        """Columns of the regression."""
        return design_of(self.columns)

    @property
    def edges(self) -> tuple[float, ...]:
        """Start of the first piece, then the ends of all, in the units of the data."""
        return edges_of(self.time, self.pieces)

    @property
    def width(self) -> int:
        """Number of effects."""
        return self.design.width - 1

    @property
    def points(self) -> int:
        """Effects, and a log hazard for every piece."""
        return self.width + len(self.edges) - 1

    @property
    def shares(self) -> tuple[float, ...]:
        return SHARES

    @property
    def followed(self) -> float:
        """Cumulative hazard up to which a record is followed."""
        if self.limit is not None:
            return float(self.limit)
        return _NO_LIMIT if self.privacy is None else 1.0

    @cached_property
    def queries(self) -> tuple[BlockSum, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Events and exposures by piece; then three times score and information."""
        relation = Relation.REPLACE_ONE if self.privacy is None else self.privacy.relation
        edges = np.array(self.edges)
        cuts = tuple(((edges[1:] - edges[0]) / (edges[-1] - edges[0])).tolist())
        # nothing has to be bounded without a budget, and nobody loses weight
        reach = self.design.longest if self.privacy is None else self.design.typical
        radius = math.sqrt(reach**2 - 1.0)  # without the intercept
        ends = ends_of(self.time, self.edges)
        parts = (self.design, self.time, self.event, ends, cuts, radius)
        size, k = len(cuts), self.points
        score = rows.Scores(*parts, self.followed)
        information = rows.Informations(*parts, self.followed)
        first = (
            Counts(rows.Events(*parts), size, share=0.5),
            Parts(rows.Exposures(*parts), size, share=0.5),
        )
        other = (
            Clipped(score, k, score.bound, share=_SCORE),
            Clipped(information, k * (k + 1) // 2, information.bound, share=1.0 - _SCORE),
        )
        point = _point
        later = BlockSum(other, point, relation=relation)
        return (BlockSum(first, point, relation=relation), later, later, later)

    def begun(self, first: Any, noise: Any) -> Any:
        """No effects, and the rate of every piece."""
        query = self.queries[0]
        events, exposures = query.split(first)
        return steps.start(events, exposures, jnp.stack(query.spread(noise)), self.width)

    def moved(self, state: Fit, total: Any, noise: Any) -> Any:
        """A Newton step."""
        query = self.queries[-1]
        score, information = query.split(total)
        spread = query.spread(noise)[1]
        return state.point + steps.step(score, full(information, self.points), spread)

    def told(self, numbers: Float[np.ndarray, " p"], contract: Any) -> HazardRatios | Refused:
        found = self.estimate(numbers, contract)
        if not found.curvature <= CURVATURE:
            times = found.curvature / CURVATURE if math.isfinite(found.curvature) else math.inf
            wanted = f"about {math.ceil(times)} times" if times < 20.0 else "many times"
            return Refused(
                "the noise hides the direction in which the records say the least (noise over "
                f"smallest eigenvalue of the information {found.curvature:.2g}, at most "
                f"{CURVATURE:g})",
                f"{wanted} the records or the epsilon would do, or fewer columns",
            )
        if not found.moved <= found.allowed:
            return Refused(
                "Newton's method has not converged (its last step moved log hazards by a mean "
                f"square of {found.moved:.2g}, at most {found.allowed:.2g})",
                "give more records, a larger epsilon, or fewer columns",
            )
        d, edges = self.width, np.array(self.edges)
        moved = self.design.unscaled
        # log hazards are those of records in the middle of their bounds, and stay so
        matrix = np.array(moved[:d, :d])
        errors = [matrix @ each[:d, :d] @ matrix.T for each in (found.sampling, found.privacy)]
        return HazardRatios(
            names=tuple(self.design.names[:d]),
            values=matrix @ found.values[:d],
            sampling=errors[0],
            privacy=errors[1],
            spans=tuple(self.design.spans[:d]),
            edges=self.edges,
            hazards=np.exp(found.values[d:] + moved[-1, :d] @ found.values[:d])
            / (edges[-1] - edges[0]),
            time=self.time.name,
            event=f"{self.event.name} = {self.event.levels[1]}",
            limit=self.followed if self.privacy is not None or self.limit is not None else None,
            sites=round(float(numbers[-1])),
            of_sites=contract.network.agents,
            private_size=self.privacy is not None and self.privacy.relation is Relation.ADD_REMOVE,
            repeated=self.privacy is not None and self.privacy.repeated,
        )

    def estimate(self, numbers: Float[np.ndarray, " p"], contract: Any) -> steps.Estimate:
        """Effects of the scaled columns and log hazards, from the numbers of a solution.

        Args:
            numbers: numbers of the solution, all finite.
            contract: contract of the run.
        """
        import jax

        rest, point, first, other = self.sizes
        ends = np.cumsum([rest * point, first, rest * other])
        points, _, others, sites = np.split(np.asarray(numbers, dtype=float), ends)
        points, others = points.reshape(rest, point), others.reshape(rest, other)
        query, k = self.queries[-1], self.points
        both: list[steps.Sum] = []
        with jax.enable_x64(True):
            for t in (rest - 2, rest - 1):
                count = float(sites[t + 1])
                noise = count * float(contract.spread(t + 2, round(count)))
                score, information = query.split(others[t])
                one, two = (float(each) for each in query.spread(noise))
                whole = np.asarray(full(information, k))
                both.append(steps.Sum(points[t], np.asarray(score), whole, one, two))
            return steps.estimate((both[0], both[1]), (SHARES[-2], SHARES[-1]), self.width)

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        """Refuse records without these columns, or with a private number that is not declared."""
        columns = (self.time, self.event, *self.columns)
        check_records("PrivateCox fits", problem, columns, self.privacy)


def _point(state: Any) -> Any:
    return state.point
