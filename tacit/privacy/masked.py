"""A masked sum: every agent adds a little noise, and only the sum over all can be read.

Each pair of agents shares a mask, which one adds and the other subtracts: a message is uniform to
everybody else, and the masks cancel in the sum. An adversary who reads all messages and knows
what `c` agents know learns only the sum over the others, with the noise of all of them.

Source: Bonawitz et al. (2017), figure 4; Kairouz, Liu, Steinke (2021), theorem 9. From the first
are the masks, from the second the noise that is drawn by parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from tacit.arguments import checked
from tacit.errors import NetworkError, PrivacyError
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    Event,
    GaussianRelease,
    Masked,
    NoRelease,
    PoissonSampled,
)
from tacit.privacy.hiding import AbstractHiding, View
from tacit.types import Combine, Index, PublicContext, Role

ASSUMPTIONS = (
    "keys that two agents agree on by X25519 and HKDF-SHA256 look random to all others, whatever "
    "keys corrupted agents choose (an oracle Diffie-Hellman assumption), and so do streams of "
    "AES-256 under HMAC-SHA256; nobody finds collisions of SHA-256",
    "every agent has compared the other agents' signing keys with their owners",
    "who is corrupted is settled before the run",
)
"""What a masked sum assumes besides the number of agents that may be corrupted."""


@final
@checked(PrivacyError)
@dataclass(frozen=True)
class Masks:
    """How many agents may be corrupted, the minimum size of a sum, and how often it is tried.

    Attributes:
        coalition: `c`, maximum number of agents that pool what they know, or belong to one person;
            at least 0. The default 1 covers every agent that is curious by itself; 0 covers
            outsiders only.
        min_cohort: minimum number of agents in a sum, 2 or more and above `coalition`; all of them
            if `None`.
        attempts: maximum number of sums that the run may release, counting those abandoned because
            an agent is missing. Neither this nor `spare` goes with samples of the records.
        spare: the same limit in other terms: number of sums that may be tried again over the whole
            run, each charged as the most expensive one of the run. With neither, none between
            sites, and in a simulation as many as its rounds take.

    Raises:
        PrivacyError: a number out of range, or both `attempts` and `spare`.

    Example:
        >>> Masks(coalition=2, min_cohort=8).hidden(agents=10)
        6
    """

    coalition: int = 1
    min_cohort: int | None = None
    attempts: int | None = None
    spare: int | None = None

    def __post_init__(self) -> None:
        leasts = {"coalition": 0, "min_cohort": 2, "attempts": 1, "spare": 0}
        for name, least in leasts.items():
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and not (whole and value >= least):
                raise PrivacyError(f"masks: {name}={value!r} must be a whole number from {least}")
        if self.min_cohort is not None and self.min_cohort <= self.coalition:
            raise PrivacyError(
                f"masks: min_cohort={self.min_cohort} must be above coalition={self.coalition}: "
                "else a sum may hide nobody among honest agents"
            )
        if self.attempts is not None and self.spare is not None:
            raise PrivacyError(
                f"masks: attempts={self.attempts} and spare={self.spare} say the same: attempts "
                "are all sums, spare those beyond the planned ones; give one"
            )

    def again(self, sums: int) -> int | None:
        """Number of sums that may be tried again; `None` if no limit is given.

        Negative if each agent is in fewer sums than the run has.

        Args:
            sums: number of sums in the run if every one succeeds.
        """
        return self.spare if self.attempts is None else self.attempts - sums

    def cohort(self, agents: int) -> int:
        """Minimum number of agents in a sum.

        Raises:
            PrivacyError: a minimum above the number of agents, or not above the number corrupted.
        """
        least = agents if self.min_cohort is None else self.min_cohort
        if least > agents:
            raise PrivacyError(
                f"masks: min_cohort={least}, and there are {agents} agents; lower it"
            )
        if least < 2:
            raise PrivacyError(
                f"masks: a sum of {least} agent hides nobody; there must be two at least, or take "
                "local noise (no masks)"
            )
        if least <= self.coalition:
            raise PrivacyError(
                f"masks: coalition={self.coalition} of {agents} agents leaves nobody who is "
                f"honest; give at most {agents - 1}, or take local noise (no masks)"
            )
        return least

    def hidden(self, agents: int) -> int:
        """Minimum number of honest agents in a sum: their noise protects each of them."""
        return self.cohort(agents) - self.coalition


@final
@checked(PrivacyError)
@dataclass(frozen=True)
class SecureSum(AbstractHiding):
    r"""Under masks, releases can be read only as a sum over a cohort of `K' >= K_min` agents.

    With `z ~ N(0, s^2 I)` from every agent, `s = noise_multiplier * D`, an adversary who reads all
    messages and knows what `c` agents know learns as much as from one Gaussian release with the
    noise `s sqrt(K_min - c)`:

    .. math:: \mu = \frac{1}{\mathrm{noise\_multiplier} \, \sqrt{K_{\min} - c}}

    The phase must combine by `Combine.SUM` and ask at an iterate known to everybody. Proof:
    docs/proofs/masks.md.

    Attributes:
        masks: the maximum number of corrupted agents and the minimum size of a sum.
    """

    masks: Masks = Masks()
    prefix: ClassVar[str] = "Masked"
    words: ClassVar[str] = ", under masks, so that only sums over a cohort can be read"
    together: ClassVar[bool] = True
    summed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if type(self.masks) is not Masks:  # a subclass could miscount a cohort
            raise PrivacyError(f"masks={type(self.masks).__name__} is not Masks; write Masks(...)")

    def check(self, phase: Any) -> None:
        """A masked release is summed unchanged, and asked for at a point that everybody knows."""
        reason = ""
        if phase.receiver is None:
            reason = "its agent keeps what it releases, and continues from an iterate of its own"
        elif phase.sender is not Role.CLIENT or phase.receiver is not Role.SERVER:
            reason = "agents send it to neighbours, each from an iterate of its own"
        elif phase.combine is not Combine.SUM:
            reason = "the coordinator needs every agent's by itself"
        elif phase.rounds.before or phase.repeat > 1:
            reason = "it is not released once a round"
        if reason:
            raise PrivacyError(
                f"masks cancel in a sum over all agents, taken at an iterate that everybody knows, "
                f"and the release of phase {phase.name!r} is not one: {reason}. Take a method "
                "that sums at a public iterate, such as gradient-descent (`tacit methods` says "
                "which take masks; between peers with exact_sum, network.ExactSum), or leave "
                "masks out"
            )

    def check_message(self, name: str, *, altered: bool, kept: bool) -> None:
        if altered or kept:
            # so an agent's state comes only from the coordinator's messages, and everybody knows it
            raise TypeError(
                f"phase {name!r}: under masks the message is what is released, as it is, and the "
                "agent keeps nothing of it; use tacit.method._oracle.send_released"
            )

    def check_agents(self, agents: int) -> None:
        self.masks.cohort(agents)

    def check_run(self, method: Any, network: Any) -> None:
        phases, name = method.phases(), type(method).__name__
        hidden = [phase for phase in phases if phase.hides == self]
        if method.hides != self:
            raise PrivacyError(
                f"phase {hidden[0].name!r} of {name} has other masks than the method's budget, "
                "from which sums are counted and checked; make its mechanism with "
                "Privacy.mechanism"
            )
        if not hidden:
            raise PrivacyError(f"{name} takes no masks: it has noise of its own; leave them out")
        self.check_agents(network.agents)
        if not network.exact_in_integers:
            raise NetworkError(
                f"masks cancel in whole numbers modulo 2^64, which by={network.by!r} cannot sum; "
                "use by='tree' or by='flooding'"
            )
        self._check_samples(hidden, network)
        if network.varying and self.masks.min_cohort is None:
            raise PrivacyError(
                "masks: not all agents take part in every round here, and min_cohort is not given; "
                "give the minimum number of agents in a sum: the noise is made for that many, and "
                "a round with fewer is left out"
            )
        rare = next((phase for phase in hidden if not phase.rounds.every), None)
        if network.varying and rare is not None:
            raise PrivacyError(
                f"the sum of phase {rare.name!r} is asked in {rare.rounds.words}, and where agents "
                "come and go nothing counts how often it is tried; use a network in which all take "
                "part, with spare sums for who goes missing between sites"
            )
        if np.ptp(network.client_weight) > 0:
            raise NetworkError("a masked sum weighs all agents alike, and this network does not")

    def _check_samples(self, hidden: Any, network: Any) -> None:
        """Refuse samples in sums that are tried again: both tries are answered from one sample."""
        sampled = next((phase for phase in hidden if phase.query.rate < 1.0), None)
        masks = self.masks
        if masks.spare or masks.attempts is not None:
            limit = f"attempts={masks.attempts}" if masks.spare is None else f"spare={masks.spare}"
            remedy = f"leave {limit} out of the masks"
        elif network.sums_again:
            remedy = "take a network in which nobody goes missing (no dropout)"
        else:
            return
        if sampled is not None:
            raise PrivacyError(
                f"the sum of phase {sampled.name!r} is of a sample of the records "
                f"(rate {sampled.query.rate:g}) and may be tried again, of the same sample, which "
                f"costs more than a fresh one; leave sampling at 1, or {remedy}"
            )

    def event(self, own: Event, public: PublicContext) -> Event:
        cohort = self.masks.cohort(public.agents)
        # the noise of the honest agents of the smallest cohort
        root = math.sqrt(cohort - self.masks.coalition)
        return Masked(with_noise_of(own, root), self.masks.coalition, cohort)

    @property
    def coalition(self) -> int:
        return self.masks.coalition

    def cohort(self, agents: int) -> int:
        return self.masks.cohort(agents)

    def honest(self, agents: int) -> int:
        return self.masks.hidden(agents)

    def least(self, network: Any) -> int:
        return self.masks.cohort(network.agents) if network.varying else 0

    def told(self, agents: int) -> str:
        masks = self.masks
        return (
            f" under secure aggregation that hides {masks.hidden(agents)} honest sites among "
            f"each other (coalition {masks.coalition})"
        )

    def study_lines(self) -> list[str]:
        least = self.masks.min_cohort
        kept = "" if least is None else f", min_cohort = {least}"
        return [f"masks = {{ coalition = {self.masks.coalition}{kept} }}"]

    def releases(self, network: Any, rounds: int, key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        return network.attempts(rounds, key)

    def declared(
        self, times: Int[np.ndarray, " agents"], rounds: int, sums: int
    ) -> Int[np.ndarray, " agents"]:
        spare = self.masks.again(sums)
        if spare is None:
            return times
        if times.max() > rounds + spare:
            raise PrivacyError(
                f"masks: {sums + spare} sums are paid for, and {rounds} rounds with this network "
                f"need {sums + times.max() - rounds}, counting those abandoned because an agent is "
                "missing; raise attempts or spare, or take fewer rounds"
            )
        return np.full_like(times, rounds + spare)

    def turns(self, rounds: int, sums: int) -> int:
        return sums + (self.masks.again(sums) or 0)

    def answers(self, network: Any, round: Index, key: PRNGKeyArray) -> Int[Array, " agents"]:
        # an abandoned sum was still asked for and answered
        return network.answers(round, key)

    def view(
        self, agent: Index, awake: Bool[Array, " agents"], scales: Float[Array, " agents"]
    ) -> View:
        """All honest noise of a sum that was read.

        Its masks cancel. The adversary subtracts what its coalition added and, since it knows all
        other data, the answers of the other honest agents. A sum abandoned because an agent is
        missing is not read. The accountant charges it as if it were, since a message that is only
        late would complete it; with dropouts an audit therefore stays below the claim.
        """
        behind = (jnp.arange(len(awake)) - agent) % len(awake)
        # settled before the run; with equal scales and nobody asleep, any coalition is the worst
        corrupted = (behind > 0) & (behind <= self.masks.coalition)
        honest = awake & ~corrupted
        left = jnp.sqrt(jnp.sum(jnp.where(honest, jnp.square(scales), 0.0)))
        weights = (honest | (behind == 0)).astype(scales.dtype)
        return View(weights, None, left)


def as_dear(events: Sequence[Event]) -> list[list[int]]:
    """For each event, the numbers of those that cost at least as much, including its own.

    Of two Gaussian releases the one with less noise costs more, and so does the one on the larger
    sample: the other can be computed from it (docs/proofs/masks.md). One with less noise on a
    smaller sample is not compared. Of equal ones the first counts as the more expensive.

    Args:
        events: single releases, without claims.

    Example:
        >>> as_dear([GaussianRelease(2.0), GaussianRelease(1.0), GaussianRelease(1.0)])
        [[0, 1, 2], [1], [1, 2]]
    """
    sizes = [_size(event) for event in events]

    def costs(one: int, other: int) -> bool:
        (rate, noise), (own_rate, own_noise) = sizes[one], sizes[other]
        more = rate >= own_rate and noise <= own_noise
        return more and (sizes[one] != sizes[other] or one <= other)

    numbers = range(len(sizes))
    return [[one for one in numbers if costs(one, other)] for other in numbers]


def _size(event: Event) -> tuple[float, float]:
    """Share of the records that is queried, and noise multiplier."""
    match event:
        case Masked(inner):
            return _size(inner)
        case PoissonSampled(rate, inner):
            return rate, _size(inner)[1]
        case GaussianRelease(multiplier) | DiscreteGaussianRelease(multiplier):
            return 1.0, multiplier
        case NoRelease():
            return 0.0, math.inf
        case _:
            return 1.0, 0.0


def with_noise_of(event: Event, root: float) -> Event:
    """A Gaussian release, sampled or not, with its noise multiplied by `root`."""
    match event:
        case GaussianRelease(multiplier):
            return GaussianRelease(multiplier * root)
        case PoissonSampled(rate, GaussianRelease(multiplier)):
            return PoissonSampled(rate, GaussianRelease(multiplier * root))
        case _:
            raise PrivacyError(f"{event!r} has no Gaussian noise that a sum could share")
