"""Mistakes in the functions of a method, told with the method, the phase and the remedy.

JAX traces these functions. What it says of a mistake in them names neither, and speaks of loops of
tacit's own. All of this happens while a function is traced, so a compiled run does not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from tacit.arguments.answers import Fits, answer, anything, array_of, hold, numbers_only
from tacit.errors import ConfigError
from tacit.method.phase import AbstractMethod, Phase
from tacit.types import Index, Role, Vector

_DECIDED = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
"""What JAX raises where Python asks for a value that is known only when the run is on its way."""


STATE = numbers_only(
    "a state",
    "give a state of arrays, such as an object of an equinox.Module; () if nothing is kept",
)
"""What every role remembers."""


@contextmanager
def told(function: Callable[..., Any], phase: Phase | None = None) -> Generator[None, None, None]:
    """Say which function of a method fails while it is traced, and what to write instead.

    Args:
        function: function that is called inside.
        phase: phase that it belongs to, if it belongs to one.

    Raises:
        ConfigError: the function decides by a value of an array, or computes with the missing
            release of a phase without a query.
    """
    try:
        yield
    except jax.errors.UnexpectedTracerError:
        raise  # `nothing_kept` tells of it
    except _DECIDED as error:
        raise ConfigError(
            f"{_place(function, phase)} asks in Python for the value of an array, which is not "
            "known while JAX traces the function. In place of `if` write jnp.where(condition, a, "
            "b) or jax.lax.cond, in place of a loop over values jax.lax.fori_loop, and jnp for np"
        ) from error
    except (TypeError, ValueError) as error:
        asks = phase is None or phase.query is not None or phase.sender is Role.SERVER
        if asks or "None" not in str(error):
            raise
        raise ConfigError(
            f"{_place(function, phase)} computes with None. The phase has no query, so the "
            "`released` of its message is None: give it query= and release=, or do without it"
        ) from error


@contextmanager
def nothing_kept(method: AbstractMethod) -> Generator[None, None, None]:
    """Say what is wrong where a function uses what a query computed and did not answer.

    JAX notices this only when the program is run, and does not say which function it was.

    Raises:
        ConfigError: such a value is used.
    """
    try:
        yield
    except jax.errors.UnexpectedTracerError as error:
        raise ConfigError(
            f"a function of {type(method).__name__}, or one that it calls, computes a value and "
            "keeps it where another one finds it. Only states, messages and the answers of "
            "queries, with their noise, pass from one function to the next; return the value in "
            "one of these"
        ) from error


def traced(
    function: Callable[..., Any],
    *given: Any,
    takes: str,
    phase: Phase | None = None,
    named: str = "",
    fits: Fits = anything,
) -> Any:
    """What a function of a method answers while it is traced.

    Args:
        function: function of the method.
        given: its arguments.
        takes: their names.
        phase: phase that it belongs to, if it belongs to one.
        named: what to call it; by default as it is written.
        fits: says what is wanted instead of an answer.

    Raises:
        ConfigError: as for `told`, a function of other arguments, or another answer.
    """
    with told(function, phase):
        named = named or _place(function, phase)
        return answer(function, *given, named=named, takes=takes, fits=fits)


def started(method: Any, role: Role, x0: Vector, degree: Index) -> Any:
    """The state before round 0.

    Raises:
        ConfigError: something else than arrays and numbers.
    """
    named, takes = f"{type(method).__name__}.init", "role, x0, degree"
    return traced(method.init, role, x0, degree, takes=takes, named=named, fits=STATE)


def solved(method: Any, state: Any, x0: Vector) -> Any:
    """The answer that a state holds, of the shape of the start.

    Raises:
        ConfigError: another shape, or no array.
    """
    fits = array_of(jnp.shape(x0), ": as many as x0 of init has")
    named = f"{type(method).__name__}.solution"
    return traced(method.solution, state, takes="state", named=named, fits=fits)


def answered(phase: Phase, dimension: int | None) -> Fits:
    """What fits the query of a phase: what gets noise is a vector of the size that it states."""
    query, release = phase.query, phase.release
    mechanism = None if release is None else release.mechanism
    # the dose of a claim may split an answer, and what gets no noise may have any form
    if query is None or mechanism is None or mechanism.claim or mechanism.law is None:
        return numbers_only("an answer", "give the answer, an array")
    size = None if dimension is None else query.size(dimension)
    return array_of([size], ", as its size states")


def pair(made: Any, phase: Phase) -> tuple[Any, Any]:
    """State and payload that a message returned.

    Raises:
        ConfigError: it returned something else, or a payload of anything but arrays and numbers.
    """
    if isinstance(made, tuple | list) and len(made) == 2:
        place = _place(phase.message, phase)
        hold(place, made[0], STATE, gives="keeps")
        hold(place, made[1], numbers_only("a payload"), gives="sends")
        return made[0], made[1]
    raise ConfigError(
        f"{_place(phase.message, phase)} returns {eqx.tree_pformat(made, width=200)}; a message "
        "returns a pair: the state to keep, and the payload to send"
    )


def check_kept(
    method: Any, phases: Sequence[Phase], before: Mapping[Any, Any], after: Mapping[Any, Any]
) -> None:
    """Refuse states that are not what they were before the phases: a loop could not go on.

    Args:
        method: method of the phases.
        phases: phases that were run, in order.
        before: state of every role before them, those of owners stacked.
        after: state of every role after them.

    Raises:
        ConfigError: a state of another class, shape or type.
    """
    for role in Role:
        if role not in before or _same(before[role], after[role]):
            continue
        part = next(
            (each for each in reversed(phases) if role in (each.sender, each.receiver)), phases[-1]
        )
        function = part.update if part.receiver is role and part.update else part.message
        raise ConfigError(
            f"{_place(function, part)} leaves {_shown(after[role], role)} as the state of a "
            f"{role.value}, where it was {_shown(before[role], role)} before: return a state of "
            f"the class, shapes and types that {type(method).__name__}.init gives it"
        )


def _same(before: Any, after: Any) -> bool:
    old, new = jax.tree.leaves(before), jax.tree.leaves(after)
    if jax.tree.structure(before) != jax.tree.structure(after):
        return False
    return all(
        jnp.shape(a) == jnp.shape(b)
        and (jax.dtypes.result_type(a) == jax.dtypes.result_type(b) or _weak(a))
        for a, b in zip(old, new, strict=True)
    )


def _weak(leaf: Any) -> bool:
    """Whether it is a plain number, whose type follows what it meets."""
    return bool(getattr(leaf, "weak_type", isinstance(leaf, int | float)))


def _shown(state: Any, role: Role) -> str:
    """Classes, shapes and types of one agent's state."""
    stacked = int(role is not Role.SERVER)
    one = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(jnp.shape(leaf)[stacked:], jax.dtypes.result_type(leaf)),
        state,
    )
    return eqx.tree_pformat(one, width=200, struct_as_array=True)


def _place(function: Callable[..., Any], phase: Phase | None) -> str:
    own = getattr(function, "__func__", getattr(function, "func", function))
    name = getattr(own, "__qualname__", f"{type(function).__name__}.__call__")
    return name if phase is None else f"{name} of phase {phase.name!r}"
