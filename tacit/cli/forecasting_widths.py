"""`tacit advise` of a table 1, survival or a Cox regression: how wide their intervals will be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.advise.made_rows import unguessed
from tacit.advise.setting import PREVALENCE
from tacit.advise.widths import Width
from tacit.advise.widths_cox import cox_widths
from tacit.advise.widths_survival import survival_widths
from tacit.advise.widths_table import table_widths
from tacit.cli.console import emit, say, table
from tacit.cli.dimensions import Options, check_options
from tacit.cli.several import enough, narrower, together
from tacit.errors import ConfigError
from tacit.method.cox import PrivateCox
from tacit.method.survival import PrivateSurvival
from tacit.method.table_one import PrivateTableOne
from tacit.privacy.budget import Privacy
from tacit.privacy.digits import short
from tacit.study.dimensions import statistic_of
from tacit.study.read import Source

_FOREIGN = ("graph", "loss", "classes", "row_norm", "gain", "oracle", "parameters", "family")
"""Options that say nothing about statistics."""


def show_widths(source: Source, each: Sequence[Options], *, json: bool) -> int:
    """Forecast the widths of a study's intervals; see `tacit advise --help`.

    Args:
        source: study of a table 1, survival or a Cox regression.
        each: the options with each epsilon.
        json: whether one JSON document is printed.
    """
    name, options = str(dict(source.study.method)["name"]), each[0]
    foreign = (*_FOREIGN, *(["spread"] if name != "cox" else []))
    for word in foreign:
        if getattr(options, word) is not None:
            raise ConfigError(f"--{word.replace('_', '-')} is not for {name}; leave it out")
    check_options(source, options)
    yes = PREVALENCE if options.prevalence is None else options.prevalence
    found = [_forecast(source, one, yes) for one in each]
    likely = [one.epsilon for one in found if all(w.printed == "likely" for w in one.widths)]
    if json:
        emit(together([_document(name, one, yes) for one in found], likely))
        return 0
    first = found[0]
    budgets = " or ".join(f"{one.epsilon:g}" for one in found)
    say("Computed from public numbers: no record was read.")
    say(
        f"{name} of {sum(first.counts):,} records at {len(first.counts)} sites; epsilon {budgets} "
        f"and delta {short(first.budget.delta)} for all of it"
        f"{first.budget.hides.told(len(first.counts))}."
    )
    say(f"Assumed: {first.assumed}")
    over = any(not math.isnan(one.over) for one in first.widths)
    if len(found) == 1:
        heads = ("Number", "±", *(["Width"] if over else []), "Printed", "Likely from")
        table(heads, [_row(one, over=over) for one in first.widths])
    else:
        table(("Number", *(f"Epsilon {one.epsilon:g}" for one in found)), _beside(found))
    say(
        "±: half of the 95 % interval"
        + (
            f", for sampling and noise{_OVER if len(found) == 1 else '.'}"
            if over
            else " for the noise alone, as the table has it; of a share in percentage points."
        )
    )
    say(f"{_PRINTED[name]} Likely from: the number of records of all sites from which on it is.")
    if len(found) > 1:
        say(enough(likely, "all are"))
    if told := narrower(first.unguessed):
        say(told)
    return 0


@dataclass(frozen=True)
class _Found:
    """What is forecast at one epsilon.

    Attributes:
        counts: number of records of each site.
        budget: budget of the method.
        widths: the widths.
        assumed: what was assumed.
        unguessed: numbers that are taken for uniform and whose spread decides.
    """

    counts: list[int]
    budget: Privacy
    widths: list[Width]
    assumed: str
    unguessed: list[str]

    @property
    def epsilon(self) -> float:
        """Epsilon of the method."""
        assert self.budget.epsilon is not None
        return float(self.budget.epsilon)


def _forecast(source: Source, options: Options, yes: float) -> _Found:
    method, counts = statistic_of(source, options.asked)
    budget, narrow = method.privacy, list[str]()
    assert budget is not None and budget.epsilon is not None
    if isinstance(method, PrivateTableOne):
        found, assumed = table_widths(method, counts, budget, yes), _TABLE.format(yes=yes)
    elif isinstance(method, PrivateSurvival):
        found, assumed = survival_widths(method, counts, budget, yes), _SURVIVAL.format(yes=yes)
    else:
        assert isinstance(method, PrivateCox)
        guesses = options.guesses
        found, assumed = cox_widths(method, counts, budget, yes, guesses), _COX.format(yes=yes)
        narrow = unguessed(method.design, guesses)
    return _Found(counts, budget, found, assumed, narrow)


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
    "before, columns are independent, numbers without a guess uniform between their bounds, levels "
    "equally frequent, effects small. Where some are censored before, give the share of records "
    "whose event is seen (--events), which decides."
)

_PRINTED = {
    "table1": "Printed: whether without the mark that it is mostly noise.",
    "survival": "Printed: whether the curve gets there, before noise hides the records at risk.",
    "cox": "Printed: whether there are intervals at all, which the noise decides for all columns.",
}


_OVER = ". Width: that of the interval over the one without noise."


def _beside(found: Sequence[_Found]) -> list[list[str]]:
    """Rows of a table with one column for each epsilon, the last one of what would do."""
    rows = [
        [each.name, *(f"± {_half(one.widths[i])}, {one.widths[i].printed}" for one in found)]
        for i, each in enumerate(found[0].widths)
    ]
    needed = [[width.enough for width in one.widths] for one in found]
    most = [None if None in each else max(n for n in each if n is not None) for each in needed]
    return [*rows, ["all likely from", *("-" if n is None else f"{n:,} records" for n in most)]]


def _half(each: Width) -> str:
    return "-" if math.isnan(each.half) else f"{each.half:.2g}"


def _document(name: str, found: _Found, yes: float) -> dict[str, object]:
    """One epsilon as JSON."""
    return {
        "format": "tacit-widths-1",
        "method": name,
        "records": sum(found.counts),
        "agents": len(found.counts),
        "epsilon": found.epsilon,
        "delta": float(found.budget.delta),
        "prevalence": yes,
        "assumed_uniform": found.unguessed,
        "widths": [_plain(each) for each in found.widths],
    }


def _row(each: Width, *, over: bool) -> list[str]:
    width = "-" if math.isnan(each.over) else f"{each.over:.2f}"
    needed = "-" if each.enough is None else f"{each.enough:,}"
    return [each.name, _half(each), *([width] if over else []), each.printed, needed]


def _plain(each: Width) -> dict[str, object]:
    told = dict(vars(each))
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value
        for key, value in told.items()
    }
