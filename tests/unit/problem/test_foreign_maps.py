"""A third-party regulariser or constraint that answers wrongly is refused, by class and method."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit.errors import ProblemError
from tacit.network import path
from tacit.problem import (
    L1,
    L2,
    AbstractConstraint,
    AbstractRegulariser,
    Box,
    ElasticNet,
    GroupL1,
    Problem,
    Squared,
    black_box_problem,
    costs,
    empirical_risk,
)
from tacit.problem.constraint import FREE
from tacit.problem.regularisers import NO_REGULARISER

ROWS = [np.eye(2), np.ones((3, 2))]
TARGETS = [np.array([1.0, 2.0]), np.arange(3.0)]


class Absolute(AbstractRegulariser):
    """The l1 norm, without a mistake."""

    separable: ClassVar[Any] = True
    smooth: ClassVar[Any] = False
    unpenalised: Any = ()
    strength: float = 1.0

    def value(self, x: Any) -> Any:
        return self.strength * jnp.sum(jnp.abs(x))

    def gradient(self, x: Any) -> Any:
        return self.strength * jnp.sign(x)

    def prox(self, v: Any, step: Any) -> Any:
        return jnp.sign(v) * jnp.maximum(jnp.abs(v) - step * self.strength, 0.0)

    def scaled(self, factor: Any) -> Any:
        return type(self)(strength=factor * self.strength)

    def sparing(self, coordinates: Any) -> Any:
        return self


class Unit(AbstractConstraint):
    """The unit box, without a mistake."""

    def project(self, v: Any) -> Any:
        return jnp.clip(v, 0.0, 1.0)

    def violation(self, x: Any) -> Any:
        return float(np.max(np.maximum(-x, x - 1.0), initial=0.0))


def with_(base: type[Any], **mistakes: Any) -> Any:
    return type("Mine", (base,), mistakes)()


def made(regulariser: Any = NO_REGULARISER, constraint: Any = FREE, **more: Any) -> Problem:
    return empirical_risk(ROWS, TARGETS, Squared(), regulariser, constraint, **more)


def test_parts_without_a_mistake_are_taken() -> None:
    problem = made(Absolute(), Unit(), intercept=True)
    found = tacit.run(problem, path(2), tacit.DGD(step=0.1), rounds=2, seed=0)
    assert np.isfinite(found.solutions).all()


REGULARISERS: list[tuple[dict[str, Any], str]] = [
    ({"value": lambda self, x: x}, r"Mine.value returned an array of shape \(2,\); .* one number"),
    ({"value": lambda self, x: None}, r"Mine.value returned None; it takes \(x\) and returns one"),
    ({"value": lambda self, x: jnp.sum(x) * jnp.nan}, "Mine.value gives nan at a point of finite"),
    ({"value": lambda self, x: jnp.any(x > 0)}, "Mine.value returned values of type bool"),
    ({"value": lambda self: 0.0}, r"Mine.value takes \(\), and is called with \(x\): x is a point"),
    ({"gradient": lambda self, x: jnp.sum(x)}, r"Mine.gradient returned a single .*shape \(2,\)"),
    ({"gradient": lambda self, x: None}, "Mine.gradient returned None"),
    ({"gradient": lambda self, x: x / jnp.sum(x * x)}, "Mine.gradient gives nan"),
    ({"prox": lambda self, v, step: None}, r"Mine.prox returned None; it takes \(v, step\) and"),
    ({"prox": lambda self, v, step: v[:1]}, r"Mine.prox returned an array of shape \(1,\)"),
    ({"prox": lambda self, v, step: v / jnp.sum(v * v)}, "Mine.prox gives nan at a point"),
    (
        {"prox": lambda self, v: v},
        r"Mine.prox takes \(v\), and is called with \(v, step\): v is a point, shape \(p,\), step "
        "is a positive number",
    ),
    ({"prox": lambda self, v, step: v if v[0] > 0 else -v}, "Mine.prox needs the value of an arg"),
    ({"scaled": lambda self, c: None}, "Mine.scaled gives None; it must give a regulariser"),
    ({"scaled": lambda self: self}, r"Mine.scaled takes \(\), and is called with \(factor\)"),
    (
        {"scaled": lambda self, c: type("Other", (Absolute,), {"value": lambda self, x: x})()},
        r"Other.value returned an array of shape \(2,\)",
    ),
    ({"smooth": None}, "Mine.smooth is None; it must be True or False"),
    ({"separable": 1}, "Mine.separable is 1; it must be True or False"),
    ({"check": lambda self: None}, r"Mine.check takes \(\), and is called with \(dimension\)"),
]


@pytest.mark.parametrize(("mistakes", "told"), REGULARISERS)
def test_a_regulariser_is_told_by_class_and_method(mistakes: dict[str, Any], told: str) -> None:
    with pytest.raises(ProblemError, match=told):
        made(with_(Absolute, **mistakes))


@pytest.mark.parametrize(
    ("spared", "told"),
    [
        (None, "Absolute.unpenalised is None; it must be a tuple of the numbers of"),
        ((0.5,), "Absolute.unpenalised is a tuple; it must be a tuple of the numbers of"),
        ((7,), "unpenalised coordinate 7 does not exist"),
    ],
)
def test_coordinates_that_are_none_are_refused(spared: Any, told: str) -> None:
    with pytest.raises(ProblemError, match=told):
        made(Absolute(unpenalised=spared))


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (lambda self, coordinates: None, "Mine.sparing gives None; it must give a regulariser"),
        (lambda self: self, r"Mine.sparing takes \(\), and is called with \(coordinates\)"),
    ],
)
def test_sparing_is_looked_at_where_it_is_asked(mistake: Any, told: str) -> None:
    regulariser = with_(Absolute, sparing=mistake)
    assert made(regulariser).dimension == 2
    with pytest.raises(ProblemError, match=told):
        made(regulariser, intercept=True)


CONSTRAINTS: list[tuple[dict[str, Any], str]] = [
    (
        {"project": lambda self, v: None},
        r"Mine.project returned None; it takes \(v\) and returns the nearest point of the set",
    ),
    ({"project": lambda self, v: v[:1]}, r"Mine.project returned an array of shape \(1,\)"),
    ({"project": lambda self, v: v * jnp.nan}, "Mine.project gives nan at a point of finite num"),
    ({"project": lambda self: 0.0}, r"Mine.project takes \(\), and is called with \(v\)"),
    ({"project": lambda self, v: np.clip(np.asarray(v), 0, 1)}, "Mine.project needs the value of"),
    ({"violation": lambda self, x: None}, "Mine.violation gives None; it must give one number"),
    ({"violation": lambda self, x: x}, r"Mine.violation gives an array of shape \(2,\)"),
    ({"violation": lambda self, x: np.nan}, "Mine.violation gives nan; it must give one number"),
    ({"violation": lambda self: 0.0}, r"Mine.violation takes \(\), and is called with \(x\)"),
    ({"exact": "yes"}, "Mine.exact is 'yes'; it must be True or False"),
    ({"check": lambda self: None}, r"Mine.check takes \(\), and is called with \(dimension\)"),
]


@pytest.mark.parametrize(("mistakes", "told"), CONSTRAINTS)
def test_a_constraint_is_told_by_class_and_method(mistakes: dict[str, Any], told: str) -> None:
    for start in (None, [0.5, 0.5]):
        with pytest.raises(ProblemError, match=told):
            made(constraint=with_(Unit, **mistakes), x0=start)


def test_every_way_to_make_a_problem_looks() -> None:
    def square(x: Any, own: Any) -> Any:
        return jnp.sum((x - own) ** 2)

    parts: list[tuple[str, Any, str]] = [
        ("regulariser", with_(Absolute, prox=lambda self, v, step: None), "Mine.prox returned"),
        ("constraint", with_(Unit, project=lambda self, v: None), "Mine.project returned"),
    ]
    good = made()
    for key, part, told in parts:
        with pytest.raises(ProblemError, match=told):
            costs(square, np.eye(2), [0.0, 0.0], **{key: part})
        with pytest.raises(ProblemError, match=told):
            black_box_problem(lambda x, agent: 0.0, 2, x0=[0.0, 0.0], **{key: part})
        own = {"regulariser": L2(0.1), "constraint": Box(-1.0, 1.0), key: part}
        with pytest.raises(ProblemError, match=told):
            Problem(good.objectives, good.x0, good.counts, good.names, good.parameter_names, **own)


def test_a_map_is_asked_where_the_run_starts() -> None:
    """A penalty may have a domain of its own."""

    class Entropy(Absolute):
        def value(self, x: Any) -> Any:
            return jnp.sum(x * jnp.log(x))

    assert made(Entropy(), x0=[0.5, 0.5]).dimension == 2
    with pytest.raises(ProblemError, match=r"Entropy.value gives nan"):
        made(Entropy())


@pytest.mark.parametrize(
    ("regulariser", "told"),
    [
        (L1([0.1, 0.2]), r"l1: strength has shape \(2,\); it must be one number"),
        (L2([0.1, 0.2, 0.3]), r"l2: strength has shape \(3,\); it must be one number"),
        (ElasticNet(0.1, [0.2]), r"elastic_net: l2 has shape \(1,\)"),
        (GroupL1([0.1, 0.2], (0, 0)), r"group_l1: strength has shape \(2,\)"),
    ],
)
def test_a_strength_of_tacits_own_is_one_number(regulariser: Any, told: str) -> None:
    with pytest.raises(ProblemError, match=told):
        made(regulariser)
