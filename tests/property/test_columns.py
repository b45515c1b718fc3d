"""No record decides how another is read, whatever types a column mixes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import data
from tacit.data.columns import codes_of, distinct
from tacit.data.dates import read_dates
from tacit.data.rewriting import rewritten
from tacit.data.rules import level_key

VALUES = (
    *(True, False, 0, 1, 0.0, 1.0, -0.0, "1", "1.0", "True", "no", None, np.nan),
    *(np.True_, np.int8(1), np.float32(1), pd.Timestamp("2024-01-01", tz="UTC")),
    pd.Timestamp("2024-01-01 01:00", tz="Europe/Berlin"),
)
MIXED = st.lists(st.sampled_from(VALUES), max_size=8)


def column(values: list[Any]) -> pd.Series:
    return pd.Series(values, dtype=object, name="y")


@given(MIXED)
def test_a_value_is_read_as_it_would_be_alone(values: list[Any]) -> None:
    together = codes_of(column(values), ("0", "1", "True"), strict=False, remedy="")
    alone = [codes_of(column([v]), ("0", "1", "True"), strict=False, remedy="") for v in values]
    assert together.tolist() == [int(each[0]) for each in alone]
    positions, found = distinct(column(values))
    for value, position in zip(values, positions, strict=True):
        assert (position < 0) == pd.isna(value)
        assert position < 0 or level_key(found[position]) == level_key(value)


@pytest.mark.parametrize("first", [True, 1, 1.0, "1", "other", None])
def test_one_record_does_not_change_the_others(first: Any) -> None:
    schema = data.Schema(
        {"y": data.Categorical(["0", "1"], other="zero", missing="indicator")},
        None,
        intercept=False,
    )
    found = data.prepare(pd.DataFrame({"y": column([first, *[1] * 9])}), schema)
    assert found.features[1:, :2].tolist() == [[0.0, 1.0]] * 9


@given(MIXED)
def test_a_recoded_value_is_the_one_it_would_be_alone(values: list[Any]) -> None:
    feature = data.Categorical(["0", "1", "true"], map={True: "true"}, missing="indicator")
    schema = data.Schema({"y": feature}, None, intercept=False)

    def recoded(values: list[Any]) -> list[Any]:
        frame = rewritten(pd.DataFrame({"y": column(values)}), schema, strict=False)[0]
        return [None if pd.isna(value) else level_key(value) for value in frame["y"]]

    assert recoded(values) == [each for value in values for each in recoded([value])]


@given(MIXED)
def test_a_date_is_the_one_it_would_be_alone(values: list[Any]) -> None:
    days, wrong = read_dates(column(values), None)
    alone = [read_dates(column([value]), None) for value in values]
    np.testing.assert_array_equal(days, [each[0][0] for each in alone])
    assert wrong.tolist() == [bool(each[1][0]) for each in alone]
