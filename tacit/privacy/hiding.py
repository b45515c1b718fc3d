"""What hides an agent besides its own noise, as one object with a uniform interface."""

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
    """How an adversary weighs what it sees of one release to isolate one agent's answer.

    Attributes:
        weights: weight of every agent's noise, shape `(agents,)`; 1 for the agent under attack.
        known: weights of the noise that pairs share and the adversary knows, for shared noise of
            scale 1, shape `(pairs,)`; `None` where pairs share none.
        scale: scale of the noise that is left.
    """

    weights: Float[Array, " agents"]
    known: Float[Array, " pairs"] | None
    scale: Float[Array, ""]


class AbstractHiding:
    """What hides an agent besides its own noise; this package defines all three kinds.

    Attributes:
        prefix: prefix of a mechanism's name.
        words: words that describe it, after a mechanism's noise.
        together: whether agents hide each other, so that all add noise of one scale.
        shares: whether pairs of agents share noise that the runtime must draw.
        summed: whether releases can be read only in a sum, which is tried again, and charged again,
            if somebody is missing.
    """

    prefix: ClassVar[str] = ""
    words: ClassVar[str] = ""
    together: ClassVar[bool] = False
    shares: ClassVar[bool] = False
    summed: ClassVar[bool] = False

    def check(self, phase: Any) -> None:
        """Refuse a phase whose releases cannot be hidden in this way.

        Raises:
            PrivacyError: the reason, if they cannot.
        """

    def check_message(self, name: str, *, altered: bool, kept: bool) -> None:
        """Refuse what an agent does with its release, if it may not.

        Args:
            name: name of the phase.
            altered: whether the message differs from the release.
            kept: whether the release changes the agent's state.

        Raises:
            TypeError: a use that is not allowed.
        """

    def check_agents(self, agents: int) -> None:
        """Refuse a number of agents that would leave some agent with nothing to hide it.

        Raises:
            PrivacyError: too few agents; the message says how many would do.
        """

    def check_run(self, method: Any, network: Any) -> None:
        """Refuse a method and a network whose releases cannot be hidden in this way.

        Args:
            method: method whose budget or phases have this hiding.
            network: network that it runs on.

        Raises:
            NetworkError: a network that cannot hide them.
            PrivacyError: a method that does not, or an agent that would not be hidden.
        """

    def used(self, phases: Iterable[Any]) -> bool:
        """Whether one of these phases is hidden in this way."""
        return any(phase.hides == self for phase in phases)

    def told(self, agents: int) -> str:
        """Who hides whom, as the end of a sentence about the noise of sites; empty if nobody is."""
        return ""

    def study_lines(self) -> list[str]:
        """The lines that request it in the section [privacy] of a study."""
        return []

    def event(self, own: Event, public: PublicContext) -> Event:
        """What is learned about an agent whose own noise alone would cost `own`."""
        return own

    @property
    def coalition(self) -> int:
        """Maximum number of agents that pool what they know."""
        return 0

    def cohort(self, agents: int) -> int:
        """Minimum number of agents whose answers are in what can be read."""
        return 1

    def honest(self, agents: int) -> int:
        """Minimum number of agents whose noise hides each one, including its own."""
        return 1

    def least(self, network: Any) -> int:
        """Minimum number of agents in a round if some may be missing; 0 for any number."""
        return 0

    def releases(self, network: Any, rounds: int, key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """How often every agent releases in the first rounds, for what is asked in every round.

        Args:
            network: network that decides who takes part in which round.
            rounds: number of rounds.
            key: random key that everybody knows.
        """
        return network.participations(rounds, key)

    def declared(
        self, times: Int[np.ndarray, " agents"], rounds: int, sums: int
    ) -> Int[np.ndarray, " agents"]:
        """Number of such releases that the noise is made for.

        Those beyond the number of rounds are answers to queries that are asked again, whatever they
        are.

        Args:
            times: number of releases, as returned by `releases`.
            rounds: number of rounds in the run.
            sums: number of sums in the run if every one succeeds.

        Raises:
            PrivacyError: more releases than are paid for.
        """
        return times

    def turns(self, rounds: int, sums: int) -> int:
        """Number of turns in a run between sites: rounds, or the sums that may be tried.

        Args:
            rounds: number of rounds in the run.
            sums: number of sums in the run.
        """
        return rounds

    def answers(self, network: Any, round: Index, key: PRNGKeyArray) -> Int[Array, " agents"]:
        """How often every client sends something in a round."""
        return jnp.asarray(network.mixing(round, key).participates).astype(int)

    def level(
        self, multipliers: Float[np.ndarray, " agents"], scales: Float[np.ndarray, " agents"]
    ) -> Float[np.ndarray, " agents"]:
        """Noise multipliers that hide everybody: the largest scale that any agent needs, for all.

        An agent is hidden by the noise of the others, so none may add less.

        Args:
            multipliers: noise multiplier that every agent needs by itself, shape `(agents,)`.
            scales: noise scale of every agent at the multiplier 1, shape `(agents,)`, positive.
        """
        wanted = multipliers * scales
        # rounded up, so that no last bit is below what was asked for
        raised = np.nextafter(np.max(wanted) / scales, np.inf)
        return np.where(wanted == np.max(wanted), multipliers, raised)

    def pairs(self, agents: int) -> Int[np.ndarray, "pairs 2"] | None:
        """Which agents share noise that the runtime must draw; `None` where none do."""
        return None

    def share(self, drawn: Array, agents: int) -> Array:
        """What an agent's shared noise adds to its own, both at scale 1.

        Args:
            drawn: sum of its shared noise, each term of standard deviation 1.
            agents: number of agents.
        """
        return drawn

    def covariance(self, agents: int) -> Float[np.ndarray, "agents agents"] | None:
        """Covariance of all agents' noise, for own noise of scale 1; `None` if independent."""
        return None

    def view(
        self, agent: Index, awake: Bool[Array, " agents"], scales: Float[Array, " agents"]
    ) -> View | None:
        """What the worst coalition makes of a release; `None` if each can be read by itself.

        Args:
            agent: number of the honest agent under attack.
            awake: which agents take part.
            scales: scales of the noise that the agents add.
        """
        return None


@final
@dataclass(frozen=True)
class Alone(AbstractHiding):
    """No other hiding: every release can be read."""


ALONE = Alone()
"""Nothing besides an agent's own noise."""
