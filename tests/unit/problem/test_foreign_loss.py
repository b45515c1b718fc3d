"""A third-party loss that answers wrongly is refused where the problem is made."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit.errors import OracleError, ProblemError
from tacit.method import ORZO
from tacit.network import Coordinator
from tacit.problem import (
    AbstractBlackBox,
    AbstractLinearLoss,
    AbstractLoss,
    AbstractScalarLoss,
    EmpiricalRisk,
    JaxLoss,
    Problem,
    Squared,
    empirical_risk,
)
from tacit.problem.records import objective_of

RNG = np.random.default_rng(0)
ROWS = [RNG.normal(size=(count, 2)) for count in (4, 7)]
TARGETS = [rows @ [1.0, -1.0] for rows in ROWS]


class Half(AbstractScalarLoss):
    """`(s - y)^2 / 2`, without a mistake."""

    smooth: ClassVar[Any] = True
    convex: ClassVar[Any] = True
    curvature: ClassVar[Any] = 1.0

    def encode(self, targets: Any, where: Any) -> Any:
        return targets

    def value(self, scores: Any, targets: Any) -> Any:
        return (scores - targets) ** 2 / 2.0

    def derivative(self, scores: Any, targets: Any) -> Any:
        return scores - targets


class Classes(AbstractLinearLoss):
    """Two scores per record, without a mistake."""

    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    curvature: ClassVar[float] = 1.0

    def dimension(self, features: int) -> int:
        return 2 * features

    def weights(self, x: Any, features: int) -> Any:
        return jnp.reshape(x, (features, 2))

    def encode(self, targets: Any, where: Any) -> Any:
        return targets

    def value(self, scores: Any, targets: Any) -> Any:
        return jnp.sum((scores - targets[:, None]) ** 2, axis=-1) / 2.0

    def derivative(self, scores: Any, targets: Any) -> Any:
        return scores - targets[:, None]


class Positive(Half):
    """Takes positive targets only."""

    def encode(self, targets: Any, where: Any) -> Any:
        if np.any(targets <= 0.0):
            raise ProblemError(f"the target in {where(0)} is not positive")
        return np.log(targets)


def with_(base: type[Any] = Half, **mistakes: Any) -> Any:
    """A loss with some of its functions or attributes replaced."""
    return type("Mine", (base,), mistakes)()


def made(loss: Any, **more: Any) -> Problem:
    return empirical_risk(ROWS, TARGETS, loss, **more)


@pytest.mark.parametrize("loss", [Half(), Classes()])
def test_a_loss_without_a_mistake_is_taken(loss: Any) -> None:
    assert np.isfinite(made(loss).value(np.zeros(loss.dimension(2))))


def test_targets_that_a_loss_has_no_meaning_for_are_not_tried() -> None:
    positive = [np.abs(column) + 0.5 for column in TARGETS]
    assert np.isfinite(empirical_risk(ROWS, positive, Positive()).value([0.0, 0.0]))
    with pytest.raises(ProblemError, match="is not positive"):
        made(Positive())

    class Years(Half):
        """Refuses all targets that are tried, with an error of Python's."""

        def encode(self, targets: Any, where: Any) -> Any:
            if np.any(targets < 1900.0):
                raise ValueError("no year")
            return targets - 1900.0

    assert np.isfinite(
        empirical_risk(ROWS, [np.full(4, 1950.0), np.full(7, 2000.0)], Years()).value([0.0, 0.0])
    )


MIXED = "Mine.{} of a record changes with the other records; it may depend on its own only"


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("derivative", lambda self, s, y: s - y - jnp.mean(s - y)),
        ("derivative", lambda self, s, y: (s - y) * jnp.mean(y)),
        ("derivative", lambda self, s, y: (s - y) / jnp.max(jnp.abs(s))),
        ("derivative", lambda self, s, y: jnp.cumsum(s - y)),
        ("derivative", lambda self, s, y: jnp.flip(jnp.cumsum(s - y))),
        ("derivative", lambda self, s, y: (s - y) * jnp.mean(s > 0.0)),
        ("value", lambda self, s, y: jnp.square(s - jnp.roll(s, 1))),
    ],
)
def test_a_loss_that_mixes_records_is_refused(name: str, function: Any) -> None:
    with pytest.raises(ProblemError, match=MIXED.format(name)):
        made(with_(**{name: function}))


def test_a_problem_that_is_put_together_by_hand_is_looked_at_as_well() -> None:
    good = made(Half())
    risk = good.objectives
    assert isinstance(risk, EmpiricalRisk)
    loss = with_(derivative=lambda self, s, y: s - y - jnp.mean(s - y))
    arrays = {name: getattr(risk, name) for name in ("normaliser", "features", "targets", "mask")}
    with pytest.raises(ProblemError, match=MIXED.format("derivative")):
        Problem(
            EmpiricalRisk(**arrays, loss=loss),
            good.x0,
            good.counts,
            good.names,
            good.parameter_names,
        )


@pytest.mark.parametrize(
    ("mistakes", "told"),
    [
        ({"value": lambda self, s, y: None}, r"Mine.value returned None; it takes \(scores, targ"),
        (
            {"value": lambda self, s, y: jnp.sum((s - y) ** 2)},
            r"Mine.value returned a single number; .* the loss of every record, shape \(n,\)",
        ),
        ({"value": lambda self, s, y: (s - y)[:-1]}, r"value returned an array of shape \(6,\)"),
        ({"value": lambda self, s, y: s > y}, "Mine.value returned values of type bool"),
        ({"value": lambda self, s, y: s * np.nan}, "Mine.value gives no finite number, at scores"),
        ({"value": lambda self, s, y: np.square(np.asarray(s))}, "Mine.value needs the value of"),
        ({"value": lambda self, s: s}, r"Mine.value takes \(s\), and is called with \(scores, t"),
        ({"derivative": lambda self, s, y: None}, "Mine.derivative returned None"),
        (
            {"derivative": lambda self, s, y: jnp.sum(s - y)},
            r"Mine.derivative returned a single .* the derivative in the score, shape \(n,\)",
        ),
        ({"derivative": lambda self, s, y: s / 0.0 * 0.0}, "Mine.derivative gives no finite"),
        ({"derivative": lambda self, s: s}, r"Mine.derivative takes \(s\), and is called with"),
        ({"encode": lambda self, t, w: None}, r"Mine.encode gives None for 2 targets; .* \(2,\)"),
        ({"encode": lambda self, t, w: t[:-1]}, r"Mine.encode gives an array of shape \(1,\)"),
        ({"encode": lambda self, t, w: t.astype(str)}, "Mine.encode gives an array"),
        ({"encode": lambda self, t, w: t + np.inf}, "Mine.encode gives a number that is not fin"),
        ({"encode": lambda self, t, w: t - t.mean()}, "encode of a target changes with the other"),
        (
            {"encode": lambda self, targets: targets},
            r"Mine.encode takes \(targets\), and is called with \(targets, where\): targets is an "
            r"array of numbers, shape \(n,\), where is a function that names a row",
        ),
        ({"dimension": lambda self, d: "two"}, "Mine.dimension gives 'two' for 2 features"),
        ({"dimension": lambda self, d: 0}, "Mine.dimension gives 0 for 2 features"),
        ({"dimension": lambda self, d: True}, "Mine.dimension gives True for 2 features"),
        ({"dimension": lambda self: 2}, r"Mine.dimension takes \(\), and is called with \(feat"),
        ({"weights": lambda self, x, d: None}, r"Mine.weights gives the shape \(\); a row is"),
        ({"weights": lambda self, x, d: x[:1]}, r"Mine.weights gives the shape \(1,\); .*\(2,\)"),
        ({"weights": lambda self, x, d: x @ x.T @ x}, "Mine.weights raised"),
        ({"weights": lambda self, x: x}, r"Mine.weights takes \(x\), and is called with"),
        ({"curvature": -1.0}, "Mine.curvature is -1.0; it must be one number of at least 0"),
        ({"curvature": "1"}, "Mine.curvature is '1'; it must be one number of at least 0"),
        ({"curvature": math.nan}, "Mine.curvature is nan"),
        ({"curvature": True}, "Mine.curvature is True"),
        ({"smooth": 1}, "Mine.smooth is 1; it must be True or False"),
        ({"convex": None}, "Mine.convex is None; it must be True or False"),
        ({"slope_bound": lambda self, order: None}, r"Mine.slope_bound\(1\) is None; it must be"),
        ({"slope_bound": lambda self, order: -1.0}, r"Mine.slope_bound\(1\) is -1.0"),
        ({"slope_bound": lambda self: 1.0}, r"Mine.slope_bound takes \(\), and is called with"),
    ],
)
def test_a_mistake_is_told_by_class_and_method(mistakes: dict[str, Any], told: str) -> None:
    with pytest.raises(ProblemError, match=told):
        made(with_(**mistakes))


def test_what_is_made_up_is_refused_before_a_record_is_shown() -> None:
    class Curious(Half):
        """Keeps all targets that it is shown."""

        curvature: ClassVar[Any] = -1.0

        def encode(self, targets: Any, where: Any) -> Any:
            seen.extend(targets)
            return targets

    seen: list[float] = []
    with pytest.raises(ProblemError, match="curvature"):
        made(Curious())
    assert seen and not set(seen) & set(np.concatenate(TARGETS))


def test_what_encode_makes_of_the_records_themselves_is_looked_at_and_not_told() -> None:
    def short(self: Any, targets: Any, where: Any) -> Any:
        return targets if len(targets) <= 4 else targets[:-1]

    with pytest.raises(ProblemError, match=r"Mine.encode gives an array .* for 11 targets"):
        made(with_(encode=short))


def test_a_loss_of_no_kind_is_refused() -> None:
    class Odd(AbstractLoss):
        smooth: ClassVar[bool] = True
        convex: ClassVar[bool] = True

        def dimension(self, features: int) -> int:
            return features

        def encode(self, targets: Any, where: Any) -> Any:
            return targets

    with pytest.raises(ProblemError, match="Odd is none of AbstractLinearLoss"):
        made(Odd())


def test_tacits_own_classes_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*asked: Any) -> Any:
        raise AssertionError("was tried")

    monkeypatch.setattr(Squared, "value", never)
    monkeypatch.setattr(Squared, "derivative", never)
    assert made(Squared()).agents == 2
    with pytest.raises(ProblemError, match=r"Mine.value raised AssertionError"):
        made(with_(Squared))


def room(**functions: Any) -> Any:
    own = {"value": lambda self, x, row, target: 0.0, "dimension": lambda self, d: 2}
    return type("Room", (AbstractBlackBox,), own | functions)()


def test_a_simulator_is_looked_at_and_not_run() -> None:
    calls: list[Any] = []
    made(room(value=lambda self, x, row, target: calls.append(x)))
    assert not calls
    for functions, told in (
        ({"dimension": lambda self, d: "two"}, "Room.dimension gives 'two' for 2 features"),
        ({"value": lambda self, x, row: 0.0}, r"Room.value takes \(x, row\), and is called with "),
        ({"encode": lambda self, t, w: None}, "Room.encode gives None for 2 targets"),
    ):
        with pytest.raises(ProblemError, match=told):
            made(room(**functions))


@pytest.mark.parametrize(
    ("answer", "told"),
    [(None, "None"), ("1", "'1'"), (True, "True"), (np.zeros(2), r"an array of shape \(2,\)")],
)
def test_a_simulator_that_returns_no_number_is_told_so(answer: Any, told: str) -> None:
    box = made(room(value=lambda self, x, row, target: answer))
    with pytest.raises(OracleError, match=f"agent 0 returned {told} from Room.value, at x0 = 0.*R"):
        tacit.run(box, Coordinator(2), ORZO(step=0.1, directions=2), rounds=1, seed=0)


def test_the_function_of_a_jax_loss_is_told_its_shapes() -> None:
    loss = JaxLoss(lambda x, row, y: (row @ x - y) ** 2, parameters=3)
    with pytest.raises(ProblemError, match=r"here x has shape \(3,\), row has shape \(2,\)"):
        made(loss)
    with pytest.raises(ProblemError, match="the function of JaxLoss has slope 0 everywhere"):
        made(JaxLoss(lambda x, row, y: jnp.abs(jnp.sign(row @ x) - y)))


class Mixing(AbstractScalarLoss):
    """A squared loss whose targets are less the smallest one of all records."""

    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    curvature: ClassVar[float] = 1.0

    def encode(self, targets: np.ndarray, where: Any) -> np.ndarray:
        return targets.astype(float)

    def value(self, scores: Any, targets: Any) -> Any:
        return 0.5 * (scores - (targets - jnp.min(targets))) ** 2

    def derivative(self, scores: Any, targets: Any) -> Any:
        return scores - (targets - jnp.min(targets))


class Traced(Mixing):
    """Mixes records only where it is compiled."""

    def derivative(self, scores: Any, targets: Any) -> Any:
        mean = jnp.mean(targets) if isinstance(scores, jax.core.Tracer) else 0.0
        return scores - (targets - mean)

    def value(self, scores: Any, targets: Any) -> Any:
        return 0.5 * (scores - targets) ** 2


class Standardised(Mixing):
    """Codes targets by their mean and spread, and refuses targets that are all the same."""

    def encode(self, targets: np.ndarray, where: Any) -> np.ndarray:
        if targets.std() == 0.0:
            raise ProblemError("all targets are the same")
        return (targets - targets.mean()) / targets.std()

    def value(self, scores: Any, targets: Any) -> Any:
        return 0.5 * (scores - targets) ** 2

    def derivative(self, scores: Any, targets: Any) -> Any:
        return scores - targets


class Median(Standardised):
    """Codes targets by their median, which two targets do not tell from a constant."""

    def encode(self, targets: np.ndarray, where: Any) -> np.ndarray:
        return targets - (np.median(targets) if len(targets) > 2 else 0.0)


class Named(Mixing):
    """Says that it is tacit's own."""

    __module__ = "tacit.problem.losses"


class Logarithmic(Standardised):
    """Has a code for targets above -1 only."""

    def encode(self, targets: np.ndarray, where: Any) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.log1p(targets.astype(float))


@pytest.mark.parametrize("records", [6, 7])
@pytest.mark.parametrize("kind", [Mixing, Traced, Standardised, Median, Named])
def test_a_loss_that_mixes_records_in_any_way_is_refused(kind: Any, records: int) -> None:
    rows = 2 * [np.ones((records, 1)) * np.arange(records)[:, None]]
    with pytest.raises(ProblemError, match="changes with the other"):
        empirical_risk(rows, 2 * [np.arange(records) % 3.0], kind())


def test_one_target_without_a_code_stops_no_site() -> None:
    rows, blank = 2 * [np.ones((3, 1))], 2 * [np.zeros(3)]
    with pytest.raises(ProblemError, match="not finite"):
        empirical_risk(rows, [np.array([0.0, 1.0, -1.0]), blank[1]], Logarithmic())
    task = empirical_risk(rows, blank, Logarithmic())
    own = objective_of(task, 0, rows[0], np.array([0.0, 1.0, -1.0]), 3)
    others = objective_of(task, 0, rows[0][:2], np.array([0.0, 1.0]), 3)
    at = jnp.zeros(1)
    clipped = [each.clipped_gradient(at, 1.0, 2, None) for each in (own, others)]
    assert np.isfinite(clipped[0]).all() and np.array_equal(*clipped)
