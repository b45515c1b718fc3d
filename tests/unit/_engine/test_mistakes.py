"""A mistake in a method of one's own is told with the method, the phase and the remedy."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit.errors import ConfigError
from tacit.method import AbstractMethod, Phase
from tacit.method.rounds import Rounds
from tacit.privacy import ClippedGradient, Privacy, Release
from tacit.types import Oracle, Role


class State(eqx.Module):
    """The state of an agent."""

    x: Any
    gradient: Any = None


class Mixing(AbstractMethod):
    """Noisy mixing, as on the page for one's own methods; the tests spoil a part of it."""

    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    repeat: ClassVar[int] = 1
    rounds: ClassVar[Rounds] = Rounds()
    asks: ClassVar[bool] = True
    privacy: Privacy | None = Privacy(clip=1.0, epsilon=1.0)

    def init(self, role: Role, x0: Any, degree: Any) -> State:
        return State(x0)

    def phases(self) -> tuple[Phase, ...]:
        assert self.privacy is not None
        query = ClippedGradient(lambda state: state.x, self.privacy.clip, order=self.privacy.order)
        release = Release("gradient", self.privacy.mechanism, self.privacy.relation)
        return (
            Phase(
                name="iterate",
                sender=Role.PEER,
                query=query if self.asks else None,
                release=release if self.asks else None,
                message=self.share,
                receiver=Role.PEER,
                update=self.mix,
                repeat=self.repeat,
                rounds=self.rounds,
            ),
        )

    def share(self, state: Any, released: Any, context: Any) -> Any:
        return State(state.x, released), state.x

    def mix(self, state: Any, inbox: Any, context: Any) -> Any:
        mean = inbox.self_weight * state.x + inbox.mixed
        return State(context.public.descend(mean, state.gradient, 0.1))

    def solution(self, state: Any) -> Any:
        return state.x


class Deciding(Mixing):
    """An `if` on a value."""

    def mix(self, state: Any, inbox: Any, context: Any) -> Any:
        return State(state.x) if jnp.sum(state.x) > 0 else State(-state.x)


class DecidingStart(Mixing):
    """An `if` on a value, before the first round."""

    def init(self, role: Role, x0: Any, degree: Any) -> State:
        return State(x0) if degree > 1 else State(-x0)


class DecidingEnd(Mixing):
    """NumPy on a value."""

    def solution(self, state: Any) -> Any:
        return np.asarray(state.x)


class Vector(Mixing):
    """A vector in the place of a state."""

    def mix(self, state: Any, inbox: Any, context: Any) -> Any:
        return inbox.mixed


class VectorRepeated(Vector):
    """The same in a phase with several steps."""

    repeat: ClassVar[int] = 2


class VectorAtTheEnd(Vector):
    """The same in a phase of the last round only."""

    rounds: ClassVar[Rounds] = Rounds(-1)


class Longer(Mixing):
    """A state of another shape."""

    def mix(self, state: Any, inbox: Any, context: Any) -> Any:
        return State(jnp.concatenate([state.x, state.x]))


class Single(Mixing):
    """No payload, and a state whose two entries could be taken for a pair."""

    def share(self, state: Any, released: Any, context: Any) -> Any:
        return released


class Silent(Mixing):
    """A phase without a query, which computes with what it would have released."""

    asks: ClassVar[bool] = False


def run(method: AbstractMethod, rounds: int = 2, exact: bool = False) -> tacit.Result:
    task = problem.empirical_risk([np.eye(2)] * 3, [np.ones(2)] * 3, problem.Squared())
    how = tacit.Simulation(exact=exact)
    return tacit.run(task, network.ring(3), method, rounds=rounds, seed=0, runtime=how)


BRANCH = "jnp.where"
MISTAKES = [
    (Deciding, "Deciding.mix of phase 'iterate' asks in Python", BRANCH),
    (DecidingStart, "DecidingStart.init asks in Python", BRANCH),
    (DecidingEnd, "DecidingEnd.solution asks in Python", BRANCH),
    (
        Vector,
        r"Vector.mix of phase 'iterate' leaves f64\[2\] as the state of a peer",
        "where it was",
    ),
    (VectorRepeated, "Vector.mix of phase 'iterate' leaves", "VectorRepeated.init gives it"),
    (VectorAtTheEnd, "Vector.mix of phase 'iterate' leaves", "VectorAtTheEnd.init gives it"),
    (Longer, r"leaves State\(x=f64\[4\]", r"State\(x=f64\[2\]\) before: return"),
    (Single, r"Single.share of phase 'iterate' returns f64\[2\]", "returns a pair: the state"),
    (Silent, "Mixing.mix of phase 'iterate' computes with None", "give it query= and release="),
]


@pytest.mark.parametrize(("kind", "said", "remedy"), MISTAKES)
def test_a_mistake_names_its_place_and_the_remedy(
    kind: type[Mixing], said: str, remedy: str
) -> None:
    with pytest.raises(ConfigError, match=f"{said}.*{remedy}") as raised:
        run(kind())
    told_by_jax = kind in (Deciding, DecidingStart, DecidingEnd, Silent)
    assert (raised.value.__cause__ is not None) is told_by_jax


def test_agent_by_agent_the_same_is_said() -> None:
    with pytest.raises(ConfigError, match=r"Single.share of phase 'iterate' returns f64"):
        run(Single(), exact=True)


class Failing(Mixing):
    """An error of one's own, which nothing here can explain."""

    def mix(self, state: Any, inbox: Any, context: Any) -> Any:
        raise ValueError("None of the neighbours")


def test_an_error_of_ones_own_passes_through() -> None:
    with pytest.raises(ValueError, match="None of the neighbours"):
        run(Failing())


class Counting(Mixing):
    """A state that begins as a plain number, whose type follows what it meets."""

    def init(self, role: Role, x0: Any, degree: Any) -> State:
        return State(x0, jax.numpy.asarray(0.0))

    def share(self, state: Any, released: Any, context: Any) -> Any:
        return State(state.x, state.gradient + jnp.sum(released)), state.x

    def mix(self, state: Any, inbox: Any, context: Any) -> Any:
        return State(inbox.mixed, state.gradient)


@pytest.mark.parametrize("kind", [Mixing, Counting])
def test_what_is_right_runs(kind: type[Mixing]) -> None:
    assert run(kind()).status == "finished"
