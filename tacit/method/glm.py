"""Private regression: generalised linear models with intervals, from three or four private sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from tacit import checks
from tacit.data.cells import Column, Scale
from tacit.data.design import Design, design_of
from tacit.errors import ConfigError
from tacit.method import _glm_classes as classes
from tacit.method import _glm_rows as rows
from tacit.method import _glm_steps as steps
from tacit.method._glm_arguments import (
    check_budget,
    check_covariance,
    check_offset,
    check_target,
    check_weights,
)
from tacit.method._glm_estimate import coefficients
from tacit.method._glm_families import FAMILIES, Family, FamilyName
from tacit.method._glm_queries import queries_of
from tacit.method._newton import Fit, NewtonSums
from tacit.method._records import check_records
from tacit.method.answer import Answer
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.class_score import ClassScore
from tacit.privacy.score import Score
from tacit.privacy.statistics import BlockSum
from tacit.problem.task import Task
from tacit.ranges import Key

__all__ = ["SHARES", "FamilyName", "PrivateGLM"]

SHARES: Mapping[int, tuple[float, ...]] = MappingProxyType(
    {3: (0.12, 0.25, 0.63), 4: (0.08, 0.12, 0.25, 0.55)}
)
"""Share of the budget of each sum, by their number."""


_ALIASES = {
    **dict.fromkeys(("logistic", "logit", "bernoulli"), "binomial"),
    **dict.fromkeys(("normal", "linear", "ols"), "gaussian"),
    **dict.fromkeys(("softmax", "multinomial logit"), "multinomial"),
    **dict.fromkeys(("negbin", "negative binomial", "nb"), "negative_binomial"),
}
"""Other names of families, for messages."""


def _family(value: Any) -> Family:
    if isinstance(value, Family):
        return value
    if not isinstance(value, str) or value not in FAMILIES:
        meant = _ALIASES.get(str(value).lower())
        if meant is None and isinstance(value, str):
            meant = next(iter(checks.close(value, FAMILIES)), None)
        raise ConfigError(
            f"family={checks.shown(value)} must be one of {', '.join(map(repr, FAMILIES))}"
            + ("" if meant is None else f"; did you mean {meant!r}?")
        )
    return FAMILIES[value]


class PrivateGLM(NewtonSums):
    """A generalised linear model by private Newton steps, with intervals that include the noise.

    The first sum is a linear regression of the target, which gives a start. Every other sum is
    asked at a public point `w` and releases the score, the information and the variance of the
    score together, from which the next point follows:

        g, H, M = sum_i (u r x, u a x x', u^2 r^2 x x'),   u = min(1, R / |x|),   w <- w + H^-1 g.

    With several classes `r` and `a` are a vector and a matrix over contrasts between them
    (`ClassScore`), the first sum is asked at 0, and the table has each class against the first.

    An offset of the design is added to the linear predictor. Weights are those of sampling: a
    record counts by its own over the largest declared one, in `u`, and errors are robust.

    There is no step size, no number of rounds and no clip to choose. The last two sums are pooled.
    Intervals are withheld, and what would do is said, where noise hides too much information,
    where Newton's method has not converged, and where residuals are not those of the model.

    Scores with Mallows weights and Fisher-consistent clips are known from robust statistics; that
    they are asked in noisy sums, and what these cost together, is tacit's: docs/proofs/scores.md.

    What leaves: one vector of each site in each sum, with noise if `privacy` is given (Gaussian
    mechanism; status proved). Without it, not private. With `Privacy(masks=...)` the server can
    read only their sum.

    Args:
        design: columns of the regression.
        target: declared column of the target: a number with bounds, one with two levels, or for
            "multinomial" with three or more.
        family: "gaussian", "binomial", "multinomial", "poisson", "negative_binomial" or "gamma".
        sums: number of sums, 3 or 4: 3 are enough for small effects.
        covariance: "model" for the variance of the score that the model implies, or "robust" for
            the one that was released (a sandwich); by default the former, with weights the latter,
            for which the model implies none. Both cost the same.
        weights: declared column of the records' weights, a number from at least 0 to a positive
            bound, or `None`.
        privacy: budget and relation, or `None`. Its clip is not used; leave it at 1.
    """

    name: ClassVar[str] = "glm"
    modelled: ClassVar[tuple[str, ...]] = ("design", "target", "family", "weights")
    when: ClassVar[str] = "the question is what a target depends on, with intervals"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {
            "design": design_of([Column("age", (), (2,), Scale(0.0, 120.0, 60.0, 60.0))]),
            "target": Column("sex", ("f", "m"), (0, 1)),
            "family": "binomial",
        }
    )
    design: Design = eqx.field(static=True)
    target: Column = eqx.field(static=True)
    family: Family = eqx.field(converter=_family)
    sums: Annotated[int, Key(Literal[3, 4])] = eqx.field(static=True, default=4)
    covariance: Literal["model", "robust"] | None = eqx.field(static=True, default=None)
    weights: Column | None = eqx.field(static=True, kw_only=True, default=None)
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        self.check_budget()
        remedy = "make one with data.design_of(columns) or data.parse_formula(...)"
        checks.instance("design", self.design, Design, remedy, ConfigError)
        if isinstance(self.sums, bool) or self.sums not in (3, 4):
            raise ConfigError(f"sums={checks.shown(self.sums)} must be 3 or 4")
        check_target(self.target, self.family)
        check_offset(self.design, self.family)
        if self.target in self.design.columns:
            raise ConfigError(
                f"target={self.target.name!r} is also a column of the design; leave it out there: "
                "the right side of a formula names other columns"
            )
        check_weights(self.weights, self.target)
        check_covariance(self.covariance, self.weights)
        if self.privacy is not None:
            check_budget(self.privacy)

    def __repr__(self) -> str:
        of = f"{self.target.name} on {', '.join(self.design.names[:-1])}"
        budget = "no privacy" if self.privacy is None else repr(self.privacy)
        return f"<PrivateGLM of {of}: {self.family.name}, {self.sums} sums, {budget}>"

    @property
    def shares(self) -> tuple[float, ...]:
        """Share of the budget of each sum."""
        return SHARES[self.sums]

    def asks(self) -> tuple[BlockSum, ...]:
        return queries_of(self)

    @property
    def outputs(self) -> int:
        """Number of coefficients of each column: one for every class but the first."""
        return len(self.target.levels) - 1 if self.family.classes else 1

    @property
    def width(self) -> int:
        """Number of coefficients."""
        return self.design.width * self.outputs

    @property
    def reader(self) -> rows.Rows:
        """What reads columns and target of a record."""
        return rows.Rows(self.design, self.target, self.family, self.weights)

    @property
    def offset(self) -> int:
        """Number of columns that an offset adds to the first sum: 0 or 1."""
        return int(self.design.offset is not None)

    @property
    def robust(self) -> bool:
        """Whether the covariance is a sandwich."""
        return self.covariance == "robust" or self.weights is not None

    def score(self, t: int) -> Score | ClassScore:
        """The block of a sum that has its score, by number of the sum."""
        found = self.queries[t].blocks[0]
        assert isinstance(found, Score | ClassScore)
        return found

    @property
    def curvature_unit(self) -> Any:
        """Noise of the information, as an operator, over that of the vector in which it is.

        Where it is symmetric in columns and in contrasts, its noise is smaller between both than
        that of a matrix which is symmetric as a whole.
        """
        return self.score(-1).units[1] * math.sqrt((1.0 + 1.0 / self.outputs) / 2.0)

    @property
    def points(self) -> int:
        """Coefficients, and two numbers that residuals are measured by."""
        return self.width + 2

    def begun(self, first: Array, noise: Array) -> Any:
        """A linear regression, through the link."""
        if self.family.classes:
            begun = classes.start(self, first, noise)
            return jnp.concatenate([begun, jnp.ones(2, begun.dtype)])
        linear, reader = self.linear_of(first, noise), self.reader
        coefficients, by = steps.start(self.family, linear, reader.scale, reader.offset)
        return jnp.concatenate([coefficients, by])

    def moved(self, state: Fit, total: Array, noise: Array) -> Any:
        """A Newton step."""
        d, query, by = self.width, self.queries[-1], state.point[-2:]
        score, *riders = query.split(total)
        gram = self.gram_of(state.first, self.noise(self.times[0], state.sites[0]))
        now = by
        if self.family.measured:
            now = self.family.dispersion(riders[0].ravel()[0] / gram[-1, -1], by)
        unit, weight = self.family.units(by)
        step = steps.step(
            unit * score[0] - self.family.expected(by, now)[0] * gram[-1],
            weight * score[1 : d + 1],
            weight * query.spread(noise)[0] * self.curvature_unit,
            gram,
            steps.STEEPEST * math.sqrt(self.outputs),
        )
        return jnp.concatenate([state.point[:-2] + step, now])

    def linear_of(self, first: ArrayLike, noise: Any) -> steps.First:
        """The first sum in its own units.

        Args:
            first: released sum, shape `(m,)`.
            noise: standard deviation of the noise in each of its entries.
        """
        query, d = self.queries[0], self.design.width + self.offset
        score, *square = query.split(first)
        spread = query.spread(noise)
        one, two, _ = self.score(0).units
        error = [spread[0] * one, spread[0] * two, spread[1] if square else 0.0 * spread[0]]
        total = square[0][0, 0] if square else jnp.zeros((), score.dtype)
        noises = jnp.stack([jnp.asarray(each, score.dtype) for each in error])
        return steps.First(score[0], score[1 : d + 1], total, noises)

    def gram_of(self, first: ArrayLike, noise: Any) -> Any:
        """`sum u x x'` from the first sum, raised; arguments as for `linear_of`.

        With several classes once for every contrast, as blocks of a matrix of all coefficients.
        """
        if self.family.classes:
            return jnp.kron(classes.gram_of(self, first, noise), jnp.eye(self.outputs))
        linear, at = self.linear_of(first, noise), self.offset
        return steps.raised(linear.gram[at:, at:], linear.noise[1])

    def told(self, numbers: Float[np.ndarray, " p"], contract: Any) -> Answer:
        return coefficients(self, numbers, contract)

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        """Refuse records without these columns, or with a private number that is not declared."""
        weights = () if self.weights is None else (self.weights,)
        columns = (*self.design.columns, self.target, *weights)
        check_records(f"{type(self).__name__} fits", problem, columns, self.privacy)
