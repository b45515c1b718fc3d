"""What hides an agent besides its own noise: an object that answers for whoever would ask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from tacit.privacy.event import Event
from tacit.types import Index, PublicContext


class View(NamedTuple):
    """How an adversary weighs what it sees of one release, so that one agent's answer is left.

    Attributes:
        weights: of every agent's noise, shape `(agents,)`; 1 for the agent that is looked at.
        known: of the noise that pairs share and the adversary knows, for what agents share at the
            scale 1, shape `(pairs,)`; `None` where pairs share none.
        scale: of the noise that is left.
    """

    weights: Float[Array, " agents"]
    known: Float[Array, " pairs"] | None
    scale: Float[Array, ""]


class AbstractHiding:
    """What hides an agent besides its own noise; the three of this package are all there are.

    Attributes:
        prefix: in the name of a mechanism.
        words: in what a mechanism does, after its noise.
        together: whether agents hide each other, for which all add noise of one scale.
        shares: whether pairs of agents share noise, which the runtime must draw.
        summed: whether what is released can be read in a sum only, which is tried again, and
            charged again, where somebody is missing.
    """

    prefix: ClassVar[str] = ""
    words: ClassVar[str] = ""
    together: ClassVar[bool] = False
    shares: ClassVar[bool] = False
    summed: ClassVar[bool] = False

    def check(self, phase: Any) -> None:
        """Refuse a phase whose releases cannot be hidden like this.

        Raises:
            PrivacyError: with the reason.
        """

    def check_message(self, name: str, *, altered: bool, kept: bool) -> None:
        """Refuse what an agent does with what it released.

        Args:
            name: of the phase.
            altered: whether the message is something else than what was released.
            kept: whether the agent's state is another one afterwards.

        Raises:
            TypeError: it must not.
        """

    def check_agents(self, agents: int) -> None:
        """Refuse a number of agents that would leave one without anything that hides it.

        Raises:
            PrivacyError: with the number that would do.
        """

    def check_run(self, method: Any, network: Any) -> None:
        """Refuse a method and a network whose releases cannot be hidden like this.

        Args:
            method: whose budget or phases have this hiding.
            network: that it runs on.

        Raises:
            NetworkError: the network cannot.
            PrivacyError: the method does not, or somebody would not be hidden.
        """

    def used(self, phases: Iterable[Any]) -> bool:
        """Whether one of these phases is hidden like this."""
        return any(phase.hides == self for phase in phases)

    def told(self, agents: int) -> str:
        """Who hides whom, as the end of a sentence on the noise of sites; empty for nobody."""
        return ""

    def study_lines(self) -> list[str]:
        """What asks for it in the section [privacy] of a study."""
        return []

    def event(self, own: Event, public: PublicContext) -> Event:
        """What is learned of an agent whose own noise alone would cost `own`."""
        return own

    @property
    def coalition(self) -> int:
        """So many agents may pool what they know."""
        return 0

    def cohort(self, agents: int) -> int:
        """The answers of so many agents at least are in what can be read."""
        return 1

    def honest(self, agents: int) -> int:
        """So many agents' noise hides each one at least, its own included."""
        return 1

    def least(self, network: Any) -> int:
        """How many agents a round must have on a network where some may be missing; 0 for any."""
        return 0

    def releases(self, network: Any, rounds: int, key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """How often every agent releases in the first rounds, of what is asked in every round.

        Args:
            network: who takes part in which round.
            rounds: how many.
            key: that everybody knows.
        """
        return network.participations(rounds, key)

    def declared(
        self, times: Int[np.ndarray, " agents"], rounds: int, sums: int
    ) -> Int[np.ndarray, " agents"]:
        """For how many such releases noise is made, where so many are foreseen.

        Those above the number of rounds are answers to what is asked again, whatever it is.

        Args:
            times: from `releases`.
            rounds: of the run.
            sums: that are asked in it, where every one succeeds.

        Raises:
            PrivacyError: more than are paid for.
        """
        return times

    def turns(self, rounds: int, sums: int) -> int:
        """How many turns a run between sites has: rounds, or the sums that may be tried.

        Args:
            rounds: of the run.
            sums: that are asked in it.
        """
        return rounds

    def answers(self, network: Any, round: Index, key: PRNGKeyArray) -> Int[Array, " agents"]:
        """How often every client sends something in a round."""
        return jnp.asarray(network.mixing(round, key).participates).astype(int)

    def level(
        self, multipliers: Float[np.ndarray, " agents"], scales: Float[np.ndarray, " agents"]
    ) -> Float[np.ndarray, " agents"]:
        """Noise multipliers that hide everybody: the largest scale that one needs, for all.

        What hides an agent is the noise of the others, so none may add less.

        Args:
            multipliers: what every agent needs by itself, shape `(agents,)`.
            scales: noise scale of every agent at the multiplier 1, shape `(agents,)`, positive.
        """
        wanted = multipliers * scales
        # up, so that no last bit is below what was asked for
        raised = np.nextafter(np.max(wanted) / scales, np.inf)
        return np.where(wanted == np.max(wanted), multipliers, raised)

    def pairs(self, agents: int) -> Int[np.ndarray, "pairs 2"] | None:
        """Which agents share noise that the runtime must draw; `None` where none do."""
        return None

    def share(self, drawn: Array, agents: int) -> Array:
        """What an agent's shared noise adds to its own, both of scale 1.

        Args:
            drawn: sum of what it shares, each of standard deviation 1.
            agents: how many there are.
        """
        return drawn

    def covariance(self, agents: int) -> Float[np.ndarray, "agents agents"] | None:
        """Of the noise of all agents, for own noise of scale 1; `None` where it is independent."""
        return None

    def view(
        self, agent: Index, awake: Bool[Array, " agents"], scales: Float[Array, " agents"]
    ) -> View | None:
        """What the worst coalition makes of a release; `None` where each can be read by itself.

        Args:
            agent: number of the honest agent that it looks at.
            awake: who takes part.
            scales: of the noise that every agent adds.
        """
        return None


@final
@dataclass(frozen=True)
class Alone(AbstractHiding):
    """Nothing: every release can be read."""


ALONE = Alone()
"""Nothing but an agent's own noise."""
