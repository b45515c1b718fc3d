"""What is read off the records of a table, and what is refused instead."""

import pandas as pd
import pytest

from tacit.data.describable import describable
from tacit.data.feature import Boolean, Numeric
from tacit.data.undeclared import PrivacyLeakWarning, filled
from tacit.errors import ProblemError


def table(values: list[str], name: str = "age") -> pd.DataFrame:
    """A table as `load_csv` reads it, with the values behind fifty others."""
    ages = pd.Series([str(20 + each) for each in range(50)] + values, dtype="str")
    frame = pd.DataFrame({"ill": ["0", "1"] * (len(ages) // 2), name: ages}, dtype="str")
    frame.index = pd.RangeIndex(2, len(frame) + 2, name="line")
    return frame


def refused(frame: pd.DataFrame, message: str, **given: str) -> None:
    named = {given.pop("target", "ill"): False, "age": False}
    with pytest.raises(ProblemError, match=message):
        filled(frame, {}, named, given.pop("family", "binomial"), **given)


@pytest.mark.parametrize("value", ["inf", "-inf", "1e400"])
def test_no_bound_is_infinite(value: str) -> None:
    refused(table(["30", value]), "column 'age' has an infinite value in line 53")


def test_a_text_among_numbers_is_named() -> None:
    refused(table(["unknown", "30"]), "line 52 holds 'unknown', and 51 of 52 values are numbers")
    texts = pd.DataFrame({"ill": ["0", "1"] * 25, "age": [f"about {each}" for each in range(50)]})
    refused(texts, "column 'age' has 50 levels, which are too many")


def test_a_count_and_a_weight_are_not_negative() -> None:
    negative = table(["30", "-3"])
    message = "line 53 holds .*-3.*, and a {} must not be negative"
    refused(negative, message.format("target of this family"), target="age", family="poisson")
    refused(negative, message.format("weight"), weights="age")
    assert filled(negative, {}, {"ill": False, "age": False}, "binomial").taken == {
        "ill": "levels 0 and 1",
        "age": "bounds -3 to 69",
    }


def test_a_table_without_records_is_named() -> None:
    refused(table([]).iloc[:0], "the table has no records")


def test_one_value_gives_no_bounds() -> None:
    refused(pd.DataFrame({"ill": [0, 1], "age": [34, 34]}), "has one value only, 34")
    refused(pd.DataFrame({"ill": [0, 1], "age": [0, 0]}), "has one value only, 0", weights="age")


def test_few_values_of_a_count_are_numbers() -> None:
    counts = pd.DataFrame({"age": ["2", "3", "1,024", "2"]})
    refused(counts, "holds '1,024', and 3 of 4 values are numbers", target="age", family="poisson")


def test_neighbours_with_other_columns_assume_the_same() -> None:
    """One record decides whether a column is of one value, or of true and false."""
    none = pd.DataFrame({"age": [*range(20, 60)], "hiv": [False] * 40})
    one = none.assign(hiv=[True, *[False] * 39])
    text = none.assign(hiv=["refused", *["false"] * 39])
    found = [describable(each, None, None, None, {"age": Numeric(0, 99)}) for each in (none, one)]
    assert [each.names for each in found] == [("age",), ("age", "hiv")]
    shared = set.intersection(*(set(each.found.assumptions) for each in found))
    assert len(shared) == 1 and next(iter(shared)).startswith("which columns are left out")
    with pytest.warns(PrivacyLeakWarning, match="which columns are left out"):
        found[0].found.warn("columns={}", stacklevel=1)
    everything = {"age": Numeric(0, 99), "hiv": Boolean()}
    assert describable(one, None, None, None, everything).found.assumptions == ()
    for table in (none, text):
        named = filled(table, {}, {"age": False, "hiv": True}, "gaussian")
        assert any("of column hiv" in each for each in named.assumptions)


def test_numbers_with_a_text_among_them_are_refused_and_not_left_out() -> None:
    numbers = [*(str(each % 60) for each in range(100)), "n/a"]
    frame = pd.DataFrame({"ill": [0, 1] * 50 + [0], "crp": pd.Series(numbers, dtype="string")})
    with pytest.raises(ProblemError, match=r"'n/a', and 100 of 101 values are numbers"):
        describable(frame, None, None, None, {})


def test_decimal_commas_beside_points_are_told() -> None:
    mixed = table(["30.5", "0,89"])
    refused(mixed, "holds '0,89', and 51 of 52 values are numbers; if it is a number with a dec")
    refused(table(["30.5", "about 3"]), "values are numbers; correct it")
    refused(table(["30.5", "1,024"]), "values are numbers; correct it")
