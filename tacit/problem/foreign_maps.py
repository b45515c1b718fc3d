"""Third-party regularisers and constraints, tried at a public point where a problem is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from tacit import checks
from tacit.errors import ProblemError
from tacit.problem.constraint import AbstractConstraint
from tacit.problem.foreign import check_flag, foreign, is_traced
from tacit.problem.jax_function import check_traced
from tacit.problem.regularisers import AbstractRegulariser
from tacit.problem.takes import check_takes
from tacit.ranges import numeric


def try_regulariser(regulariser: AbstractRegulariser, start: ArrayLike) -> None:
    """Refuse a regulariser for another number of parameters, or a third-party one that is wrong.

    Args:
        regulariser: public penalty.
        start: starting point, shape `(p,)`, where it is tried.

    Raises:
        ProblemError: names class and method, what it gives and what is wanted.
    """
    tried, name = foreign(regulariser), type(regulariser).__name__
    if tried:
        for flag in ("separable", "smooth"):
            check_flag(regulariser, flag)
        listed = regulariser.unpenalised
        if not isinstance(listed, tuple | list) or not all(
            isinstance(each, int | np.integer) for each in listed
        ):
            raise ProblemError(
                f"{name}.unpenalised is {checks.shown(listed)}; it must be a tuple of the numbers "
                "of coordinates without penalty, such as ()"
            )
        check_takes(f"{name}.check", regulariser.check, dimension="the number of parameters")
    regulariser.check(np.shape(start)[0])
    if not tried or is_traced(regulariser, start):
        return
    check_takes(f"{name}.scaled", regulariser.scaled, factor="a positive number")
    scaled = _regulariser(f"{name}.scaled", regulariser.scaled(0.5))
    for each in (regulariser, scaled):
        if foreign(each):
            _try_maps(each, np.asarray(start, dtype=np.float64))


def try_constraint(constraint: AbstractConstraint, point: ArrayLike) -> None:
    """Refuse a constraint for another number of parameters, or a third-party one that is wrong.

    Args:
        constraint: public convex set.
        point: point where it is tried, shape `(p,)`.

    Raises:
        ProblemError: names class and method, what it gives and what is wanted.
    """
    tried, name = foreign(constraint), type(constraint).__name__
    if tried:
        check_flag(constraint, "exact")
        check_takes(f"{name}.check", constraint.check, dimension="the number of parameters")
    constraint.check(np.shape(point)[0])
    if not tried or is_traced(constraint, point):
        return
    at = np.asarray(point, dtype=np.float64)
    project, should = constraint.project, f"the nearest point of the set, shape {at.shape}"
    _try_map(f"{name}.project", project, should, at.shape, v=at)
    check_takes(f"{name}.violation", constraint.violation, x="a point, shape (p,)")
    missed = constraint.violation(at)
    if np.ndim(missed) or not numeric(missed) or math.isnan(missed):
        raise ProblemError(
            f"{name}.violation gives {checks.shown(missed)}; it must give one number, the distance "
            "by which a point misses the set, 0 inside"
        )


def spared(regulariser: AbstractRegulariser, coordinates: Sequence[int]) -> AbstractRegulariser:
    """The penalty without these coordinates.

    Raises:
        ProblemError: a third-party regulariser that gives none.
    """
    name = f"{type(regulariser).__name__}.sparing"
    check_takes(name, regulariser.sparing, coordinates="the numbers of some coordinates")
    return _regulariser(name, regulariser.sparing(coordinates))


def _try_maps(regulariser: AbstractRegulariser, at: np.ndarray) -> None:
    name, same = type(regulariser).__name__, at.shape
    _try_map(f"{name}.value", regulariser.value, "one number, the penalty", (), x=at)
    _try_map(f"{name}.gradient", regulariser.gradient, f"a subgradient, shape {same}", same, x=at)
    nearest = f"the proximal point, shape {same}"
    _try_map(f"{name}.prox", regulariser.prox, nearest, same, v=at, step=np.float64(1.0))


def _try_map(
    called: str, function: Callable[..., Any], returns: str, shape: tuple[int, ...], **given: Any
) -> None:
    """A function of a point, traced, and asked at this one."""
    words = {"step": "a positive number"}
    told = {name: words.get(name, "a point, shape (p,)") for name in given}
    check_takes(called, function, **told)
    check_traced(called, function, f"({', '.join(given)})", returns, shape, *given.values())
    with jax.enable_x64(True):
        found = function(*map(jnp.asarray, given.values()))
    if np.isnan(np.asarray(found)).any():
        raise ProblemError(
            f"{called} gives nan at a point of finite numbers, where it is first asked; it must "
            f"give {returns}"
        )


def _regulariser(called: str, found: Any) -> AbstractRegulariser:
    if not isinstance(found, AbstractRegulariser):
        raise ProblemError(f"{called} gives {checks.shown(found)}; it must give a regulariser")
    return found
