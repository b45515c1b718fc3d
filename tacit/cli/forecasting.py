"""`tacit advise` of a regression: how wide its intervals will be."""

from __future__ import annotations

from tacit.advise.forecast import check_family, forecast
from tacit.advise.setting import PREVALENCE
from tacit.cli.console import emit, say, table
from tacit.cli.dimensions import Options, check_options, numbers_of
from tacit.errors import ConfigError
from tacit.privacy.budget import Privacy
from tacit.privacy.caution import DELTA
from tacit.privacy.digits import short
from tacit.privacy.masked import Masks
from tacit.study.dimensions import regression_of
from tacit.study.read import Source

_TIMES = (0.5, 1, 2, 4)
"""Numbers of records that are tried, over that of the study."""


def show_forecast(source: Source | None, options: Options, *, json: bool) -> int:
    """Forecast the width of a regression's intervals; see `tacit advise --help`."""
    for name in ("graph", "loss", "classes", "row_norm", "gain", "oracle"):
        if getattr(options, name) is not None:
            raise ConfigError(f"--{name.replace('_', '-')} is not for regressions; leave it out")
    yes = PREVALENCE if options.prevalence is None else options.prevalence
    if source is not None:
        check_options(source, options)
        method, counts = regression_of(source, options.asked)
        family, sums, budget = method.family.name, method.sums, method.privacy
        parameters = method.width if options.parameters is None else options.parameters
    else:
        check_family(str(options.family))
        given, parameters, agents, epsilon = numbers_of(options)
        counts = [given] * agents if isinstance(given, int) else given
        if len(counts) != agents or min(counts) < 1:
            raise ConfigError(
                f"--records {options.records} must be one positive number, or one for each of the "
                f"{agents} sites"
            )
        family, sums = str(options.family), 4
        delta = DELTA if options.delta is None else options.delta
        masks = Masks() if agents > 2 else Masks(coalition=0)
        budget = Privacy(clip=1.0, epsilon=epsilon, delta=delta, masks=masks)
    assert budget is not None and budget.epsilon is not None
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    tried = {
        times: forecast(
            family, parameters, [max(1, round(times * n)) for n in counts], budget, sums, yes
        )
        for times in _TIMES
    }
    if json:
        emit(
            {
                "format": "tacit-forecast-1",
                "family": family,
                "parameters": parameters,
                "agents": len(counts),
                "epsilon": epsilon,
                "delta": delta,
                "forecasts": [
                    {**vars(each), "intervals": each.intervals} for each in tried.values()
                ],
            }
        )
        return 0
    hidden = budget.hides.told(len(counts))
    share = f", {yes:.0%} yes" if family == "binomial" else ""
    say("Computed from public numbers by the formula of the planner: no record was read.")
    say(
        f"A {family} regression with {parameters} coefficients{share}; {len(counts)} sites, "
        f"{sum(counts):,} records; epsilon {epsilon:g} and delta "
        f"{short(delta)} for the whole fit{hidden}."
    )
    table(
        ("Records", "Width", "Intervals"),
        [(f"{each.records:,}", f"{each.width:.2f}", each.intervals) for each in tried.values()],
    )
    say(
        "Width: that of the intervals over those of the pooled fit without privacy, for columns "
        "that are independent and uniform between their bounds. It is too low where noise "
        "dominates. docs/planner.md has the formula and how near it comes."
    )
    say(
        "Intervals: whether they will be printed or withheld, which the noise decides. A column "
        "with half the standard deviation of a uniform one needs four times the records, and a "
        "level that few records have needs more, too. Try it: trials = 20 in [run] of a study of "
        "made-up records counts in how many draws of the noise they are printed."
    )
    return 0
