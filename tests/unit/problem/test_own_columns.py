"""Features, targets and rules of division that another package adds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from tacit.data import (
    AbstractFeature,
    AbstractPartition,
    AbstractTarget,
    Categorical,
    Numeric,
    Prepared,
    Schema,
    prepare,
)
from tacit.data.total import prepare_total
from tacit.errors import ProblemError
from tacit.types import Division

ASKED: list[str] = []


@dataclass(frozen=True)
class Halves(AbstractFeature):
    """A whole number, and its half."""

    def names(self, column: str) -> tuple[str, ...]:
        return column, f"{column}/2"

    def numbers(self, value: str) -> tuple[float, float]:
        ASKED.append(value)
        return int(value), int(value) / 2


@dataclass(frozen=True)
class Drops(Halves):
    """The same, of records that have a value."""

    missing = "drop"


@dataclass(frozen=True)
class Odd(AbstractTarget):
    """Whether a number is odd."""

    name: str
    binary: ClassVar[bool] = True

    def number(self, value: str) -> float:
        return {"one": 1.0, "many": 7.0}.get(value) or int(value) % 2


SCHEMA = Schema({"a": Numeric(0, 10), "b": Halves()}, Odd("c"), intercept=False)


def frame(b: Any = (4, 6, 4), c: Any = (1, 2, 3)) -> pd.DataFrame:
    return pd.DataFrame({"a": [0, 5, 10], "b": list(b), "c": list(c)})


def test_values_become_numbers_one_by_one() -> None:
    ASKED.clear()
    found = prepare(frame(), SCHEMA)
    assert found.feature_names == ("a", "b", "b/2")
    assert found.features.tolist() == [[-1, 4, 2], [0, 6, 3], [1, 4, 2]]
    assert found.targets.tolist() == [1, 0, 1]
    assert ASKED == ["4", "6"]  # each value once, whatever the others are
    said = " ".join(found.assumptions)
    assert "Halves" in said and "Odd" in said


@pytest.mark.parametrize("b", [(4.0, 6.0, np.nan), ("4", "6.0", None)])
def test_a_value_is_told_as_text_however_it_was_read(b: Any) -> None:
    found = prepare(frame(b), replace(SCHEMA, features={"b": Drops()}))
    assert found.features.tolist() == [[4, 2], [6, 3]]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"b": (4, "many", 4)}, r"column 'b': row 1 holds 'many', .* Halves \("),
        ({"c": (1, 2, "two")}, r"column 'c': row 2 holds 'two', .* Odd \("),
        ({"c": (1, 2, "many")}, r"column 'c': row 2 .* 0 or 1"),
        ({"b": (4, None, 4)}, r"column 'b' has 1 missing value\(s\), the first in row 1"),
    ],
)
def test_a_value_that_is_none_of_its_kind_is_told_with_its_row(
    changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(ProblemError, match=told):
        prepare(frame(**changed), SCHEMA)
    column = next(iter(changed))
    found = prepare_total(frame(**changed), SCHEMA)
    bad = [isinstance(v, str) or v is None for v in changed[column]]
    assert found.unfit.tolist() == bad
    assert not found.prepared.features[bad].any() and not found.prepared.targets[bad].any()


class Wrong(Halves):
    def numbers(self, value: str) -> Any:
        return {"4": (1.0, np.inf), "6": (1.0,)}[value]


@pytest.mark.parametrize("b", [(4, 4, 4), (6, 6, 6)])
def test_numbers_of_another_form_do_not_fit(b: Any) -> None:
    schema = replace(SCHEMA, features={"b": Wrong()})
    with pytest.raises(ProblemError, match="must become 2 finite numbers"):
        prepare(frame(b), schema)
    assert prepare_total(frame(b), schema).unfit.all()


def test_names_are_a_tuple_of_texts() -> None:
    class Nameless(Halves):
        def names(self, column: str) -> Any:
            return ()

    with pytest.raises(ProblemError, match="must give a tuple"):
        prepare(frame(), replace(SCHEMA, features={"b": Nameless()}))


def test_the_others_are_as_they_were() -> None:
    schema = replace(SCHEMA, features={"b": Categorical([4, 6]), "a": Numeric(0, 10)})
    assert prepare(frame(), schema).feature_names == ("b=4", "b=6", "a")


@dataclass(frozen=True)
class Given(AbstractPartition):
    """As told."""

    sites: int
    told: Any

    def owners(self, prepared: Prepared) -> Any:
        return np.array(self.told)


RECORDS = Prepared(np.eye(4), np.zeros(4), tuple("abcd"))


def test_a_rule_divides_and_is_assumed_to_be_public() -> None:
    found = Given(2, [1, 0, 1, 1]).divide(RECORDS)
    assert found.counts == (1, 3) and found.names == ("site 0", "site 1")
    assert [rows.tolist() for rows in found.rows] == [[1], [0, 2, 3]]
    assert found.divided == {Division.TABLE, Division.DEALT}


@pytest.mark.parametrize(
    ("sites", "told", "match"),
    [
        (1, [0, 0, 0, 0], "sites=1"),
        (5, [0, 1, 2, 3], "sites=5 but only 4 records"),
        (2, [0, 1, 0], "shape"),
        (2, [0.0, 1.0, 0.0, 1.0], "float64"),
        (2, [0, 1, 2, 1], "at site 2; there are 2"),
        (2, [0, 1, -1, 1], "at site -1"),
        (3, [0, 1, 0, 1], "site 'site 2' has no records"),
    ],
)
def test_owners_that_are_none_are_refused(sites: int, told: Any, match: str) -> None:
    with pytest.raises(ProblemError, match=match):
        Given(sites, told).divide(RECORDS)
