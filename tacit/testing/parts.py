"""The requirements on losses, regularisers, constraints and graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from tacit import checks
from tacit.arguments import checked
from tacit.clipping import ORDERS, row_norms
from tacit.errors import ConfigError
from tacit.network.graph import Graph
from tacit.network.topologies import AbstractTopology
from tacit.problem.constraint import AbstractConstraint
from tacit.problem.foreign_loss import check_apart, check_kind, try_loss
from tacit.problem.foreign_maps import try_constraint, try_regulariser
from tacit.problem.losses import AbstractLinearLoss, AbstractLoss, JaxLoss
from tacit.problem.regularisers import AbstractRegulariser
from tacit.problem.simulator import AbstractBlackBox
from tacit.ranges import Count, Point
from tacit.testing.hold import held, hold

_RECORDS = 40
_SEED = 0


@checked(ConfigError)
def check_loss(loss: AbstractLoss, targets: Point = (0.0, 1.0), *, features: Count = 3) -> None:
    """Check a loss against its statements, on random records.

    * The value of a record, and its derivative, depend on that record only: not on the others, nor
      on its place among them. Clipping rests on this.
    * `derivative` is that of `value`, by automatic differentiation.
    * No derivative is longer than `slope_bound`, in any norm and with scores from -1000 to 1000,
      and none changes by more than `curvature` times the change of the score.
    * A loss declared convex is convex.

    A `JaxLoss` is differentiated by JAX, one record at a time; only convexity and the shape of the
    value are checked. An `AbstractBlackBox` must give one finite number, the same when called
    again.

    Args:
        loss: loss under test.
        targets: numbers that have a meaning for the loss, shape `(n,)`; an equal number of records
            is drawn for each.
        features: number of features per record, at least 1.

    Raises:
        AssertionError: a statement does not hold.
        ProblemError: a target that the loss refuses.
    """
    name = type(loss).__name__
    with held():
        check_kind(loss)
        try_loss(loss, features)
    if not np.size(targets):
        raise ConfigError("targets is empty: give numbers that the loss has a meaning for")
    rng = np.random.default_rng(_SEED)
    encoded = loss.encode(
        np.atleast_1d(np.asarray(targets, dtype=float)), lambda row: f"targets[{row}]"
    )
    drawn = np.resize(encoded, max(_RECORDS, len(encoded)))
    rows = rng.normal(size=(len(drawn), features))
    size = loss.dimension(features)
    points = rng.normal(size=(8, size))
    with jax.enable_x64(True):
        if isinstance(loss, AbstractLinearLoss):
            scores = rows @ np.asarray(loss.weights(points[0], features))
            _linear(loss, name, 3.0 * scores, drawn, rng)
        elif isinstance(loss, JaxLoss):
            _in_jax(loss, name, points, rows, drawn)
        elif isinstance(loss, AbstractBlackBox):
            _in_values(loss, name, points, rows, drawn)


def _in_values(loss: AbstractBlackBox, name: str, points: Any, rows: Any, targets: Any) -> None:
    rows.setflags(write=False)
    records = list(zip(rows, targets.tolist(), strict=True))
    for point in points:
        found = [[loss.value(point.copy(), *record) for record in records] for _ in range(2)]
        hold(
            all(np.ndim(value) == 0 and np.isreal(value) for value in found[0]),
            f"{name}.value gives something else than a number",
        )
        hold(np.isfinite(found).all(), f"{name}.value is not finite at points of size 1")
        hold(found[0] == found[1], f"{name}.value gives another number when it is asked again")


def _linear(
    loss: AbstractLinearLoss, name: str, scores: Any, targets: Any, rng: np.random.Generator
) -> None:
    def value(at: Any, of: Any = targets) -> np.ndarray:
        return np.asarray(loss.value(at, of))

    def derivative(at: Any, of: Any = targets) -> np.ndarray:
        return np.asarray(loss.derivative(at, of))

    with held():
        check_apart(loss, scores, targets)
    places = rng.permutation(len(targets))
    for what, function in (("value", value), ("derivative", derivative)):
        found = function(scores)
        hold(np.isfinite(found).all(), f"{name}.{what} is not finite at scores of size 1")
        hold(
            np.allclose(function(scores[places], targets[places]), found[places], rtol=1e-12),
            f"{name}.{what} of a record depends on its place among the others",
        )
    slopes = jax.grad(lambda at: jnp.sum(loss.value(at, targets)))(jnp.asarray(scores))
    apart = np.max(np.abs(derivative(scores) - slopes))
    hold(
        np.allclose(derivative(scores), slopes, rtol=1e-10, atol=1e-12),
        f"{name}.derivative differs from the derivative of value by {apart:.3g}",
    )
    wide = np.concatenate([scale * scores for scale in (1e-3, 1.0, 10.0, 100.0, 1e3)])
    repeated = np.resize(targets, len(wide))
    for order in ORDERS:
        bound = loss.slope_bound(order)
        steep = derivative(wide, repeated).reshape(len(wide), -1)
        longest = np.max(row_norms(steep, order))
        hold(
            longest <= bound * (1 + 1e-9),
            f"{name}.slope_bound({order}) is {bound:g}, and a derivative has the norm {longest:g}",
        )
    start = derivative(wide, repeated).reshape(len(wide), -1)
    for far in (1e-4, 1e-2, 1.0):
        moves = far * rng.normal(size=wide.shape)
        end = derivative(wide + moves, repeated).reshape(start.shape)
        there = np.isfinite(start).all(axis=1) & np.isfinite(end).all(axis=1)
        moves, sizes = (each.reshape(start.shape)[there] for each in (moves, np.abs(wide)))
        changes = end[there] - start[there]
        # rounding of scores, and of derivatives as large as they
        sizes = 1.0 + np.max(np.abs([sizes, start[there], end[there]]), axis=(0, 2))
        asked = row_norms(moves, 2)
        ratio = np.max((row_norms(changes, 2) - 1e-13 * sizes) / asked)
        hold(
            ratio <= loss.curvature * (1 + 1e-6),
            f"{name}.curvature is {loss.curvature:g}, and a derivative changes by {ratio:g} times "
            "the change of the score",
        )
        hold(
            not loss.convex or np.all(np.sum(changes * moves, axis=1) >= -1e-13 * sizes * asked),
            f"{name} is declared convex, but a derivative falls as the score grows",
        )


def _in_jax(loss: JaxLoss, name: str, points: Any, rows: Any, targets: Any) -> None:
    each = jax.vmap(loss.function, in_axes=(None, 0, 0))
    values = [np.asarray(each(point, rows, targets)) for point in points]
    hold(
        values[0].shape == targets.shape,
        f"{name}.function gives shape {values[0].shape[1:]} for a record, and must give one number",
    )
    hold(np.isfinite(values).all(), f"{name}.function is not finite at points of size 1")
    for one, other, here, there in zip(points, points[1:], values, values[1:], strict=False):
        middle = np.asarray(each((one + other) / 2.0, rows, targets))
        spare = 1e-12 * (1.0 + np.abs(here) + np.abs(there))
        hold(
            not loss.convex or np.all(middle <= (here + there) / 2.0 + spare),
            f"{name} is declared convex, but lies above a chord",
        )


@checked(ConfigError)
def check_regulariser(regulariser: AbstractRegulariser, dimension: Count = 4) -> None:
    """Check a regulariser against its statements, at random points.

    * `prox` gives the minimiser of `step R(x) + |x - v|^2 / 2`: no other point that is tried is
      better, and it brings no two points further apart (it is firmly non-expansive). Bounds on
      private answers rest on this.
    * `gradient` supports `value` from below, so the penalty is convex, and is its derivative.
    * `scaled` and `sparing` do what they say, and `separable` is true where it is stated.

    Args:
        regulariser: regulariser under test.
        dimension: number of parameters, at least 2.

    Raises:
        AssertionError: a statement does not hold.
        ProblemError: a regulariser for another number of parameters.
    """
    name = type(regulariser).__name__
    points = _points(dimension)
    regulariser.check(dimension)
    with held():
        try_regulariser(regulariser, points[0])
    with jax.enable_x64(True):
        _convex(regulariser, name, points)
        for step in (0.0, 0.1, 1.0, 10.0):
            ends = np.array([regulariser.prox(point, step) for point in points])
            hold(ends.shape == points.shape, f"{name}.prox gives shape {ends.shape[1:]}")
            _firm(f"{name}.prox", points, ends)
            _minimal(regulariser, name, step, points, ends)
        _variants(regulariser, name, points)


def _convex(regulariser: AbstractRegulariser, name: str, points: Any) -> None:
    values = np.array([regulariser.value(x) for x in points])
    hold(values.shape == points.shape[:1], f"{name}.value does not return a single number")
    hold(np.isfinite(values).all(), f"{name}.value is not finite at points of size 1")
    slopes = np.array([regulariser.gradient(x) for x in points])
    for x, here, slope in zip(points, values, slopes, strict=True):
        lines = here + (points - x) @ slope
        hold(
            np.all(values >= lines - 1e-10 * (1.0 + np.abs(lines))),
            f"{name}.gradient is not a subgradient: value lies below its tangent",
        )
    if regulariser.separable:
        zero = float(regulariser.value(np.zeros_like(points[0])))
        for x, here in zip(points, values, strict=True):
            single = sum(float(regulariser.value(np.diag(x)[i])) - zero for i in range(len(x)))
            hold(
                np.isclose(here - zero, single, rtol=1e-10, atol=1e-12),
                f"{name} is declared separable but is not a sum over coordinates",
            )


def _minimal(
    regulariser: AbstractRegulariser, name: str, step: float, points: Any, ends: Any
) -> None:
    rng = np.random.default_rng(_SEED)
    for v, best in zip(points, ends, strict=True):

        def objective(x: Any, v: Any = v) -> float:
            return step * float(regulariser.value(x)) + 0.5 * float(np.sum((x - v) ** 2))

        least = objective(best)
        for scale in (1e-4, 1e-2, 1.0):
            for move in scale * rng.normal(size=(5, len(v))):
                hold(
                    least <= objective(best + move) + 1e-12 * (1.0 + abs(least)),
                    f"{name}.prox(v, {step:g}) is not the minimiser: a point {scale:g} away is "
                    "better",
                )


def _variants(regulariser: AbstractRegulariser, name: str, points: Any) -> None:
    quarter, spared = regulariser.scaled(0.25), regulariser.sparing([1])
    hold(
        {1, *regulariser.unpenalised} <= {1, *spared.unpenalised},
        f"{name}.sparing penalises what was spared before",
    )
    for x in points:
        hold(
            np.isclose(float(quarter.value(x)), 0.25 * float(regulariser.value(x)), rtol=1e-12),
            f"{name}.scaled(0.25) is not a quarter of it",
        )
        moved = np.array(x)
        moved[1] += 1.0
        hold(
            float(spared.value(moved)) == float(spared.value(x))
            and float(spared.prox(x, 1.0)[1]) == x[1],
            f"{name}.sparing([1]) still penalises coordinate 1",
        )
        for free in regulariser.unpenalised:
            hold(
                float(regulariser.prox(x, 1.0)[free]) == x[free],
                f"{name}.prox moves coordinate {free}, which is unpenalised",
            )


@checked(ConfigError)
def check_constraint(constraint: AbstractConstraint, dimension: Count = 4) -> None:
    """Check a constraint against its statements, at random points.

    * `project` lands in the set, leaves points of the set where they are, and brings no two points
      further apart (it is firmly non-expansive). Together this makes it the nearest point, and
      bounds on private answers rest on it.
    * `violation` is 0 in the set, and more outside.

    What says `exact = False` is held to 1e-4 instead of 1e-9, times the squared size of a point.

    Args:
        constraint: constraint under test.
        dimension: number of parameters, at least 2.

    Raises:
        AssertionError: a statement does not hold.
        ProblemError: an empty set, or one of another dimension.
    """
    name = type(constraint).__name__
    points = _points(dimension)
    constraint.check(dimension)
    with held():
        try_constraint(constraint, points[0])
    tolerance = 1e-9 if constraint.exact else 1e-4
    with jax.enable_x64(True):
        ends = np.array([constraint.project(point) for point in points])
        hold(ends.shape == points.shape, f"{name}.project gives shape {ends.shape[1:]}")
        hold(np.isfinite(ends).all(), f"{name}.project gives numbers that are not finite")
        # also from just outside, where the end of a smaller set would show
        ways = points - ends
        lengths = np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-12)
        points = np.concatenate([points, ends + 0.05 * ways / lengths])
        ends = np.array([constraint.project(point) for point in points])
        _firm(f"{name}.project", points, ends, tolerance)
        for v, nearest in zip(points, ends, strict=True):
            spare = float(tolerance * (1.0 + np.sum(v**2)))
            hold(
                constraint.contains(nearest, spare),
                f"{name}.project gives a point outside, by {constraint.violation(nearest):.3g}",
            )
            apart = float(np.linalg.norm(constraint.project(nearest) - nearest))
            hold(apart <= spare, f"{name}.project moves a point of the set by {apart:.3g}")
            away = float(np.linalg.norm(v - nearest))
            hold(
                away <= 1e-3 or constraint.violation(v) > 0.0,
                f"{name}.project moves a point by {away:.3g} that is in the set, as violation has "
                "it",
            )


@checked(ConfigError)
def check_graph(topology: AbstractTopology, agents: int | Sequence[int] = (4, 5, 8)) -> None:
    """Check a rule for drawing graphs against the requirements on every network.

    The graph has one node per agent, is connected, has no loops, is the same when drawn again, and
    admits mixing weights whose rows and columns sum to 1.

    Args:
        topology: rule under test.
        agents: number of agents to draw the graph for, at least 2, or several.

    Raises:
        AssertionError: a requirement does not hold.
        NetworkError: weights that cannot be made.
    """
    import networkx as nx

    name = type(topology).__name__
    agents = (agents,) if isinstance(agents, int) else agents
    if not len(agents):
        raise ConfigError("agents is empty: give numbers of agents to draw the graph for")
    for count in agents:
        checks.whole("agents", count, 2, ConfigError)
        drawn, again = (cast(Any, topology.graph(count)) for _ in range(2))
        what = f"{name}.graph({count})"
        hold(isinstance(drawn, nx.Graph), f"{what} is not a networkx.Graph")
        hold(len(drawn) == count, f"{what} has {len(drawn)} nodes")
        same = nx.utils.graphs_equal(drawn, again)
        hold(same, f"{what} differs when drawn again; give it a seed")
        hold(not list(nx.selfloop_edges(drawn)), f"{what} joins an agent to itself")
        connected = nx.is_strongly_connected if drawn.is_directed() else nx.is_connected
        hold(connected(drawn), f"{what} is not connected")
        network = Graph.from_networkx(drawn)
        with jax.enable_x64(True):
            mixing = network.mixing(0, jax.random.key(0))
        matrix = np.diag(np.asarray(mixing.self_weight))
        matrix[np.asarray(network.receivers), np.asarray(network.senders)] = mixing.weight
        for axis in (0, 1):
            hold(
                np.allclose(matrix.sum(axis=axis), 1.0, atol=1e-9),
                f"{what}: mixing weights do not sum to 1",
            )


def _points(dimension: int) -> Float[np.ndarray, "n p"]:
    """Random points of sizes from 0.1 to 100, and 0."""
    rng = np.random.default_rng(_SEED)
    scales = np.repeat([0.1, 1.0, 10.0, 100.0], 4)[:, None]
    return np.concatenate([scales * rng.normal(size=(16, dimension)), np.zeros((1, dimension))])


def _firm(what: str, points: Any, ends: Any, tolerance: float = 1e-9) -> None:
    """Firmly non-expansive: `|Pv - Pw|^2 <= (Pv - Pw)'(v - w)`."""
    for v, end in zip(points, ends, strict=True):
        moved, apart = ends - end, points - v
        squares, along = np.sum(moved * moved, axis=1), np.sum(moved * apart, axis=1)
        hold(
            np.all(squares <= along + tolerance * (1.0 + np.sum(apart * apart, axis=1))),
            f"{what} is not firmly non-expansive: it brings two points too far apart, as no "
            "map of a convex function or set does",
        )
