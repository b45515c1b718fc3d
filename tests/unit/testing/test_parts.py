"""Every check of a loss, regulariser, constraint or graph can fail, and tacit's own pass."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest

from tacit.errors import ProblemError
from tacit.network import AbstractTopology
from tacit.problem import (
    L1,
    L2,
    Ball,
    Box,
    ElasticNet,
    Hinge,
    Huber,
    JaxLoss,
    Logistic,
    Poisson,
    Quantile,
    Simplex,
    Softmax,
    Squared,
)
from tacit.testing import check_constraint, check_graph, check_loss, check_regulariser

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    "loss",
    [Squared(), Logistic(), Huber(0.7), Hinge(), Quantile(0.2), Poisson()],
    ids=lambda each: type(each).__name__,
)
def test_tacits_own_losses_pass(loss: Any) -> None:
    check_loss(loss)


def test_a_loss_with_several_scores_passes() -> None:
    check_loss(Softmax(3), [0.0, 1.0, 2.0])
    with pytest.raises(ProblemError, match=r"the target in targets\[1\] is 3"):
        check_loss(Softmax(3), [0.0, 3.0])


class Mixes(Squared):
    """Takes the mean of all records off."""

    def value(self, scores: Any, targets: Any) -> Any:
        residual = jnp.asarray(scores) - targets
        return jnp.square(residual - 1e-6 * jnp.mean(residual))


class MixesSlopes(Squared):
    """Divides by the largest record."""

    def derivative(self, scores: Any, targets: Any) -> Any:
        return super().derivative(scores, targets) / jnp.maximum(1.0, jnp.max(jnp.abs(scores)))


class ByPlace(Squared):
    """Weighs a record by where it stands."""

    def value(self, scores: Any, targets: Any) -> Any:
        return super().value(scores, targets) * jnp.linspace(1.0, 2.0, len(targets))


class WrongSlope(Squared):
    """Forgets the 2."""

    def derivative(self, scores: Any, targets: Any) -> Any:
        return jnp.asarray(scores) - targets


class Steeper(Logistic):
    """Steeper than it says, by a hair."""

    def slope_bound(self, order: Any) -> float:
        return 0.999


class SoftmaxTooFlat(Softmax):
    """Forgets that the l1 norm of the derivative is larger than the l2 norm."""

    def slope_bound(self, order: Any) -> float:
        return super().slope_bound(2)


class Curved(Huber):
    """More curved than it says."""

    curvature: ClassVar[float] = 0.9


class SoftmaxTooStraight(Softmax):
    curvature: ClassVar[float] = 0.3


class NotConvex(Squared):
    """Falls in both directions."""

    curvature: ClassVar[float] = 4.0

    def value(self, scores: Any, targets: Any) -> Any:
        return jnp.cos(jnp.asarray(scores) - targets)

    def derivative(self, scores: Any, targets: Any) -> Any:
        return -jnp.sin(jnp.asarray(scores) - targets)


class OneNumber(Squared):
    """The sum of all losses."""

    def value(self, scores: Any, targets: Any) -> Any:
        return jnp.sum(super().value(scores, targets))


class Overflows(Logistic):
    """Written without care for large scores."""

    def derivative(self, scores: Any, targets: Any) -> Any:
        return jnp.exp(scores) / (1.0 + jnp.exp(scores)) - targets


def concave(x: Any, row: Any, target: Any) -> Any:
    return -((row @ x - target) ** 2)


def per_feature(x: Any, row: Any, target: Any) -> Any:
    return (row * x - target) ** 2


def without_a_root(x: Any, row: Any, target: Any) -> Any:
    return jnp.sqrt(row @ x)


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        (Mixes(), "Mixes.value of a record changes with the other records"),
        (MixesSlopes(), "MixesSlopes.derivative of a record changes with the other records"),
        (ByPlace(), "ByPlace.value of a record depends on its place"),
        (WrongSlope(), "WrongSlope.derivative differs from the derivative of value by"),
        (Steeper(), r"Steeper.slope_bound\(1\) is 0.999, and a derivative has the norm 1$"),
        (SoftmaxTooFlat(2), r"SoftmaxTooFlat.slope_bound\(1\) is 1.41421, and a deriv.* norm 2$"),
        (Curved(1.0), "Curved.curvature is 0.9, and a derivative changes by 1 "),
        (SoftmaxTooStraight(2), "SoftmaxTooStraight.curvature is 0.3, and a derivative changes"),
        (NotConvex(), "NotConvex is declared convex, but a derivative falls"),
        (OneNumber(), "OneNumber.value returned a single number; .* the loss of every record"),
        (Overflows(), r"Overflows.slope_bound\(1\) is 1, and a derivative has the norm nan"),
        (JaxLoss(concave, convex=True), "JaxLoss is declared convex, but lies above a chord"),
        (JaxLoss(per_feature), r"JaxLoss.function gives shape \(3,\) for a record"),
        (JaxLoss(without_a_root), "JaxLoss.function is not finite"),
    ],
)
def test_a_mistake_in_a_loss_is_found(loss: Any, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        check_loss(loss)


class Twice(L1):
    """Thresholds twice as far."""

    def prox(self, v: Any, step: Any) -> Any:
        return super().prox(v, 2.0 * step)


class Overshoots(L2):
    """Past the minimiser, and back further than it came."""

    def prox(self, v: Any, step: Any) -> Any:
        return -1.5 * jnp.asarray(v)


class Hard(L1):
    """Thresholds hard, which is the map of no convex penalty."""

    def prox(self, v: Any, step: Any) -> Any:
        return jnp.where(jnp.abs(v) > step * self.strength, v, 0.0)


class WrongGradient(L2):
    """Forgets the 2."""

    def gradient(self, x: Any) -> Any:
        return super().gradient(x) / 2.0


class Coupled(L2):
    """No sum over coordinates."""

    def value(self, x: Any) -> Any:
        return super().value(x) + self.strength * jnp.square(jnp.sum(x))

    def gradient(self, x: Any) -> Any:
        return super().gradient(x) + 2.0 * self.strength * jnp.sum(x)


class NotScaled(ElasticNet):
    """Scales one of its parts."""

    def scaled(self, factor: Any) -> Any:
        return ElasticNet(factor * self.l1, self.l2, unpenalised=self.unpenalised)


class SparesNothing(L2):
    """Penalises every coordinate."""

    def sparing(self, coordinates: Any) -> Any:
        return self


class ForgetsWhatItSpared(L2):
    """Spares the last coordinates that it was told."""

    def sparing(self, coordinates: Any) -> Any:
        return ForgetsWhatItSpared(self.strength, unpenalised=tuple(coordinates))


@pytest.mark.parametrize(
    ("regulariser", "told"),
    [
        (Twice(0.5), "Twice.prox.v, 0.1. is not the minimiser"),
        (Overshoots(0.5), "Overshoots.prox is not firmly non-expansive"),
        (Hard(0.5), "Hard.prox is not firmly non-expansive"),
        (WrongGradient(0.5), "WrongGradient.gradient is not a subgradient"),
        (Coupled(0.5), "Coupled is declared separable"),
        (NotScaled(0.5, 0.5), r"NotScaled.scaled\(0.25\) is not a quarter"),
        (SparesNothing(0.5), "SparesNothing.sparing penalises what was spared|still penalises"),
        (ForgetsWhatItSpared(0.5, unpenalised=(0,)), "ForgetsWhatItSpared.sparing penalises what"),
    ],
)
def test_a_mistake_in_a_regulariser_is_found(regulariser: Any, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        check_regulariser(regulariser)


class Inside(Ball):
    """Says that every point is inside."""

    def violation(self, x: Any) -> float:
        return 0.0


class ToTheSurface(Ball):
    """Takes points of the set to its surface."""

    def project(self, v: Any) -> Any:
        return jnp.asarray(v) * self.radius / jnp.maximum(jnp.linalg.norm(v), 1e-300)


class TooFar(Ball):
    """Leaves points a little outside."""

    def project(self, v: Any) -> Any:
        return Ball(1.001 * self.radius).project(v)


class NotSoFar(Ball):
    """Projects onto a smaller set."""

    def project(self, v: Any) -> Any:
        return Ball(0.9 * self.radius).project(v)


class NotNearest(Simplex):
    """Divides by the sum, which gives a point of the set and not the nearest."""

    def project(self, v: Any) -> Any:
        inside = jnp.maximum(jnp.asarray(v), 1e-9)
        return inside * self.total / jnp.sum(inside)


class Shifted(Box):
    """The same point of the set for all, up to a shift."""

    def project(self, v: Any) -> Any:
        return jnp.clip(0.5 * jnp.asarray(v), self.lower, self.upper)


@pytest.mark.parametrize(
    ("constraint", "told"),
    [
        (Inside(1.0), "Inside.project moves a point by .* in the set, as violation has it"),
        (NotSoFar(1.0), "NotSoFar.project moves a point by .* in the set, as violation has it"),
        (ToTheSurface(1.0), "ToTheSurface.project is not firmly non-expansive"),
        (TooFar(1.0), "TooFar.project gives a point outside, by 0.001"),
        (NotNearest(1.0), "NotNearest.project is not firmly non-expansive"),
        (Shifted(-1.0, 1.0), "Shifted.project moves a point of the set by"),
    ],
)
def test_a_mistake_in_a_constraint_is_found(constraint: Any, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        check_constraint(constraint)


class Drawn(AbstractTopology):
    """A graph by a function."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def graph(self, agents: int) -> Any:
        return self.draw(agents)


def another_each_time(agents: int) -> Any:
    return nx.relabel_nodes(
        nx.path_graph(agents), dict(enumerate(np.random.permutation(agents).tolist()))
    )


def with_a_loop(agents: int) -> Any:
    graph = nx.cycle_graph(agents)
    graph.add_edge(0, 0)
    return graph


@pytest.mark.parametrize(
    ("draw", "told"),
    [
        (another_each_time, "differs when drawn again"),
        (with_a_loop, "joins an agent to itself"),
        (lambda agents: nx.empty_graph(agents), "is not connected"),
        (lambda agents: nx.path_graph(agents + 1), "has 5 nodes"),
        (lambda agents: nx.path_graph(agents, create_using=nx.DiGraph), "is not connected"),
        (lambda agents: [(0, 1)], "is not a networkx.Graph"),
    ],
)
def test_a_mistake_in_a_graph_is_found(draw: Any, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        check_graph(Drawn(draw))


def test_graphs_of_tacits_own_kinds_pass() -> None:
    check_graph(Drawn(nx.cycle_graph))
    check_graph(Drawn(nx.cycle_graph), 16)
    check_graph(Drawn(lambda agents: nx.cycle_graph(agents, create_using=nx.DiGraph)))
