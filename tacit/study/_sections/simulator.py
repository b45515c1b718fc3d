"""The table [problem.simulator]: costs that only a Python function or a program can evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from tacit.problem.constraint import CONSTRAINTS
from tacit.problem.regularisers import REGULARISERS
from tacit.study._grammar.section import Flag, Number, Section, Short, Whole
from tacit.study._sections.calls import CallsSection
from tacit.study._sections.common import RunSection
from tacit.study._sections.kinds import kinds

if TYPE_CHECKING:
    Regulariser = Constraint = Any
else:
    Regulariser = Annotated[kinds(REGULARISERS, leave_out=("unpenalised",)), Short]
    Constraint = Annotated[kinds(CONSTRAINTS), Short]


class OwnerSection(Section):
    """The simulator of one owner: a program, or a function of Python."""

    command: Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        None,
        description="program and its arguments, started for every evaluation; {x}, {agent} and "
        "the names of parameters in braces stand for values",
    )
    function: str | None = Field(
        None,
        description="function of Python (x, agent) that returns the cost, as module:function; the "
        "module is installed, or in cwd",
    )
    cwd: str | None = Field(
        None,
        description="folder that the program is started in, or that has the function's module, "
        "relative to the file that names it; {agent} in it stands for the number of the site "
        "[default: where that file is]",
    )
    env: dict[str, str] | None = Field(
        None, description="variables of the program's environment besides those of this process"
    )

    @property
    def named(self) -> bool:
        """Whether it says what is evaluated."""
        return self.command is not None or self.function is not None

    @model_validator(mode="after")
    def _one_kind(self) -> OwnerSection:
        if self.command is not None and self.function is not None:
            raise PydanticCustomError(
                "simulator", "names a command and a function; leave one of them out"
            )
        if self.command is None and self.env is not None:
            raise PydanticCustomError(
                "simulator", "has env, which is for a program; add command = [...], or leave it out"
            )
        return self


class OwnerFile(OwnerSection):
    """The file in which an owner says what evaluates its cost, in a run between sites."""

    workers: Annotated[Whole, Field(ge=1)] | None = Field(
        None, description="number of evaluations at a time, at least 1 [default: 1]"
    )
    tries: Annotated[Whole, Field(ge=1)] | None = Field(
        None,
        description="evaluations of a point before it has failed and is skipped, at least 1 "
        "[default: as the study says]",
    )
    cache: str | None = Field(
        None, description="path of the file that keeps every evaluation, relative to this file"
    )

    @model_validator(mode="after")
    def _something(self) -> OwnerFile:
        if not self.named:
            raise PydanticCustomError(
                "simulator",
                'names nothing to evaluate; give command = [...] or function = "module:name"',
            )
        return self


class SimulatorSection(CallsSection, OwnerSection):
    """The simulators of all owners, and how they are evaluated."""

    sites: dict[str, OwnerSection] | None = Field(
        None,
        description="one table for each site instead of one simulator for all: command or "
        "function, with cwd and env",
    )
    on_failure: Literal["stop", "retry", "skip"] = Field(
        "stop",
        description="what a failed evaluation does: end the run, do so after three tries, or let "
        "the site's clipped answer of that round be 0, as between sites it must",
    )
    stochastic: Flag = Field(
        False, description="whether the values at one point differ, because chance is in them"
    )

    @model_validator(mode="after")
    def _one_way(self) -> SimulatorSection:
        if self.sites is not None and self.named:
            raise PydanticCustomError(
                "simulator",
                "says for all sites and for each what is evaluated; leave out sites, or command "
                "and function",
            )
        for name, own in (self.sites or {}).items():
            if not own.named:
                raise PydanticCustomError(
                    "simulator",
                    "has nothing to evaluate for {site}; give command = [...] or "
                    'function = "module:name"',
                    {"site": repr(name)},
                )
        return self


class CostsSection(Section):
    """What the sites minimise together: the sum of one whole cost per site."""

    simulator: SimulatorSection = Field(description="what evaluates the costs")
    x0: tuple[Number, ...] = Field(
        min_length=1, description="public starting point, one number per parameter"
    )
    parameter_names: tuple[str, ...] | None = Field(
        None, description="names of the parameters [default: x0, x1, ...]"
    )
    regulariser: Regulariser = Field(
        {"kind": "none"}, validate_default=True, description="public regulariser of the parameters"
    )
    constraint: Constraint = Field(
        {"kind": "free"},
        validate_default=True,
        description="public convex set that contains the parameters",
    )


def _no_records(value: Any) -> Any:
    if value is not None:
        raise PydanticCustomError(
            "data",
            "is for records, and there are no records where each site has a simulator of its whole "
            "cost; leave [data] out, or give a loss of one record in [problem]",
        )
    return value


NoRecords = Annotated[None, BeforeValidator(_no_records)]
"""The section [data] of a study in which nobody has records."""


class OwnersSection(Section):
    """Who owns which cost."""

    by: Literal["owner"] = Field("owner", description="each site owns one whole cost")
    sites: Annotated[tuple[str, ...], Field(min_length=1)] | Annotated[Whole, Field(ge=1)] = Field(
        description="names of the sites, or their number, at least 2"
    )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sites, in their order."""
        if isinstance(self.sites, int):
            return tuple(f"site {k}" for k in range(self.sites))
        return self.sites


class CostsRun(RunSection):
    """How long, how often, and where the results go."""

    compare: Flag = Field(
        False, description="stays false: values alone give no pooled fit to compare with"
    )
