"""Every method through `tacit.run` on all that it accepts: the matrix of tests/front_door.py."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import numpy as np
import pytest

from tests.conformance.table import FITTED, Row
from tests.front_door import (
    VALUES,
    Cell,
    each_once,
    methods_of_all_kinds,
    plain,
    quick,
    read_pairs,
    refusal,
    run,
)
from tests.matrix import FITTING, Pair, cells, choices, covering, forget_programs, one, pairs


def _runs(cell: Cell) -> None:
    result = run(cell)
    assert np.isfinite(result.solutions).all(), str(cell)
    assert result.status == "finished", str(cell)
    history, stated = result.history, result.guarantee.owners
    assert all(np.isfinite(value).all() for value in history.measured.values()), str(cell)
    assert np.all(np.diff(history.evaluations) >= 0), str(cell)
    assert history.bytes[-1] > 0, str(cell)
    assert {each.status.value for each in stated} == {cell.row.status}, str(cell)
    spent = [each.epsilon if each.total_epsilon is None else each.total_epsilon for each in stated]
    np.testing.assert_allclose(history.epsilon[-1], spent, rtol=1e-6, err_msg=str(cell))


@pytest.fixture(scope="module")
def compiled_quickly() -> Iterator[None]:
    """Compile without optimisations: what is asked is whether it runs."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
    # they round otherwise: two known answers of other tests would differ by 6e-8
    forget_programs()


@pytest.mark.parametrize(
    "number",
    # what the other methods release is replayed in tests/conformance
    [n if n % 6 == 0 else pytest.param(n, marks=pytest.mark.slow) for n in range(len(FITTING))],
)
def test_every_method_runs_on_a_mixture_of_what_it_accepts(
    number: int, compiled_quickly: None
) -> None:
    row = methods_of_all_kinds()[number]
    _runs(one(plain(row), VALUES, refusal, number))


@pytest.mark.slow
@pytest.mark.parametrize("cell", read_pairs(), ids=str)
def test_every_pair_of_values_runs(cell: Cell, compiled_quickly: None) -> None:
    _runs(cell)


@pytest.mark.slow
def test_the_table_of_pairs_has_all_that_some_method_accepts() -> None:
    found = set[Pair]().union(*(pairs(cell, VALUES) for cell in [*each_once(), *read_pairs()]))
    missing, refused = covering(quick(), VALUES, refusal, [*each_once(), *read_pairs()])
    assert missing == []
    assert len(found) + len(refused) == 496


@pytest.mark.slow
@pytest.mark.parametrize("row", FITTED, ids=lambda row: row.name)
def test_every_method_runs_on_everything_that_it_accepts(row: Row) -> None:
    for cell in cells(plain(row), VALUES, refusal, FITTED.index(row)):
        _runs(cell)
    forget_programs()


@pytest.mark.slow
def test_everything_is_accepted_by_some_method_and_refusals_say_why() -> None:
    assert len(methods_of_all_kinds()) == len(FITTING)
    taken: dict[str, set[str]] = {part: set() for part in VALUES}
    for row in FITTED:
        accepted, refused = choices(plain(row), VALUES, refusal)
        for part, values in accepted.items():
            taken[part] |= set(values)
        for (part, value), why in refused.items():
            assert len(why) > 40, f"{row.name}, {part} {value}: {why!r} is no reason"
    assert taken == {part: set(values) for part, values in VALUES.items()}
