"""Where effects and log hazards of a private Cox regression stand in a point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Array, Float

from tacit.data.cells import Column
from tacit.errors import ConfigError
from tacit.method._times import place_of


@dataclass(frozen=True)
class Layout:
    """A point has the effects of each period of time, then the log hazards of each stratum.

    A cell is a piece of time in a stratum.

    Attributes:
        columns: number of columns of the regression.
        names: names of the effects of all periods.
        bounds: start of the first period, then the ends of all, in the units of the data.
        places: number of the period in which each piece is.
        levels: names of the strata; one without a name if there are none.
    """

    columns: int
    names: tuple[str, ...]
    bounds: tuple[float, ...]
    places: tuple[int, ...]
    levels: tuple[str, ...]

    @property
    def periods(self) -> int:
        """Number of periods."""
        return len(self.bounds) - 1

    @property
    def strata(self) -> int:
        """Number of strata."""
        return len(self.levels)

    @property
    def effects(self) -> int:
        """Number of effects of all periods."""
        return self.columns * self.periods

    @property
    def cells(self) -> int:
        """Number of pieces of all strata."""
        return len(self.places) * self.strata

    @cached_property
    def members(self) -> Float[np.ndarray, "p cells"]:
        """1 for the cells of each period, else 0."""
        places = np.tile(self.places, self.strata)
        return (np.arange(self.periods)[:, None] == places).astype(float)

    def blocks(self, matrix: Float[Array, "effects effects"]) -> Float[Array, "p d d"]:
        """The part of a matrix of all effects that belongs to each period."""
        each = np.arange(self.periods)
        whole = matrix.reshape(self.periods, self.columns, self.periods, self.columns)
        return whole[each, :, each, :]


def layout_of(
    names: tuple[str, ...],
    edges: tuple[float, ...],
    periods: tuple[float, ...],
    levels: tuple[str, ...],
) -> Layout:
    """The layout of columns in periods, and of pieces in strata.

    Args:
        names: names of the columns.
        edges: start of the first piece, then the ends of all.
        periods: inner ends of periods, ascending, each the end of a piece.
        levels: names of the strata.

    Raises:
        ConfigError: periods that do not end with a piece.
    """
    inner, given = edges[1:-1], f"periods=[{', '.join(f'{each:g}' for each in periods)}]"
    found: list[int] = []
    for end in periods:
        place = place_of(end, inner)
        if place is None:
            shown = ", ".join(f"{each:g}" for each in inner) or "none, with one piece"
            raise ConfigError(
                f"{given}: {end:g} is not an inner end of a piece; these are: {shown}"
            )
        found.append(place + 1)
    if any(low >= high for low, high in pairwise(found)):
        raise ConfigError(f"{given} must be ascending")
    whole = [0, *found, len(edges) - 1]
    bounds = tuple(edges[place] for place in whole)
    places = [p for p, (low, high) in enumerate(pairwise(whole)) for _ in range(low, high)]
    shown = [f" ({low:g}, {high:g}]" for low, high in pairwise(bounds)] if periods else [""]
    return Layout(
        len(names),
        tuple(f"{name}{period}" for period in shown for name in names),
        bounds,
        tuple(places),
        levels,
    )


def check_strata(strata: Column | None) -> None:
    """Refuse what is no column of at least two levels."""
    if strata is not None and len(strata.levels) < 2:
        raise ConfigError(
            f"strata={strata.name!r} has fewer than two levels; strata are the levels of a "
            "column; cut a number into intervals before, by edges in a study or with pandas.cut"
        )
