"""A whole study file."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, get_args

from pydantic import Field, create_model, model_validator

from tacit.method.glm import PrivateGLM
from tacit.study._described.catalogue import METHODS, Entry
from tacit.study._grammar.arguments import section, summary
from tacit.study._grammar.section import Section
from tacit.study._sections.common import PrivacySection, ProblemSection, RunSection
from tacit.study._sections.data import DataSection, Partition, TargetSection
from tacit.study._sections.kinds import chosen, widened
from tacit.study._sections.nested import nesting
from tacit.study._sections.network import Network, PeerSection
from tacit.study._sections.simulator import CostsRun, CostsSection, NoRecords, OwnersSection
from tacit.study._sections.statistics import (
    ModelSection,
    RecordsSection,
    StatisticsData,
    StatisticsPrivacy,
    StatisticsRun,
)
from tacit.study.parts import Part
from tacit.types import Oracle


def _of_method(entry: Entry) -> type[Section]:
    return section(entry.summary, "name", entry.name, entry.parameters)


if TYPE_CHECKING:
    Method = GLM = Section
else:
    Method = chosen([_of_method(entry) for entry in METHODS.values()], "name")
    GLM = _of_method(METHODS[PrivateGLM.name])


class Study(Section):
    """Everything that a run needs, one section per subject."""

    title: str = Field("A study", description="heading of the report")
    notes: tuple[str, ...] = Field((), description="sentences that results and report repeat")
    data: DataSection = Field(description="which records, and what each column becomes")
    partition: Partition = Field(description="who holds which records")
    problem: ProblemSection = Field(description="what the sites minimise together")
    network: Network = Field(description="who talks to whom")
    method: Method = Field(description="how they agree")
    privacy: PrivacySection | None = Field(None, description="the budget; left out: not private")
    run: RunSection = Field(description="how long, how often, where the results go")


_PLACES: Mapping[str, tuple[str, str]] = {
    "loss": ("problem", "loss"),
    "regulariser": ("problem", "regulariser"),
    "constraint": ("problem", "constraint"),
    "feature": ("data", "features"),
    "target": ("data", "target"),
    "map": ("data", "map"),
    "method": ("", "method"),
    "graph": ("", "network"),
    "partition": ("", "partition"),
}
"""Where the kinds of a family are in the model: section, empty for the study itself, and key."""

_BASES: Mapping[str, type[Section]] = {"graph": PeerSection, "target": TargetSection}


class StatisticsStudy(Study):
    """A study whose method uses the records themselves, and minimises nothing."""

    data: StatisticsData = Field(description="which records, and what each column holds")
    # no kind of `ProblemSection`: there is no loss, so none of its keys may be given
    problem: RecordsSection = Field(
        {}, validate_default=True, description="what is declared of the records"
    )
    privacy: StatisticsPrivacy | None = Field(None, description="the budget")
    run: StatisticsRun = Field(
        {}, validate_default=True, description="how often, and where the results go"
    )

    @model_validator(mode="before")
    @classmethod
    def _as_many_rounds_as_sums(cls, document: Any) -> Any:
        """Let a study leave out the number of rounds, where its method takes only one."""
        run, method = document.get("run", {}), document.get("method", {})
        if not isinstance(run, Mapping) or not isinstance(method, Mapping) or "rounds" in run:
            return document
        entry = METHODS.get(str(method.get("name")))
        if entry is None or entry.build.modelled:
            return document
        made = entry.default(private="privacy" in document)
        return {**document, "run": {**run, "rounds": made.only_rounds or 1}}


class RegressionStudy(StatisticsStudy):
    """A study that fits the regression of its section [model]."""

    model: ModelSection = Field(description="the regression that is fitted")
    network: Network = Field(
        {"graph": "coordinator"}, validate_default=True, description="who talks to whom"
    )
    method: GLM = Field({"name": "glm"}, validate_default=True, description="how they fit it")

    @model_validator(mode="before")
    @classmethod
    def _one_round_a_sum(cls, document: Any) -> Any:
        """Let a study leave out the number of rounds, which is that of the sums."""
        run, method = document.get("run", {}), document.get("method", {})
        if not isinstance(run, Mapping) or not isinstance(method, Mapping) or "rounds" in run:
            return document
        return {**document, "run": {**run, "rounds": method.get("sums", PrivateGLM.sums)}}


class CostsStudy(Study):
    """A study in which each site owns one whole cost, and nobody has records."""

    data: NoRecords = Field(None, description="no records: each site has a cost of its own")
    partition: OwnersSection = Field(description="who owns which cost")
    # no kind of `ProblemSection` either, so none of its keys may be given
    problem: CostsSection = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        description="what the sites minimise together"
    )
    run: CostsRun = Field(description="how long, how often, where the results go")


_NO_LOSS = frozenset(("loss", "regulariser", "constraint", "map"))
_WITHOUT: Mapping[type[Study], frozenset[str]] = {
    StatisticsStudy: _NO_LOSS,
    RegressionStudy: _NO_LOSS,
    CostsStudy: frozenset(("loss", "feature", "target", "map", "partition")),
}
"""Families whose parts such studies do not name."""


@functools.cache
def study_of(
    parts: tuple[Part, ...], method: str = "", modelled: bool = False, costs: bool = False
) -> type[Study]:
    """The model of a study that names parts of other packages, which are imported.

    Args:
        parts: parts that the study names.
        method: name of its method.
        modelled: whether it has a section [model].
        costs: whether its sites have whole costs in place of records.

    Raises:
        ConfigError: a part that cannot be imported, or is not one.
    """
    entry = METHODS.get(method) or next(
        (Entry(p.build) for p in parts if (p.family.word, p.name) == ("method", method)), None
    )
    base = Study
    if modelled or (entry is not None and entry.build.modelled):
        base = RegressionStudy
    elif entry is not None and entry.build.oracle is Oracle.ROWS:
        base = StatisticsStudy
    elif costs:
        base = CostsStudy
    fields: dict[str, dict[str, Any]] = {}
    for word, (at, key) in _PLACES.items():
        if word in _WITHOUT.get(base, ()):
            continue
        if found := [_section(part) for part in parts if part.family.word == word]:
            model = _section_model(base, at) if at else base
            fields.setdefault(at, {})[key] = widened(model, key, found)
    whole = fields.pop("", {})
    if inner := [_section(part) for part in parts if part.runs_inside]:
        kind, field = whole["method"]
        whole["method"] = (reduce(or_, (nesting(each, inner) for each in get_args(kind))), field)
    for at, given in fields.items():
        model = _section_model(base, at)
        section = create_model(model.__name__, __base__=model, **given)
        whole[at] = (section, copy.copy(base.model_fields[at]))
    return create_model("Study", __base__=base, **whole) if whole else base


def _section_model(base: type[Study], at: str) -> type[Section]:
    found = base.model_fields[at].annotation
    assert isinstance(found, type) and issubclass(found, Section)
    return found


def _section(part: Part) -> type[Section]:
    """The keys of a part, from its signature and docstring."""
    base = _BASES.get(part.family.word, Section)
    return section(summary(part.build), part.family.at[-1], part.name, part.keys, base=base)
