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
from tacit.study._sections.calls import RecordCalls
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

    loss: Loss = Field(description="loss of one record")
    regulariser: Regulariser = Field(
        {"kind": "none"}, validate_default=True, description="public regulariser of the parameters"
    )
    constraint: Constraint = Field(
        {"kind": "free"},
        validate_default=True,
        description="public convex set that contains the parameters",
    )
    weighting: Literal["agent", "record", "sum"] = Field(
        "agent",
        description="equal weight per site, equal weight per record, or the plain sum of losses",
    )
    normaliser: PerSite | None = Field(
        None,
        description="declared divisor of a site's sum of losses, positive, instead of its number "
        "of records",
    )
    x0: tuple[Number, ...] | None = Field(
        None,
        description="public starting point, one number per parameter "
        "[default: the point of the constraint nearest to 0]",
    )
    parameter_names: tuple[str, ...] | None = Field(
        None,
        description="names of the parameters of a simulator [default: numbers, or the columns]",
    )
    simulator: RecordCalls | None = Field(
        None, description="how a loss that only gives values is evaluated on this machine"
    )


class MasksSection(Section):
    """Masks that cancel in the sum over the sites."""

    coalition: Whole = Field(
        1, description="maximum number of sites that pool what they know, at least 0"
    )
    min_cohort: Whole | None = Field(
        None,
        description="minimum number of sites in a sum, at least 2 and above coalition "
        "[default: all sites]",
    )
    attempts: Whole | None = Field(
        None,
        description="maximum number of sums, at least 1, counting those abandoned because a site "
        "is missing; excludes spare",
    )
    spare: Whole | None = Field(
        None,
        description="number of sums that may be repeated over the whole run, at least 0 "
        "[default: 0]",
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

    clip: PerSite = Field(
        description="largest norm of one record's contribution, positive; longer ones are scaled "
        "down"
    )
    clip_norm: Literal[1, 2, "inf"] | None = Field(
        None, description="norm of the clip [default: 1 for Laplace noise, 2 otherwise]"
    )
    epsilon: PerSite | None = Field(None, description="epsilon of the whole run, positive")
    delta: PerSite = Field(
        DELTA, description="delta of the whole run, in [1e-12, 1), or 0 with Laplace noise"
    )
    noise_multiplier: PerSite | None = Field(
        None, description="noise scale divided by sensitivity, positive; replaces epsilon"
    )
    relation: Literal["replace_one", "add_remove"] = Field(
        "replace_one", description="adjacency: one unit replaced, or one added or removed"
    )
    noise: Literal["gaussian", "laplace", "l2_laplace"] = Field(
        "gaussian",
        description="law of the noise; l2_laplace is Laplace noise calibrated to an l2 clip",
    )
    sampling: Number = Field(
        1.0, description="probability that a record takes part in a round, in (0, 1]"
    )
    sites_per_person: Whole = Field(
        1, description="maximum number of sites with records of one person, at least 1"
    )
    records_per_person: Whole = Field(
        1, description="maximum number of records of one person per site, at least 1"
    )
    large_delta: Flag = Field(
        False, description="whether delta may be one over the number of records or more"
    )
    masks: Annotated[MasksSection | None, BeforeValidator(_masks)] = Field(
        None,
        description="secure aggregation by pairwise masks, so that each site adds only a share of "
        "the noise: true, or a table",
    )
    require: Literal["proved"] | None = Field(
        None,
        description="required status of the guarantee; 'proved' refuses methods without a proof",
    )
    ledger: str | None = Field(
        None, description="path of the ledger to charge before the run, relative to the study file"
    )
    dataset: str | None = Field(
        None, description="name of these records in the ledger, the same in every study"
    )
    owner: str | None = Field(
        None,
        description="owner whose account in the ledger is charged for all sites together; needed "
        "for simulated sites",
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

    rounds: Annotated[Whole, Field(ge=1)] = Field(description="number of rounds, at least 1")
    seed: Annotated[Whole, Field(ge=0)] | None = Field(
        None,
        description="seed of the simulated noise and sampling, at least 0: the same results every "
        "time, which no guarantee then covers [default: drawn for every run]",
    )
    trials: Annotated[Whole, Field(ge=1)] = Field(
        1, description="number of repetitions with independent noise, at least 1"
    )
    hold_out: Annotated[Number, Field(ge=0, lt=1)] = Field(
        0.0, description="fraction of records held out for scores, in [0, 1) (simulation only)"
    )
    split_seed: Annotated[Whole, Field(ge=0)] = Field(
        0, description="seed that selects the held-out records, at least 0"
    )
    compare: Flag = Field(
        True, description="whether to compare with a pooled fit without privacy (simulation only)"
    )
    record: Annotated[Whole, Field(ge=1)] | None = Field(
        None,
        description="number of rounds between measurements, at least 1 "
        "[default: about 50 measurements per run]",
    )
    precision: Literal["float64", "float32"] = Field(
        "float64", description="floating-point precision of the computation"
    )
    divergence: Annotated[Number, Field(gt=0)] = Field(
        DIVERGENCE,
        description="largest movement of a parameter before the run counts as diverged, positive, "
        "in units of the largest coordinate of the start (at least 1)",
    )
    metrics: dict[str, str] = Field(
        {},
        description="what else is measured along the run, by name (simulation only): a function of "
        "all sites' answers as module:function, beside the study or installed, or the name of one "
        "that a package declares",
    )
    exact: Flag = Field(
        False,
        description="whether to compute site by site: slow, but bit-identical to a deployment",
    )
    output: str = Field("results", description="output directory, relative to the study file")

    @property
    def shared_seed(self) -> int:
        """The seed of what draws no noise, or draws it for nobody: 0 unless one is declared."""
        return 0 if self.seed is None else self.seed


def plain(part: Section) -> dict[str, Any]:
    """The keys of a section without its kind."""
    return {name: value for name, value in part if name != "kind"}
