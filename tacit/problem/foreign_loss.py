"""Third-party losses, tried on made-up records where a problem is made."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit import checks
from tacit.clipping import ORDERS
from tacit.errors import ProblemError
from tacit.problem.foreign import check_bound, check_flag, foreign, is_traced
from tacit.problem.jax_function import check_traced
from tacit.problem.losses import AbstractLinearLoss, AbstractLoss, JaxLoss
from tacit.problem.simulator import AbstractBlackBox
from tacit.problem.takes import check_takes

_PAIRS = ((0.0, 1.0), (-1.0, 1.0), (1.0, 2.0), (0.25, 0.75), (20.0, 50.0), (200.0, 500.0))
"""Targets that are tried in turn, until a loss has a meaning for them."""

_FAR = 1e3
"""How far the scores of other records are moved, in units of their size."""


def try_loss(loss: AbstractLoss, features: int) -> None:
    """Refuse a third-party loss with wrong statements, dimension or coding of targets.

    Args:
        loss: loss of one record.
        features: number of columns.

    Raises:
        ProblemError: names class and method, what it gives and what is wanted.
    """
    if not foreign(loss):
        return
    check_kind(loss)
    name = type(loss).__name__
    check_takes(f"{name}.dimension", loss.dimension, features="the number of columns")
    size = loss.dimension(features)
    if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
        raise ProblemError(
            f"{name}.dimension gives {checks.shown(size)} for {features} features; it must give "
            "the number of parameters, a whole number of at least 1"
        )
    for flag in ("smooth", "convex"):
        check_flag(loss, flag)
    check_takes(
        f"{name}.encode",
        loss.encode,
        targets="an array of numbers, shape (n,)",
        where="a function that names a row for an error",
    )
    _coded(loss)
    if isinstance(loss, AbstractBlackBox):
        check_takes(
            f"{name}.value",
            loss.value,
            x="the parameters, shape (p,)",
            row="the features of one record, shape (d,)",
            target="its target, a number",
        )
    if isinstance(loss, AbstractLinearLoss):
        check_bound(f"{name}.curvature", loss.curvature)
        check_takes(f"{name}.slope_bound", loss.slope_bound, order="1, 2 or math.inf")
        for order in ORDERS:
            check_bound(f"{name}.slope_bound({order})", loss.slope_bound(order))


def try_scores(loss: object, records: int, features: int) -> None:
    """Refuse a third-party linear loss with wrong values or derivatives.

    Args:
        loss: loss of one record; of any other kind nothing is tried.
        records: number of records that it is given at once.
        features: number of columns.

    Raises:
        ProblemError: names class and method, what it gives and what is wanted.
    """
    if not foreign(loss) or not isinstance(loss, AbstractLinearLoss) or is_traced(loss):
        return
    coded, rng = _coded(loss), np.random.default_rng(0)
    # as many as there are: a loss may hold a constant of that length where nothing is private
    targets = np.resize((1.0, 1.0) if coded is None else coded, max(records, 2))
    if coded is not None:
        targets[-1] = coded[1]  # the first and the last differ, whatever their number
    with jax.enable_x64(True):
        weights = _weights(loss, features)
        scores = rng.normal(size=(len(targets), *weights[1:]))
        check_apart(loss, scores, targets)
        for name in ("value", "derivative"):
            found = np.asarray(getattr(loss, name)(jnp.asarray(scores), jnp.asarray(targets)))
            if coded is not None and not np.isfinite(found).any():
                raise ProblemError(
                    f"{type(loss).__name__}.{name} gives no finite number, at scores of size 1 "
                    f"and the targets {np.unique(coded).tolist()}"
                )


def check_kind(loss: AbstractLoss) -> None:
    """Refuse a loss of which no problem can be made.

    Raises:
        ProblemError: a loss of none of the three kinds.
    """
    if not isinstance(loss, AbstractLinearLoss | JaxLoss | AbstractBlackBox):
        raise ProblemError(
            f"{type(loss).__name__} is none of AbstractLinearLoss (such as AbstractScalarLoss), "
            "JaxLoss and AbstractBlackBox, and no problem can be made of another"
        )


def check_apart(loss: AbstractLinearLoss, scores: np.ndarray, targets: np.ndarray) -> None:
    """Refuse values and derivatives of a wrong shape, or of a record that change with others.

    Args:
        loss: loss under test.
        scores: scores of made-up records, shape `(n,)` or `(n, classes)`, `n` at least 2.
        targets: their targets, encoded.

    Raises:
        ProblemError: names class and method, what it gives and what is wanted.
    """
    name, count = type(loss).__name__, len(targets)
    shape = "(n,)" if scores.ndim == 1 else "(n, classes)"
    given = {"scores": f"an array, shape {shape}", "targets": "an array, shape (n,)"}
    with jax.enable_x64(True):
        for method, wanted, returns in (
            ("value", (count,), "the loss of every record, shape (n,)"),
            ("derivative", scores.shape, f"the derivative in the score, shape {shape}"),
        ):
            function, called = getattr(loss, method), f"{name}.{method}"
            check_takes(called, function, **given)
            check_traced(called, function, "(scores, targets)", returns, wanted, scores, targets)
            _check_alone(called, function, scores, targets)


def check_encoded(
    loss: AbstractLoss, found: object, count: int, *, finite: bool = True
) -> np.ndarray:
    """Targets as a loss encodes them.

    Args:
        loss: loss that encoded them.
        found: what it gave.
        count: number of targets.
        finite: whether numbers that are not finite are refused, too: at a site that would depend on
            a single record, which then adds nothing instead.

    Raises:
        ProblemError: something other than one finite number for each target.
    """
    name = f"{type(loss).__name__}.encode"
    should = f"it must give one finite number for each target, shape ({count},)"
    try:
        numbers = np.asarray(found)
    except ValueError:  # rows of different lengths
        numbers = np.asarray(None)
    if numbers.shape != (count,) or numbers.dtype.kind not in "biuf":
        raise ProblemError(f"{name} gives {checks.shown(found)} for {count} targets; {should}")
    if finite and not np.isfinite(numbers).all():
        raise ProblemError(f"{name} gives a number that is not finite; {should}")
    return numbers


def _check_alone(
    called: str, function: Callable[..., Any], scores: np.ndarray, targets: np.ndarray
) -> None:
    """The first record stays as it is when all others change, and so does the last.

    It is asked as in a run: compiled.
    """
    asked = jax.jit(function)
    found = np.asarray(asked(jnp.asarray(scores), jnp.asarray(targets)))
    for kept, far, other in itertools.product((0, -1), (-_FAR, _FAR), (0, -1)):
        moved, others = far * (1.0 + np.abs(scores)), np.full_like(targets, targets[other])
        moved[kept], others[kept] = scores[kept], targets[kept]
        again = np.asarray(asked(jnp.asarray(moved), jnp.asarray(others)))
        if not np.array_equal(found[kept], again[kept], equal_nan=True):
            raise ProblemError(
                f"{called} of a record changes with the other records; it may depend on its own "
                "only, or clipping bounds nothing. Put public numbers in the place of sums, means "
                "and scales over records"
            )


def _weights(loss: AbstractLinearLoss, features: int) -> tuple[int, ...]:
    """The shape of the parameters that multiply a row from the right."""
    name = f"{type(loss).__name__}.weights"
    check_takes(
        name, loss.weights, x="the parameters, shape (p,)", features="the number of columns"
    )
    x = jax.ShapeDtypeStruct((loss.dimension(features),), np.float64)
    try:
        shape = np.shape(jax.eval_shape(lambda point: loss.weights(point, features), x))
    except Exception as error:
        raise ProblemError(f"{name} raised {type(error).__name__}: {error}") from error
    if len(shape) not in (1, 2) or shape[0] != features:
        raise ProblemError(
            f"{name} gives the shape {shape}; a row is multiplied by it from the right, so it must "
            f"be ({features},), or ({features}, classes)"
        )
    return shape


def _coded(loss: AbstractLoss) -> np.ndarray | None:
    """Two made-up targets as a loss encodes them; `None` if it has a meaning for none.

    Raises:
        ProblemError: a wrong answer, or the code of a target that changes with the other one.
    """

    def encode(targets: Sequence[float]) -> np.ndarray | None:
        try:
            found = loss.encode(np.array(targets), lambda row: f"row {row}")
        except Exception:  # no targets of this loss
            return None
        coded = check_encoded(loss, found, len(targets), finite=False)
        return coded if np.isfinite(coded).all() else None

    for first, second in _PAIRS:
        both = encode((first, second))
        if both is None:
            continue
        for place, target in enumerate((first, second)):
            other = (first, second)[1 - place]
            for others in ((target,), (other, other), (target, other, other)):
                beside = encode((target, *others))
                if beside is not None and beside[0] == both[place]:
                    continue
                raise ProblemError(
                    f"{type(loss).__name__}.encode of a target changes with the other targets; it "
                    "may depend on its own only. Put public numbers in the place of means and "
                    "scales"
                )
        return both
    return None
