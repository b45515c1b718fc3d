"""What is said of new records that cannot be read."""

from __future__ import annotations

import pandas as pd
import pytest

from tacit.data import Boolean, Numeric, Schema
from tacit.errors import ProblemError
from tacit.method._new_records import prepared


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [("age", "old", "'age' is not numeric: row 1 holds 'old'"), ("ill", "so", "holds 'so'")],
)
def test_a_value_is_corrected_in_the_table_not_in_declarations(
    column: str, value: str, said: str
) -> None:
    table = pd.DataFrame({"age": ["30", "40"], "ill": ["yes", "no"]})
    table.loc[1, column] = value
    schema = Schema({"age": Numeric(0, 100), "ill": Boolean()}, None, intercept=False)
    with pytest.raises(ProblemError) as raised:
        prepared(table, schema)
    assert said in str(raised.value)
    assert "leave it empty as a missing one, or leave the record out" in str(raised.value)
    assert "declare" not in str(raised.value).partition("; ")[2]
