"""Dates, recoded levels and words for true and false: each value by itself."""

import datetime
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tacit import data
from tacit.data.cells import columns_of
from tacit.data.dates import formats_of
from tacit.data.total import prepare_total
from tacit.errors import ProblemError

ILL = data.NumericTarget("ill", 0, 1)


def prepared(values: object, feature: data.schema.Feature, **more: object) -> list[list[float]]:
    frame = pd.DataFrame({"x": values})
    schema = data.Schema({"x": feature}, None, intercept=False, **more)
    return data.prepare(frame, schema).features.tolist()


DAYS = {"lower": "2024-01-01", "upper": "2024-01-11"}


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("%d.%m.%Y", ["06.01.2024", "01.01.2020", " 11.01.2024 "]),
        ("%m/%d/%Y", ["01/06/2024", "01/01/2020", "01/11/2024"]),
        (None, ["2024-01-06", "2020-01-01", "2024-01-11T00:00:00+02:00"]),
        (None, [datetime.date(2024, 1, 6), datetime.date(1, 1, 1), datetime.date(9999, 1, 1)]),
        (None, pd.to_datetime(["2024-01-06", "2020-01-01", "2024-01-11"])),
    ],
)
def test_dates_are_days_between_their_bounds(written: str | None, values: object) -> None:
    assert prepared(values, data.Date(**DAYS, format=written)) == [[0.0], [-1.0], [1.0]]


def test_a_time_is_a_part_of_a_day_and_bounds_may_be_dates() -> None:
    feature = data.Date(datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 3, 9))
    assert prepared(["2024-01-01 12:00"], feature) == [[-0.5]]
    assert feature == data.Date("2024-01-01", "2024-01-03")


def test_a_value_that_is_no_date_is_refused_or_empties_its_record() -> None:
    frame = pd.DataFrame({"x": ["06.01.2024", "31.02.2024", None], "ill": [0, 1, 1]})
    feature = data.Date(**DAYS, format="%d.%m.%Y", missing="middle")
    schema = data.Schema({"x": feature}, ILL)
    with pytest.raises(ProblemError, match=r"column 'x': row 1 holds '31.02.2024', .*%d.%m.%Y"):
        data.prepare(frame, schema)
    total = prepare_total(frame, schema)
    assert total.unfit.tolist() == [False, True, False]
    assert total.prepared.features.tolist() == [[0.0, 1.0], [0.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower": "1.1.2024"}, "lower='1.1.2024' must be a date in ISO 8601"),
        ({"upper": "2023-01-01"}, "must be before upper='2023-01-01'"),
        ({"format": "dd.mm.yyyy"}, "in the codes of strptime"),
        ({"format": "%d.%m."}, "in the codes of strptime"),
        ({"format": "%Q"}, "in the codes of strptime"),
        ({"missing": 3}, "does not fit a date"),
    ],
)
def test_declarations_of_dates_are_checked(change: dict, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        data.Date(**{**DAYS, **change})


def test_a_date_is_a_number_in_formulas() -> None:
    schema = data.Schema({"x": data.Date(**DAYS)}, None)
    column = columns_of(schema)["x"]
    assert column.scale is not None
    assert column.scale.upper - column.scale.lower == 10.0


@pytest.mark.parametrize(
    ("values", "formats"),
    [
        (["31.12.2024", None], ["%d.%m.%Y"]),
        (["2024-12-31", "2024-01-01T08:00"], [None]),
        (["01/02/2024", "03/04/2024"], ["%d/%m/%Y", "%m/%d/%Y"]),
        (["01/02/2024", "13/04/2024"], ["%d/%m/%Y"]),
        (["31.12.2024", "unknown"], []),
        (["20240131"], []),
        (pd.to_datetime(["2024-01-31", None]), [None]),
        ([datetime.date(2024, 1, 31), None], [None]),
        ([1.5], []),
        ([None], []),
    ],
)
def test_formats_are_recognised(values: list, formats: list) -> None:
    assert formats_of(pd.Series(values)) == formats


def test_levels_are_recoded_before_they_are_compared() -> None:
    recoding = {"m": "male", "männlich": "male", 1: "male", "k.A.": ""}
    feature = data.Categorical(["female", "male"], map=recoding, missing="indicator")
    assert prepared(["m", "männlich", "1.0", "female", "k.A.", None], feature) == [
        [0, 1, 0],
        [0, 1, 0],
        [0, 1, 0],
        [1, 0, 0],
        [0, 0, 1],
        [0, 0, 1],
    ]
    assert prepared([1, 1], feature) == [[0, 1, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    "target",
    [
        data.BinaryTarget(
            "y", "yes", "no", map={"Ja": "yes", "Nein": "no", "?": ""}, missing="drop"
        ),
        data.ClassTarget(
            "y", ["no", "yes"], map={"Ja": "yes", "Nein": "no", "?": ""}, missing="drop"
        ),
        data.BinaryTarget("y", True, False, map={"?": ""}, missing="drop"),
    ],
)
def test_targets_are_recoded(target: data.schema.Target) -> None:
    frame = pd.DataFrame({"x": [1, 2, 3], "y": ["Ja", "Nein", "?"]})
    found = data.prepare(frame, data.Schema({"x": data.Numeric(0, 3)}, target))
    assert found.targets.tolist() == [1, 0]
    assert found.altered is not None and found.altered.dropped == 1
    assert prepare_total(frame, data.Schema({"x": data.Numeric(0, 3)}, target)).rows.tolist() == [
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: data.Categorical(["a"], map={"x": "b"}), "becomes 'b', which is not among"),
        (lambda: data.Categorical(["a"], map={}), "map is empty"),
        (lambda: data.Categorical(["a"], map={"x": None}), "values of a column are"),
        (lambda: data.Categorical(["a"], map={1: "a", "1.0": "a"}), "twice"),
        (lambda: data.Boolean(map={"x": "maybe"}), "must be true or false"),
        (lambda: data.ClassTarget("y", ["a", "b"], map={"x": "c"}), "not among"),
    ],
)
def test_recoding_is_checked(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        call()


def test_words_for_true_and_false() -> None:
    words = ["Ja", "NEIN", " yes", "no", "WAHR", "FALSCH", "oui", "1", 0, True, None]
    assert prepared(words, data.Boolean(missing=0.5))[:-1] == [
        [float(i % 2 == 0)] for i in range(7)
    ] + [[1.0], [0.0], [1.0]]
    assert prepared(["smoker", "never"], data.Boolean(map={"smoker": True, "never": "no"})) == [
        [1.0],
        [0.0],
    ]
    with pytest.raises(ProblemError, match="row 0 holds 'maybe', which is no word for true or"):
        prepared(["maybe"], data.Boolean())


def test_what_is_rewritten_leaves_the_table_as_it_was() -> None:
    frame = pd.DataFrame({"x": ["Ja"], "d": ["2024-01-02"]})
    schema = data.Schema(
        {"x": data.Boolean(map={"Ja": True}), "d": data.Date(**DAYS)}, None, intercept=False
    )
    found = data.prepare(frame, schema).features
    assert frame.to_dict("list") == {"x": ["Ja"], "d": ["2024-01-02"]}
    np.testing.assert_allclose(found, [[1.0, -0.8]])
