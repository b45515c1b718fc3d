"""A regression between sites: real processes, and the simulation's bits."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tacit.deploy.operate.rehearse import perform, prepare
from tacit.method import load_regression
from tacit.study import read_study
from tests.end_to_end.regression.visits import close_to_the_truth, visits, written


@pytest.mark.long
@pytest.mark.parametrize(
    "other",
    [
        pytest.param(("masks = true\n", ""), marks=pytest.mark.slow),
        ('family = "binomial"\n', 'family = "binomial"\n[method]\nname = "glm"\nsums = 3\n'),
    ],
)
def test_real_processes_fit_it(tmp_path: Path, other: tuple[str, str]) -> None:
    study = written(tmp_path, other)
    found = perform(prepare(read_study(study), tmp_path / "rehearsal"))
    assert len(found) == 4
    tables = [
        pd.read_csv(tmp_path / "rehearsal" / f"member-{member}" / "state" / "coefficients.csv")
        for member in range(4)
    ]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])
    close_to_the_truth(tables[0])
    loaded = load_regression(tmp_path / "rehearsal" / "member-0" / "state" / "regression.json")
    assert loaded.table.values.tolist() == tables[0]["coefficient"].tolist()
    assert loaded.predict(visits()[:5])["mean"].between(0.0, 1.0).all()
    assert all(member["noise"] == "secure" for member in found)


OFFSET = (
    'formula = "ill ~ age + C(sex)"\n',
    'formula = "ill ~ C(sex) + offset(log(age))"\nweights = "age"\n',
)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [(), (OFFSET,)], ids=["plain", "offset and weights"])
def test_sites_and_a_simulation_have_the_same_bits(
    tmp_path: Path, changes: tuple[tuple[str, str], ...]
) -> None:
    from tacit.testing import check_between_sites

    check_between_sites(written(tmp_path, *changes))
