"""Feasibility of a study: a rehearsal on synthetic records, and one plain sentence."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from tacit.advise.candidates import Candidate, candidates
from tacit.advise.document import document
from tacit.advise.measure import CLIPS, Bench, Choice, near
from tacit.advise.measured import Measured
from tacit.advise.noise import epsilon_for, two_up
from tacit.advise.plans import Plan, changes
from tacit.advise.setting import GAIN, Setting
from tacit.arguments import checked
from tacit.arguments.answers import naming_progress
from tacit.errors import ConfigError, NetworkError, ProblemError
from tacit.privacy.digits import short

HOPELESS, HOPEFUL = 0.25, 0.75
"""Fractions of the pooled fit's gain: below the first little is kept, from the second on most."""

_NAMED = ("relation", "noise", "sampling", "clip_norm", "sites_per_person", "records_per_person")

_LESS = (4.0, 16.0, 64.0)
"""Factors by which the noise is reduced, to find out what would be enough."""

Told = Callable[[str, int, int], None]
"""Called with the current task, simulations done, and number of simulations."""


class Verdict(StrEnum):
    """Whether a study is worth running."""

    HOPELESS = "hopeless"
    OPEN = "open"
    """The trials are too far apart for a promise."""
    WEAK = "weak"
    HOPEFUL = "hopeful"


@dataclass(frozen=True)
class Need:
    """What would be enough to keep three quarters of the pooled fit's gain.

    Attributes:
        what: "records" (per site, for the smallest one) or "epsilon".
        value: required number of records or epsilon; `None` if no sensible value would do.
        kept: median share kept in a rehearsal with that noise; `None` if there was none.
    """

    what: str
    value: int | float | None
    kept: float | None


@dataclass(frozen=True, eq=False)
class Change:
    """A different arrangement, measured.

    Attributes:
        plan: what is changed.
        measured: result of the change.
    """

    plan: Plan
    measured: Measured

    @property
    def toml(self) -> str:
        """The sections of a study file that make the change."""
        return "\n".join([*self.plan.sections, _toml(self.plan.setting, self.measured)])


@dataclass(frozen=True, eq=False)
class Advice:
    """The expected result of a study, and recommended settings.

    Attributes:
        setting: declared dimensions of the study.
        measured: results, one per method, the best first.
        changes: arrangements that keep more than the study's own, the best first.
        needs: what would be enough, if the study's own setting is not.
        left_out: reason for every private method that was not measured.
        notes: differences between the synthetic problem and the study.
        half: median share that the best setting keeps if the pooled fit gains half as much.
        seconds: duration of the rehearsal, in seconds.
    """

    setting: Setting
    measured: tuple[Measured, ...]
    changes: tuple[Change, ...]
    needs: tuple[Need, ...]
    left_out: dict[str, str]
    notes: tuple[str, ...]
    half: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """All contents, as JSON (`"format": "tacit-advise-3"`)."""
        return document(self)

    @property
    def best(self) -> Measured:
        """The method that keeps most, for the study as it stands."""
        return self.measured[0]

    @property
    def verdict(self) -> Verdict:
        """The verdict from the shares that the best method keeps, for the study as it stands."""
        return verdict(self.best)

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        setting, best = self.setting, self.best
        few, many = int(setting.counts.min()), int(setting.counts.max())
        records = f"{few:,}" if few == many else f"{few:,} to {many:,}"
        given = f"with {records} records a site and epsilon {setting.epsilon:g}"
        if math.isnan(best.kept):
            return (
                f"Hopeless: {given} even a fit without privacy is no better than the base rate; "
                "there are too few records for so many parameters."
            )
        (low, high), (lower, upper) = best.spread, best.middle
        share = f"median; {percent(low)} to {percent(high)} over the trials"
        if self.verdict is Verdict.OPEN:
            share = (
                f"median; half of the trials lie between {percent(lower)} and {percent(upper)}, "
                "too far apart for a promise"
            )
        of = "of what a fit without privacy gains over the base rate"
        if best.kept < 0.0:
            said = f"the best method, {best.method}, is worse than the base rate"
            share = f"it keeps {percent(best.kept)} {of}, {share}"
        else:
            said = f"the best method, {best.method}, keeps {percent(best.kept)} {of}"
        wanted = [_wanted(need) for need in self.needs if need.value is not None]
        more = f"; you would need about {' or '.join(wanted)}" if wanted else ""
        if self.needs and not wanted:
            more = "; not even 64 times less noise would make it hopeful, so no number of records "
            more += "or epsilon that makes sense would"
        return f"{self.verdict.capitalize()}: {given} {said} ({share}){more}."

    @property
    def toml(self) -> str:
        """The sections of a study file with the advice, for the study as it stands."""
        return _toml(self.setting, self.best)


def verdict(measured: Measured) -> Verdict:
    """The verdict from the kept shares of the pooled fit's gain."""
    if not measured.kept >= HOPELESS:
        return Verdict.HOPELESS
    if not measured.agreed:
        return Verdict.OPEN
    return Verdict.HOPEFUL if measured.kept >= HOPEFUL else Verdict.WEAK


def percent(share: float) -> str:
    """A share in words; absurd values are not spelt out.

    Example:
        >>> percent(0.934), percent(-35.0)
        ('93%', 'less than -900%')
    """
    return f"{share:.0%}" if share >= -9.0 else "less than -900%"


@checked(ConfigError)
def advise(setting: Setting, *, progress: Told | None = None) -> Advice:
    """Rehearse a study on synthetic records of its shape, and recommend settings.

    No private data are read, because none are given. Every proved method that fits the network
    runs, with the noise that the budget requires, over a grid of rounds, steps and clips on
    synthetic records; its best setting is then run on fresh records, and this result is reported.
    The same is done for arrangements that the owners might agree on instead.

    Args:
        setting: declared dimensions of the study.
        progress: function called with the current task.

    Raises:
        ConfigError: no private method fits.
        PrivacyError: a budget that no noise can meet.
        ProblemError: a regulariser that leaves nothing to learn.
    """
    began = time.monotonic()
    if progress is not None:
        progress = naming_progress(progress, "task, steps done, steps", ConfigError)
    found, left_out = candidates(setting)
    bench = Bench(setting)
    measured: list[tuple[Measured, Choice]] = []
    # the cheapest first: the others are tuned around the settings that suited it
    for candidate in sorted(found, key=lambda each: each.evaluations(setting.parameters)):
        reason = _refused(bench, candidate)
        if reason:
            left_out[candidate.name] = reason
            continue
        told = _titled(progress, candidate.name)
        if measured:
            choices = bench.choices(candidate, measured[0][1].factor)
            around = near(choices, measured[0][1])
            # same number of rounds: noise that varies over them compiles again for every number
            same = [each for each in around if each.rounds == measured[0][1].rounds]
            choice = bench.tune(same or around, told)
        else:
            choice = bench.tune(bench.choices(candidate, CLIPS[0]), told, clips=True)
        measured.append((bench.confirm(choice), choice))
    if not measured:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ConfigError(
            f"no private method that is proved can be measured in this setting ({reasons}); "
            "change the graph, the oracle or the loss"
        )
    measured.sort(key=lambda pair: math.inf if math.isnan(pair[0].kept) else -pair[0].kept)
    best, choice = measured[0]
    enough = verdict(best) is Verdict.HOPEFUL or math.isnan(best.kept)
    return Advice(
        setting=setting,
        measured=tuple(each for each, _ in measured),
        changes=_changed(setting, best, progress),
        needs=() if enough else _needs(bench, choice, progress),
        left_out=left_out,
        notes=bench.shape.notes,
        half=_half(setting, choice),
        seconds=time.monotonic() - began,
    )


def _refused(bench: Bench, candidate: Candidate) -> str:
    """The reason why a method cannot be rehearsed; empty if it can."""
    try:
        bench.check(candidate)
    except (ProblemError, NetworkError) as error:
        return str(error)
    if not bench.choices(candidate, CLIPS[0]):
        return "a short run of it takes too long to simulate here"
    return ""


def _changed(setting: Setting, best: Measured, progress: Told | None) -> tuple[Change, ...]:
    """Other arrangements that keep more, tuned and measured like the study's own."""
    found: list[Change] = []
    for plan in changes(setting, best.method):
        fitting = [each for each in candidates(plan.setting)[0] if each.name == plan.method]
        bench = Bench(plan.setting)
        if not fitting or _refused(bench, fitting[0]):
            continue
        told = _titled(progress, plan.words)
        choice = bench.tune(bench.choices(fitting[0], CLIPS[0]), told, clips=True)
        made = bench.confirm(choice)
        if made.kept > best.kept:
            found.append(Change(plan, made))
    return tuple(sorted(found, key=lambda each: -each.measured.kept))


def _half(setting: Setting, choice: Choice) -> float:
    """The share that the best setting keeps if there is half as much to gain."""
    gain = GAIN if setting.gain is None else setting.gain
    return Bench(replace(setting, gain=gain / 2.0)).confirm(choice).kept


def _needs(bench: Bench, choice: Choice, progress: Told | None) -> tuple[Need, ...]:
    """How much less noise would be enough, and the number of records or epsilon that gives it."""
    told = _titled(progress, "what would be enough")

    def kept(less: float) -> tuple[float, Choice]:
        choices = near(bench.choices(choice.candidate, choice.factor), tuned)
        best = bench.tune(choices, told, less=less)
        return bench.confirm(best, less).kept, best

    tuned, low = choice, 1.0
    for less in _LESS:
        share, tuned = kept(less)
        if share >= HOPEFUL:
            break
        low = less
    else:
        return Need("records", None, None), Need("epsilon", None, None)
    # once more, in between
    middle = math.sqrt(low * less)
    finer, other = kept(middle)
    if finer >= HOPEFUL:
        less, share, tuned = middle, finer, other
    records = int(two_up(float(bench.setting.counts.min()) * less))
    epsilon = epsilon_for(bench.setting, tuned.rounds, bench.budgeted(tuned), less)
    return (
        Need("records", records, share),
        Need("epsilon", epsilon, None if epsilon is None else share),
    )


def _toml(setting: Setting, best: Measured) -> str:
    budget = setting.budget
    lines = ["[method]", f'name = "{best.method}"']
    lines += [f"{name} = {value:.12g}" for name, value in best.arguments.items()]
    lines += ["", "[privacy]", f"epsilon = {setting.epsilon:.12g}"]
    lines += [f"delta = {short(budget.delta, 12)}", f"clip = {best.clip:.12g}"]
    usual = type(budget)(clip=1.0, epsilon=1.0)
    for name in _NAMED:
        value = getattr(budget, name)
        if value != getattr(usual, name):
            value = "inf" if value == math.inf else value
            lines.append(
                f"{name} = {value}" if not isinstance(value, str) else f'{name} = "{value}"'
            )
    lines += budget.hides.study_lines()
    lines += ["", "[run]", f"rounds = {best.rounds}"]
    return "\n".join(lines)


def _wanted(need: Need) -> str:
    assert need.value is not None
    if need.what == "records":
        return f"{need.value:,.0f} records a site"
    return f"epsilon {need.value:g}"


def _titled(progress: Told | None, title: str) -> Callable[[int, int], None]:
    return lambda done, total: None if progress is None else progress(title, done, total)
