"""What forecasts of widths share: the width of one number, the noise in a sum, what noise decides.

Those of a table 1, survival and a Cox regression are in modules of their own. No record is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tacit import checks
from tacit.errors import ConfigError
from tacit.privacy.budget import Privacy
from tacit.privacy.gaussian_dp import mu_from_epsilon

Word = Literal["likely", "uncertain", "unlikely"]

AWAY = 2.0
"""Standard deviations of the noise against and for a number, between which it is uncertain."""

_FACTORS = tuple(2.0 ** (each / 4.0) for each in range(-40, 41))
"""Numbers of records over that of the study at which is asked what would do."""


@dataclass(frozen=True)
class Width:
    """What is to be expected of one number.

    Attributes:
        name: what it is of, such as "mean of age, a group".
        half: half of its 95 % interval; not a number if there is none.
        over: width of the interval over that without noise; not a number if the interval is of the
            noise alone.
        printed: whether it will be printed without a mark that it is mostly noise.
        enough: number of records of all sites from which on that is likely; `None` if beyond a
            thousand times those that there are.
    """

    name: str
    half: float
    over: float
    printed: Word
    enough: int | None


def noise_in_sum(counts: Sequence[int], budget: Privacy, share: float = 1.0) -> float:
    """Standard deviation of the noise in a sum over all sites, in units of its sensitivity.

    Args:
        counts: number of records of each site.
        budget: budget of everything together, with its masks.
        share: share of the budget that the sum takes.

    Raises:
        ConfigError: no records, a budget without an epsilon, or one for records of a person at
            several sites.
    """
    for each in counts:
        checks.whole("counts", each, 1, ConfigError)
    if not counts:
        raise ConfigError("counts is empty and must have the records of each site: [500, 800]")
    if budget.epsilon is None or budget.sites_per_person > 1:
        raise ConfigError(
            "a width is forecast for an epsilon, and where records of a person are at one site"
        )
    sites = len(counts)
    budget.hides.check_agents(sites)
    honest = 1 if budget.masks is None else sites - budget.masks.coalition
    mu = mu_from_epsilon(float(budget.epsilon), float(budget.delta))
    return math.sqrt(sites / honest) * budget.records_per_person / (mu * math.sqrt(share))


def check_share(name: str, value: float) -> None:
    """Refuse a share of records that is none.

    Args:
        name: name of the argument.
        value: the share.

    Raises:
        ConfigError: it is not in (0, 1).
    """
    checks.real(name, value, ConfigError)
    if not 0.0 < value < 1.0:
        raise ConfigError(f"{name}={checks.shown(value)} must be above 0 and below 1")


def word(shown: Callable[[float], bool]) -> Word:
    """What the noise decides.

    Args:
        shown: whether a number is printed, for noise of so many standard deviations in its favour.
    """
    if shown(-AWAY):
        return "likely"
    return "uncertain" if shown(AWAY) else "unlikely"


def enough(records: int, likely: Callable[[float], bool]) -> int | None:
    """Number of records, to two digits, from which on something is likely.

    Args:
        records: number of records of all sites.
        likely: whether it is, with so many times the records.
    """
    factor = next((each for each in _FACTORS if likely(each)), None)
    if factor is None:
        return None
    return two_digits_up(factor * records)


def two_digits_up(value: float) -> int:
    """A number with two digits, rounded up."""
    digits = 10 ** max(0, math.floor(math.log10(max(value, 1.0))) - 1)
    return math.ceil(value / digits) * digits
