"""Seeds with faults of all kinds break nothing; planted mistakes are found, and shrink."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.simulated_sites import cast, run, seams, seeds, watchers
from tests.simulated_sites.faults import Fault, draw
from tests.simulated_sites.first import FIRST, UNFOUND
from tests.simulated_sites.mutants import MUTANTS, named
from tests.simulated_sites.planting import Change, caught, changed, planted
from tests.simulated_sites.shrink import shrunk
from tests.simulated_sites.timeline import timeline

QUICK = [names for names, seed in FIRST.items() if seed == 0]
PAGE = Path(__file__).parents[2] / "docs" / "simulated-sites.md"


@pytest.mark.parametrize("first", range(0, 1000, 125))
def test_seeds_with_faults_break_nothing(first: int) -> None:
    tally = seeds.many(first, first + 125)
    assert tally.broken == {}
    assert tally.seeds == 125
    assert tally.faults > 10 * tally.seeds
    assert [name for name in seeds.COLUMNS if not tally.column(name)] == []


def test_a_stored_message_that_is_sent_again_when_the_disk_is_full_breaks_nothing() -> None:
    """A check looked for it in a ledger that the member had closed."""
    faults = (Fault("full disk", 0, 10, value=1), Fault("stall", 0, 0.5710652898684606, 20.9378))
    with seams.replaced():
        ran = run.simulate(214019, cast.PAIR, faults)
    assert ran.counts["full disk"] and watchers.broken(ran) == {}


@pytest.mark.parametrize(
    "names",
    [*QUICK, *(pytest.param(each, marks=pytest.mark.long) for each in FIRST if each not in QUICK)],
    ids=" + ".join,
)
def test_a_planted_mistake_is_found_at_its_seed(names: Sequence[str]) -> None:
    mistakes, seed = [named(name) for name in names], FIRST[names]
    found, told = caught(mistakes, seed, seed + 1)
    assert found == seed
    assert set(told) & {watcher for each in mistakes for watcher in each.watchers}


def test_every_mistake_is_planted_and_the_page_tells_where_it_is_found() -> None:
    drawn = {"", *(shape.name for shape in cast.SHAPES)}  # others are in `test_runs.FOUND`
    assert {name for names in (*FIRST, *UNFOUND) for name in names} == {
        each.name for each in MUTANTS if each.shape in drawn
    }
    rows = re.findall(r"^\| (.*) \| (\d+|not in \d+) \|$", PAGE.read_text(), re.MULTILINE)
    told = {" + ".join(names): str(seed) for names, seed in FIRST.items()}
    told |= {" + ".join(names): f"not in {seeds}" for names, seeds in UNFOUND.items()}
    assert dict(rows) == told


@pytest.mark.long
def test_a_failing_seed_shrinks_to_few_faults_and_tells_them_by_member() -> None:
    """A disk whose commits are lost with the power needs one power cut, and no other fault."""
    mutant = named("commits that do not wait for the disk")
    seed = FIRST[mutant.name,]
    _, found = caught((mutant,), seed, seed + 1)
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
        changed(Change(seeds, "shape_of", "no such text", ""))
