"""The problem that the agents solve together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, ArrayLike, Float, Int

from tacit import checks
from tacit.arguments import checked, remedy
from tacit.errors import ProblemError
from tacit.escape import html_table, named
from tacit.problem.boxes import BlackBox, computed
from tacit.problem.callback import host_errors
from tacit.problem.constraint import FREE, AbstractConstraint
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.foreign import foreign
from tacit.problem.foreign_loss import try_scores
from tacit.problem.foreign_maps import try_constraint, try_regulariser
from tacit.problem.normaliser import check_normaliser
from tacit.problem.public import Public
from tacit.problem.regularisers import NO_REGULARISER, AbstractRegulariser
from tacit.ranges import Listed, numeric
from tacit.types import AbstractObjective, Division, Params, Unit

if TYPE_CHECKING:
    from tacit.problem.reference import Reference


@remedy("give a problem, such as that of tacit.problem.empirical_risk(...)")
@checked(ProblemError, own="regulariser constraint")
class Problem(eqx.Module):
    """`min_x sum_k [f_k(x) + R(x) / K]` over `x` in a public convex set.

    Attributes:
        objectives: private `f_k`, one module whose arrays all have a leading agent axis.
        x0: public starting point, shape `(p,)`.
        counts: declared number of records of every agent (1 for a whole cost), shape `(K,)`.
        names: owner of every objective.
        parameter_names: meaning of each coordinate of `x`.
        regulariser: public `R`, strength included.
        constraint: public convex set.
        declared: whether the normalisers are declared numbers rather than record counts.
        assumptions: what was taken to be public when the records were prepared, in sentences.
        divided: what decided which record belongs to whom; empty if owners brought their own.

    Raises:
        ProblemError: fewer than two agents, or parts that do not match each other.
    """

    objectives: AbstractObjective
    x0: Float[ArrayLike, " p"]
    counts: Int[ArrayLike, " agents"]
    names: tuple[str, ...] = eqx.field(static=True)
    parameter_names: tuple[str, ...] = eqx.field(static=True)
    regulariser: AbstractRegulariser = NO_REGULARISER
    constraint: AbstractConstraint = FREE
    declared: bool = eqx.field(static=True, default=False)
    assumptions: tuple[str, ...] = eqx.field(static=True, default=())
    divided: frozenset[Division] = eqx.field(static=True, default=frozenset())

    def __repr__(self) -> str:
        agents, of = len(self.names), type(self.objectives).__name__
        terms = [type(each).__name__ for each in (self.regulariser, self.constraint)]
        return (
            f"<Problem of {agents} agents, {len(self.parameter_names)} parameters: "
            f"{', '.join([of, *terms])}>"
        )

    def _repr_html_(self) -> str:
        """What is declared of the problem, at the end of a notebook cell; no number of records."""
        cost, loss = type(self.objectives).__name__, getattr(self.objectives, "loss", None)
        return html_table(
            [
                ("Agents", named(self.names)),
                ("Parameters", named(self.parameter_names)),
                ("Cost", cost if loss is None else f"{cost}, {type(loss).__name__}"),
                ("One summand", self.unit.value),
                ("Regulariser", type(self.regulariser).__name__),
                ("Constraint", type(self.constraint).__name__),
            ]
        )

    def __check_init__(self) -> None:
        check_public(self.regulariser, self.constraint)
        if not isinstance(self.x0, Tracer) and not np.isfinite(np.asarray(self.x0)).all():
            raise ProblemError("x0 holds a number that is not finite")
        agents, dimension = np.shape(self.counts)[0], np.shape(self.x0)[0]
        _check_several(agents)
        if np.shape(self.objectives.normaliser) != (agents,) or len(self.names) != agents:
            raise ProblemError(
                f"there are {agents} agents, {len(self.names)} names of agents and normalisers of "
                f"shape {np.shape(self.objectives.normaliser)}; names= and normaliser= have one "
                "for each agent; coordinates are named by parameter_names="
            )
        check_normaliser(self.objectives.normaliser)
        _distinct("agent", self.names)
        if dimension < 1 or len(self.parameter_names) != dimension:
            raise ProblemError(
                f"x0 has {dimension} entries and there are {len(self.parameter_names)} parameter "
                "names; there must be at least one parameter and one name for each"
            )
        _distinct("parameter", self.parameter_names)
        if isinstance(self.objectives, BlackBox):
            self.objectives.host.name(self.names)
        try_regulariser(self.regulariser, self.x0)
        try_constraint(self.constraint, self.x0)
        risk = self.objectives
        if isinstance(risk, EmpiricalRisk) and foreign(risk.loss):
            loss = agent_of(risk.loss, 0, agents)
            try_scores(loss, risk.units, np.shape(risk.features)[-1])

    @property
    def agents(self) -> int:
        """Number of agents, `K`."""
        return np.shape(self.counts)[0]

    @property
    def dimension(self) -> int:
        """Number of parameters, `p`."""
        return np.shape(self.x0)[0]

    @property
    def unit(self) -> Unit:
        """What one summand of every `f_k` is."""
        return self.objectives.unit

    @property
    def normaliser(self) -> np.ndarray:
        """Declared number that every agent's sum of losses is divided by, shape `(K,)`."""
        return np.asarray(self.objectives.normaliser, dtype=np.float64)

    @property
    def told(self) -> Int[np.ndarray, " agents"]:
        """Normalisers instead of numbers of records, where the latter are private."""
        return np.maximum(1, np.rint(self.normaliser)).astype(int)

    @property
    def public(self) -> Public:
        """What every agent knows: its share of the regulariser, and the constraint."""
        return Public(self.regulariser.scaled(1.0 / self.agents), self.constraint)

    def agent(self, index: int) -> AbstractObjective:
        """The objective of one agent, padded to the size of the largest."""
        return agent_of(self.objectives, index, self.agents)

    def start(self) -> np.ndarray:
        """The public starting point, shape `(p,)`."""
        return np.asarray(self.x0, dtype=float)

    def value(self, x: Listed) -> float:
        """`sum_k f_k(x) + R(x)`: needs every agent's data, so for simulations only.

        Args:
            x: point of evaluation, shape `(p,)`.

        Raises:
            OracleError: a black box that failed.
            ProblemError: another number of parameters, or a solver that found no value.
        """
        if not numeric(x) or np.shape(x) != (self.dimension,):
            what = f"has shape {np.shape(x)}" if numeric(x) else f"is {checks.shown(x)}"
            raise ProblemError(
                f"x {what}; give one number for each of the {self.dimension} parameters"
            )
        with jax.enable_x64(True), host_errors():
            point = jnp.asarray(x, dtype=jnp.float64)
            total = computed(lambda: _total(self.objectives, point), self.objectives)
            return float(total + self.regulariser.value(point))

    def reference(self) -> Reference:
        """The solution that one computer with all the data would find: for simulations only.

        Computed once for each problem object.
        """
        return self._reference

    @cached_property
    def _reference(self) -> Reference:
        from tacit.problem.reference import solve

        return solve(self)


def agent_of(objectives: Any, index: int, agents: int) -> Any:
    """The private data of one agent, from a module whose arrays all have a leading agent axis.

    Args:
        objectives: objectives of all agents.
        index: index of the agent.
        agents: number of agents.

    Raises:
        ProblemError: there is no such agent.
    """
    if not (isinstance(index, int | np.integer) and 0 <= index < agents):
        raise ProblemError(
            f"there is no agent {checks.shown(index)}: there are {agents}, by numbers from 0"
        )
    arrays, rest = eqx.partition(objectives, eqx.is_array)
    return eqx.combine(jax.tree.map(lambda leaf: leaf[index], arrays), rest)


def check_names(names: tuple[str, ...], agents: int, whose: str) -> None:
    """Refuse fewer than two agents, and a number of names other than one per agent.

    Args:
        names: names of the agents.
        agents: number of agents.
        whose: start of the error message, before the number of agents, such as "tables are of".

    Raises:
        ProblemError: fewer than two agents, or names that do not match them.
    """
    _check_several(agents)
    if len(names) != agents:
        raise ProblemError(f"{whose} {agents} agents, and there are {len(names)} names")
    _distinct("agent", names)


def _check_several(agents: int) -> None:
    if agents < 2:
        raise ProblemError(
            f"the problem has {agents} agent{'' if agents == 1 else 's'}; agreement needs at least "
            "two. Split the data over more sites or fit it without tacit."
        )


def check_public(regulariser: object, constraint: object) -> None:
    """Refuse anything that is not a regulariser or a constraint.

    Raises:
        ProblemError: another object, such as a number, which does not say which penalty is meant.
    """
    strength = regulariser if isinstance(regulariser, int | float) else 0.1
    checks.instance(
        "regulariser",
        regulariser,
        AbstractRegulariser,
        f"say which: problem.L2({strength}), problem.L1({strength}), or NoRegulariser() for none",
        ProblemError,
    )
    checks.instance(
        "constraint",
        constraint,
        AbstractConstraint,
        "give one of tacit.problem, such as problem.Box(-1.0, 1.0), or Free() for none",
        ProblemError,
    )


@eqx.filter_jit
def _total(objectives: AbstractObjective, x: Params) -> Float[Array, ""]:
    return jnp.sum(eqx.filter_vmap(lambda objective: objective.measured(x))(objectives))


def _distinct(kind: str, names: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ProblemError(f"the {kind} name {name!r} occurs twice; names must differ")
        seen.add(name)


def anonymous(names: Sequence[str]) -> bool:
    """Whether agents have numbers for names, by default or because records are split over sites."""
    return any(
        all(name == f"{kind} {k}" for k, name in enumerate(names)) for kind in ("agent", "site")
    )


def declared_normaliser(normaliser: Any, agents: int) -> np.ndarray:
    """A declared divisor, one or one per agent, as an array of shape `(agents,)`.

    Raises:
        ProblemError: not positive finite numbers, or a wrong number of agents.
    """
    given = checks.shown(normaliser)
    problem = f"normaliser={given} must be a positive number, or {agents} of them"
    if not numeric(normaliser):
        raise ProblemError(problem)
    divisor = np.asarray(normaliser, dtype=np.float64)
    if divisor.ndim == 1 and len(divisor) != agents:
        raise ProblemError(
            f"normaliser has {len(divisor)} entries for {agents} agents; give one positive number, "
            "or one for each agent"
        )
    if divisor.shape not in ((), (agents,)) or not np.all(np.isfinite(divisor) & (divisor > 0)):
        raise ProblemError(problem)
    check_normaliser(divisor)
    return np.broadcast_to(divisor, (agents,)).copy()


def starting_point(x0: Any, dimension: int, constraint: AbstractConstraint) -> np.ndarray:
    """The declared starting point, or the point of the constraint set nearest to 0.

    Raises:
        ProblemError: a shape other than `(dimension,)`, numbers that are not finite, or a point
            outside the constraint set.
    """
    if isinstance(x0, str | bytes):
        raise ProblemError(f"x0={checks.shown(x0)} must be a list of numbers, such as x0=[0.0]")
    if x0 is not None:
        checks.real("x0", x0, ProblemError)
    if x0 is None:
        try_constraint(constraint, np.zeros(dimension))
        with jax.enable_x64(True):
            return np.asarray(constraint.project(np.zeros(dimension)))
    try:
        start = np.asarray(x0, dtype=np.float64)
    except ValueError:
        raise ProblemError("x0 has rows of different lengths; give a list of numbers") from None
    if start.ndim != 1:
        raise ProblemError(
            f"x0 has shape {start.shape}; it must be a list of finite numbers, one per parameter"
        )
    if start.shape != (dimension,):
        raise ProblemError(
            f"x0 has shape {start.shape}; it must be {dimension} finite numbers, one per parameter"
        )
    if not np.isfinite(start).all():
        at = int(np.flatnonzero(~np.isfinite(start))[0])
        raise ProblemError(f"x0[{at}]={start[at]} must be a finite number")
    try_constraint(constraint, start)
    if not constraint.contains(start, tolerance=1e-6):
        with jax.enable_x64(True):
            nearest = np.asarray(constraint.project(start))
        point = f"[{', '.join(f'{value:.9g}' for value in nearest)}]"
        raise ProblemError(
            f"x0 misses the constraint by {constraint.violation(start):.3g}; write "
            + (f"x0={point}" if len(point) <= 80 else "x0=constraint.project(x0)")
            + ", the nearest point inside it"
        )
    return start
