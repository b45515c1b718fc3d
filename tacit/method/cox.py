"""Private Cox regression by a piecewise-exponential likelihood, from four private sums.

Without a budget there are seven, with which Newton's method converges from strong effects, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.data.cells import Column, Scale
from tacit.data.design import Design, design_of
from tacit.errors import ConfigError
from tacit.method import _cox_steps as steps
from tacit.method._cox_estimate import TESTED, Estimate, estimate, refused
from tacit.method._cox_layout import Layout, check_strata, layout_of
from tacit.method._cox_queries import queries_of
from tacit.method._cox_rows import extent
from tacit.method._glm_arguments import check_budget
from tacit.method._newton import Fit, NewtonSums
from tacit.method._one_sum import check_columns, together
from tacit.method._records import check_records
from tacit.method._times import check_cut, check_event, check_number, check_time, edges_of
from tacit.method.answer import Refused
from tacit.method.cox_answer import HazardRatios
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.statistics import BlockSum
from tacit.problem.task import Task
from tacit.ranges import Count, Positive
from tacit.types import Relation

_PIECES = 6
"""Number of equal pieces without edges."""

SHARES = (0.06, 0.2, 0.3, 0.44)
"""Share of the budget of each sum."""

_EXACT = (1.0 / 7.0,) * 7
"""That of each sum without a budget: more of them cost nothing."""

_NO_LIMIT = 1000.0
"""Cumulative hazard that no record reaches."""


class PrivateCox(NewtonSums):
    """Cox regression by private Newton steps, with intervals that include the noise.

    The hazard is `exp(a_j + x'b)` in the piece `j` of time: as a Cox model with a baseline that is
    constant in each piece. The first sum gives events and exposures by piece, and so a start
    without effects. Every other sum is asked at a public point and releases score and
    information, from which the next point follows. The last two sums are pooled.

    Strata have baselines of their own. With periods of time, each has effects of its own, and the
    answer has a test of proportional hazards: that effects are the same in all of them.

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
        pieces: number of equal pieces between the bounds, at least 1, where no edges are given;
            `None` for 6.
        limit: cumulative hazard up to which a record is followed, positive; by default 1 with a
            budget, and none without. A larger one leaves out less and needs more noise.
        strata: declared column each of whose levels has a baseline of its own; `None` for one
            baseline. Take few pieces with it, because each has a hazard in every stratum.
        periods: inner ends of periods of time in each of which every column has an effect of its
            own, ascending, in the units of the data, each the end of a piece.
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
    pieces: Count | None = eqx.field(static=True, default=None)
    limit: Positive | None = eqx.field(static=True, default=None)
    strata: Column | None = eqx.field(static=True, kw_only=True, default=None)
    periods: tuple[float, ...] = eqx.field(static=True, kw_only=True, default=())
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        self.check_budget()
        check_time(self.time)
        check_event(self.event)
        check_number("pieces", self.pieces)
        check_cut("pieces", self.pieces, self.time)
        check_columns(self.columns, "regress on")
        check_strata(self.strata)
        names = [column.name for column in self.columns]
        alone = {"time": self.time, "event": self.event, "strata": self.strata}
        for key, column in alone.items():
            if column is not None and column.name in names:
                raise ConfigError(f"{key}={column.name!r} is among the columns as well")
        taken = [column.name for column in alone.values() if column is not None]
        twice = next((name for name in taken if taken.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(
                f"column {twice!r} stands twice; time, event and strata are columns of their own"
            )
        _ = self.design  # refuses a column that cannot be one of a regression
        _ = self.layout
        if self.privacy is not None:
            check_budget(self.privacy)

    @cached_property
    def design(self) -> Design:
        """Columns of the regression."""
        return design_of(self.columns)

    @property
    def edges(self) -> tuple[float, ...]:
        """Start of the first piece, then the ends of all, in the units of the data."""
        return edges_of(self.time, _PIECES if self.pieces is None else self.pieces)

    @cached_property
    def layout(self) -> Layout:
        """Effects by period, and log hazards by piece and stratum."""
        levels = ("",) if self.strata is None else self.strata.levels
        return layout_of(self.design.names[:-1], self.edges, self.periods, levels)

    @property
    def points(self) -> int:
        """Effects of each period, and a log hazard for every piece of each stratum."""
        return self.layout.effects + self.layout.cells

    @property
    def shares(self) -> tuple[float, ...]:
        return _EXACT if self.privacy is None else SHARES

    @property
    def followed(self) -> float:
        """Cumulative hazard up to which a record is followed."""
        if self.limit is not None:
            return float(self.limit)
        return _NO_LIMIT if self.privacy is None else 1.0

    def asks(self) -> tuple[BlockSum, ...]:
        return queries_of(self)

    def begun(self, first: Float[Array, " m"], noise: Float[Array, ""]) -> Float[Array, " k"]:
        """No effects, and the rate of every cell."""
        query, layout = self.queries[0], self.layout
        events, exposures = query.split(first)
        spread = jnp.stack(query.spread(noise))
        return steps.start(events, exposures, spread, layout.strata, layout.effects)

    def moved(
        self, state: Fit, total: Float[Array, " n"], noise: Float[Array, ""]
    ) -> Float[Array, " k"]:
        """A Newton step."""
        asked = self.asked(state.point, total, noise)
        return state.point + steps.step(asked, self.layout.members)

    def asked(
        self,
        point: Float[Array, " k"],
        total: Float[Array, " n"],
        noise: Float[Array, ""],
    ) -> steps.Sum:
        """A sum after the first in its own units.

        Args:
            point: point at which it was asked.
            total: released sum, shape `(n,)`.
            noise: standard deviation of the noise in each of its entries.
        """
        query, layout, c = self.queries[-1], self.layout, self.followed
        score, squares, crossed, expected = query.split(total)
        spread, *others = query.spread(noise)
        found = steps.Information(
            layout.blocks(squares), crossed.reshape(layout.columns, -1), c * expected
        )
        others[-1] = c * others[-1]
        return steps.Sum(point, score, spread, found, steps.Information(*others))

    def told(self, numbers: Float[np.ndarray, " p"], contract: Any) -> HazardRatios | Refused:
        from scipy.linalg import block_diag

        found, layout = self.estimate(numbers, contract), self.layout
        why = refused(found, self.design.names[:-1], self.privacy is not None)
        if why is not None:
            return why
        edges, moved, d = np.array(self.edges), self.design.unscaled, layout.columns
        matrix = np.array(moved[:d, :d])
        centre = extent(self.design)[0]
        # from records in the middle of their bounds to those where all columns are 0
        shift, places = moved[-1, :d] - np.array(centre), np.tile(layout.places, layout.strata)
        hazards = found.hazards + (found.effects @ shift)[places]
        restored = np.array(block_diag(*[matrix] * layout.periods, np.eye(layout.cells)))
        restored[layout.effects :, : layout.effects] = np.kron(layout.members.T, shift)
        sampling, privacy = (
            np.asarray(block_diag(*(matrix @ each @ matrix.T for each in part)))
            for part in (found.sampling, found.privacy)
        )
        return HazardRatios(
            names=layout.names,
            values=(found.effects @ matrix.T).ravel(),
            sampling=sampling,
            privacy=privacy,
            joint=restored @ found.joint @ restored.T,
            spans=tuple(self.design.spans[:d]) * layout.periods,
            edges=self.edges,
            hazards=np.exp(hazards).reshape(layout.strata, -1) / (edges[-1] - edges[0]),
            time=self.time.name,
            event=f"{self.event.name} = {self.event.levels[1]}",
            limit=self.followed if self.privacy is not None or self.limit is not None else None,
            sites=round(float(numbers[-1])),
            of_sites=contract.network.agents,
            periods=layout.bounds,
            strata=None if self.strata is None else self.strata.name,
            levels=layout.levels,
            tested=found.curvature <= TESTED,
            private_size=self.privacy is not None and self.privacy.relation is Relation.ADD_REMOVE,
            repeated=self.privacy is not None and self.privacy.repeated,
        )

    def estimate(self, numbers: Float[np.ndarray, " p"], contract: Any) -> Estimate:
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
        with jax.enable_x64(True):
            both: list[steps.Sum] = []
            for t in (rest - 2, rest - 1):
                count = float(sites[t + 1])
                noise = count * self.spread(contract, t + 1, round(count))
                both.append(self.asked(*map(jnp.asarray, (points[t], others[t], noise))))
            one, other = self.shares[-2:]
            return estimate((both[0], both[1]), (one, other), self.layout.members)

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        """Refuse records without these columns, or with a private number that is not declared."""
        strata = () if self.strata is None else (self.strata,)
        columns = (self.time, self.event, *self.columns, *strata)
        check_records("PrivateCox fits", problem, columns, self.privacy)
