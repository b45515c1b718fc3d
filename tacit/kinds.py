"""The words that every part of tacit shares: kinds of roles, units, neighbours and answers.

They stand apart from `tacit.types` so that accounting imports without JAX.
"""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """Who runs a phase."""

    PEER = "peer"
    SERVER = "server"
    CLIENT = "client"


class Oracle(StrEnum):
    """What a method asks of a private objective."""

    VALUE = "value"
    GRADIENT = "gradient"
    PROX = "prox"
    ROWS = "rows"
    """The individual records."""


class Unit(StrEnum):
    """What one privacy guarantee protects."""

    RECORD = "record"
    PERSON = "person"
    AGENT = "agent"


class Relation(StrEnum):
    """When two data sets are adjacent.

    `METRIC` compares whole cost functions: epsilon is for two at distance 1, the largest distance
    between their gradients, and grows with the distance.
    """

    REPLACE_ONE = "replace_one"
    ADD_REMOVE = "add_remove"
    METRIC = "metric"


class Division(StrEnum):
    """What decides which site holds a record, or whether it is held out, if tacit does the split.

    A guarantee is about neighbouring tables. How the other records move when one changes is part of
    it: docs/proofs/division.md.
    """

    RECORD = "record"
    """The record itself, by a keyed hash."""

    PLACE = "place"
    """Its position in the table, and the number of positions."""

    TABLE = "table"
    """Other records, too: their labels, or which sites they name."""

    DEALT = "dealt"
    """Sites were made up, and records dealt to them: another run may deal them otherwise."""


class Combine(StrEnum):
    """What a receiver sees of its senders: each message, or only their sum (secure aggregation)."""

    EACH = "each"
    SUM = "sum"
