"""Which facts about the owners' data are public, by unit and adjacency.

A fact that adjacent data sets share may be printed and agreed on. Any other fact is as private as
the records, and printing it is a release. Pages, manifests, assumptions, the list of files that a
guarantee covers and refusals all use these rules.
"""

from __future__ import annotations

from enum import StrEnum

from tacit.kinds import Relation, Unit


class Fact(StrEnum):
    """A fact about the owners that can be known without seeing any record, in words."""

    AGENTS = "the agents, their names and the network between them"
    SETTINGS = "the study: method, rounds, budgets, declared bounds, levels and normalisers"
    RECORDS = "the number of records of every owner"


_ALWAYS = frozenset({Fact.AGENTS, Fact.SETTINGS})


def public(unit: Unit, relation: Relation) -> frozenset[Fact]:
    """The facts that adjacent data sets share.

    Replacing a record (or all records of a person) keeps their number. Adding or removing one does
    not, and a whole agent may have any number of records.

    Args:
        unit: the unit of the guarantee.
        relation: its adjacency.

    Example:
        >>> from tacit.types import Relation, Unit
        >>> Fact.RECORDS in public(Unit.RECORD, Relation.ADD_REMOVE)
        False
    """
    if unit is not Unit.AGENT and relation is Relation.REPLACE_ONE:
        return _ALWAYS | {Fact.RECORDS}
    return _ALWAYS


def assumed(unit: Unit, relation: Relation) -> tuple[str, ...]:
    """Assumptions of a guarantee that follow from what is printed as public, in words.

    Agents and settings are declared by their owners; numbers of records are taken from the data.
    """
    return (f"{Fact.RECORDS} is public",) if Fact.RECORDS in public(unit, relation) else ()
