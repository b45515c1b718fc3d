"""One table per site by name: no table under two names, and the same columns in all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit
from tacit import data
from tacit.errors import ConfigError, PrivacyError, ProblemError

DECLARED: dict[str, data.Feature] = {
    "years": data.Numeric(0, 10),
    "died": data.Boolean(),
    "age": data.Numeric(20, 80),
}
RECORDS = pd.DataFrame({"years": [1.0, 5.0] * 9, "died": [True, False] * 9, "age": [30, 40] * 9})
KNOWN: Any = {"columns": DECLARED, "epsilon": -1.0}
"""The budget is refused after the tables were read, so that nothing has to run."""

ASKED = {
    "table1": lambda given: tacit.table1(given, ["age"], **KNOWN),
    "survival": lambda given: tacit.survival(given, "years", "died", **KNOWN),
    "cox": lambda given: tacit.cox(given, "years", "died", ["age"], **KNOWN),
    "glm": lambda given: tacit.glm("died ~ age + years", given, family="binomial", **KNOWN),
}


@pytest.mark.parametrize("name", ASKED)
def test_one_table_under_two_names_is_refused(name: str) -> None:
    asked: Any = ASKED[name]
    with pytest.raises(ConfigError, match=r"data\['a'\] and data\['b'\] are one table.*its own"):
        asked({"a": RECORDS, "b": RECORDS})
    with pytest.raises(PrivacyError, match="epsilon"):
        asked({"a": RECORDS, "b": RECORDS.copy()})


def test_one_path_under_two_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    RECORDS.to_csv(path, index=False)
    with pytest.raises(ConfigError, match="are one table"):
        ASKED["cox"]({"a": path, "b": str(path)})


@pytest.mark.parametrize("name", ASKED)
def test_a_column_that_one_site_lacks_is_named(name: str) -> None:
    asked: Any = ASKED[name]
    lost = "age" if name == "table1" else "years"
    with pytest.raises(ProblemError, match=rf"data\['b'\] has no column '{lost}'.*empty cells"):
        asked({"a": RECORDS, "b": RECORDS.drop(columns=lost)})
    with pytest.raises(PrivacyError, match="epsilon"):  # what nobody asks for may be at some only
        asked({"a": RECORDS.assign(other=1), "b": RECORDS.copy()})


def test_a_column_of_lists_is_named() -> None:
    table = RECORDS.assign(age=[[1, 2]] * len(RECORDS), site=["a", "b"] * 9)
    with pytest.raises(ProblemError, match="'age' holds a list in row 0, and a cell has one value"):
        tacit.table1(table, ["age"], **KNOWN)
