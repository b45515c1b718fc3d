"""The sections [problem], [privacy] and [run]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from tacit._engine.measures import DIVERGENCE
from tacit.privacy.caution import DELTA
from tacit.privacy.masked import Masks
from tacit.problem.constraint import CONSTRAINTS
from tacit.problem.losses import LOSSES
from tacit.problem.regularisers import REGULARISERS
from tacit.study._grammar.section import Flag, Number, PerSite, Section, Short, Whole
from tacit.study._sections.kinds import kinds

if TYPE_CHECKING:
    Loss = Regulariser = Constraint = Any
else:
    # the target has the classes, and the intercept is unpenalised
    Loss = Annotated[kinds(LOSSES, leave_out=("classes",)), Short]
    Regulariser = Annotated[kinds(REGULARISERS, leave_out=("unpenalised",)), Short]
    Constraint = Annotated[kinds(CONSTRAINTS), Short]


class ProblemSection(Section):
    """What the sites minimise together."""

    loss: Loss = Field(description="of one record")
    regulariser: Regulariser = Field(
        {"kind": "none"}, validate_default=True, description="public penalty on the parameters"
    )
    constraint: Constraint = Field(
        {"kind": "free"},
        validate_default=True,
        description="public set that the parameters stay in",
    )
    weighting: Literal["agent", "record", "sum"] = Field(
        "agent", description="every site, every record counts the same, or plain sums of losses"
    )
    normaliser: PerSite | None = Field(
        None,
        description="declared positive number by which a site's sum of losses is divided, instead "
        "of its number of records",
    )


class MasksSection(Section):
    """Masks that cancel in the sum over the sites."""

    coalition: Whole = Field(
        1, description="how many sites may pool what they know; 1 for each by itself"
    )
    min_cohort: Whole | None = Field(
        None, description="sites that a sum has at least, above coalition; all when left out"
    )
    attempts: Whole | None = Field(
        None, description="sums at most, with those that are given up; or give spare"
    )
    spare: Whole | None = Field(
        None, description="sums that may be tried again, in the whole run; none when left out"
    )

    def masks(self) -> Masks:
        """The declared masks.

        Raises:
            PrivacyError: a number out of range.
        """
        return Masks(self.coalition, self.min_cohort, self.attempts, self.spare)


def _masks(value: Any) -> Any:
    if isinstance(value, bool):
        return {} if value else None
    if isinstance(value, Mapping | MasksSection):
        return value
    raise PydanticCustomError(
        "masks", "must be true, false or a table such as { coalition = 1, min_cohort = 9 }"
    )


class PrivacySection(Section):
    """The budget. Without this section nothing is protected."""

    clip: PerSite = Field(description="largest norm of one record's contribution, positive")
    clip_norm: Literal[1, 2, "inf"] | None = Field(
        None, description="norm of the clip; by default 1 for Laplace noise, else 2"
    )
    epsilon: PerSite | None = Field(None, description="budget of the whole run, positive")
    delta: PerSite = Field(DELTA, description="of the whole run, in [1e-12, 1)")
    noise_multiplier: PerSite | None = Field(None, description="instead of epsilon: noise per clip")
    relation: Literal["replace_one", "add_remove"] = Field(
        "replace_one", description="what tells neighbouring data sets apart"
    )
    noise: Literal["gaussian", "laplace", "l2_laplace"] = Field(
        "gaussian", description="law of the noise; the last is Laplace noise for a clip in norm 2"
    )
    sampling: Number = Field(1.0, description="chance of a record to take part in a round")
    sites_per_person: Whole = Field(1, description="at how many sites a person may have records")
    records_per_person: Whole = Field(1, description="records a person may have at one site")
    large_delta: Flag = Field(
        False, description="accept a delta of one over the number of records or more"
    )
    masks: Annotated[MasksSection | None, BeforeValidator(_masks)] = Field(
        None,
        description="hide what every site sends in the sum over all, so that little noise of each "
        "is enough: true, or a table",
    )
    require: Literal["proved"] | None = Field(
        None, description="'proved' refuses methods that cannot prove their guarantee"
    )
    ledger: str | None = Field(
        None, description="ledger to charge before the run, relative to the study file"
    )
    dataset: str | None = Field(
        None, description="with a ledger: the name of these records there, always the same"
    )
    owner: str | None = Field(
        None,
        description="with a ledger: whose account is charged for all sites together, needed where "
        "records are dealt to made-up sites",
    )

    @property
    def summed(self) -> bool:
        """Whether the releases of sites are read in sums only."""
        return self.masks is not None

    @property
    def hidden(self) -> dict[str, Any]:
        """The arguments of `Privacy` that describe what hides a site besides its own noise.

        Raises:
            PrivacyError: a number out of range.
        """
        return {} if self.masks is None else {"masks": self.masks.masks()}

    @model_validator(mode="after")
    def _ledger_and_dataset(self) -> PrivacySection:
        if (self.ledger is None) != (self.dataset is None):
            raise PydanticCustomError(
                "ledger",
                "names a ledger or a dataset without the other; give both: the ledger keeps one "
                "budget for each owner and dataset",
            )
        if self.owner is not None and self.ledger is None:
            raise PydanticCustomError(
                "ledger", "names an owner without a ledger; give ledger and dataset as well"
            )
        return self


class RunSection(Section):
    """How long, how often, and where the results go."""

    rounds: Annotated[Whole, Field(ge=1)] = Field(description="how many rounds, at least 1")
    seed: Annotated[Whole, Field(ge=0)] = Field(0, description="of the simulated randomness")
    trials: Annotated[Whole, Field(ge=1)] = Field(1, description="repetitions with other noise")
    hold_out: Annotated[Number, Field(ge=0, lt=1)] = Field(
        0.0, description="share of the records kept back for scores (simulation only)"
    )
    split_seed: Annotated[Whole, Field(ge=0)] = Field(
        0, description="of the choice of the records held out"
    )
    compare: Flag = Field(
        True, description="also fit the pooled records without privacy (simulation only)"
    )
    record: Annotated[Whole, Field(ge=1)] | None = Field(
        None, description="measure after every so many rounds; about 50 times when left out"
    )
    precision: Literal["float64", "float32"] = Field("float64", description="of the arithmetic")
    divergence: Annotated[Number, Field(gt=0)] = Field(
        DIVERGENCE, description="how far a parameter may move before the run counts as diverged"
    )
    exact: Flag = Field(False, description="agent by agent: slow, and the same bits as deployed")
    output: str = Field("results", description="directory, relative to the study file")


def plain(part: Section) -> dict[str, Any]:
    """The keys of a section without its kind."""
    return {name: value for name, value in part if name != "kind"}
