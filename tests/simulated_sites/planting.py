"""At which seed a planted mistake is found."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulated_sites import cast, watchers
from tests.simulated_sites.mutants import Mutant, planted
from tests.simulated_sites.run import simulate
from tests.simulated_sites.seams import replaced
from tests.simulated_sites.seeds import of_seed, shape_of


def prepare() -> None:
    """Learn from code without mistakes what models are right."""
    with replaced():
        for shape in cast.SHAPES:
            watchers.releasing(shape)
            watchers.models(shape)
            simulate(0, shape)


def caught(mutants: Sequence[Mutant], first: int, after: int) -> tuple[int | None, list[str]]:
    """The first seed that finds mistakes planted together, and which watchers do.

    Args:
        mutants: the mistakes.
        first: the first seed.
        after: the first one that is not run.
    """
    prepare()
    shapes = {each.shape for each in mutants} - {""}
    with planted(*mutants), replaced():
        for seed in range(first, after):
            if shapes and shape_of(seed).name not in shapes:
                continue
            found = watchers.broken(of_seed(seed))
            if found:
                return seed, sorted(found)
    return None, []
