"""`tacit advise` of a regression: how wide its intervals will be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.advise.forecast import Forecast, check_family, forecast
from tacit.advise.made_rows import unguessed
from tacit.advise.setting import PREVALENCE
from tacit.advise.widths_regression import regression_width
from tacit.cli.console import emit, say, table
from tacit.cli.dimensions import Options, check_options, numbers_of
from tacit.cli.several import enough, narrower, together
from tacit.errors import ConfigError
from tacit.privacy.budget import Privacy
from tacit.privacy.caution import DELTA
from tacit.privacy.digits import short
from tacit.privacy.masked import Masks
from tacit.study.dimensions import regression_of
from tacit.study.read import Source

_TIMES = (0.5, 1, 2, 4)
"""Numbers of records that are tried, over that of the study."""


@dataclass(frozen=True)
class _Asked:
    """A regression at one epsilon.

    Attributes:
        family: name of the family.
        parameters: number of coefficients.
        counts: number of records of each site.
        budget: budget of the fit.
        assumed: numbers that are taken for uniform; `None` where columns have no names.
        of: the forecast for numbers of records.
    """

    family: str
    parameters: int
    counts: list[int]
    budget: Privacy
    assumed: list[str] | None
    of: Callable[[list[int]], Forecast]

    @property
    def epsilon(self) -> float:
        """Epsilon of the fit."""
        assert self.budget.epsilon is not None
        return float(self.budget.epsilon)

    def times(self, factor: float) -> Forecast:
        """The forecast for so many times the records."""
        return self.of([max(1, round(factor * count)) for count in self.counts])


def show_forecast(source: Source | None, each: Sequence[Options], *, json: bool) -> int:
    """Forecast the width of a regression's intervals; see `tacit advise --help`.

    Args:
        source: study, or `None` where options say all.
        each: the options with each epsilon.
        json: whether one JSON document is printed.
    """
    options = each[0]
    for name in ("graph", "loss", "classes", "row_norm", "gain", "oracle"):
        if getattr(options, name) is not None:
            raise ConfigError(f"--{name.replace('_', '-')} is not for regressions; leave it out")
    yes = PREVALENCE if options.prevalence is None else options.prevalence
    asked = [_plain(one, yes) if source is None else _declared(source, one, yes) for one in each]
    now = [one.times(1.0) for one in asked]
    likely = [a.epsilon for a, b in zip(asked, now, strict=True) if b.intervals == "likely"]
    if json:
        emit(together([_document(one) for one in asked], likely))
        return 0
    first, sites = asked[0], len(asked[0].counts)
    budgets = " or ".join(f"{one.epsilon:g}" for one in asked)
    share = f", {yes:.0%} yes" if first.family == "binomial" else ""
    say("Computed from public numbers by the formula of the planner: no record was read.")
    say(
        f"A {first.family} regression with {first.parameters} coefficients{share}; {sites} sites, "
        f"{sum(first.counts):,} records; epsilon {budgets} and delta {short(first.budget.delta)} "
        f"for the whole fit{first.budget.hides.told(sites)}."
    )
    if len(asked) == 1:
        found = [first.times(factor) for factor in _TIMES]
        table(
            ("Records", "Width", "Intervals"),
            [(f"{one.records:,}", f"{one.width:.2f}", one.intervals) for one in found],
        )
        say(f"Likely from {now[0].enough:,} records of all sites on.")
    else:
        table(
            ("Epsilon", "Width", "Intervals", "Likely from"),
            [
                (f"{one.epsilon:g}", f"{told.width:.2f}", told.intervals, f"{told.enough:,}")
                for one, told in zip(asked, now, strict=True)
            ],
        )
        say(f"Likely from: number of records of all sites. {enough(likely, 'intervals are')}")
    say(
        "Width: that of the intervals over those of the pooled fit without privacy"
        + (
            ", for columns that are independent and uniform between their bounds."
            if first.assumed is None
            else ": of the widest, for independent columns and levels that are equally frequent."
        )
        + " It is too low where noise dominates. docs/planner.md has the formula and how near it "
        "comes."
    )
    if told := narrower(first.assumed):
        say(told)
    say(
        "Intervals: whether they will be printed or withheld, which the noise decides. A level "
        "that few records have needs more, too. Try it: trials = 20 in [run] of a study of "
        "made-up records counts in how many draws of the noise they are printed."
    )
    return 0


def _declared(source: Source, options: Options, yes: float) -> _Asked:
    """The regression of a study."""
    check_options(source, options)
    method, counts = regression_of(source, options.asked)
    guesses, budget = options.guesses, method.privacy
    assert budget is not None
    if options.parameters is not None:
        raise ConfigError(f"--parameters is set by {source.name}; leave the option out")
    return _Asked(
        method.family.name,
        method.width,
        counts,
        budget,
        unguessed(method.design, guesses),
        lambda tried: regression_width(method, tried, budget, yes, guesses),
    )


def _plain(options: Options, yes: float) -> _Asked:
    """The regression that options describe."""
    family = str(options.family)
    check_family(family)
    if options.spread is not None:
        raise ConfigError("--spread names columns, and only a study has some; leave it out")
    given, parameters, agents, epsilon = numbers_of(options)
    counts = [given] * agents if isinstance(given, int) else given
    if len(counts) != agents or min(counts) < 1:
        raise ConfigError(
            f"--records {options.records} must be one positive number, or one for each of the "
            f"{agents} sites"
        )
    delta = DELTA if options.delta is None else options.delta
    masks = Masks() if agents > 2 else Masks(coalition=0)
    budget = Privacy(clip=1.0, epsilon=epsilon, delta=delta, masks=masks)
    return _Asked(
        family,
        parameters,
        counts,
        budget,
        None,
        lambda tried: forecast(family, parameters, tried, budget, 4, yes),
    )


def _document(asked: _Asked) -> dict[str, Any]:
    """One epsilon as JSON."""
    return {
        "format": "tacit-forecast-1",
        "family": asked.family,
        "parameters": asked.parameters,
        "agents": len(asked.counts),
        "epsilon": asked.epsilon,
        "delta": float(asked.budget.delta),
        "assumed_uniform": asked.assumed,
        "forecasts": [
            {**vars(each), "intervals": each.intervals, "enough": each.enough}
            for each in map(asked.times, _TIMES)
        ],
    }
