"""Rows of a design for made-up records, on which the information of a regression is forecast.

Columns are independent. A number is uniform about the middle of its bounds, with a guessed standard
deviation or filling the bounds; levels are equally frequent, or two of them by a guessed share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import jax
import numpy as np
from jaxtyping import Float
from scipy.stats import qmc

from tacit import checks
from tacit.data.cells import Column
from tacit.data.design import Design
from tacit.errors import ConfigError
from tacit.ranges import numeric

NARROW = 0.5
"""Standard deviation over that of a uniform column with which what is likely is said of a number
whose spread nobody has guessed."""

_POINTS = 13
"""Logarithm to base 2 of the number of rows."""


def made_rows(
    design: Design, spread: Mapping[str, float], narrow: float = 1.0
) -> Float[np.ndarray, "n width"]:
    """Rows of the design with the intercept last.

    Args:
        design: columns of the regression.
        spread: by name of a column, the standard deviation of a number in the units of the data,
            or the share of the second of two levels.
        narrow: standard deviation of other numbers over that of a uniform one, in (0, 1].

    Raises:
        ConfigError: a spread of another column, or one that the column cannot have.
    """
    columns = varied(design)
    check_spread(columns, spread)
    points = qmc.Sobol(len(columns), scramble=False).random_base2(_POINTS)
    entries = 1 + max(max((*each.places, each.missing or 0)) for each in design.columns)
    made = np.zeros((len(points), entries))
    for column, uniform in zip(columns, points.T, strict=True):
        if column.levels:
            _place_levels(made, column, uniform, spread.get(column.name))
            continue
        assert column.scale is not None
        low, high = column.scale.lower, column.scale.upper
        widest = _uniform(column)
        reach = spread.get(column.name, narrow * widest) / widest
        value = (low + high) / 2.0 + reach * (high - low) * (uniform - 0.5)
        made[:, column.places[0]] = (value - column.scale.centre) / column.scale.unit
    with jax.enable_x64(True):
        return np.asarray(jax.vmap(design.values)(made))


def varied(design: Design) -> list[Column]:
    """Columns of the terms, each once, as they are declared."""
    found = [factor.column for term in design.terms for factor in term.factors]
    return list(dict.fromkeys(found))


def unguessed(design: Design, spread: Mapping[str, float]) -> list[str]:
    """Numbers whose spread is not guessed."""
    return [each.name for each in varied(design) if not each.levels and each.name not in spread]


def check_spread(columns: Sequence[Column], spread: Mapping[str, float]) -> None:
    """Refuse a spread that no column of these can have."""
    known = {each.name: each for each in columns}
    for name, value in spread.items():
        if name not in known:
            raise ConfigError(
                f"spread of {name!r}: the model has no such column; it has {', '.join(known)}"
            )
        levels = known[name].levels
        if not numeric(value) or not value > 0.0:
            raise ConfigError(f"spread of {name!r} is {checks.shown(value)} and must be positive")
        if not levels and not value <= _uniform(known[name]) * (1.0 + 1e-6):
            raise ConfigError(
                f"spread of {name!r} is {value:g}, and a number that fills its bounds evenly has a "
                f"standard deviation of {_uniform(known[name]):.4g}: give less, or leave it out"
            )
        if len(levels) > 2:
            raise ConfigError(
                f"spread of {name!r}: it has {len(levels)} levels, which are taken for equally "
                "frequent; leave it out"
            )
        if levels and not value < 1.0:
            raise ConfigError(
                f"spread of {name!r} is {value:g}: of two levels give the share of "
                f"{levels[-1]!r}, between 0 and 1"
            )


def _uniform(column: Column) -> float:
    """Standard deviation of a number that fills its bounds evenly."""
    assert column.scale is not None
    return (column.scale.upper - column.scale.lower) / math.sqrt(12.0)


def _place_levels(
    made: Float[np.ndarray, "n m"],
    column: Column,
    uniform: Float[np.ndarray, " n"],
    share: float | None,
) -> None:
    """Enter the levels of a column, in place."""
    count = len(column.levels)
    level = np.floor(count * uniform).astype(int) if share is None else 1 * (uniform < share)
    if len(column.places) == count:
        made[np.arange(len(made)), np.array(column.places)[level]] = 1.0
        return
    # yes or no is stored as a number, beside an entry for a missing value
    assert column.scale is not None
    ends = np.array([column.scale.of(column.scale.lower), column.scale.of(column.scale.upper)])
    made[:, column.places[0]] = ends[np.minimum(level, 1)]
    if column.missing is not None:
        made[:, column.missing] = level > 1
