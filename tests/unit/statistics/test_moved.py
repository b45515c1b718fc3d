"""Values beyond their declared bounds, which are moved there: many are not moved in silence."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit
from tacit import data
from tacit.errors import PrivacyError

DECLARED: dict[str, data.Feature] = {
    "years": data.Numeric(0, 10),
    "died": data.Boolean(),
    "age": data.Numeric(20, 80),
}


def fit(table: pd.DataFrame, *, model: bool) -> None:
    asked: Any = {"columns": DECLARED, "epsilon": -1.0}
    if model:
        tacit.glm("died ~ years + age", table, family="binomial", **asked)
    else:
        tacit.cox(table, "years", "died", ["age"], **asked)


def told(years: float, age: float, share: float, *, model: bool = False) -> str:
    """What is said of a table in which a share of the records has these values.

    The budget is refused after the table was read, so that nothing has to run.
    """
    n, many = 100, round(100 * share)
    table = pd.DataFrame(
        {
            "site": ["a", "b"] * (n // 2),
            "years": [years] * many + [5.0] * (n - many),
            "died": [True, False, False, True] * (n // 4),
            "age": [age] * many + [50.0] * (n - many),
        }
    )
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with pytest.raises(PrivacyError, match="epsilon"):
            fit(table, model=model)
    assert {Path(each.filename) for each in found} <= {Path(__file__)}
    return "; ".join(str(each.message) for each in found)


def test_the_share_of_moved_values_is_said() -> None:
    assert "age in 100% of the 100 records" in told(5.0, 81.0, 1.0)
    assert "years in 30%, age in 30% of the 100 records" in told(11.0, 81.0, 0.3, model=True)
    assert "moved" not in told(5.0, 81.0, 0.02)


def test_times_before_the_start_are_told_however_few() -> None:
    said = told(-1.0, 50.0, 0.02)
    assert "2 of 100 times in years are below the lower bound" in said and "moved" not in said


def test_a_time_beyond_the_last_one_is_no_mistake() -> None:
    assert "moved to them: age in 30% of" in told(11.0, 81.0, 0.3)
    assert told(11.0, 50.0, 0.9) == ""


def test_nearly_all_times_beyond_the_last_one_are_said() -> None:
    said = told(11.0, 50.0, 0.97)
    assert "97% of the 100 records are followed beyond the upper bound of years" in said
    assert "declare a later bound" in said and "moved" not in said
