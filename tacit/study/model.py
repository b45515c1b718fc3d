"""A whole study file."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, create_model

from tacit.study._described.catalogue import METHODS, Entry
from tacit.study._grammar.arguments import section, summary
from tacit.study._grammar.section import Section
from tacit.study._sections.common import PrivacySection, ProblemSection, RunSection
from tacit.study._sections.data import DataSection, Partition
from tacit.study._sections.network import Network, PeerSection
from tacit.study._sections.statistics import (
    RecordsSection,
    StatisticsData,
    StatisticsPrivacy,
    StatisticsRun,
)
from tacit.study.parts import Part
from tacit.types import Oracle

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


class StatisticsStudy(Study):
    """A study whose method asks of the records themselves and fits no model."""

    data: StatisticsData = Field(description="which records, and what each column holds")
    problem: RecordsSection = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        {}, validate_default=True, description="what is declared of the records"
    )
    privacy: StatisticsPrivacy | None = Field(None, description="the budget")
    run: StatisticsRun = Field(
        {}, validate_default=True, description="how often, and where the results go"
    )


@functools.cache
def study_of(parts: tuple[Part, ...], method: str = "") -> type[Study]:
    """The model of a study that names parts of other packages; they are imported.

    Args:
        parts: those that it names.
        method: the name of its method.

    Raises:
        ConfigError: a part that cannot be imported, or is none.
    """
    entry = METHODS.get(method) or next(
        (Entry(p.build) for p in parts if (p.family.word, p.name) == ("method", method)), None
    )
    base = StatisticsStudy if entry is not None and entry.build.oracle is Oracle.ROWS else Study
    if not parts:
        return base
    sections: dict[str, list[type[Section]]] = {}
    for part in parts:
        sections.setdefault(part.family.word, []).append(_section(part))
    problem: dict[str, Any] = {
        word: _more(ProblemSection, word, sections[word])
        for word in ("loss", "regulariser", "constraint")
        if word in sections
    }
    whole: dict[str, Any] = {}
    if problem and base is Study:
        section = create_model("ProblemSection", __base__=ProblemSection, **problem)
        whole["problem"] = (section, Study.model_fields["problem"])
    for word, key in (("method", "method"), ("graph", "network")):
        if word in sections:
            whole[key] = _more(Study, key, sections[word])
    return create_model("Study", __base__=base, **whole)


def _section(part: Part) -> type[Section]:
    """The keys of a part, from its signature and docstring."""
    base = PeerSection if part.family.word == "graph" else Section
    return section(summary(part.build), part.family.at[-1], part.name, part.keys, base=base)


def _more(model: type[Section], key: str, sections: Sequence[type[Section]]) -> tuple[Any, Any]:
    """A key of a model that may choose among more kinds."""
    field = model.model_fields[key]
    kinds: Any = reduce(or_, sections, field.annotation)
    return kinds, copy.copy(field)
