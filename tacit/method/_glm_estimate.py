"""From the sums of a private regression to its estimate and covariance: post-processing.

Everything is computed on the host, in double precision, from released sums and public numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from tacit.method import _glm_steps as steps
from tacit.method._collinear import collinear, least_of
from tacit.method._glm_bounds import Narrower, narrower
from tacit.method._glm_classes import against_first, by_level
from tacit.method._glm_refusal import refusal
from tacit.method.answer import Refused
from tacit.method.coefficients import CURVATURE, Checks, CoefficientTable, names_of
from tacit.types import Relation

if TYPE_CHECKING:
    from tacit.method.glm import PrivateGLM

Matrix = Float[np.ndarray, "d d"]
Vector = Float[np.ndarray, " d"]

_raised = jax.jit(steps.raised)

_FAR = 0.35
"""Largest step, in root mean square of the predictor, after which its sum is pooled; with an
identity link in standard deviations of the errors."""

_LEAP = 0.5
"""Largest mean square of the last step with an identity link, over the variance of the errors:
after a longer one the clip was not about the errors."""

_SEEN = 2.0
"""Least mean eigenvalue of the information, over the noise as an operator divided by their number,
that is called one: nearly three of its standard errors."""


class Released(NamedTuple):
    """What the sums of a run released, as numbers.

    Attributes:
        points: points of all sums but the first, shape `(sums - 1, d + 2)`.
        first: first sum.
        others: other sums, shape `(sums - 1, n)`.
        sites: number of sites in each sum, shape `(sums,)`.
        noise: standard deviation of the noise in each sum, shape `(sums,)`.
    """

    points: Any
    first: Any
    others: Any
    sites: Any
    noise: Any


class Estimate(NamedTuple):
    """An estimate for the scaled columns, with its covariance and the checks on it.

    `narrower` is the column whose declared bounds cost most, where they are wide; `singular` says
    which columns the records do not tell apart, where there is no noise.
    """

    values: Vector
    sampling: Matrix
    privacy: Matrix
    checks: Checks
    narrower: Narrower | None
    singular: Refused | None


class _Sum(NamedTuple):
    """One sum in natural units: score, information, variance, and the noise of the first two.

    `unsure` is how far the noise in the dispersion moves the centre of residuals.
    """

    point: Any
    score: Any
    information: Any
    variance: Any
    score_noise: Any
    information_noise: Any
    ratio: Any
    excess: Any
    unsure: Any


def coefficients(
    method: PrivateGLM, numbers: Float[np.ndarray, " p"], contract: Any
) -> CoefficientTable:
    """The table of a run, in the units of the data.

    Args:
        method: method of the run.
        numbers: numbers of its solution, shape `(p,)`, all finite.
        contract: contract of the run.
    """
    found = estimate(method, released(method, numbers, contract))
    matrix, m = method.reader.unit * method.design.unscaled, method.outputs
    levels = method.target.levels if method.family.classes else ()
    if levels:
        matrix = np.kron(matrix, against_first(len(levels)))
    values = matrix @ found.values
    values[-1] += method.reader.origin
    # class by class, and the intercept first, as in other tables
    columns = np.roll(np.arange(method.design.width), 1)
    order = (m * columns + np.arange(m)[:, None]).ravel()
    sampling, privacy = (
        (matrix @ each @ matrix.T)[np.ix_(order, order)] for each in (found.sampling, found.privacy)
    )
    return CoefficientTable(
        names_of([method.design.names[i] for i in columns], levels),
        values[order],
        sampling,
        privacy,
        found.checks,
        found.singular or refusal(found.checks, method, contract, found.narrower),
        method.family.name,
        method.family.link,
        sum(public.count for public in contract.owners.contexts),
        tuple(method.design.spans[i] for i in columns) * m,
        levels,
        method.privacy is not None and method.privacy.repeated,
        method.privacy is not None and method.privacy.relation is Relation.ADD_REMOVE,
    )


def released(method: PrivateGLM, numbers: Float[np.ndarray, " p"], contract: Any) -> Released:
    """What was released, with the noise in it; arguments as for `coefficients`."""
    rest, point, first, other = method.sizes
    ends = np.cumsum([rest * point, first, rest * other])
    points, one, others, sites = np.split(np.asarray(numbers, dtype=float), ends)
    noise = [
        number * method.spread(contract, t, round(number))
        for t, number in enumerate(sites.tolist())
    ]
    return Released(
        points.reshape(rest, point), one, others.reshape(rest, other), sites, np.array(noise)
    )


def estimate(method: PrivateGLM, found: Released) -> Estimate:
    """The estimate of a run, pooled from its last two sums.

    With `H` the pooled information, every sum gives `w + H^-1 g`; the weights `omega` of these are
    those of least noise. The covariance is

        H^-1 M H^-1 + H^-1 { sum omega^2 s^2 I + N } H^-1,

    with the variance `M` of the score, the noise `s` of the scores, and the covariance `N` of the
    noise of the information times the pooled last step (`_shaken`). Where residuals are
    measured by a dispersion, `e^2 h h'` is added in the braces: the noise in it moves their centre
    by `e`, and the score by that times `h = sum u x`.
    """
    with jax.enable_x64(True):
        read = _last_two(method, jax.tree.map(jnp.asarray, found))
        gram, both, by = jax.tree.map(np.asarray, read)
    variance = float(by[0]) ** 2 if method.family.linear else 1.0
    d = len(gram)
    parts = np.array(method.shares[-2:]) / sum(method.shares[-2:])
    known = _information(both, parts, gram)
    near = known.moved[0] <= _FAR**2 * variance
    if not near:
        # a point that far away has another information
        parts = np.array([0.0, 1.0])
        known = _information(both, parts, gram)
    least = least_of(known.matrix, float(np.linalg.eigvalsh(known.matrix)[-1]))
    size = known.noise * np.sqrt(2.0 * d)  # of an operator
    curvature = size / least if least > 0.0 else np.inf
    inverse, noise, moves = known.inverse, known.noise, known.moves
    omega = np.array(
        [
            each.score_noise**2 + noise**2 * (move @ move) * (1.0 + 1.0 / method.design.width) / 2.0
            for each, move in zip(both, moves, strict=True)
        ]
    )
    pooled = omega.all() and near
    omega = (1.0 / omega) / np.sum(1.0 / omega) if pooled else np.array([0.0, 1.0])
    values = sum(
        (w * (each.point + move) for w, each, move in zip(omega, both, moves, strict=True)),
        np.zeros(d),
    )
    last = omega[0] * moves[0] + omega[1] * moves[1]
    middle = _middle(
        method,
        parts[0] * both[0].variance + parts[1] * both[1].variance,
        both[1].ratio * known.raised,
    )
    shaken = float(np.sum((omega * [each.score_noise for each in both]) ** 2)) * np.eye(d)
    shaken = shaken + _shaken(last, noise, method.outputs)
    unsure = float(omega @ [each.unsure for each in both])
    shaken = shaken + unsure**2 * np.outer(gram[-1], gram[-1])
    sampling, privacy = (inverse @ each @ inverse for each in (middle, shaken))
    error = np.sqrt(max(float(np.trace((sampling + privacy) @ known.raised)), 0.0) / known.total)
    allowed = _LEAP * variance if method.family.linear else 0.5 * error
    moved = (known.moved[1], allowed)
    if method.family.classes:
        spread = float(np.sum((omega * [each.score_noise for each in both]) ** 2))
        levels = by_level(both[1].score, known.raised, gram, spread, len(method.target.levels))
        moved = max([moved, *levels], key=lambda each: each[0] / each[1])
    mean = np.trace(known.matrix) / d
    average = float(size / mean) if mean > _SEEN * size / d else np.inf
    checks = Checks(
        float(curvature), float(moved[0]), float(moved[1]), float(both[1].excess), average
    )
    wide = None if checks.curvature <= CURVATURE else narrower(method, known.matrix, known.noise)
    singular = None
    if known.noise == least == 0.0:
        singular = collinear(known.matrix, method.design.names, method.outputs)
    if known.noise == 0.0 and method.family.logistic and known.total < 1.0:
        # the sum of p (1 - p): not even one record is expected to differ from the others
        singular = Refused(
            "the target is constant in these records, or the columns tell it without error",
            "see how the target is coded, give records that differ in it, or leave out the column "
            "that tells it",
        )
    return Estimate(values, sampling, privacy, checks, wide, singular)


def _shaken(step: Vector, noise: float, outputs: int) -> Matrix:
    """Covariance of the noise of the information times a step.

    For independent noise of variance `t^2 = 2 noise^2 / (1 + 1/m)` on the diagonal, half of it
    between two columns and again half between two of the `m` outputs, and a step `B` of columns
    and outputs, it is `t^2/4 (|B|^2 I + I x B'B + B B' x I + vec(B) vec(B)')`.

    Args:
        step: `B`, flattened, shape `(d m,)`.
        noise: noise of the information as an operator.
        outputs: `m`.
    """
    by = step.reshape(-1, outputs)
    columns, contrasts = np.eye(len(by)), np.eye(outputs)
    both = (step @ step) * np.eye(len(step)) + np.outer(step, step)
    apart = np.kron(columns, by.T @ by) + np.kron(by @ by.T, contrasts)
    return 0.5 * noise**2 / (1.0 + 1.0 / outputs) * (both + apart)


class _Information(NamedTuple):
    """The information, pooled from the last two sums, and the Newton steps that it gives."""

    matrix: Matrix
    noise: float
    raised: Matrix
    inverse: Matrix
    moves: list[Vector]
    moved: list[float]
    total: float


def _information(
    both: tuple[_Sum, _Sum], parts: Float[np.ndarray, " 2"], gram: Matrix
) -> _Information:
    """The information with these parts of both sums.

    Args:
        both: last two sums.
        parts: part of each, shape `(2,)`.
        gram: raised `sum u x x'`.
    """
    matrix = parts[0] * both[0].information + parts[1] * both[1].information
    noise = float(
        np.hypot(*(f * each.information_noise for f, each in zip(parts, both, strict=True)))
    )
    with jax.enable_x64(True):
        raised = np.asarray(_raised(matrix, noise))
    inverse = np.linalg.inv(raised)
    moves = [inverse @ each.score for each in both]
    # the mean weight of a record times their number
    total = max(np.trace(matrix) / np.trace(gram), 1e-300) * gram[-1, -1]
    moved = [float(move @ raised @ move) / total for move in moves]
    return _Information(matrix, noise, raised, inverse, moves, moved, total)


def _middle(method: PrivateGLM, released: Matrix, model: Matrix) -> Matrix:
    """Variance of the score: the released one, or the model's with its size.

    Args:
        method: method of the run.
        released: released variance, with noise.
        model: variance that the model implies, were Mallows' factor 1 for all records.
    """
    if method.robust:
        # noise may leave a direction without variance, but none has less than that
        values, vectors = np.linalg.eigh(released)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T
    if method.family.logistic:
        return model  # rare events leave too little of the released one to compare with
    # the squares of Mallows' factors are between the smallest factor and 1 times the factors
    least = method.design.typical / method.design.longest
    return model * max(np.trace(released) / np.trace(model), least)


@eqx.filter_jit  # whoever takes part computes the table, and op by op most of that is compiling
def _last_two(method: PrivateGLM, found: Released) -> tuple[Any, tuple[_Sum, _Sum], Any]:
    """Raised `sum u x x'`, the last two sums in natural units, and the dispersion."""
    family, query, d = method.family, method.queries[-1], method.width
    gram = method.gram_of(found.first, found.noise[0])
    total = gram[-1, -1]
    split = [query.split(each) for each in found.others[-2:]]
    now = other = found.points[-1, -2:]
    if family.measured:
        square = split[-1][1].ravel()[0] / total
        error = query.spread(found.noise[-1])[1] / total
        now, other = (family.dispersion(each, now) for each in (square, square + error))
    made = []
    for point, parts, noise in zip(found.points[-2:], split, found.noise[-2:], strict=True):
        by, spreads = point[-2:], query.spread(noise)
        unit = family.units(by)[0]
        weight, ratio = family.spread(by, now)
        centre, likely = family.expected(by, now)
        excess = jnp.zeros_like(total)
        if family.clips:
            # beside its noise it varies as the number of clipped residuals does
            deviation = jnp.sqrt(spreads[-1] ** 2 + family.likely(by) * total)
            excess = (parts[-1][0] - likely * total) / deviation
        made.append(
            _Sum(
                point[:-2],
                unit * parts[0][0] - centre * gram[-1],
                weight * parts[0][1 : d + 1],
                unit**2 * parts[0][d + 1 :],
                spreads[0] * method.score(-1).units[0] * unit,
                spreads[0] * method.curvature_unit * weight,
                ratio,
                excess,
                jnp.abs(family.expected(now, other)[0]),
            )
        )
    return gram, (made[0], made[1]), now
