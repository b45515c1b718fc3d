"""Is there any hope: the closed form, the measurement, and one plain sentence."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from tacit.advise.candidates import candidates
from tacit.advise.closed_form import (
    MOST_EPSILON,
    Estimate,
    epsilon_for,
    estimates,
    records_for,
    with_epsilon,
)
from tacit.advise.masks import MaskGain, mask_gain
from tacit.advise.measure import Bench, Choice, near
from tacit.advise.measured import Measured
from tacit.advise.setting import Setting, two_digits
from tacit.errors import ConfigError, NetworkError, ProblemError

HOPELESS, GOOD = 0.6, 0.1
"""Share of the error of answering zero above which nothing is learnt, below which a lot is."""

_ROOM = 0.03
_NAMED = ("relation", "noise", "sampling", "clip_norm", "sites_per_person", "records_per_person")
_CORRECTIONS = 2

Told = Callable[[str, int, int], None]
"""Called with what is being done, simulations done, and simulations."""


class Verdict(StrEnum):
    """Whether a study is worth running."""

    HOPELESS = "hopeless"
    WEAK = "weak"
    HOPEFUL = "hopeful"


@dataclass(frozen=True)
class Need:
    """What would be enough to leave a tenth of the error of answering zero.

    Attributes:
        what: "records" (a site) or "epsilon".
        value: how many, how much; `None` where nothing up to a sensible limit would do.
        error: what a simulation with it left, as `Measured.remaining`; `None` if there was none.
    """

    what: str
    value: int | float | None
    error: float | None


@dataclass(frozen=True, eq=False)
class Advice:
    """What to expect of a study, and how to set it.

    Attributes:
        setting: what was asked about.
        estimate: the closed form at its best.
        measured: one a method, the best first.
        needs: what would be enough, where this is not.
        left_out: reason for every private method that was not measured.
        notes: in what the synthetic problem differs from what was asked about.
        seconds: that it took.
        masks: what masks would bring, where there are none and there could be.
    """

    setting: Setting
    estimate: Estimate
    measured: tuple[Measured, ...]
    needs: tuple[Need, ...]
    left_out: dict[str, str]
    notes: tuple[str, ...]
    seconds: float
    masks: MaskGain | None = None

    @property
    def best(self) -> Measured:
        """The method with the smallest mean error."""
        return self.measured[0]

    @property
    def verdict(self) -> Verdict:
        """From what the best method leaves of what answering zero has."""
        remaining = self.best.remaining
        if remaining >= HOPELESS:
            return Verdict.HOPELESS
        return Verdict.WEAK if remaining > GOOD else Verdict.HOPEFUL

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        setting, best = self.setting, self.best
        given = f"with {setting.records:,} records a site and epsilon {setting.epsilon:g}"
        low, high = best.spread
        share = f"{best.error:.2g} of its error, {low:.2g} to {high:.2g} over the trials"
        if best.remaining < best.error and best.error > GOOD:
            share += f"; {best.remaining:.2g} of its loss above the optimum's"
        if self.verdict is Verdict.HOPELESS:
            said = f"{given} every method does about as badly as answering zero ({share})"
        elif self.verdict is Verdict.WEAK:
            said = f"{given} the best method, {best.method}, keeps much of the error of answering "
            said += f"zero ({share})"
        else:
            said = f"{given}, {best.method} comes well below the error of answering zero ({share})"
        wanted = [_wanted(need) for need in self.needs if need.value is not None]
        more = f"; you would need about {' or '.join(wanted)}" if wanted else ""
        if self.needs and not wanted:
            more = "; no number of records or epsilon that makes sense would change that"
        return f"{self.verdict.capitalize()}: {said}{more}."

    @property
    def toml(self) -> str:
        """The sections of a study file that say what is advised."""
        budget, best = self.setting.budget, self.best
        lines = ["[method]", f'name = "{best.method}"']
        lines += [f"{name} = {value:.12g}" for name, value in best.arguments.items()]
        lines += ["", "[privacy]", f"epsilon = {self.setting.epsilon:.12g}"]
        lines += [f"delta = {float(budget.delta):.12g}", f"clip = {best.clip:.12g}"]
        usual = type(budget)(clip=1.0, epsilon=1.0)
        for name in _NAMED:
            value = getattr(budget, name)
            if value != getattr(usual, name):
                value = "inf" if value == math.inf else value
                lines.append(
                    f"{name} = {value}" if not isinstance(value, str) else f'{name} = "{value}"'
                )
        if budget.masks is not None:
            least = budget.masks.min_cohort
            kept = "" if least is None else f", min_cohort = {least}"
            lines.append(f"masks = {{ coalition = {budget.masks.coalition}{kept} }}")
        lines += ["", "[run]", f"rounds = {best.rounds}"]
        return "\n".join(lines)


def advise(setting: Setting, *, progress: Told | None = None) -> Advice:
    """Measure what the private methods make of synthetic records of these dimensions.

    No private data are looked at: there are none to be given. Every method that is proved and fits
    the network runs over a small grid of rounds, steps and clips on one set of synthetic records;
    its best setting is then run on fresh ones, and that is what is reported.

    Args:
        setting: the declared dimensions.
        progress: told what is being done.

    Raises:
        ConfigError: no private method fits.
        PrivacyError: a budget that no noise can meet.
        ProblemError: a problem without an optimum to measure against.
    """
    began = time.monotonic()
    found, left_out = candidates(setting)
    bench = Bench(setting, found)
    table = estimates(setting, bench.slopes)
    measured: list[tuple[Measured, Choice]] = []
    clips = _worth_trying(table)
    # the cheapest first: the others are tuned around what suited it
    for candidate in sorted(found, key=lambda each: each.evaluations(setting.parameters)):
        try:
            bench.check(candidate)
        except (ProblemError, NetworkError) as error:
            left_out[candidate.name] = str(error)
            continue
        clip = measured[0][1].clip if measured else clips[0]
        choices = bench.choices(candidate, clip)
        if not choices:
            left_out[candidate.name] = "a short run of it takes too long to simulate here"
            continue
        told = _titled(progress, candidate.name)
        if measured:
            around = near(choices, measured[0][1])
            # as many rounds: noise that varies over them compiles anew for every number
            same = [each for each in around if each.rounds == measured[0][1].rounds]
            choice = bench.tune(same or around, setting, told)
        else:
            choice = bench.tune(choices, setting, told, clips[1:])
        measured.append((bench.confirm(choice, setting), choice))
    if not measured:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ConfigError(
            f"no private method that is proved can be measured in this setting ({reasons}); "
            "change the graph, the oracle or the loss"
        )
    measured.sort(key=lambda pair: pair[0].error)
    best, choice = measured[0]
    needs = () if best.remaining <= GOOD else _needs(bench, choice, progress)
    return Advice(
        setting=setting,
        estimate=min(table, key=lambda each: each.error),
        measured=tuple(each for each, _ in measured),
        needs=needs,
        left_out=left_out,
        notes=bench.shape.notes,
        masks=mask_gain(bench, measured),
        seconds=time.monotonic() - began,
    )


def _worth_trying(table: list[Estimate]) -> list[float]:
    """The clip to begin with, then others that the noise leaves room for.

    A small clip costs no more noise in the closed form, but biases the answer, which only a
    simulation shows: the largest that is near the best comes first.
    """
    lowest: dict[float, float] = {}
    for each in table:
        lowest[each.clip] = min(each.error, lowest.get(each.clip, math.inf))
    best = min(lowest.values())
    first = max(clip for clip, error in lowest.items() if error <= 1.25 * best)
    room = max(2.0 * best, _ROOM)
    return [first, *sorted(c for c, error in lowest.items() if error <= room and c != first)]


def _needs(bench: Bench, choice: Choice, progress: Told | None) -> tuple[Need, ...]:
    """Search the closed form, simulate what it says, and correct it by what came out."""
    setting = bench.setting
    records, epsilon = records_for(setting, GOOD), epsilon_for(setting, GOOD)
    found = [Need("records", None, None), Need("epsilon", None, None)]
    for _ in range(1 + _CORRECTIONS):
        if records is None:
            break
        error = _tried(bench, choice, replace(setting, records=records), progress)
        found[0] = Need("records", records, error)
        if 0.5 * GOOD <= error <= 1.1 * GOOD:
            break
        records = max(1, int(two_digits(records * _further(error))))
    for _ in range(1 + _CORRECTIONS):
        if epsilon is None:
            break
        error = _tried(bench, choice, with_epsilon(setting, epsilon), progress)
        found[1] = Need("epsilon", epsilon, error)
        if 0.5 * GOOD <= error <= 1.1 * GOOD:
            break
        further = two_digits(epsilon * _further(error))
        epsilon = further if further <= MOST_EPSILON else None
    # what was tried last and left too much is no answer
    return tuple(
        need if need.error is not None and need.error <= 2.0 * GOOD else Need(need.what, None, None)
        for need in found
    )


def _further(error: float) -> float:
    """How much more is needed, or how much less is enough: the error falls with its square."""
    return float(np.clip(1.1 * np.sqrt(error / GOOD), 0.25, 4.0))


def _tried(bench: Bench, choice: Choice, setting: Setting, progress: Told | None) -> float:
    """What the method leaves in another setting, tuned anew and measured on fresh records."""
    # with a tenth of the error left, neither very short runs nor very small steps are best
    found = bench.choices(choice.candidate, choice.clip)
    own = (choice.rounds, choice.path)  # a small clip is biased in long runs: its own length stays
    choices = [
        each
        for each in found
        if (each.rounds >= 30 and each.path >= 10.0) or (each.rounds, each.path) == own
    ]
    best = bench.tune(choices or found, setting, _titled(progress, "what would be enough"))
    return bench.confirm(best, setting).remaining


def _wanted(need: Need) -> str:
    assert need.value is not None
    if need.what == "records":
        return f"{need.value:,.0f} records a site"
    return f"epsilon {need.value:g}"


def _titled(progress: Told | None, title: str) -> Callable[[int, int], None]:
    return lambda done, total: None if progress is None else progress(title, done, total)
