"""What a run guarantees to one owner, with its conditions: a sentence, a table row, JSON.

A number without its conditions is not a guarantee. Status (the kind of argument that supports it)
and noise (the source of randomness) are independent: only a proved method with secure noise gives a
certificate.
"""

from __future__ import annotations

import copy
import json
import math
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from tacit.arguments import checked
from tacit.errors import PrivacyError
from tacit.kinds import Relation, Unit
from tacit.privacy import wording

FORMAT = 1
"""Version of the JSON format; a reader refuses unknown versions."""


class Status(StrEnum):
    """What supports a guarantee, strongest first."""

    PROVED = "proved"
    MODEL = "model"
    PER_RELEASE = "per_release"
    REFUTED = "refuted"
    NONE = "none"


class NoiseSource(StrEnum):
    """Where the noise of a run came from."""

    SECURE = "secure"
    SIMULATED = "simulated"
    NONE = "none"


class Scope(StrEnum):
    """What epsilon and delta cover."""

    RUN = "run"
    RELEASE = "release"


class Adversary(StrEnum):
    """The party against which a guarantee holds."""

    EVERY_MESSAGE = "every_message"
    """Sees every message and knows all records except the protected ones."""

    NEIGHBOUR = "neighbour"
    """One agent that follows the protocol and sees only what is sent to it."""

    COALITION = "coalition"
    """Several agents that follow the protocol and pool what is sent to them."""

    COLLUDING = "colluding"
    """Sees every message and controls up to a declared number of agents, which may misbehave.

    In a model, which assumes that all agents follow the protocol, they only share what they know.
    """


@dataclass(frozen=True)
class Guarantee:
    """The guarantee of one owner.

    Attributes:
        owner: name of the agent whose data are protected.
        epsilon: epsilon of the guarantee, at least 0; infinite for no protection.
        delta: delta of the guarantee, in [0, 1].
        unit: what is protected.
        relation: adjacency, when two data sets are neighbours.
        theorem: source of the proof or of the claim.
        status: the kind of argument that supports it.
        noise: source of the randomness.
        releases: number of released values derived from this owner's data.
        assumptions: further conditions. Unless there is no guarantee at all, two are always
            listed: hyper-parameters were not chosen on these data, and nothing else about these
            data is released. Simulated noise adds a third: its seed stays secret.
        reason: why a model claim is not proved, as a clause.
        scope: what epsilon and delta cover; one release for status `per_release`, else the run.
        total_epsilon: epsilon of the whole run, for a guarantee for one release.
        adversary: against whom it holds.
        sites_per_person: maximum number of sites with records of one person (unit person).
        records_per_person: maximum number of records of one person at one site (unit person).
        measured_epsilon: lower bound that an audit found at `delta`, if it refuted the claim.
        measured_by: how the audit found it, as a clause; or what it found instead.
        observers: names of the observing neighbour or coalition; empty for every message.
        coalition: maximum number of corrupted agents (adversary colluding).
        min_cohort: minimum number of agents in a sum (adversary colluding).
        attempts: maximum number of sums that the owner is in, including abandoned ones (adversary
            colluding).

    Raises:
        PrivacyError: a number out of range, or fields that contradict each other.

    Example:
        >>> promise = Guarantee(
        ...     owner="clinic", epsilon=0.99991, delta=1e-6, unit=Unit.RECORD,
        ...     relation=Relation.REPLACE_ONE, theorem="Dong, Roth, Su (2022), corollary 2",
        ...     status=Status.PROVED, noise=NoiseSource.SIMULATED, releases=200)
        >>> promise.certificate
        False
        >>> "(1, 1e-6)-DP per record" in promise.sentence()  # rounded up
        True
    """

    owner: str
    epsilon: float
    delta: float
    unit: Unit
    relation: Relation
    theorem: str
    status: Status
    noise: NoiseSource
    releases: int
    assumptions: tuple[str, ...] = ()
    reason: str = ""
    scope: Scope = Scope.RUN
    total_epsilon: float | None = None
    adversary: Adversary = Adversary.EVERY_MESSAGE
    sites_per_person: int = 1
    records_per_person: int = 1
    measured_epsilon: float | None = None
    measured_by: str = ""
    observers: tuple[str, ...] = ()
    coalition: int = 0
    min_cohort: int = 0
    attempts: int = 0

    def __post_init__(self) -> None:
        if self.status is not Status.NONE:
            own = [each for each in self.assumptions if each not in wording.STANDING]
            standing = (wording.UNTUNED, wording.ALONE)
            if self.noise is NoiseSource.SIMULATED:
                standing = wording.STANDING
            object.__setattr__(self, "assumptions", (*own, *standing))
        _check(self)

    def __repr__(self) -> str:
        return f"<Guarantee of {self.owner}: {wording.brief(self)}>"

    def _repr_html_(self) -> str:
        return wording.html([self], self.sentence())

    @property
    def certificate(self) -> bool:
        """Whether these outputs may be published under the guarantee: proved, with secure noise."""
        return self.status is Status.PROVED and self.noise is NoiseSource.SECURE

    @property
    def followed(self) -> bool:
        """Whether it is a model claim with secure noise that holds if all agents follow a protocol.

        The only kind that is run between sites without being a certificate.
        """
        claimed = self.status is Status.MODEL and self.adversary is Adversary.COLLUDING
        return claimed and self.noise is NoiseSource.SECURE

    @property
    def neighbours(self) -> str:
        """What epsilon is about: a key in ledgers, which add up only equal ones; its words stay."""
        person = f"{self.sites_per_person} sites, {self.records_per_person} records a site"
        many = self.sites_per_person > 1 or self.records_per_person > 1
        # an epsilon against fewer readers cannot be part of one against all
        most = f"sums, at most {self.coalition} agents corrupted"
        masked = self.adversary is Adversary.COLLUDING
        said = [*([person] if many else []), *([most] if masked else [])]
        # nor can one that others have to keep
        followed = [wording.FOLLOWED] if self.followed else []
        return ", ".join([self.unit.value, self.relation.value, *said, *followed])

    def of(self, owner: str) -> Guarantee:
        """The same guarantee, of another owner; nothing that is checked depends on the name."""
        made = copy.copy(self)
        object.__setattr__(made, "owner", owner)
        return made

    def refuted(self, epsilon: float | None, how: str) -> Guarantee:
        """The guarantee after an audit that found it broken.

        Args:
            epsilon: lower bound at `delta`, above the claim; `None` if the noise was found to
                differ from what the claim rests on.
            how: how it was found, as a clause: "at 95 % confidence, in 20,000 trials per side".

        Raises:
            PrivacyError: a bound that does not exceed the claim.
        """
        return replace(self, status=Status.REFUTED, measured_epsilon=epsilon, measured_by=how)

    @checked(PrivacyError)
    def sentence(self, *, assumptions: bool = True) -> str:
        """The guarantee in words, with all its conditions; numbers are rounded up.

        Args:
            assumptions: whether to end with them; leave them out where a list of them follows.
        """
        return wording.sentence(self, self.owner, assumptions=assumptions)

    def row(self) -> dict[str, Any]:
        """One row of a table, with exact numbers (`digits.rounded_up` prints them)."""
        names = ("owner", "epsilon", "delta", "unit", "relation", "scope", "releases", "status")
        values = {name: getattr(self, name) for name in (*names, "noise", "certificate")}
        return {k: v.value if isinstance(v, StrEnum) else v for k, v in values.items()}

    def to_dict(self) -> dict[str, Any]:
        """All fields as strict JSON values; an infinite number is the string "inf"."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["assumptions"] = list(self.assumptions)
        values["observers"] = list(self.observers)
        for name in ("epsilon", "total_epsilon", "measured_epsilon"):
            values[name] = "inf" if values[name] == math.inf else values[name]
        return {"format": FORMAT, **values, "certificate": self.certificate}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Guarantee:
        """The guarantee that `to_dict` wrote.

        Raises:
            PrivacyError: another format, or missing, unknown or wrong fields.
        """
        values = dict(values)
        check_format(values.pop("format", None))
        values.pop("certificate", None)  # follows from status and noise
        enums = {
            "unit": Unit,
            "relation": Relation,
            "status": Status,
            "noise": NoiseSource,
            "scope": Scope,
            "adversary": Adversary,
        }
        try:
            for name, kind in enums.items():
                values[name] = kind(values[name])
            for name in ("epsilon", "total_epsilon", "measured_epsilon"):
                values[name] = None if values[name] is None else float(values[name])
            for name in ("assumptions", "observers"):
                values[name] = tuple(values[name])
            return cls(**values)
        except (KeyError, ValueError, TypeError) as error:
            raise PrivacyError(f"not a guarantee written by tacit: {error}") from error

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Guarantee:
        """The guarantee that `to_json` wrote.

        Raises:
            PrivacyError: not JSON, or as for `from_dict`.
        """
        return cls.from_dict(parsed(text))


def _check(g: Guarantee) -> None:
    if not g.epsilon >= 0.0:
        raise PrivacyError(f"epsilon={g.epsilon!r} of {g.owner} must be at least 0")
    if not 0.0 <= g.delta <= 1.0:
        raise PrivacyError(f"delta={g.delta!r} of {g.owner} must be in [0, 1]")
    if g.releases < 0 or min(g.sites_per_person, g.records_per_person) < 1:
        raise PrivacyError(
            f"{g.owner}: releases={g.releases} must be at least 0, sites_per_person="
            f"{g.sites_per_person} and records_per_person={g.records_per_person} at least 1"
        )
    if max(g.sites_per_person, g.records_per_person) > 1 and g.unit is not Unit.PERSON:
        raise PrivacyError(
            f"{g.owner}: several sites or records of one person need unit 'person', "
            f"not {g.unit.value!r}"
        )
    if math.isinf(g.epsilon) and g.status is not Status.NONE:
        raise PrivacyError(
            f"{g.owner}: an infinite epsilon is status 'none', not {g.status.value!r}"
        )
    if g.status is Status.MODEL and set(g.assumptions) <= set(wording.STANDING):
        raise PrivacyError(f"{g.owner}: status 'model' needs the assumption that it rests on")
    colluding = g.adversary is Adversary.COLLUDING
    if colluding != (g.min_cohort > 0) or (colluding and not 0 <= g.coalition < g.min_cohort):
        raise PrivacyError(
            f"{g.owner}: adversary {g.adversary.value!r} does not fit coalition={g.coalition} and "
            f"min_cohort={g.min_cohort}; masks need more agents in a sum than may be corrupted"
        )
    looking = {Adversary.COALITION: None, Adversary.NEIGHBOUR: 1}.get(g.adversary, 0)
    if len(g.observers) < 2 if looking is None else len(g.observers) != looking:
        raise PrivacyError(
            f"{g.owner}: adversary {g.adversary.value!r} does not fit {len(g.observers)} observers"
        )
    if g.adversary in (Adversary.NEIGHBOUR, Adversary.COALITION) and g.status is Status.PROVED:
        raise PrivacyError(
            f"{g.owner}: what adversary {g.adversary.value!r} does not see is a model, so the "
            "status is 'model', not 'proved'"
        )
    single = (Status.PER_RELEASE,) if g.scope is Scope.RUN else (Status.PER_RELEASE, Status.REFUTED)
    if (g.status in single) != (g.scope is Scope.RELEASE):
        raise PrivacyError(
            f"{g.owner}: scope {g.scope.value!r} does not fit status {g.status.value!r}"
        )
    measured = g.measured_epsilon is not None or bool(g.measured_by)
    if (g.status is Status.REFUTED) != measured:
        raise PrivacyError(f"{g.owner}: status 'refuted' and what an audit found go together")
    if g.measured_epsilon is not None and not g.measured_epsilon > g.epsilon:
        raise PrivacyError(
            f"{g.owner}: an audit that found epsilon >= {g.measured_epsilon:g} does not refute a "
            f"claim of {g.epsilon:g}"
        )
    if g.scope is Scope.RELEASE and g.total_epsilon is None:
        raise PrivacyError(f"{g.owner}: beside one release, give the run's total_epsilon")


def check_format(version: Any) -> None:
    """Refuse guarantees in a format that this version does not read."""
    if version != FORMAT:
        raise PrivacyError(
            f"guarantee in format {version!r}; this version of tacit reads format {FORMAT}"
        )


def parsed(text: str) -> Any:
    """The values in a text of JSON that `to_json` wrote."""
    try:
        values = json.loads(text)
    except ValueError as error:
        raise PrivacyError(f"not a guarantee written by tacit: {error}") from error
    if not isinstance(values, dict):
        raise PrivacyError(f"not a guarantee written by tacit: {type(values).__name__} at the top")
    return values
