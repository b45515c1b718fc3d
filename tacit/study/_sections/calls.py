"""How black boxes are evaluated on one machine."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tacit.study._grammar.section import Number, Section, Whole


class CallsSection(Section):
    """How evaluations are made on one machine."""

    workers: Annotated[Whole, Field(ge=1)] | None = Field(
        None,
        description="number of evaluations at a time, each in a process of its own, at least 1 "
        "[default: one program, or a function in this process]",
    )
    timeout: Annotated[Number, Field(gt=0)] | None = Field(
        None,
        description="seconds after which an evaluation is stopped and has failed, positive; a "
        "function needs workers for it",
    )
    tries: Annotated[Whole, Field(ge=1)] | None = Field(
        None,
        description="evaluations of a point before it has failed, at least 1 [default: 3 with "
        'on_failure = "retry", else 1]',
    )
    cache: str | None = Field(
        None,
        description="path of the file that keeps every evaluation, relative to the study file, "
        "from which a run that was stopped is resumed",
    )


class RecordCalls(CallsSection):
    """How the losses of records are evaluated on one machine."""

    on_failure: Literal["stop", "retry"] = Field(
        "stop", description="what a failed call does: end the run, or do so after three tries"
    )
