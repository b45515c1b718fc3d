"""Every method through `tacit.run` on all that it accepts: the matrix of tests/front_door.py."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.config.catalogue import METHODS
from tests.conformance.table import PLAIN, ROWS, Row
from tests.front_door import VALUES, Cell, plain, refusal, run
from tests.matrix import cells, choices, forget_programs, one


def _runs(cell: Cell) -> None:
    result = run(cell)
    assert np.isfinite(result.solutions).all(), str(cell)
    assert result.status == "finished", str(cell)


METHODS_OF_ALL_KINDS = (
    *PLAIN,
    next(row for row in ROWS if row.name == "functional perturbation, dgd"),
)


@pytest.mark.parametrize("row", METHODS_OF_ALL_KINDS, ids=lambda row: row.name)
def test_every_method_runs_on_a_mixture_of_what_it_accepts(row: Row) -> None:
    _runs(one(plain(row), VALUES, refusal, METHODS_OF_ALL_KINDS.index(row)))


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_method_runs_on_everything_that_it_accepts(row: Row) -> None:
    for cell in cells(plain(row), VALUES, refusal, ROWS.index(row)):
        _runs(cell)
    forget_programs()


@pytest.mark.slow
def test_everything_is_accepted_by_some_method_and_refusals_say_why() -> None:
    assert len(METHODS_OF_ALL_KINDS) == len(METHODS)
    taken: dict[str, set[str]] = {part: set() for part in VALUES}
    for row in ROWS:
        accepted, refused = choices(plain(row), VALUES, refusal)
        for part, values in accepted.items():
            taken[part] |= set(values)
        for (part, value), why in refused.items():
            assert len(why) > 40, f"{row.name}, {part} {value}: {why!r} is no reason"
    assert taken == {part: set(values) for part, values in VALUES.items()}
