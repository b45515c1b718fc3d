"""`tacit advise` of a table 1, survival or a Cox regression: how wide their intervals will be."""

from __future__ import annotations

import math

from tacit.advise.cox_widths import cox_widths
from tacit.advise.setting import PREVALENCE
from tacit.advise.survival_widths import survival_widths
from tacit.advise.table_widths import table_widths
from tacit.advise.widths import Width
from tacit.cli.console import emit, say, table
from tacit.cli.dimensions import Options, check_options
from tacit.errors import ConfigError
from tacit.method.cox import PrivateCox
from tacit.method.survival import PrivateSurvival
from tacit.method.table_one import PrivateTableOne
from tacit.privacy.digits import short
from tacit.study.dimensions import statistic_of
from tacit.study.read import Source

_FOREIGN = ("graph", "loss", "classes", "row_norm", "gain", "oracle", "parameters", "family")
"""Options that say nothing about statistics."""


def show_widths(source: Source, options: Options, *, json: bool) -> int:
    """Forecast the widths of a study's intervals; see `tacit advise --help`."""
    name = str(dict(source.study.method)["name"])
    for each in _FOREIGN:
        if getattr(options, each) is not None:
            raise ConfigError(f"--{each.replace('_', '-')} is not for {name}; leave it out")
    check_options(source, options)
    yes = PREVALENCE if options.prevalence is None else options.prevalence
    if not 0.0 < yes < 1.0:
        raise ConfigError(f"--prevalence {yes:g} must be between 0 and 1")
    method, counts = statistic_of(source, options.asked)
    budget = method.privacy
    assert budget is not None and budget.epsilon is not None
    if isinstance(method, PrivateTableOne):
        found, assumed = table_widths(method, counts, budget, yes), _TABLE.format(yes=yes)
    elif isinstance(method, PrivateSurvival):
        found, assumed = survival_widths(method, counts, budget, yes), _SURVIVAL.format(yes=yes)
    else:
        assert isinstance(method, PrivateCox)
        found, assumed = cox_widths(method, counts, budget, yes), _COX.format(yes=yes)
    if json:
        emit(
            {
                "format": "tacit-widths-1",
                "method": name,
                "records": sum(counts),
                "agents": len(counts),
                "epsilon": float(budget.epsilon),
                "delta": float(budget.delta),
                "prevalence": yes,
                "widths": [_plain(each) for each in found],
            }
        )
        return 0
    say("Computed from public numbers: no record was read.")
    say(
        f"{name} of {sum(counts):,} records at {len(counts)} sites; epsilon {budget.epsilon:g} "
        f"and delta {short(budget.delta)} for all of it{budget.hides.told(len(counts))}."
    )
    say(f"Assumed: {assumed}")
    over = any(not math.isnan(each.over) for each in found)
    heads = ("Number", "±", *(["Width"] if over else []), "Printed", "Likely from")
    table(heads, [_row(each, over=over) for each in found])
    say(
        "±: half of the 95 % interval"
        + (
            ", for sampling and noise. Width: that of the interval over the one without noise."
            if over
            else " for the noise alone, as the table has it; of a share in percentage points."
        )
    )
    say(f"{_PRINTED[name]} Likely from: the number of records of all sites from which on it is.")
    return 0


_TABLE = (
    "groups and levels are equally frequent, of yes and no {yes:.0%} are yes, numbers are uniform "
    "between their bounds, and no value is missing."
)
_SURVIVAL = (
    "groups are equally large, {yes:.0%} of the records have an event until the end of the "
    "follow-up, at a constant hazard, and nobody is censored before. Where some are, give the "
    "share of records whose event is seen (--events)."
)
_COX = (
    "{yes:.0%} of the records have an event until the end of the follow-up, nobody is censored "
    "before, columns are independent, numbers uniform between their bounds, levels equally "
    "frequent, effects small. Where some are censored before, give the share of records whose "
    "event is seen (--events), which decides."
)

_PRINTED = {
    "table1": "Printed: whether without the mark that it is mostly noise.",
    "survival": "Printed: whether the curve gets there, before noise hides the records at risk.",
    "cox": "Printed: whether there are intervals at all, which the noise decides for all columns.",
}


def _row(each: Width, *, over: bool) -> list[str]:
    half = "-" if math.isnan(each.half) else f"{each.half:.2g}"
    width = "-" if math.isnan(each.over) else f"{each.over:.2f}"
    enough = "-" if each.enough is None else f"{each.enough:,}"
    return [each.name, half, *([width] if over else []), each.printed, enough]


def _plain(each: Width) -> dict[str, object]:
    told = dict(vars(each))
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value
        for key, value in told.items()
    }
