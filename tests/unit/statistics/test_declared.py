"""One declaration of a table serves every question that is asked of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import data
from tacit.errors import PrivacyError, ProblemError

DECLARED: dict[str, data.Feature] = {
    "site": data.Categorical(["a", "b"]),
    "years": data.Numeric(0, 10),
    "died": data.Boolean(),
    "arm": data.Categorical(["drug", "placebo"]),
    "age": data.Numeric(20, 80),
}

RECORDS = pd.DataFrame(
    {
        "site": ["a", "b"] * 20,
        "years": np.linspace(0.0, 10.0, 40),
        "died": [True, False, False, True] * 10,
        "arm": ["drug", "placebo"] * 20,
        "age": [*range(30, 70)],
    }
)

ASKED = {
    "table1": lambda given: tacit.table1(RECORDS, ["age"], **given),
    "survival": lambda given: tacit.survival(RECORDS, "years", "died", **given),
    "cox": lambda given: tacit.cox(RECORDS, "years", "died", ["age"], **given),
    "glm": lambda given: tacit.glm("died ~ age", RECORDS, family="binomial", **given),
}


@pytest.mark.parametrize("name", ASKED)
def test_declarations_of_other_columns_are_not_used(name: str) -> None:
    """Without a warning. The budget is refused after the table was read: nothing has to run."""
    asked: Any = ASKED[name]
    with pytest.raises(PrivacyError, match="epsilon"):
        asked({"columns": DECLARED, "epsilon": -1.0})


@pytest.mark.parametrize("name", ASKED)
def test_a_declaration_of_no_column_is_refused(name: str) -> None:
    asked: Any = ASKED[name]
    with pytest.raises(ProblemError, match=r"'aeg'.* not a column of the data; did you mean 'age'"):
        asked({"columns": {**DECLARED, "aeg": data.Numeric(20, 80)}})


def test_a_declared_identifier_is_not_left_out_in_silence() -> None:
    who = {"patient_id": data.Numeric(0, 99)}
    table = RECORDS.assign(patient_id=range(40))
    with pytest.raises(ProblemError, match="'patient_id' is declared, and left out as an ident"):
        tacit.table1(table, columns={**DECLARED, **who})
