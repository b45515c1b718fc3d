"""Declarations that make no sense are refused when they are made."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit.data.rules import level_key
from tacit.data.schema import (
    BinaryTarget,
    Boolean,
    Categorical,
    ClassTarget,
    Numeric,
    NumericTarget,
    Schema,
)
from tacit.errors import ProblemError

ONE = {"age": Numeric(0, 1)}
NAN = float("nan")


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: Numeric(), 'needs declared bounds.*statistics = "public"'),
        (lambda: Numeric(0), "lower=0 and upper=None"),
        (lambda: Numeric(1, 1), "lower=1 must be below upper=1"),
        (lambda: Numeric(-1.7e308, 1.7e308), "upper - lower=inf must be a finite number"),
        (lambda: Numeric(0, float("inf")), "upper=inf must be a finite number"),
        (lambda: Numeric(NAN, 1), "lower=nan must be a finite number"),
        (lambda: Numeric(0, 1, to=(1.0, 0.0)), "must be below"),
        (lambda: Numeric(0, 1, mean=1.0), "belong together"),
        (lambda: Numeric(0, 1, mean=1.0, deviation=0.0), "deviation=0.0 must be positive"),
        (lambda: Numeric(0, 1, standardise=True), "standardise=True takes"),
        (lambda: Numeric(0, 1, missing=2.0), r"missing=2.0 must lie within the bounds \[0, 1\]"),
        (lambda: Numeric(0, 1, missing=NAN), "missing=nan must be"),
        (lambda: Categorical(), "needs its levels"),
        (lambda: Categorical(()), "levels is empty"),
        (lambda: Categorical(("a", "a")), "holds 'a' twice"),
        (lambda: Categorical((1, "1")), "holds '1' twice"),
        (lambda: Categorical(("a", None)), "holds None"),
        (lambda: Categorical(("a",), missing="middle"), "does not fit a categorical"),
        (lambda: Categorical(("a",), missing=0.5), "does not fit a categorical"),
        (lambda: Boolean(missing=2.0), r"must lie within \[0, 1\]"),
        (lambda: BinaryTarget("y", ()), "positive is empty"),
        (lambda: BinaryTarget("y", 1, negative=(0, 1)), "holds 1 twice"),
        (lambda: BinaryTarget("y", "> 1", negative=0), "no meaning beside the threshold"),
        (lambda: NumericTarget("y", 1, 0), "lower=1 must be below upper=0"),
        (lambda: NumericTarget("y", 0, NAN), "upper=nan"),
        (lambda: NumericTarget("y", 0, 1, to=(1.0, 1.0)), "must be below"),
        (lambda: ClassTarget("y", ("a",)), "at least two levels"),
        (lambda: Schema({}, BinaryTarget("y", 1)), "features is empty"),
        (lambda: Schema(ONE, BinaryTarget("age", 1)), "'age' is the target and a feature"),
        (lambda: Schema(ONE, BinaryTarget("y", 1), site="y"), "the target and the site"),
        (lambda: Schema(ONE, BinaryTarget("y", 1), row_norm=0.0), "row_norm=0.0 must be positive"),
        (lambda: Schema(ONE, BinaryTarget("y", 1), row_norm=NAN), "row_norm=nan must be positive"),
    ],
)
def test_refused_declarations(declare: Callable[[], Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        declare()


def test_words_that_are_no_rule() -> None:
    """Types are checked in tests only, so the declarations check words themselves."""
    from tacit.data.rules import check_missing, is_public

    with pytest.raises(ProblemError, match="missing='guess' must be 'error', 'drop'"):
        check_missing("guess")
    with pytest.raises(ProblemError, match="missing=True must be"):
        check_missing(True)
    with pytest.raises(ProblemError, match="statistics='private' must be"):
        is_public("private")


@pytest.mark.parametrize("positive", ["> 0", " >= -1.5e3 ", "<.5"])
def test_thresholds(positive: str) -> None:
    assert BinaryTarget("y", positive).threshold is not None


@pytest.mark.parametrize("positive", ["yes", "> many", ">", 1, ("> 0", "a")])
def test_values_are_no_thresholds(positive: Any) -> None:
    assert BinaryTarget("y", positive).threshold is None


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ((1, 1.0, "1", "1.0", "01", " +1 ", "1.", np.int8(1), np.float32(1)), "1"),
        ((-0.5, "-0.50", "-00.5"), "-0.5"),
        ((0, -0.0, "-0", "0.00"), "0"),
        ((True, "True", "TRUE", " true"), "True"),
        ((1e-7, "0.0000001"), "0.0000001"),
        ((np.float32(0.1), 0.1, "0.10"), "0.1"),
        ((10**20, 1e20, "100000000000000000000"), "100000000000000000000"),
        (("12345678901234567891",), "12345678901234567891"),
        (("1e5",), "1e5"),
        ((" Bonn",), " Bonn"),
        (("inf", float("inf")), "inf"),
        (("1-2",), "1-2"),
    ],
)
def test_values_that_say_the_same_have_one_key(values: tuple[Any, ...], key: str) -> None:
    assert {level_key(value) for value in values} == {key}
