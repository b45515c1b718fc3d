"""Methods with one mistake each, and the same method without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tacit import Privacy
from tacit.method import AbstractMethod, Phase
from tacit.privacy import ClippedGradient, Release
from tacit.problem.callback import call_host
from tacit.types import Oracle, Role, Unit

BUDGET = Privacy(clip=0.5, epsilon=2.0, delta=1e-5)


class State(eqx.Module):
    x: Any
    gradient: Any = None


def at_x(state: Any) -> Any:
    return (state[0] if isinstance(state, tuple) else state).x


class Right(AbstractMethod):
    """Peers average, and step along noised gradients."""

    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    asks: ClassVar[type[ClippedGradient]] = ClippedGradient
    step: float = 0.1
    privacy: Privacy = eqx.field(kw_only=True, default=BUDGET)

    def init(self, role: Role, x0: Any, degree: Any) -> Any:
        return State(x0)

    def phases(self) -> tuple[Phase, ...]:
        return (
            Phase(
                name="iterate",
                sender=Role.PEER,
                query=self.asks(at_x, self.privacy.clip, order=self.privacy.order),
                release=Release("gradient", self.privacy.mechanism, self.privacy.relation),
                message=self.share,
                receiver=Role.PEER,
                update=self.mix,
            ),
        )

    def share(self, state: Any, released: Any, context: Any) -> Any:
        return State(state.x, released), state.x

    def mix(self, state: Any, inbox: Any, context: Any) -> Any:
        mean = inbox.self_weight * state.x + inbox.mixed
        return State(context.public.descend(mean, state.gradient, self.step))

    def solution(self, state: Any) -> Any:
        return state.x


KEPT: dict[str, Any] = {}
"""What planted methods hide from the run."""


class Remembering(ClippedGradient):
    """Writes the gradient down where the message finds it."""

    def __call__(self, state: Any, objective: Any, context: Any, key: Any) -> Any:
        def keep(both: Any) -> Any:
            KEPT["gradient"] = np.array(both[0])
            return both[1]

        answer = super().__call__(state, objective, context, key)
        both = jnp.stack([objective.gradient(state.x), answer])
        return call_host(keep, answer.shape, both)


class SendsItsGradient(Right):
    """The gradient leaves beside what is released."""

    asks: ClassVar[type[ClippedGradient]] = Remembering

    def share(self, state: Any, released: Any, context: Any) -> Any:
        gradient = call_host(lambda _: KEPT["gradient"], state.x.shape, released)
        return State(state.x, released), (state.x, gradient)

    def mix(self, state: Any, inbox: Any, context: Any) -> Any:
        mean = inbox.self_weight * state.x + inbox.mixed[0]
        return State(context.public.descend(mean, state.gradient, self.step))


class KeepsItsGradient(SendsItsGradient):
    """The gradient stays, and the next iterate is made of it."""

    def share(self, state: Any, released: Any, context: Any) -> Any:
        gradient = call_host(lambda _: KEPT["gradient"], state.x.shape, released)
        return State(state.x, gradient), (state.x,)


class Half(ClippedGradient):
    """States half of its sensitivity."""

    def sensitivity(self, public: Any, relation: Any) -> float:
        return super().sensitivity(public, relation) / 2.0


class Unclipped(ClippedGradient):
    """Forgets its clip."""

    def __call__(self, state: Any, objective: Any, context: Any, key: Any) -> Any:
        return objective.gradient(self.point(state))


class TooSmall(ClippedGradient):
    """States one coordinate too few."""

    def size(self, dimension: int) -> int:
        return dimension - 1


class Noisy(ClippedGradient):
    """Draws noise of its own."""

    def __call__(self, state: Any, objective: Any, context: Any, key: Any) -> Any:
        answer = super().__call__(state, objective, context, key)
        return answer + 1e-6 * jax.random.normal(key, answer.shape)


class Blind(ClippedGradient):
    """Asks for nothing."""

    def __call__(self, state: Any, objective: Any, context: Any, key: Any) -> Any:
        return 0.0 * super().__call__(state, objective, context, key)


class ByData(ClippedGradient):
    """States a sensitivity that follows the data."""

    def sensitivity(self, public: Any, relation: Any) -> float:
        return super().sensitivity(public, relation) * float(KEPT["largest"])


class Understates(Right):
    asks: ClassVar[type[ClippedGradient]] = Half


class ForgetsTheClip(Right):
    asks: ClassVar[type[ClippedGradient]] = Unclipped


class WrongSize(Right):
    asks: ClassVar[type[ClippedGradient]] = TooSmall


class DrawsNoise(Right):
    asks: ClassVar[type[ClippedGradient]] = Noisy


class AsksNothing(Right):
    asks: ClassVar[type[ClippedGradient]] = Blind


class ScalesByData(Right):
    asks: ClassVar[type[ClippedGradient]] = ByData

    def protects(self, problem: Any) -> Unit:
        KEPT["largest"] = 2.0 + np.max(problem.objectives.features)
        return super().protects(problem)


class Counts(Right):
    """Every message is another one than the one before."""

    def share(self, state: Any, released: Any, context: Any) -> Any:
        def count(x: Any) -> Any:
            KEPT["calls"] = KEPT.get("calls", 0) + 1
            return x + 1e-3 * KEPT["calls"]

        return State(state.x, released), call_host(count, state.x.shape, state.x)


class Together(Right):
    """Computes of all agents at once, where they are simulated at once."""

    def share(self, state: Any, released: Any, context: Any) -> Any:
        def centred(x: Any) -> Any:
            return x - np.mean(x)

        sent = call_host(centred, state.x.shape, released, vmap_method="expand_dims")
        return State(state.x, released), sent


class Grows(Right):
    """The state becomes longer from round to round."""

    def init(self, role: Role, x0: Any, degree: Any) -> Any:
        return State(x0), x0[None]

    def share(self, state: Any, released: Any, context: Any) -> Any:
        return (State(state[0].x, released), state[1]), state[0].x

    def mix(self, state: Any, inbox: Any, context: Any) -> Any:
        after = super().mix(state[0], inbox, context)
        return after, jnp.concatenate([state[1], after.x[None]])

    def solution(self, state: Any) -> Any:
        return state[0].x


class DividesByNothing(Right):
    """Sends NaN."""

    def share(self, state: Any, released: Any, context: Any) -> Any:
        return State(state.x, released), state.x / 0.0 * 0.0


class HoldsNaN(Right):
    """Keeps NaN that nobody is sent."""

    def init(self, role: Role, x0: Any, degree: Any) -> Any:
        return State(x0), jnp.zeros(())

    def share(self, state: Any, released: Any, context: Any) -> Any:
        return (State(state[0].x, released), jnp.nan * state[1]), state[0].x

    def mix(self, state: Any, inbox: Any, context: Any) -> Any:
        return super().mix(state[0], inbox, context), state[1]

    def solution(self, state: Any) -> Any:
        return state[0].x


class Named(Right):
    """The same for studies.

    Args:
        step: size of a step.
    """

    name: ClassVar[str] = "planted"
    when: ClassVar[str] = "tests are tested"


class NoExample(Named):
    """With an argument that nobody fills in.

    Args:
        size: of something.
        step: size of a step.
    """

    size: float = eqx.field(kw_only=True)


class Undescribed(Named):
    """With an argument that no study can give.

    Args:
        step: size of a step.
    """

    decay: float = eqx.field(kw_only=True, default=0.5)


class Misnamed(Named):
    """With an example that no study can give.

    Args:
        step: size of a step.
    """

    example: ClassVar[Mapping[str, Any]] = {"step": "long"}
