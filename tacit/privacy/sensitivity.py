"""Queries: the only things that see private data, each with the bound it enforces.

The sensitivity of a query is derived here, from the clip that the query itself applies; it cannot
be typed in. With per-unit vectors clipped to norm `C` and their sum divided by a declared
`n`, replacing one unit moves the result by at most `2C/n` and adding or removing one by `C/n`, in
the norm of the clip (proof: docs/proofs/clipping.md). A bound `C` on one norm of `p` numbers is one
on every other: `sqrt(p) C` from l2 to l1 and from linf to l2, `p C` from linf to l1, and `C` itself
towards a norm of higher order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from tacit.arguments.answers import array_of
from tacit.clipping import ORDERS, clipped, norm_ratio
from tacit.errors import PrivacyError
from tacit.privacy.query import (
    AbstractQuery,
    Clip,
    Norm,
    OneOrTwo,
    Share,
    Sums,
    asked,
    own,
    own_public,
)
from tacit.ranges import Count, NotNegative, Numbers, Positive, Whole, per_agent
from tacit.types import (
    AbstractDifferentiable,
    AbstractObjective,
    Context,
    Oracle,
    Order,
    Params,
    PublicContext,
    Relation,
    State,
)

if TYPE_CHECKING:
    from tacit.privacy.budget import Privacy


class Exact(AbstractQuery):
    """Any function of the private objective, with no bound: its sensitivity is infinite.

    Attributes:
        function: `(state, objective, context) -> answer`.
        points: number of function values or gradients asked of each unit.
        times: number of times that it asks for these; may differ per agent.
    """

    function: Callable[[Any, Any, Context], Any]
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.GRADIENT)
    points: Whole = eqx.field(static=True, default=1)
    times: NotNegative = 1
    order: OneOrTwo = eqx.field(static=True, kw_only=True, default=2)
    rate: Share = eqx.field(static=True, kw_only=True, default=1.0)

    def __call__(
        self, state: State, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Any:
        return asked(self, "function", state, objective, context, takes=_ALL)

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        return math.inf

    def evaluations(self, dimension: int) -> int:
        return self.points * int(np.max(np.asarray(self.times)))

    def evaluations_of(self, agent: int, dimension: int) -> int:
        return self.points * int(own_public(self.times, agent))


class ClippedGradient(AbstractQuery):
    """Sum of the gradients of all units, each clipped, over the declared normaliser.

    Where declared bounds imply a smaller bound on gradients (`RecordBounds`), that is the clip; an
    infinite `clip` relies on them alone. Proofs: docs/proofs/clipping.md for the bound,
    docs/proofs/declared_bounds.md for what is declared, docs/proofs/agent_level.md for whole costs,
    docs/proofs/metric.md for those compared by a distance, docs/proofs/poisson_sampling.md for
    samples.

    Attributes:
        point: point at which the gradient is taken, as a function of the method's state.
        clip: largest norm of one unit's gradient, positive; may differ per agent.
        norm: norm of the clip, 1, 2 or infinity; `order` when `None`.
    """

    sums: ClassVar[Sums] = Sums.RECORDS
    point: Callable[[Any], Params] = eqx.field(static=True)
    clip: Clip = eqx.field(converter=per_agent)
    order: OneOrTwo = eqx.field(static=True, kw_only=True, default=2)
    rate: Share = eqx.field(static=True, kw_only=True, default=1.0)
    norm: Norm | None = eqx.field(static=True, kw_only=True, default=None)
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.GRADIENT)

    @classmethod
    def of(cls, privacy: Privacy, point: Callable[[Any], Params]) -> ClippedGradient:
        """The query with the clip, the norms and the sampling of a budget.

        Args:
            privacy: the budget.
            point: point at which the gradient is taken, as a function of the method's state.
        """
        return cls(
            point,
            privacy.clip,
            order=privacy.order,
            rate=privacy.sampling,
            norm=privacy.clip_norm,
        )

    @property
    def clip_norm(self) -> Order:
        """Norm of the clip."""
        return self.order if self.norm is None else self.norm

    def __call__(
        self, state: State, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " p"]:
        if not isinstance(objective, AbstractDifferentiable):
            raise PrivacyError(
                f"{type(objective).__name__} gives values only, and this method asks for "
                "gradients. Use a zeroth-order method such as DZOA."
            )
        keep = sample(key, objective.units, self.rate)
        norm = self.clip_norm
        clip = jnp.minimum(own(self.clip, context.agent), objective.gradient_bound(norm))
        x = point_of(self, state, context)
        return objective.clipped_gradient(x, clip, norm, keep) / self.rate

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        clip = own_public(self.clip, public.agent)
        if relation is Relation.METRIC:
            return _expansion(clip, self.clip_norm, self.order) / (public.normaliser * self.rate)
        clip = min(clip, public.gradient_bounds[ORDERS.index(self.clip_norm)])
        size = public.dimension
        bound = clip * _conversion(self.clip_norm, self.order, size, "PublicContext.dimension")
        return _of_a_sum(bound, self.rate, public, relation)

    def evaluations(self, dimension: int) -> int:
        return 1


class ClippedDifferences(AbstractQuery):
    r"""Sum of per-unit forward differences, clipped, over the declared normaliser.

    For each unit `j` the vector of differences along the directions `d_i`

    .. math:: \left(\frac{\mathrm{loss}_j(x_i + u d_i) - \mathrm{loss}_j(x_i)}{u}\right)_i

    is clipped to norm `clip`; `x_i` is the point `x`, or lies beside it. Points and directions are
    known to everybody; only function values are asked of the objective. Proofs:
    docs/proofs/finite_differences.md and, for whole costs, docs/proofs/agent_level.md.

    Attributes:
        point: point `x`, as a function of the method's state.
        directions: `(state, context) -> array of shape (m, p)`.
        count: `m`, the number of directions, or `None` for the dimension of the problem.
        smoothing: step `u`, positive, or `(state, context) -> u` if it changes.
        clip: largest norm of one unit's vector of differences, positive; may differ per agent.
        offsets: `(state, context) -> x_i - x`, shape `(m, p)`; all at `x` when `None`.
        norm: norm of the clip, 1, 2 or infinity; `order` when `None`.
    """

    sums: ClassVar[Sums] = Sums.RECORDS
    point: Callable[[Any], Params] = eqx.field(static=True)
    directions: Callable[[Any, Context], Float[Array, "m p"]] = eqx.field(static=True)
    smoothing: Positive | Callable[[Any, Context], Numbers]
    clip: Clip = eqx.field(converter=per_agent)
    count: Count | None = eqx.field(static=True, default=None)
    offsets: Callable[[Any, Context], Float[Array, "m p"]] | None = eqx.field(
        static=True, kw_only=True, default=None
    )
    order: OneOrTwo = eqx.field(static=True, kw_only=True, default=2)
    rate: Share = eqx.field(static=True, kw_only=True, default=1.0)
    norm: Norm | None = eqx.field(static=True, kw_only=True, default=None)
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.VALUE)

    @property
    def clip_norm(self) -> Order:
        """Norm of the clip."""
        return self.order if self.norm is None else self.norm

    def __call__(
        self, state: State, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " m"]:
        x, u = jnp.asarray(point_of(self, state, context)), self.smoothing
        given, takes = (state, context), "state, context"
        count = len(x) if self.count is None else self.count
        fits = array_of([count, len(x)], ": a direction a row")
        one = array_of([])
        step: Any = asked(self, "smoothing", *given, takes=takes, fits=one) if callable(u) else u
        moves = step * jnp.asarray(asked(self, "directions", *given, takes=takes, fits=fits))
        if self.offsets is None:
            starts = jnp.zeros_like(moves[:1])
        else:
            starts = jnp.asarray(asked(self, "offsets", *given, takes=takes, fits=fits))
        losses = jax.vmap(objective.losses)(x + jnp.concatenate([starts, starts + moves]))
        slopes = (losses[len(starts) :] - losses[: len(starts)]) / step
        inside = clipped(slopes.T, own(self.clip, context.agent), self.clip_norm)
        keep = sample(key, objective.units, self.rate)
        if keep is not None:
            inside = inside * keep[:, None]
        return jnp.sum(inside, axis=0) / (objective.normaliser * self.rate)

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        if relation is Relation.METRIC:
            return math.inf  # the distance is between gradients, not values
        size = public.dimension if self.count is None else self.count
        clip = own_public(self.clip, public.agent)
        bound = clip * _conversion(self.clip_norm, self.order, size, "count")
        return _of_a_sum(bound, self.rate, public, relation)

    def size(self, dimension: int) -> int:
        return dimension if self.count is None else self.count

    def evaluations(self, dimension: int) -> int:
        count = self.size(dimension)
        return count + (1 if self.offsets is None else count)


class ClippedUpdate(AbstractQuery):
    """The change that an agent's own computation on all of its data makes, clipped to `clip`.

    Between any two data sets of the agent the answer moves by at most twice the clip, however the
    change was made and however many records there are: the unit is the agent. Proof:
    docs/proofs/agent_level.md.

    Attributes:
        change: `(state, objective, context) -> vector`, any computation of the agent.
        clip: largest norm of the change, positive; may differ per agent.
        points: number of function values or gradients asked of each unit.
        norm: norm of the clip, 1, 2 or infinity; `order` when `None`.

    Raises:
        PrivacyError: a `rate` other than 1: there are no units to sample.
    """

    sums: ClassVar[Sums] = Sums.ONE
    change: Callable[[Any, Any, Context], Params]
    clip: Clip = eqx.field(converter=per_agent)
    points: Count = eqx.field(static=True, default=1)
    order: OneOrTwo = eqx.field(static=True, kw_only=True, default=2)
    rate: Share = eqx.field(static=True, kw_only=True, default=1.0)
    norm: Norm | None = eqx.field(static=True, kw_only=True, default=None)
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.GRADIENT)

    def __check_init__(self) -> None:
        if self.rate != 1.0:
            raise PrivacyError(
                f"rate={self.rate!r} would sample records, and all data of the agent are one unit "
                "here; leave it at 1"
            )

    @property
    def clip_norm(self) -> Order:
        """Norm of the clip."""
        return self.order if self.norm is None else self.norm

    def __call__(
        self, state: State, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " p"]:
        size = None if context.dimension is None else self.size(context.dimension)
        fits = array_of([size], ", as its size states")
        change = jnp.asarray(
            asked(self, "change", state, objective, context, takes=_ALL, fits=fits)
        )
        return clipped(change[None], own(self.clip, context.agent), self.clip_norm)[0]

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        if relation is Relation.METRIC:
            return math.inf  # many steps may carry two close costs far apart
        clip = own_public(self.clip, public.agent)
        size = public.dimension
        return 2.0 * clip * _conversion(self.clip_norm, self.order, size, "PublicContext.dimension")

    def evaluations(self, dimension: int) -> int:
        return self.points


_ALL = "state, objective, context"
"""Arguments of a computation of the agent's own."""


def point_of(query: AbstractQuery, state: State, context: Context) -> Params:
    """The point at which a query asks, a vector of the problem's parameters.

    Raises:
        PrivacyError: something else.
    """
    fits = array_of([context.dimension], ": the parameters of the problem")
    return asked(query, "point", state, takes="state", fits=fits)


def sample(key: PRNGKeyArray, units: int, rate: float) -> Bool[Array, " n"] | None:
    """Which units take part: each with probability `rate`, independently; `None` for all.

    A unit has 52 random bits in any precision, and the share of their values that is drawn is
    `rate` rounded down, so that it never exceeds what the accountant counts.
    """
    if rate >= 1.0:
        return None
    high, low = map(np.uint32, divmod(int(rate * 2.0**52), 2**20))
    if jax.dtypes.canonicalize_dtype(np.uint64) == np.uint64:
        words = jax.random.bits(key, (units,), np.uint64)
        first, second = (words >> 32).astype(np.uint32), words.astype(np.uint32)
    else:  # in single precision there are no words of 64 bits
        first, second = jax.random.bits(key, (2, units), np.uint32)
    return (first < high) | ((first == high) & ((second >> 12) < low))


def _of_a_sum(bound: float, rate: float, public: PublicContext, relation: Relation) -> float:
    """Largest movement of a sum of vectors within `bound`, over `normaliser * rate`."""
    factor = 2.0 if relation is Relation.REPLACE_ONE else 1.0
    return factor * bound / (public.normaliser * rate)


def _conversion(of: Order, to: Order, size: int | None, missing: str) -> float:
    """The bound in norm `to` that a bound in norm `of` implies."""
    if to >= of:
        return 1.0
    if size is None:
        raise PrivacyError(
            f"a clip in the l{of} norm bounds the l{to} norm only for a known number of entries; "
            f"give {missing}, or clip in the l{to} norm"
        )
    return norm_ratio(of, to, size)


def _expansion(clip: float, norm: Order, order: int) -> float:
    """Factor by which clipping can lengthen the difference of two vectors, in norm `order`.

    Scaling down to an l2 ball is a projection and does not lengthen it; in the norm of any other
    ball it at most doubles it (docs/proofs/metric.md). Between two norms nothing is claimed.
    """
    if math.isinf(clip) or norm == order == 2:
        return 1.0
    return 2.0 if norm == order else math.inf
