"""Seeds with faults of all kinds break nothing; planted mistakes are found, and shrink."""

from __future__ import annotations

import pytest

from tests.simulated_sites import mutants, seams, seeds, watchers
from tests.simulated_sites.faults import draw
from tests.simulated_sites.mutants import MUTANTS, named, planted
from tests.simulated_sites.planting import caught
from tests.simulated_sites.shrink import shrunk
from tests.simulated_sites.timeline import timeline

QUICK = (
    "published before it is stored",
    "the key for masks kept",
    "used before it is stored",
    "commits that do not wait for the disk",
)
"""Mistakes that one of the first ten seeds finds."""


@pytest.mark.parametrize(
    ("first", "after"),
    [
        (0, 40),
        (40, 80),
        *(pytest.param(at, at + 230, marks=pytest.mark.long) for at in (80, 310, 540, 770)),
    ],
)
def test_seeds_with_faults_break_nothing(first: int, after: int) -> None:
    tally = seeds.many(first, after)
    assert tally.broken == {}
    assert tally.seeds == after - first
    assert tally.faults > 5 * tally.seeds
    if tally.seeds > 200:
        assert [name for name in seeds.COLUMNS if not tally.column(name)] == []


@pytest.mark.parametrize("name", QUICK)
def test_a_planted_mistake_is_found_at_once(name: str) -> None:
    mutant = named(name)
    seed, found = caught((mutant,), 0, 12)
    assert seed is not None
    assert set(found) & set(mutant.watchers)


def test_a_failing_seed_shrinks_to_few_faults_and_tells_them_by_member() -> None:
    """A disk whose commits are lost with the power needs one power cut, and no other fault."""
    mutant = named("commits that do not wait for the disk")
    seed, found = caught((mutant,), 0, 12)
    assert seed is not None
    shape = seeds.shape_of(seed)
    with planted(mutant), seams.replaced():
        wrong = set(found)
        few = shrunk(
            draw(seed, shape),
            lambda some: bool(wrong & set(watchers.broken(seeds.of_seed(seed, some)))),
        )
        told = timeline(seeds.of_seed(seed, few))
    assert 0 < len(few) <= 10 and len(few) < len(draw(seed, shape))
    assert all(each.kind in told for each in few)
    assert "m0" in told and "START" in told


def test_a_mistake_is_a_change_to_the_code_that_there_is() -> None:
    for mutant in MUTANTS:
        with planted(mutant):
            pass
    with pytest.raises(AssertionError, match="has changed"):
        mutants._changed(mutants.Change(seeds, "shape_of", "no such text", ""))
