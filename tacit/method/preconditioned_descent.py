"""Private gradient descent in coordinates that a private Gram matrix has whitened."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tacit.errors import PrivacyError, ProblemError
from tacit.method._assumptions import check_smooth
from tacit.method._oracle import combined, iterate, send_released
from tacit.method._schedule import tail_average
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.rounds import Rounds
from tacit.method.worst_case import LinearRecords, Neighbours, linear_neighbours
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.laws import NoiseKind
from tacit.privacy.mechanism import NO_NOISE, Release
from tacit.privacy.query import AbstractQuery
from tacit.privacy.sensitivity import Exact
from tacit.privacy.whitened import FeatureGram, TransformedGradient
from tacit.problem.constraint import Free
from tacit.problem.losses import AbstractScalarLoss
from tacit.problem.task import Task
from tacit.ranges import PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Relation, Role, Vector


class Whitened(eqx.Module):
    """The common iterate, the mean of later ones, and the coordinates: known to everybody.

    Attributes:
        x: iterate, shape `(p,)`.
        average: mean of the iterates of the second half of the rounds, shape `(p,)`.
        matrix: symmetric matrix `M` of the coordinates `u = M^-1 x`, shape `(p, p)`.
    """

    x: Vector
    average: Vector
    matrix: Float[Array, "p p"]


class PreconditionedDescent(AbstractMethod):
    """Gradient descent on a star that few rounds are enough for, because it is preconditioned.

    In the first round every client releases the Gram matrix of its features, from which the server
    makes a matrix, with negative eigenvalues counted as 0:

        M = (mean_k G_k + ridge * (mean eigenvalue) * I)^(-1/2).

    In every other round the clients release the gradients with respect to `u = M^-1 x`, in which
    features have nearly unit covariance, clipped there, and the server takes
    `x <- x - step M [mean_k g_k + M (gradient of the regulariser)]`.

    In these coordinates one step size suits all directions and noise is as large, in terms of
    predictions, in each. With a budget the matrix costs as much as a gradient does; 9 to 13 rounds,
    that of the matrix included, are enough for a logistic regression.

    Preconditioning is classical; that the private Gram matrix whitens the records before the clip
    is tacit's.

    What leaves: each client's matrix, once, and its gradient in each round, to the server, which
    need not be trusted when `privacy` is given (Gaussian mechanism with exact composition; status
    proved). Without it, not private. With `Privacy(masks=...)` the server can read only sums.

    `Privacy.clip` is in whitened coordinates, in which the features of a record have a root mean
    square length of at most `sqrt(p)`, whatever their units: `0.8 * sqrt(p)` clips few records
    of a logistic regression.

    Args:
        step: step size, positive, relative to the mean objective `(1/K) sum_k f_k`: at most 1 over
            the loss's curvature in its score, so 4 for `Logistic`, 1 for `Huber`, .5 for
            `Squared`; less if the regulariser is strong.
        ridge: what is added to the Gram matrix, in its mean eigenvalue, positive. A smaller one
            whitens more, and needs a more accurate matrix.
        longest: largest l2 norm of a record's features in the Gram matrix, positive; longer ones
            are scaled down there. `sqrt(p)` when `None`: enough for features in [-1, 1].
        average: answer with the mean of the second half of the iterates instead of the last.
        privacy: budget, clip and relation, or `None`.

    Raises:
        ConfigError: a number out of range.
        PrivacyError: a budget with other noise than Gaussian, a clip in another norm than l2, or
            the relation metric.

    Example:
        >>> from tacit.method import PreconditionedDescent
        >>> [phase.name for phase in PreconditionedDescent().phases()]
        ['iterate', 'gram', 'gradient']
    """

    name: ClassVar[str] = "preconditioned-descent"
    when: ClassVar[str] = "rounds are expensive, a coordinator is there, and a record has one score"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    absences: ClassVar[bool] = True
    step: PositiveOne = 4.0
    ridge: PositiveOne = 0.25
    longest: PositiveOne | None = None
    average: bool = eqx.field(static=True, kw_only=True, default=True)
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        self.check_budget()
        budget = self.privacy
        if budget is None:
            return
        if budget.noise is not NoiseKind.GAUSSIAN:
            raise PrivacyError(
                f"noise={str(budget.noise)!r}: a Gram matrix has a bound in the l2 norm, for "
                "Gaussian noise; leave noise at 'gaussian'"
            )
        if budget.clip_norm not in (None, 2):
            raise PrivacyError(
                f"clip_norm={budget.clip_norm!r}: whitened gradients are clipped in the l2 norm; "
                "leave clip_norm out"
            )
        if budget.relation is Relation.METRIC:
            raise PrivacyError(
                "relation='metric' compares whole costs, and a Gram matrix is a sum over records; "
                "use 'replace_one' or 'add_remove'"
            )

    @property
    def gram(self) -> FeatureGram:
        """The query for the Gram matrix."""
        if self.privacy is None:
            return FeatureGram(iterate, self.longest)
        budget = self.privacy
        return FeatureGram(iterate, self.longest, relation=budget.relation, rate=budget.sampling)

    def init(self, role: Role, x0: Vector, degree: Index) -> Whitened:
        return Whitened(x0, x0, jnp.eye(len(x0), dtype=x0.dtype))

    def phases(self) -> tuple[Phase, ...]:
        query, gradient, gram = self._releases()
        sums = {"sender": Role.CLIENT, "message": send_released, "receiver": Role.SERVER}
        sums["combine"] = combined(self.privacy)
        first, later = Rounds(0, 1), Rounds(1)
        return (
            # with the matrix in every round, because a client may have been away in an earlier one
            Phase(
                name="iterate",
                sender=Role.SERVER,
                message=_send_both,
                point=True,
                receiver=Role.CLIENT,
                update=_adopt_both,
            ),
            Phase(
                name="gram",
                query=self.gram,
                release=gram,
                update=self.whiten,
                rounds=first,
                **sums,
            ),
            Phase(
                name="gradient",
                query=query,
                release=gradient,
                update=self.descend,
                rounds=later,
                **sums,
            ),
        )

    def _releases(self) -> tuple[AbstractQuery, Release, Release]:
        """The query for gradients, its protection, and that of the matrix."""
        if self.privacy is None:
            return Exact(_gradient), Release("gradient", NO_NOISE), Release("matrix", NO_NOISE)
        budget = self.privacy
        query = TransformedGradient(iterate, _matrix, budget.clip, rate=budget.sampling)
        return (
            query,
            Release("noised clipped gradient", budget.mechanism, budget.relation),
            Release("noised Gram matrix", budget.mechanism, budget.relation),
        )

    def whiten(self, state: Whitened, inbox: Inbox, context: Context) -> Whitened:
        """The server takes the root of the inverse of the matrix with a ridge."""
        gram = self.gram.matrix(inbox.mixed, len(state.x))
        values, vectors = jnp.linalg.eigh(gram)
        values = jnp.maximum(values, 0.0)
        mean = jnp.mean(values)
        # where nobody answered, or noise left nothing: coordinates as they are, but for their unit
        values = jnp.where(mean > 0.0, values / mean, 1.0) + self.ridge
        unit = jnp.where(mean > 0.0, mean, 1.0)
        matrix = (vectors / jnp.sqrt(values * unit)) @ vectors.T
        return Whitened(state.x, state.average, 0.5 * (matrix + matrix.T))

    def descend(self, state: Whitened, inbox: Inbox, context: Context) -> Whitened:
        """The server takes a step in the coordinates."""
        penalty = state.matrix @ context.public.gradient(state.x)
        x = state.x - self.step * state.matrix @ (inbox.mixed + penalty)
        return Whitened(x, tail_average(state.average, x, context), state.matrix)

    def solution(self, state: Whitened) -> Vector:
        return state.average if self.average else state.x

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        """Refuse losses without a single score, kinks, and constraints."""
        name = type(self).__name__
        loss = getattr(problem.objectives, "loss", None)
        if not isinstance(loss, AbstractScalarLoss):
            what = type(problem.objectives if loss is None else loss).__name__
            raise ProblemError(
                f"{name} whitens the features of records by which a loss has one score, and {what} "
                "has none. Use GradientDescent, or a loss such as Logistic, Squared or Huber"
            )
        check_smooth(name, problem)
        if not problem.regulariser.smooth:
            raise ProblemError(
                f"{name} takes steps along gradients, and {type(problem.regulariser).__name__} "
                "has kinks. Use GradientDescent, or L2"
            )
        if not isinstance(problem.constraint, Free):
            raise ProblemError(
                f"{name} takes steps in other coordinates, in which a projection on a "
                f"{type(problem.constraint).__name__} is another one. Use GradientDescent, or no "
                "constraint"
            )

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        return linear_neighbours(
            self.privacy, problem.normaliser, problem.dimension, owner, units=LinearRecords
        )


def _matrix(state: Whitened) -> Float[Array, "p p"]:
    return state.matrix


def _gradient(state: Whitened, objective: Any, context: Context) -> Vector:
    return state.matrix @ objective.gradient(state.x)


def _send_both(
    state: Whitened, released: None, context: Context
) -> tuple[Whitened, tuple[Vector, Float[Array, "p p"]]]:
    return state, (state.x, state.matrix)


def _adopt_both(state: Whitened, inbox: Inbox, context: Context) -> Whitened:
    x, matrix = inbox.total
    return Whitened(x, state.average, matrix)
