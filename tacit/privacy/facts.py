"""Which facts about the owners' data are public, by what is protected and who are neighbours.

Where neighbouring data share a fact, it may be printed and agreed on. Where they do not, it is as
private as the records are, and whatever prints it is a release. Pages, manifests, assumptions, the
list of files that a guarantee covers and what is refused all ask here.
"""

from __future__ import annotations

from enum import StrEnum

from tacit.types import Relation, Unit


class Fact(StrEnum):
    """Something that can be known of the owners without asking for any record, in words."""

    AGENTS = "the agents, their names and the network between them"
    SETTINGS = "the study: method, rounds, budgets, declared bounds, levels and normalisers"
    RECORDS = "the number of records of every owner"


_ALWAYS = frozenset({Fact.AGENTS, Fact.SETTINGS})


def public(unit: Unit, relation: Relation) -> frozenset[Fact]:
    """The facts that neighbouring data share.

    Replacing a record (or as many as one person has) leaves their number as it is. Adding or
    removing one does not, and the data of a whole agent may be of any number.

    Args:
        unit: what one guarantee protects.
        relation: when two data sets are neighbours.

    Example:
        >>> from tacit.types import Relation, Unit
        >>> Fact.RECORDS in public(Unit.RECORD, Relation.ADD_REMOVE)
        False
    """
    if unit is not Unit.AGENT and relation is Relation.REPLACE_ONE:
        return _ALWAYS | {Fact.RECORDS}
    return _ALWAYS


def assumed(unit: Unit, relation: Relation) -> tuple[str, ...]:
    """What a guarantee takes for granted because it is printed as public, in words.

    Agents and settings are declared by their owners; numbers of records are read off the data.
    """
    return (f"{Fact.RECORDS} is public",) if Fact.RECORDS in public(unit, relation) else ()
