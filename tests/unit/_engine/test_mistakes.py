"""A mistake in a method of one's own is told with the method, the phase and the remedy."""

from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit.errors import ConfigError, PrivacyError, TacitError
from tacit.method import AbstractMethod, Phase
from tacit.method.rounds import Rounds
from tacit.privacy import ClippedDifferences, ClippedGradient, ClippedUpdate, Privacy, Release
from tacit.privacy.dose import Calibrated
from tacit.privacy.laws import GAUSSIAN
from tacit.privacy.mechanism import Mechanism
from tacit.privacy.query import sensitivity_of
from tacit.testing import check_method
from tacit.types import Oracle, PublicContext, Relation, Role, Unit


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


def spoilt(**parts: Any) -> Mixing:
    """Mixing with other functions."""
    kind: Any = type("Spoilt", (Mixing,), parts)
    return kind()


def asking(query: Any, mechanism: Mechanism | None = None) -> Mixing:
    """Mixing with another query, and possibly another mechanism."""

    def phases(self: Any) -> Any:
        (phase,) = Mixing.phases(self)
        assert phase.release is not None
        own = phase.release.mechanism if mechanism is None else mechanism
        return (replace(phase, query=query, release=replace(phase.release, mechanism=own)),)

    return spoilt(phases=phases)


def x(state: Any) -> Any:
    return state.x


def from_elsewhere(self: Any) -> Any:
    return Mixing.phases(Mixing(Privacy(clip=1.0, epsilon=1.0)))


def query(**parts: Any) -> Any:
    """A clipped gradient with other functions."""
    kind: Any = type("Mine", (ClippedGradient,), parts)
    return kind(x, 1.0)


START = "x0 of init"
ANSWERS: list[tuple[Mixing, str]] = [
    (spoilt(init=lambda self, role, x0, degree: None), "Spoilt.init gives None; give a state"),
    (
        spoilt(init=lambda self, x0: State(x0)),
        r"Spoilt.init takes \(x0\), and is called with \(role, x0, degree\)",
    ),
    (
        spoilt(init=lambda self, role, x0, degree: State("x")),
        "Spoilt.init gives a State; it holds text, and a state consists of arrays",
    ),
    (
        spoilt(init=lambda self, role, x0, degree: State(np.zeros(5))),
        rf"Spoilt.solution gives an array of shape \(5,\); give numbers, shape \(2,\).*{START}",
    ),
    (spoilt(solution=lambda self, state: None), rf"Spoilt.solution gives None.*{START}"),
    (
        spoilt(solution=lambda self, state: state.x.sum()),
        r"Spoilt.solution gives an array of shape \(\); give numbers, shape \(2,\)",
    ),
    (spoilt(solution=lambda self: None), r"Spoilt.solution takes \(\).*with \(state\)"),
    (spoilt(phases=lambda self: None), "Spoilt.phases gives None; give a tuple of"),
    (spoilt(phases=lambda self: []), "Spoilt.phases gives a list; it is empty; give a tuple of"),
    (spoilt(phases=lambda self: ("iterate",)), "'iterate' in it is no phase; give a tuple of"),
    (spoilt(on=lambda self, network: None), "Spoilt.on gives None; return a method"),
    (spoilt(check=lambda self: None), r"Spoilt.check takes \(\).*with \(problem, network\)"),
    (
        spoilt(protects=lambda self, problem: None),
        "Spoilt.protects gives None; give Unit.RECORD or Unit.AGENT",
    ),
    (
        spoilt(numbers=lambda self, task: None),
        "Spoilt.numbers gives None; give a tuple of texts, 2",
    ),
    (
        spoilt(numbers=lambda self, task: ("a",)),
        "Spoilt.numbers gives a tuple; give .*, 2 as start",
    ),
    (spoilt(start=lambda self, task: None), r"Spoilt.start gives None; give numbers, shape \(n,"),
    (
        spoilt(share=lambda self, state, released, context: (State(state.x, released), "hello")),
        "of phase 'iterate' sends text; a payload consists of arrays and numbers",
    ),
    (
        spoilt(share=lambda self, state, released, context: (None, released)),
        "of phase 'iterate' keeps None; give a state",
    ),
    (
        spoilt(share=lambda self, state: state),
        r"of phase 'iterate' takes \(state\), and is called with \(state, released, context\)",
    ),
    (spoilt(mix=lambda self, state, inbox, context: None), "of phase 'iterate' gives None; give a"),
    (spoilt(phases=from_elsewhere), "not calibrated: .*self.privacy.mechanism"),
]
QUERIES: list[tuple[Mixing, str]] = [
    (asking(query(sensitivity=lambda *given: -1.0)), "Mine.sensitivity gives -1.0; give a pos"),
    (asking(query(sensitivity=lambda *given: 0.0)), "Mine.sensitivity gives 0.0; give a positive"),
    (
        asking(query(sensitivity=lambda *given: None)),
        "Mine.sensitivity gives None; give a positive",
    ),
    (asking(query(sensitivity=lambda *given: float("nan"))), "Mine.sensitivity gives nan; give"),
    (asking(query(sensitivity=lambda self: 1.0)), r"sensitivity takes \(\).*\(public, relation\)"),
    (asking(query(size=lambda self, dimension: None)), "Mine.size gives None; give a whole number"),
    (asking(query(evaluations=lambda self, dimension: -1)), "Mine.evaluations gives -1; give a wh"),
    (asking(query(assumes=lambda *given: "nothing")), "Mine.assumes gives 'nothing'; give a tuple"),
    (asking(query(__call__=lambda *given: None)), "Mine.__call__ of phase 'iterate' gives None;"),
    (asking(query(__call__=lambda *given: jnp.zeros(3))), r"gives an array of shape \(3,\); give"),
    (
        asking(ClippedGradient(lambda state: None, 1.0)),
        r"ClippedGradient: point gives None; .*\(2,",
    ),
    (
        asking(ClippedGradient(lambda state: state.x[:1], 1.0)),
        r"point gives an array of shape \(1,",
    ),
    (asking(ClippedUpdate(lambda s, f, c: None, 1.0)), "ClippedUpdate: change gives None; give"),
    (
        asking(ClippedUpdate(lambda s, f, c: jnp.zeros(7), 1.0)),
        r"change gives .* shape \(7,\); give",
    ),
    (
        asking(ClippedUpdate(lambda s, f: s.x, 1.0)),
        r"change takes \(s, f\), and is called with \(state, objective, context\)",
    ),
    (
        asking(ClippedDifferences(x, lambda s, c: None, 0.1, 1.0)),
        r"directions gives None; give numbers, shape \(2, 2\)",
    ),
    (
        asking(ClippedDifferences(x, lambda s, c: jnp.zeros((2, 9)), 0.1, 1.0)),
        r"directions gives an array of shape \(2, 9\)",
    ),
    (
        asking(ClippedDifferences(x, lambda s, c: jnp.eye(2), lambda s, c: None, 1.0)),
        r"smoothing gives None; give a number",
    ),
    (
        asking(ClippedDifferences(x, lambda s, c: jnp.eye(2), 0.1, 1.0, offsets=lambda s, c: 0.0)),
        r"offsets gives a number; give numbers, shape \(2, 2\)",
    ),
    (
        asking(query(), Mechanism(GAUSSIAN, Calibrated(1.0, lambda round, rounds: -1.0))),
        "Calibrated.relative gives -1.0; give a positive factor",
    ),
]


@pytest.mark.parametrize(("method", "told"), [*ANSWERS, *QUERIES])
def test_a_wrong_answer_names_the_class_and_the_function(method: Mixing, told: str) -> None:
    with pytest.raises(TacitError, match=told):
        run(method)


CHECKED = (
    "Spoilt.init gives None",
    "Spoilt.solution gives None",
    "Spoilt.phases gives None",
    "Spoilt.on gives None",
    "Mine.sensitivity gives -1.0",
    "ClippedGradient: point gives None",
    "ClippedUpdate: change gives None",
)


@pytest.mark.parametrize(
    ("method", "told"), [case for case in [*ANSWERS, *QUERIES] if case[1].startswith(CHECKED)]
)
def test_a_check_of_a_method_tells_the_same(method: Mixing, told: str) -> None:
    task = problem.empirical_risk([np.eye(2)] * 3, [np.ones(2)] * 3, problem.Squared())
    with pytest.raises(TacitError, match=told):
        check_method(task, network.ring(3), method, rounds=2)


def test_an_account_refuses_a_negative_sensitivity_without_a_run() -> None:
    task = problem.empirical_risk([np.eye(2)] * 3, [np.ones(2)] * 3, problem.Squared())
    with pytest.raises(PrivacyError, match=r"Mine.sensitivity gives -1.0"):
        tacit.account(task, network.ring(3), QUERIES[0][0], rounds=2)


def test_an_answer_that_needs_no_noise_by_declared_bounds_has_a_sensitivity_of_0() -> None:
    public = PublicContext(0, 3, 0, 2, 2, 2.0, Unit.RECORD, 2, 2, 2, (0.0, 0.0, 0.0))
    own = ClippedGradient(x, 1.0)
    assert sensitivity_of(own, public, Relation.REPLACE_ONE) == 0.0


class Forgotten(Mixing):
    """An `__init__` that sets nothing."""

    needed: float

    def __init__(self, privacy: Privacy) -> None:
        pass


class Setting(Mixing):
    """An `__init__` that sets all, and that of a derived class adds to it."""

    more: float

    def __init__(self, privacy: Privacy) -> None:
        self.privacy = privacy


class Adding(Setting):
    """The rest is set here."""

    def __init__(self, privacy: Privacy) -> None:
        super().__init__(privacy)
        self.more = 1.0


def test_an_init_that_sets_too_little_is_refused_by_name() -> None:
    budget = Privacy(clip=1.0, epsilon=1.0)
    with pytest.raises(ConfigError, match=r"Forgotten.__init__ does not set needed; write self.ne"):
        Forgotten(budget)
    with pytest.raises(ConfigError, match=r"Setting.__init__ does not set more; write self.more"):
        Setting(budget)
    assert Adding(budget).more == 1.0
