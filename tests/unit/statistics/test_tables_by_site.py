"""One table per site by name: no table under two names, and the same columns in all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import data, network, problem
from tacit.errors import ConfigError, NetworkError, PrivacyError, ProblemError
from tacit.method._saved import write_saved

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


def test_numbers_that_no_memory_holds_are_refused() -> None:
    table = RECORDS.assign(site=["a", "b"] * 9)
    given: Any = {"columns": DECLARED, "epsilon": None}
    with pytest.raises(ConfigError, match="pieces=1,000,000 must be at most 10,000"):
        tacit.cox(table, "years", "died", ["age"], pieces=10**6, **given)
    with pytest.raises(ConfigError, match="intervals=1,000,000 must be at most 10,000"):
        tacit.survival(table, "years", "died", intervals=10**6, **given)
    with pytest.raises(NetworkError, match="agents=1,000,000,000,000 must be at most 10,000,000"):
        network.ring(10**12)


@pytest.mark.parametrize(
    ("value", "what"), [(np.inf, "an infinite value in row 0"), (1j, "not a table of numbers")]
)
def test_tables_of_records_hold_finite_numbers(value: complex, what: str) -> None:
    declared = data.Schema({"age": data.Numeric(0, 1)}, None, intercept=False)
    with pytest.raises(ProblemError, match=f"agent 0 .*{what}"):
        problem.record_tables([np.full((2, 1), value), np.ones((2, 1))], declared)


@pytest.mark.parametrize(
    ("record", "what"),
    [
        ([40.0, 1.0, 0.0], "'age' in row 1 that lies beyond its declared bounds 20 and 60"),
        ([0.5, 0.5, 0.5], "'sex' in row 1 that is neither 0 nor 1"),
    ],
)
def test_tables_of_records_are_as_they_are_declared(record: list[float], what: str) -> None:
    kinds = {"age": data.Numeric(20, 60), "sex": data.Categorical(["f", "m"])}
    declared = data.Schema(kinds, None, intercept=False)
    raw = pd.DataFrame({"age": [0, 20, 40, 60, 99], "sex": list("fmfmf")})
    made = data.prepare(raw, declared).features
    found = problem.record_tables([made, made], declared)
    assert found.counts.tolist() == [5, 5]
    with pytest.raises(ProblemError, match=f"agent 1 .*{what}.*data.prepare"):
        problem.record_tables([made, [made[0].tolist(), record]], declared)


def test_what_is_no_path_is_refused() -> None:
    wrong: Any = 3
    with pytest.raises(ConfigError, match=r"path=3 must be text or a pathlib\.Path"):
        write_saved(wrong, "{}")
