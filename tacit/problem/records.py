"""From tables of records at several sites to one problem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Shaped

from tacit import checks
from tacit.arguments import checked
from tacit.errors import ProblemError
from tacit.problem.bounds import RecordBounds
from tacit.problem.column_names import check_columns
from tacit.problem.constraint import FREE, AbstractConstraint
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.foreign_loss import check_encoded, try_loss
from tacit.problem.foreign_maps import spared
from tacit.problem.jax_function import check_one_number
from tacit.problem.losses import LOSSES, AbstractLoss, JaxLoss, Softmax
from tacit.problem.problem import Problem, check_public, declared_normaliser, starting_point
from tacit.problem.regularisers import NO_REGULARISER, AbstractRegulariser
from tacit.problem.simulator import AbstractBlackBox, LossBox, boxed


class Weighting(StrEnum):
    """The declared number by which each agent's sum of losses is divided."""

    AGENT = "agent"
    RECORD = "record"
    SUM = "sum"


@checked(ProblemError, own="features targets loss regulariser constraint weighting names")
def empirical_risk(
    features: Sequence[Any],
    targets: Sequence[Any],
    loss: AbstractLoss | Any,
    regulariser: AbstractRegulariser = NO_REGULARISER,
    constraint: AbstractConstraint = FREE,
    *,
    weighting: Weighting | str = Weighting.AGENT,
    normaliser: Any = None,
    x0: Any = None,
    names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    intercept: bool = False,
    pad_to: int | None = None,
    bounds: RecordBounds | None = None,
    assumptions: Sequence[str] = (),
    parameter_names: Sequence[str] | None = None,
) -> Problem:
    """Regularised empirical risk over the records of several agents.

    Args:
        features: one table per agent, of shape `(N_k, d)`; the `N_k` may differ.
        targets: targets of each agent, shape `(N_k,)`.
        loss: loss of one record.
        regulariser: public penalty `R`, strength included.
        constraint: public convex set.
        weighting: "agent" divides each agent's sum by its own count `N_k`, "record" by the count of
            all records, "sum" by 1.
        normaliser: declared public number, positive (one, or one per agent), by which each agent's
            sum is divided instead; leave `weighting` at its default then. A guarantee for adding
            and removing records needs it, because their number is private then.
        x0: public starting point, shape `(p,)`; by default the point of the set nearest to 0.
        names: names of the agents; "agent 0", ... by default.
        feature_names: names of the columns; "feature 0", ... by default. Tables that name their
            columns themselves must name these, or all the same, in one order.
        intercept: whether to append a column of ones named "intercept", which is not penalised.
        pad_to: declared size to which every agent is padded; the largest count by default. Agents
            that must agree with others to the last bit declare the same number.
        bounds: bounds declared on every record, and enforced here. With a loss of bounded slope
            (logistic, softmax, Huber, hinge, quantile) it bounds every record's gradient.
        assumptions: what must be public about the records for a guarantee to hold, in sentences
            that every guarantee repeats. `Sites.features` and `Sites.targets` include those of the
            preparation and of the division.
        parameter_names: names of the parameters; by default those of the columns, where each has
            its own.

    Raises:
        ProblemError: tables that do not match each other, entries that are not finite numbers,
            targets that have no meaning for the loss, a `JaxLoss` that fails or returns anything
            but one number, records beyond declared bounds, an agent without records, fewer than two
            agents, or a normaliser that is not positive or is given together with a weighting.

    Example:
        >>> from tacit.problem.losses import Squared
        >>> problem = empirical_risk([[[1.0], [3.0]], [[2.0]]], [[1.0, 3.0], [4.0]], Squared())
        >>> problem.counts, problem.value([1.0])
        (array([2, 1]), 4.0)
    """
    known = LOSSES.get(str(loss)) if isinstance(loss, str) else None
    named = f"write problem.{known.__name__}(...)" if known else "give one of tacit.problem.losses"
    remedy = f"{named}, or JaxLoss(function) for your own"
    loss = checks.instance("loss", loss, AbstractLoss, remedy, ProblemError)
    check_public(regulariser, constraint)
    for name, tables in (("features", features), ("targets", targets)):
        if (not isinstance(tables, Sequence) and np.ndim(tables) < 2) or isinstance(tables, str):
            raise ProblemError(
                f"{name} is {checks.shown(tables)}; give a list with one table for each agent"
            )
    if not isinstance(weighting, str) or weighting not in tuple(Weighting):
        raise ProblemError(
            f"weighting={checks.shown(weighting)} is unknown; choose one of {', '.join(Weighting)}"
        )
    if normaliser is not None and weighting != Weighting.AGENT:
        raise ProblemError(
            f"normaliser={normaliser!r} and weighting={str(weighting)!r} are two divisors for one "
            "sum; leave one of them out"
        )
    names = names_of(names, len(features))
    if len(features) != len(targets):
        raise ProblemError(f"features has {len(features)} agents and targets has {len(targets)}")
    columns = _columns(feature_names, features[0] if len(features) else [])
    check_columns(features, names, None if feature_names is None else columns)
    named = feature_names is not None
    tables = [
        _table(table, columns, name, named) for table, name in zip(features, names, strict=True)
    ]
    answers = [
        _answers(column, len(table), name)
        for column, table, name in zip(targets, tables, names, strict=True)
    ]
    if not tables:
        raise ProblemError("features is empty; give one table for each of at least two agents")
    if intercept:
        columns = (*columns, "intercept")
        tables = [np.column_stack([table, np.ones(len(table))]) for table in tables]
    if bounds is not None:
        tables = [bounds.on_rows(table, name) for table, name in zip(tables, names, strict=True)]
        answers = [bounds.on_targets(own, name) for own, name in zip(answers, names, strict=True)]
    counts = np.array([len(table) for table in tables])
    try_loss(loss, len(columns))
    encoded = _encode(loss, answers, counts, names)
    dimension = loss.dimension(len(columns))
    if intercept and not isinstance(loss, AbstractBlackBox):  # whose parameters are its own
        classes = dimension // len(columns)
        regulariser = spared(regulariser, range(dimension - classes, dimension))
    if isinstance(loss, JaxLoss):
        shapes = ((dimension,), (len(columns),), ())
        given = [jax.ShapeDtypeStruct(shape, np.float64) for shape in shapes]
        check_one_number("the function of JaxLoss", loss.function, "(x, row, target)", *given)
    if normaliser is None:
        divisors = _divisors(counts, Weighting(weighting))
    else:
        divisors = declared_normaliser(normaliser, len(counts))
    return Problem(
        objectives=_stack(tables, encoded, counts, loss, divisors, pad_to, bounds),
        x0=starting_point(x0, dimension, constraint),
        counts=counts,
        names=names,
        parameter_names=tuple(parameter_names or _parameter_names(loss, columns, dimension)),
        regulariser=regulariser,
        constraint=constraint,
        declared=normaliser is not None,
        assumptions=tuple(
            dict.fromkeys(
                sentence
                for each in (
                    assumptions,
                    *(getattr(t, "assumptions", ()) for t in (features, targets)),
                )
                for sentence in each
            )
        ),
        divided=frozenset().union(*(getattr(t, "divided", ()) for t in (features, targets))),
    )


def _divisors(counts: np.ndarray, weighting: Weighting) -> np.ndarray:
    agents = len(counts)
    return {
        Weighting.AGENT: counts.astype(np.float64),
        Weighting.RECORD: np.full(agents, float(counts.sum())),
        Weighting.SUM: np.ones(agents),
    }[weighting]


def declared_counts(problem: Problem, counts: Sequence[int], weighting: Weighting | str) -> Problem:
    """A problem whose agents have declared numbers of records, larger than those of its tables.

    Args:
        problem: problem made by `empirical_risk`, with any tables.
        counts: declared numbers of records, one per agent.
        weighting: as for `empirical_risk`.
    """
    numbers = np.asarray(counts)
    divisors = problem.normaliser if problem.declared else _divisors(numbers, Weighting(weighting))
    return eqx.tree_at(lambda p: (p.counts, p.objectives.normaliser), problem, (numbers, divisors))


def objective_of(
    problem: Problem,
    agent: int,
    features: Float[np.ndarray, "n d"],
    targets: Shaped[np.ndarray, " n"],
    size: int,
    bounds: RecordBounds | None = None,
    divisor: float | None = None,
) -> EmpiricalRisk | LossBox:
    """One agent's objective on its own records, where a problem holds another table in its place.

    Args:
        problem: problem made by `empirical_risk`; its loss and normaliser are taken.
        agent: index of the agent.
        features: feature table, shape `(n, d)`, with the problem's columns.
        targets: targets, shape `(n,)`.
        size: declared number of records, to which the table is padded with empty ones.
        bounds: bounds declared on every record.
        divisor: divisor of the sum, positive; the problem's normaliser by default.

    Raises:
        ProblemError: as for `empirical_risk`.
    """
    name, blank = problem.names[agent], problem.agent(agent)
    assert isinstance(blank, EmpiricalRisk | LossBox)
    table = _table(features, tuple(map(str, range(np.shape(features)[-1]))), name)
    answers = _answers(targets, len(table), name)
    if bounds is not None:
        table, answers = bounds.on_rows(table, name), bounds.on_targets(answers, name)
    count = np.array([len(table)])
    # a site's refusal is seen by others: it may not depend on one record
    encoded = _encode(blank.loss, [answers], count, (name,), finite=False)
    own = np.array([blank.normaliser if divisor is None else divisor], dtype=float)
    if isinstance(blank, LossBox):
        return _first(boxed(blank.loss, [table], encoded, own, size, quiet=True))
    return _first(_stack([table], encoded, count, blank.loss, own, size, bounds))


def _first(stacked: Any) -> Any:
    """The first agent's part of a module with a leading agent axis."""
    arrays, rest = eqx.partition(stacked, eqx.is_array)
    return eqx.combine(jax.tree.map(lambda leaf: leaf[0], arrays), rest)


def _stack(
    tables: list[np.ndarray],
    targets: list[np.ndarray],
    counts: np.ndarray,
    loss: AbstractLoss,
    normaliser: np.ndarray,
    pad_to: int | None,
    bounds: RecordBounds | None,
) -> EmpiricalRisk | LossBox:
    """One objective with a leading agent axis, padded with rows of zeros."""
    agents, largest = len(tables), int(counts.max())
    size = largest if pad_to is None else pad_to
    if size < largest:
        raise ProblemError(
            f"pad_to={size} is smaller than the largest agent's {largest} records; "
            "records are never dropped, so declare a larger one"
        )
    if isinstance(loss, AbstractBlackBox):
        return boxed(loss, tables, targets, normaliser, size)
    features = np.zeros((agents, size, tables[0].shape[1]))
    answers, mask = np.zeros((agents, size)), np.zeros((agents, size))
    for index, (table, column) in enumerate(zip(tables, targets, strict=True)):
        features[index, : len(table)] = table
        answers[index, : len(table)] = column
        mask[index, : len(table)] = 1.0
    return EmpiricalRisk(
        normaliser=normaliser,
        features=features,
        targets=answers,
        mask=mask,
        loss=per_agent(loss, agents),
        gradient_bounds=None
        if bounds is None
        else np.tile(bounds.of_gradient(loss, tables[0].shape[1]), (agents, 1)),
    )


def per_agent(module: Any, agents: int) -> Any:
    """The module with a leading agent axis on each of its arrays and plain floats."""
    # a float becomes an array where it is compiled, and a whole number may decide a shape
    arrays, rest = eqx.partition(module, lambda leaf: eqx.is_array(leaf) or type(leaf) is float)
    repeated = jax.tree.map(partial(_repeat, agents), arrays)
    return eqx.combine(repeated, rest)


def _repeat(agents: int, leaf: Any) -> np.ndarray:
    return np.broadcast_to(leaf, (agents, *np.shape(leaf)))


def names_of(names: Sequence[str] | None, agents: int) -> tuple[str, ...]:
    """Names of the agents; "agent 0", ... by default.

    Raises:
        ProblemError: a number of names other than one per agent.
    """
    if isinstance(names, str) or not (names is None or isinstance(names, Iterable)):
        raise ProblemError(
            f"names is {checks.shown(names)}; give a list with one name for each agent"
        )
    if names is None:
        return tuple(f"agent {index}" for index in range(agents))
    if len(names) != agents:
        raise ProblemError(f"names has {len(names)} entries for {agents} agents")
    return tuple(str(name) for name in names)


def _columns(feature_names: Sequence[str] | None, first: Any) -> tuple[str, ...]:
    if feature_names is not None:
        return tuple(str(name) for name in feature_names)
    try:
        shape = np.shape(first)
    except ValueError:  # rows of different lengths, which `_table` refuses
        shape = ()
    return tuple(f"feature {index}" for index in range(shape[1] if len(shape) == 2 else 0))


def _table(table: Any, columns: tuple[str, ...], name: str, named: bool = False) -> np.ndarray:
    array = _unmasked(table, f"{name}: features")
    if array.ndim != 2:
        raise ProblemError(
            f"{name}: features have shape {array.shape}; they must be a table with one row per "
            "record and one column per feature (of a single feature, values.reshape(-1, 1))"
        )
    if not array.shape[1]:
        raise ProblemError(f"{name}: features have no column; give at least one")
    if array.shape[1] != len(columns):
        wanted = f"feature_names has {len(columns)} names; give one for each column"
        if not named:
            wanted = f"the first agent has {len(columns)} columns; give all agents the same"
        raise ProblemError(f"{name}: features have {array.shape[1]} columns, and {wanted}")
    if len(array) == 0:
        raise ProblemError(f"{name}: has no records; leave this agent out or give it data")
    array = _numeric(array, f"{name}: features")
    wrong = ~np.isfinite(array)
    if wrong.any():
        row, column = (int(index) for index in np.argwhere(wrong)[0])
        raise ProblemError(
            f"{name}: row {row}, column {column} ({columns[column]!r}) is "
            f"{_what(array[row, column])}"
        )
    return array


def _answers(column: Any, records: int, name: str) -> np.ndarray:
    array = _unmasked(column, f"{name}: targets")
    if array.shape != (records,):
        raise ProblemError(
            f"{name}: targets have shape {array.shape}; there must be one for each of its "
            f"{records} records"
        )
    array = _numeric(array, f"{name}: targets")
    wrong = ~np.isfinite(array)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ProblemError(f"{name}: the target in row {row} is {_what(array[row])}")
    return array


def _unmasked(values: Any, what: str) -> np.ndarray:
    """As an array, which has no mask: what is masked must not be taken for a value."""
    if np.ma.is_masked(values):
        raise ProblemError(f"{what} hold masked values; fill in or drop missing values first")
    if hasattr(values, "toarray"):
        raise ProblemError(f"{what} are a sparse matrix; give its toarray()")
    try:
        return np.asarray(values)
    except ValueError:
        raise ProblemError(f"{what} are rows of different lengths; give all of them one") from None


def _numeric(array: np.ndarray, what: str) -> np.ndarray:
    if array.dtype.kind not in "biuf":
        raise ProblemError(
            f"{what} have dtype {array.dtype}; they must be real numbers. "
            "Encode text and categories as numbers first."
        )
    return array.astype(np.float64)


def _what(value: float) -> str:
    if np.isnan(value):
        return "missing (NaN); fill in or drop missing values first"
    return "infinite; put a finite number there, or leave the record out"


def _encode(
    loss: AbstractLoss,
    answers: list[np.ndarray],
    counts: np.ndarray,
    names: tuple[str, ...],
    *,
    finite: bool = True,
) -> list[np.ndarray]:
    """All targets at once, so that every agent is read with the same coding of yes and no."""
    ends = np.cumsum(counts)

    def where(row: int) -> str:
        agent = int(np.searchsorted(ends, row, side="right"))
        return f"row {row - int(ends[agent] - counts[agent])} of {names[agent]!r}"

    given = np.concatenate(answers)
    coded = check_encoded(loss, loss.encode(given, where), len(given), finite=finite)
    return np.split(coded, ends[:-1])


def _parameter_names(
    loss: AbstractLoss, columns: tuple[str, ...], dimension: int
) -> tuple[str, ...]:
    if isinstance(loss, Softmax):
        return tuple(f"{column}:{c}" for column in columns for c in range(loss.classes))
    if dimension == len(columns):
        return columns
    return tuple(f"x{index}" for index in range(dimension))
