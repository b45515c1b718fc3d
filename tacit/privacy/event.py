"""What was released, as small, stable data classes that an accountant interprets.

An event describes one release seen by an adversary who reads every message. It holds only public
numbers, is hashable (equal events are grouped before they are composed) and is what a ledger
stores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

from tacit.arguments import checked, remedy
from tacit.errors import PrivacyError, UnsupportedEvent
from tacit.ranges import Range, Whole

_Multiplier: TypeAlias = Annotated[float, Range(least=0.0, infinite=True, axes=0)]
_Share: TypeAlias = Annotated[float, Range(least=0.0, most=1.0, axes=0)]


@remedy("give an event, such as tacit.privacy.GaussianRelease(noise_multiplier=10.0)")
@checked(PrivacyError)
@dataclass(frozen=True)
class Event:
    """Base of all events.

    Raises:
        PrivacyError: a number out of the range that the attributes state.
    """

    @property
    def sum(self) -> Masked | None:
        """The sum in which alone it can be read; `None` if it can be read by itself."""
        return None

    @property
    def counted(self) -> Event:
        """The event that an accountant composes instead: itself, or what it amounts to."""
        return self

    @property
    def inner(self) -> Event | None:
        """The event that is repeated, sampled or in a sum; `None` for plain noise."""
        return None


@dataclass(frozen=True)
class NoRelease(Event):
    """Nothing that depends on private data left the agent."""


@dataclass(frozen=True)
class NonPrivate(Event):
    """A private value left the agent without protection: epsilon is infinite."""


@dataclass(frozen=True)
class GaussianRelease(Event):
    """`v + z`, `z ~ N(0, s^2 I)`, where neighbouring data move `v` by at most `D` in l2 norm.

    Attributes:
        noise_multiplier: `s / D`, at least 0, which is no protection.
    """

    noise_multiplier: _Multiplier


@dataclass(frozen=True)
class LaplaceRelease(Event):
    """`v + z`, `z_i ~ Lap(b)` independent, where neighbours move `v` by at most `D` in l1 norm.

    Or noise of density proportional to `exp(-||z|| / b)` in another norm, in which neighbours move
    `v` by at most `D`: it costs no more (docs/proofs/laplace.md).

    Attributes:
        noise_multiplier: `b / D`, at least 0, which is no protection; the release is `(D / b)`-DP.
    """

    noise_multiplier: _Multiplier


@dataclass(frozen=True)
class DiscreteGaussianRelease(Event):
    """`v + z` on a grid, `z` with the discrete Gaussian law in every coordinate.

    Neighbouring data move `v` by at most `D` grid steps in l2 norm, rounding included.

    Attributes:
        noise_multiplier: `s / D`, at least 0, `s^2` the parameter of the law in grid steps.
    """

    noise_multiplier: _Multiplier


@dataclass(frozen=True)
class DiscreteLaplaceRelease(Event):
    """`v + z` on a grid, `z` with the discrete Laplace law in every coordinate.

    Neighbouring data move `v` by at most `D` grid steps in l1 norm, rounding included; the release
    is `(D / b)`-DP.

    Attributes:
        noise_multiplier: `b / D`, at least 0, `P(z = k)` proportional to `exp(-|k| / b)`.
    """

    noise_multiplier: _Multiplier


@dataclass(frozen=True)
class PoissonSampled(Event):
    """`event` on a sample that includes each record independently with probability `rate`.

    Accounted under add/remove only: the neighbour's sample differs by the record or is the same.

    Attributes:
        rate: probability, within [0, 1].
        event: the release on the sample.
    """

    rate: _Share
    event: Event

    @property
    def inner(self) -> Event:
        return self.event


@dataclass(frozen=True)
class ModelClaim(Event):
    """A release that behaves as `event` only if a modelling assumption holds: not a proof.

    Attributes:
        event: what the release would amount to under the model.
        theorem: where the claim is made.
        assumption: condition under which the claim holds.
        reason: why it is not a proof, as a clause.
    """

    event: Event
    theorem: str
    assumption: str
    reason: str

    @property
    def sum(self) -> Masked | None:
        return self.event.sum

    @property
    def counted(self) -> Event:
        return self.event


@dataclass(frozen=True)
class PerReleaseClaim(ModelClaim):
    """A claim that its source makes for every release taken alone, not for a run."""


@dataclass(frozen=True)
class ProtocolClaim(ModelClaim):
    """A claim that fails only if agents do not draw the noise that they should.

    An agent that follows the protocol adds noise of exactly the stated law, also on a grid, so such
    a release may leave a site; what the others do nobody checks.
    """


@dataclass(frozen=True)
class Masked(Event):
    """A release that nobody sees by itself: masks reveal only the sum over a cohort.

    To an adversary who reads every message and knows what up to `coalition` agents know, it is as
    good as `event`. That rests on masks which nobody else can distinguish from random ones
    (docs/proofs/masks.md).

    Attributes:
        event: what the sum amounts to, with only the noise of the smallest number of honest agents.
        coalition: maximum number of agents that pool what they know, below `cohort`.
        cohort: minimum number of agents in a sum.
    """

    event: Event
    coalition: Whole
    cohort: Whole

    def __post_init__(self) -> None:
        if not self.coalition < self.cohort:
            raise PrivacyError(
                f"coalition={self.coalition} must be below cohort={self.cohort}: in a sum over a "
                "cohort there must be an agent whose noise the coalition does not know"
            )

    @property
    def sum(self) -> Masked:
        return self

    @property
    def counted(self) -> Event:
        return self.event

    @property
    def inner(self) -> Event:
        return self.event


@dataclass(frozen=True)
class Repeated(Event):
    """`event`, `count` times, each chosen with knowledge of the earlier ones (adaptive).

    Attributes:
        event: what is released each time.
        count: number of times, at least 0; an accountant takes up to 2^48 releases in all.
    """

    event: Event
    count: Whole

    @property
    def sum(self) -> Masked | None:
        return self.event.sum

    @property
    def inner(self) -> Event:
        return self.event


def on_grid(event: Event) -> Event:
    """The event with the same noise multiplier whose noise is drawn on a grid.

    Raises:
        UnsupportedEvent: noise that has no form on a grid.
    """
    match event:
        case GaussianRelease(multiplier):
            return DiscreteGaussianRelease(multiplier)
        case LaplaceRelease(multiplier):
            return DiscreteLaplaceRelease(multiplier)
        case PoissonSampled(rate, inner):
            return PoissonSampled(rate, on_grid(inner))
        case Masked(inner, coalition, cohort):
            return Masked(on_grid(inner), coalition, cohort)
        case Repeated(inner, count):
            return Repeated(on_grid(inner), count)
        case DiscreteGaussianRelease() | DiscreteLaplaceRelease() | NoRelease():
            return event
        case ProtocolClaim():
            return replace(event, event=on_grid(event.event))
        case ModelClaim():
            raise UnsupportedEvent(
                f"a guarantee that is a model claim has no secure form ({event.reason}), and where "
                "values really leave only proved ones are run, or those that hold if all members "
                "follow the protocol. Choose a method with a proved guarantee, or simulate this one"
            )
        case _:
            raise UnsupportedEvent(
                f"{type(event).__name__} has no secure form: only Gaussian and Laplace noise on a "
                "clipped answer can be drawn on a grid. Choose a method with such releases, or "
                "simulate it"
            )
