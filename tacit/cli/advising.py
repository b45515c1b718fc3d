"""`tacit advise`: an estimate of whether a study can succeed, before any data are read."""

from __future__ import annotations

import math
from pathlib import Path

from tacit.advise import Advice, Change, Measured, Setting, advise
from tacit.advise.advice import percent, verdict
from tacit.advise.document import MADE_UP
from tacit.advise.setting import PREVALENCE
from tacit.cli.console import emit, guarded, progress, say, table
from tacit.cli.dimensions import Options, from_options, from_study
from tacit.errors import ConfigError
from tacit.privacy.digits import short
from tacit.problem.losses import Poisson
from tacit.study.model import RegressionStudy
from tacit.study.read import Source, read_study


def show_advice(study: Path | None, options: Options, *, json: bool) -> int:
    """Advise on a study file, or on dimensions; see `tacit advise --help`."""
    return guarded(lambda: _show(study, options, json=json), as_json=json)


def _show(study: Path | None, options: Options, *, json: bool) -> int:
    source = None if study is None else read_study(study)
    each = options.each
    if options.family is not None or isinstance(getattr(source, "study", None), RegressionStudy):
        from tacit.cli.forecasting import show_forecast

        return show_forecast(source, each, json=json)
    if source is not None and has_widths(source):
        from tacit.cli.forecasting_widths import show_widths

        return show_widths(source, each, json=json)
    if options.spread is not None:
        raise ConfigError("--spread is for regressions and Cox regressions; leave it out")
    if len(each) > 1:
        raise ConfigError(
            f"--epsilon {options.epsilon}: several are compared for regressions, a table 1, "
            "survival and Cox regressions; give one"
        )
    (options,) = each
    if source is not None and source.costs:
        from tacit.cli.forecasting_costs import show_cost_noise

        return show_cost_noise(source, options, json=json)
    setting = from_options(options) if source is None else from_study(source, options)
    with progress("simulations", quiet=json) as told:
        advice = advise(
            setting,
            progress=None if told is None else lambda _, done, total: told(done, total),
        )
    if json:
        emit(advice.to_dict())
    else:
        _tell(advice)
    return 0


def has_widths(source: Source) -> bool:
    """Whether the study asks for statistics whose widths are forecast."""
    return source.statistics and dict(source.study.method)["name"] in ("table1", "survival", "cox")


def _tell(advice: Advice) -> None:
    setting = advice.setting
    say(MADE_UP)
    say(_asked(setting))
    if setting.assumed:
        say(f"Assumed by default: {'; '.join(setting.assumed)}.")
    for note in advice.notes:
        say(f"Simulated smaller: {note}.")
    say()
    table(
        ["Method", "Rounds", "Clip", "Settings", "Kept", "Middle half", "All trials"],
        [_row(each) for each in advice.measured],
    )
    say(
        "Kept: the share of the pooled fit's gain in mean loss on fresh records. The pooled fit "
        "has no privacy; its gain is over the base rate, the best constant answer. Median of "
        f"{len(advice.best.shares)} trials; 100% is as good as the pooled fit, 0% as the base rate."
    )
    for name, reason in advice.left_out.items():
        say(f"Not measured: {name} ({reason}).")
    say()
    say(advice.sentence)
    for need in advice.needs:
        if need.value is not None and need.kept is not None:
            what = "records per site" if need.what == "records" else "epsilon"
            wanted = (
                f"{need.value:,.0f} {what}" if need.what == "records" else f"{what} {need.value:g}"
            )
            say(
                f"Simulated: with the noise of {wanted}, {percent(need.kept)} is kept.", indent="  "
            )
    if not math.isnan(advice.half) and not isinstance(setting.loss, Poisson):
        say(
            "If the pooled fit gains only half as much over the base rate, "
            f"{_kept(advice.half)} of that gain is kept.",
            indent="  ",
        )
    say()
    say("In the study file:")
    say()
    print(advice.toml)
    for change in advice.changes:
        _other(change)
    say()
    say(
        "For the intervals of a regression, add --family binomial or gaussian, or give a study "
        "with [model]; docs/planner.md has the formula of their widths."
    )


def _other(change: Change) -> None:
    low, high = change.measured.spread
    say()
    say(
        f"With {change.plan.words}, {change.measured.method} keeps {percent(change.measured.kept)} "
        f"({percent(low)} to {percent(high)}): {verdict(change.measured).value}. If the "
        "owners agree to this change:"
    )
    say()
    print(change.toml)


def _asked(setting: Setting) -> str:
    budget, counts = setting.budget, setting.counts
    hidden = budget.hides.told(setting.agents)
    few, many = int(counts.min()), int(counts.max())
    adjacency = budget.relation.value.replace("_", "-")
    each = f"{few:,} records" if few == many else f"{few:,} to {many:,} records"
    return (
        f"{setting.agents:,} sites ({setting.network.kind}), {each} per site, "
        f"{setting.parameters:,} parameters, {type(setting.loss).__name__.lower()} loss"
        f"{_of(setting)}; epsilon {setting.epsilon:g} and delta {short(budget.delta)} for the "
        f"whole run, {adjacency} adjacency, {budget.noise.value} noise{hidden}."
    )


def _of(setting: Setting) -> str:
    """What is known of the answers."""
    if setting.binary:
        share = PREVALENCE if setting.prevalence is None else setting.prevalence
        return f", {share:.0%} yes"
    if setting.classes > 1:
        return f", {setting.classes} classes"
    low, high = setting.target
    return f", targets from {low:g} to {high:g}"


def _row(each: Measured) -> list[str]:
    settings = ", ".join(f"{name} {value:g}" for name, value in each.arguments.items())
    return [
        each.method,
        str(each.rounds),
        f"{each.clip:g}",
        settings,
        _kept(each.kept),
        *(f"{_kept(low)} to {_kept(high)}" for low, high in (each.middle, each.spread)),
    ]


def _kept(share: float) -> str:
    return "nothing to keep" if math.isnan(share) else percent(share)
