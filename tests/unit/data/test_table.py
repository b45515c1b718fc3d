"""Columns become the declared numbers, or are refused with row, value and remedy."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit.data.schema import (
    BinaryTarget,
    Boolean,
    Categorical,
    ClassTarget,
    Numeric,
    NumericTarget,
    Prepared,
    Schema,
)
from tacit.data.table import prepare, sites_of
from tacit.errors import ProblemError

ILL = BinaryTarget("ill", positive="yes")


def people(**columns: Any) -> pd.DataFrame:
    base: dict[str, Any] = {
        "age": [20, 60, 100],
        "town": ["Bonn", "Ulm", "Bonn"],
        "smoker": [True, False, True],
        "ill": ["yes", "no", "yes"],
        "site": ["a", "b", "a"],
    }
    frame = pd.DataFrame({**base, **columns})
    frame.index = pd.Index([2, 3, 4], name="line")
    return frame


def column(values: list[Any], feature: Any, **options: Any) -> Prepared:
    schema = Schema({"age": feature}, ILL, intercept=False, **options)
    return prepare(people(age=values), schema)


def test_mixed_columns_in_declared_order() -> None:
    schema = Schema(
        {
            "town": Categorical(("Bonn", "Ulm")),
            "age": Numeric(0, 80),
            "smoker": Boolean(),
        },
        ILL,
        site="site",
    )
    prepared = prepare(people(), schema)
    assert prepared.feature_names == ("town=Bonn", "town=Ulm", "age", "smoker", "intercept")
    np.testing.assert_array_equal(
        prepared.features,
        [[1, 0, -0.5, 1, 1], [0, 1, 0.5, 0, 1], [1, 0, 1.0, 1, 1]],
    )
    assert prepared.features.dtype == np.float64
    assert prepared.targets.tolist() == [1.0, 0.0, 1.0]
    assert prepared.sites is not None
    assert prepared.sites.tolist() == ["a", "b", "a"]
    assert prepared.assumptions == ()


def test_bounds_are_declared_never_taken_from_the_data() -> None:
    one = column([20, 60, 100], Numeric(0, 200)).features
    other = column([20, 60, 199], Numeric(0, 200)).features
    np.testing.assert_array_equal(one[:2], other[:2])
    assert column([-5, 0, 500], Numeric(0, 200)).features[:, 0].tolist() == [-1.0, -1.0, 1.0]


def test_other_images_and_declared_standardisation() -> None:
    assert column([0, 50, 100], Numeric(0, 100, to=(0, 1))).features[:, 0].tolist() == [0, 0.5, 1]
    standard = Numeric(0, 100, mean=40, deviation=20)
    assert column([0, 60, 500], standard).features[:, 0].tolist() == [-2.0, 1.0, 3.0]


def test_public_statistics_are_named_as_assumptions() -> None:
    prepared = column([20, 60, 100], Numeric(statistics="public"))
    assert prepared.features[:, 0].tolist() == [-1.0, 0.0, 1.0]
    assert prepared.assumptions == (
        "the minimum of column age was taken from the data: assumed public",
        "the maximum of column age was taken from the data: assumed public",
    )
    prepared = column([20, 60, 100], Numeric(0, 200, statistics="public", standardise=True))
    assert abs(prepared.features.mean()) < 1e-12
    assert abs(prepared.features.std() - 1) < 1e-12
    assert "mean and standard deviation of column age" in prepared.assumptions[0]
    prepared = column(["b", "a", "b"], Categorical(statistics="public"))
    assert prepared.feature_names == ("age=a", "age=b")
    assert "the levels of column age" in prepared.assumptions[0]
    with pytest.raises(ProblemError, match=r"bounds \[7, 7\], which leave no room"):
        column([7, 7, 7], Numeric(statistics="public"))
    with pytest.raises(ProblemError, match="no value at all"):
        column([None, None, None], Numeric(statistics="public", missing=0.0))


@pytest.mark.parametrize(
    ("rule", "values", "names"),
    [
        ("drop", [[-1.0], [1.0]], ("age",)),
        ("middle", [[-1.0], [0.0], [1.0]], ("age",)),
        (25, [[-1.0], [-0.5], [1.0]], ("age",)),
        ("indicator", [[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], ("age", "age=missing")),
    ],
)
@pytest.mark.parametrize("everywhere", [False, True])
def test_missing_numbers(rule: Any, values: Any, names: Any, everywhere: bool) -> None:
    if everywhere:
        prepared = column([0, None, 100], Numeric(0, 100), missing=rule)
    else:
        prepared = column([0, None, 100], Numeric(0, 100, missing=rule))
    assert prepared.features.tolist() == values
    assert prepared.feature_names == names
    assert len(prepared.targets) == len(values)
    assert bool(prepared.assumptions) == (rule == "drop")


def test_missing_levels_and_other_levels() -> None:
    levels = ("x", "y")
    prepared = column(["x", None, "y"], Categorical(levels, missing="indicator"))
    assert prepared.features.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    prepared = column(["x", "z", "y"], Categorical(levels, other="zero", drop_first=True))
    assert prepared.features.tolist() == [[0], [0], [1]]
    assert prepared.feature_names == ("age=y",)
    with pytest.raises(ProblemError, match=r"'age' has 1 missing value\(s\), the first in line 3"):
        column(["x", None, "y"], Categorical(levels), missing="middle")
    with pytest.raises(ProblemError, match=r"line 3 holds 'z'.*\('x', 'y'\).*other='zero'"):
        column(["x", "z", "y"], Categorical(levels))


def test_levels_compare_by_what_they_say() -> None:
    prepared = column([1, None, 2], Categorical(("1", "2"), missing="indicator"))
    assert prepared.features.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert column([True, False, True], Categorical((True, False))).features[0].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("values", "feature", "message"),
    [
        ([1, "old", 3], Numeric(0, 9), "'age' is not numeric: line 3 holds 'old'.*levels="),
        ([1, None, 3], Numeric(0, 9), r"'age' has 1 missing value\(s\), the first in line 3"),
        ([1, 2, np.nan], Numeric(0, 9), "the first in line 4: declare missing='drop', 'middle'"),
        ([1, np.inf, 3], Numeric(0, 9), "'age' has an infinite value in line 3"),
        (["1", "-inf", "3"], Numeric(0, 9), "'age' has an infinite value in line 3"),
        ([1, 2, 3j], Numeric(0, 9), "complex128, which are not real numbers"),
        (pd.to_datetime(["2020"] * 3), Numeric(0, 9), "data\\.Date"),
        ([0, 1, 2], Boolean(), "declared Boolean, but line 4 holds 2"),
        ([["nested"], 1, 2], Numeric(0, 9), "line 2 holds"),
    ],
)
def test_refused_values(values: Any, feature: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        column(values, feature)


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2", "3"],
        pd.array([1, 2, 3], dtype="Int64"),
        pd.array([1.0, 2.0, 3.0], dtype="Float64"),
        pd.Categorical([1, 2, 3]),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([1, 2, 3], dtype=object),
    ],
)
def test_every_kind_of_numeric_column(values: Any) -> None:
    assert column(values, Numeric(1, 3)).features[:, 0].tolist() == [-1.0, 0.0, 1.0]


def test_nullable_columns_with_missing_values() -> None:
    values = pd.array([1, None, 3], dtype="Int64")
    assert column(values, Numeric(1, 3, missing="middle")).features[1, 0] == 0.0
    flags = pd.array([True, None, False], dtype="boolean")
    assert column(flags, Boolean(missing="middle")).features[:, 0].tolist() == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("other", ["0.5", "7", "1e300", "-2", "9007199254740993.5", None])
def test_a_text_becomes_a_number_whatever_stands_beside_it(other: str | None) -> None:
    texts = pd.Series(["0.1", "9007199254740993", other])
    values = column(texts.tolist(), Numeric(0, 2**60, to=(0, 1), missing="middle")).features[:2, 0]
    assert values.tolist() == [0.1 / 2**60, 9007199254740992.0 / 2**60]


def test_texts_of_a_file_become_what_is_declared() -> None:
    texts = pd.array([" 1 ", "2.50", "1e0"], dtype="str")
    assert column(texts, Numeric(0, 5, to=(0, 5))).features[:, 0].tolist() == [1.0, 2.5, 1.0]
    flags = pd.array(["True", "FALSE", "1"], dtype="str")
    assert column(flags, Boolean()).features[:, 0].tolist() == [1.0, 0.0, 1.0]
    mixed = [True, "false", np.float32(1)]
    assert column(mixed, Boolean()).features[:, 0].tolist() == [1.0, 0.0, 1.0]
    for wrong in ("true", "1_000", "NAN", "0x1", ""):
        with pytest.raises(ProblemError, match=f"line 3 holds '{wrong}'"):
            column(pd.array(["1", wrong, "2"], dtype="str"), Numeric(0, 9))


def test_public_levels_that_say_the_same_are_one() -> None:
    levels = Categorical(statistics="public")
    prepared = column(pd.array(["1", "1.0", "2"], dtype="str"), levels)
    assert prepared.feature_names == ("age=1", "age=2")
    assert prepared.features.tolist() == [[1, 0], [1, 0], [0, 1]]


def test_every_column_that_drops_is_assumed_public_with_or_without_gaps() -> None:
    schema = Schema({"age": Numeric(0, 100), "smoker": Boolean()}, ILL, missing="drop")
    whole = prepare(people(), schema)
    assert whole.assumptions == prepare(people(age=[20, None, 100]), schema).assumptions
    assert "any of the columns age, smoker were left out" in whole.assumptions[0]
    target = Schema({"age": Numeric(0, 100)}, BinaryTarget("ill", "yes", missing="drop"))
    assert "column ill were left out" in prepare(people(), target).assumptions[0]


def test_long_values_are_cut_in_messages() -> None:
    with pytest.raises(ProblemError) as caught:
        column([1, "x" * 1000, 3], Numeric(0, 9))
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("bound", [0.5, 1.0, 3.0])
def test_rows_are_bounded(bound: float) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 5)), columns=list("abcde")).assign(y=1)
    schema = Schema(
        {name: Numeric(-1, 1) for name in "abcde"}, BinaryTarget("y", 1), row_norm=bound
    )
    free = prepare(frame, Schema(schema.features, schema.target)).features
    prepared = prepare(frame, schema)
    norms = np.linalg.norm(prepared.features, axis=1)
    assert norms.max() <= bound
    short = np.linalg.norm(free, axis=1) < bound * (1 - 1e-9)
    np.testing.assert_array_equal(prepared.features[short], free[short])
    assert f"l2 norm {bound:g} or less" in prepared.notes[0]


@pytest.mark.parametrize(
    ("positive", "expected"),
    [
        ("> 0", [0, 1, 1]),
        (">=2", [0, 0, 1]),
        ("< 1.5e0", [1, 1, 0]),
        ([1, 2], [0, 1, 1]),
        (2, [0, 0, 1]),
    ],
)
def test_binary_targets(positive: Any, expected: list[int]) -> None:
    schema = Schema({"age": Numeric(0, 1)}, BinaryTarget("ill", positive))
    assert prepare(people(ill=[0, 1, 2]), schema).targets.tolist() == expected


def test_binary_targets_with_wrong_labels() -> None:
    def targets(values: list[Any], target: BinaryTarget) -> list[float]:
        return prepare(people(ill=values), Schema({"age": Numeric(0, 1)}, target)).targets.tolist()

    both = BinaryTarget("ill", positive="yes", negative="no")
    assert targets(["no", "no", "no"], both) == [0, 0, 0]
    with pytest.raises(ProblemError, match="line 4 holds 'maybe', which is not among"):
        targets(["yes", "no", "maybe"], both)
    with pytest.raises(ProblemError, match="positive='yes' matches no record of the target 'ill'"):
        targets(["Yes", "no", "no"], ILL)
    with pytest.raises(
        ProblemError, match=r"not numeric: line 3 holds 'no'.*instead of a threshold"
    ):
        targets([1, "no", 0], BinaryTarget("ill", "> 0"))
    with pytest.raises(ProblemError, match="'ill' has an infinite value in line 4"):
        targets([1, 0, np.inf], BinaryTarget("ill", "> 0"))
    with pytest.raises(ProblemError, match="declare missing='drop' for the target"):
        targets(["yes", None, "no"], ILL)
    assert targets(["yes", None, "no"], BinaryTarget("ill", "yes", missing="drop")) == [1, 0]


def test_numeric_and_class_targets() -> None:
    def targets(values: list[Any], target: Any) -> np.ndarray:
        return prepare(people(ill=values), Schema({"age": Numeric(0, 1)}, target)).targets

    assert targets([-1, 5, 20], NumericTarget("ill", 0, 10)).tolist() == [0.0, 5.0, 10.0]
    scaled = NumericTarget("ill", 0, 10, to=(-1, 1))
    assert targets([-1, 5, 20], scaled).tolist() == [-1.0, 0.0, 1.0]
    classes = targets([9, 7, 8], ClassTarget("ill", (7, 8, 9)))
    assert classes.tolist() == [2, 0, 1]
    assert classes.dtype.kind == "i"
    with pytest.raises(ProblemError, match="line 2 holds 6, which is not among"):
        targets([6, 7, 8], ClassTarget("ill", (7, 8, 9)))
    schema = Schema({"age": Numeric(0, 1)}, ClassTarget("ill", ("yes", "no")))
    assert prepare(people(), schema).levels == ("yes", "no")


def test_columns_that_are_not_there_or_twice() -> None:
    def attempt(frame: pd.DataFrame, features: dict[str, Any], **options: Any) -> None:
        prepare(frame, Schema(features, ILL, **options))

    with pytest.raises(ProblemError, match="no column 'agee'; did you mean 'age'"):
        attempt(people(), {"agee": Numeric(0, 1)})
    with pytest.raises(ProblemError, match="no column 'zzz'; it has age, town"):
        attempt(people(), {"zzz": Numeric(0, 1)})
    with pytest.raises(ProblemError, match="no column 'ward'"):
        attempt(people(), {"age": Numeric(0, 1)}, site="ward")
    with pytest.raises(ProblemError, match="no records"):
        attempt(people().iloc[:0], {"age": Numeric(0, 1)})
    twice = people().rename(columns={"town": "age"})
    with pytest.raises(ProblemError, match="column name 'age' occurs twice"):
        attempt(twice, {"age": Numeric(0, 1)})
    own = people(intercept=1)
    with pytest.raises(ProblemError, match="'intercept' occurs twice after preparation"):
        attempt(own, {"intercept": Numeric(0, 1)})
    with pytest.raises(ProblemError, match="'age' has no value in any record"):
        attempt(people(age=[None] * 3), {"age": Numeric(0, 1, missing="drop")})


def test_every_record_needs_a_site() -> None:
    schema = Schema({"age": Numeric(0, 1)}, ILL, site="site")
    with pytest.raises(ProblemError, match="first in line 4: every record needs a site"):
        prepare(people(site=["a", "b", None]), schema)
    both = Schema({"site": Categorical(("a", "b"), missing="indicator")}, ILL, site="site")
    with pytest.raises(ProblemError, match="every record needs a site"):
        prepare(people(site=["a", "b", None]), both)
    numbered = prepare(people(site=[1.0, 2.0, 1.0]), schema)
    assert numbered.sites is not None
    assert numbered.sites.tolist() == ["1", "2", "1"]


def test_many_columns_are_converted_at_once() -> None:
    pixels = np.arange(2000 * 784, dtype=np.uint8).reshape(2000, 784)
    frame = pd.DataFrame(pixels, columns=[f"p{j}" for j in range(784)]).assign(label=1)
    features = dict.fromkeys(frame.columns[:-1], Numeric(0, 255, to=(0, 1)))
    prepared = prepare(frame, Schema(features, ClassTarget("label", range(10))))
    np.testing.assert_allclose(prepared.features[:, :-1], pixels / 255, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("decimal", "values", "message"),
    [
        (".", ["1", "2,5", "3"], "line 3 holds '2,5'; if the comma .* set decimal=','"),
        (",", ["1", "2.5", "3"], "line 3 holds '2.5'; with decimal=',' a number has no point"),
        (",", ["1", "1.002,5", "3"], "leave out marks of thousands"),
        (",", ["1", "2,5,1", "3"], "holds '2,5,1'; correct the value"),
        (";", ["1", "2", "3"], "decimal=';' must be"),
    ],
)
def test_another_decimal_mark_is_asked_for(decimal: str, values: list[str], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        column(values, Numeric(0, 9), decimal=decimal)


def test_decimal_commas_are_read_where_they_are_declared() -> None:
    found = column(["1", "2,5", "-1e1"], Numeric(-20, 20, to=(-20, 20)), decimal=",")
    np.testing.assert_allclose(found.features[:, 0], [1.0, 2.5, -10.0], atol=1e-12)
    above = Schema({"age": Numeric(0, 9)}, BinaryTarget("dose", positive="> 2"), decimal=",")
    frame = people(age=["1,5", "2", "3"], dose=["2,5", "1,9", "2"])
    assert prepare(frame, above).targets.tolist() == [1.0, 0.0, 0.0]


def test_what_is_dropped_and_moved_is_counted() -> None:
    schema = Schema(
        {"age": Numeric(30, 80), "smoker": Boolean()},
        NumericTarget("cost", 0, 5),
        missing="drop",
    )
    frame = people(age=[20, None, 100], cost=[1.0, 2.0, 9.0])
    altered = prepare(frame, schema).altered
    assert altered is not None
    assert (altered.records, altered.dropped) == (2, 1)
    assert altered.moved == {"age": 2, "cost": 1}


def test_a_site_with_a_nul_character_is_not_another_site() -> None:
    with pytest.raises(ProblemError, match="'site': row 1 holds a NUL character"):
        sites_of(pd.Series(["South", "South\0"], name="site"))
