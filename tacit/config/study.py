"""A whole study file."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from tacit.config.arguments import section
from tacit.config.catalogue import METHODS
from tacit.config.data import DataSection, Partition
from tacit.config.network import Network
from tacit.config.parts import PrivacySection, ProblemSection, RunSection
from tacit.config.section import Section

if TYPE_CHECKING:
    Method = Section
else:
    Method = Annotated[
        reduce(
            or_,
            (
                section(entry.summary, "name", entry.name, entry.parameters)
                for entry in METHODS.values()
            ),
        ),
        Field(discriminator="name"),
    ]


class Study(Section):
    """Everything that a run needs, one section a subject."""

    title: str = Field("A study", description="heading of the report")
    notes: tuple[str, ...] = Field((), description="sentences that results and report repeat")
    data: DataSection = Field(description="which records, and what each column becomes")
    partition: Partition = Field(description="who holds which records")
    problem: ProblemSection = Field(description="what the sites minimise together")
    network: Network = Field(description="who talks to whom")
    method: Method = Field(description="how they agree")
    privacy: PrivacySection | None = Field(None, description="the budget; left out: not private")
    run: RunSection = Field(description="how long, how often, where the results go")
