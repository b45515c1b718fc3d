"""`tacit advise` of a study of whole costs: how much of the answer will be noise."""

from __future__ import annotations

from dataclasses import asdict, fields

from tacit.cli.console import emit, say, table
from tacit.cli.dimensions import Options
from tacit.errors import ConfigError
from tacit.privacy.digits import rounded_up, short
from tacit.privacy.wording import STATUS
from tacit.study.cost_noise import CHANCE, CostNoise, cost_noise
from tacit.study.evaluations import Evaluations, evaluations
from tacit.study.read import Source
from tacit.study.run import assemble


def show_cost_noise(source: Source, options: Options, *, json: bool) -> int:
    """Forecast the noise in a study of whole costs; see `tacit advise --help`."""
    for each in fields(options):
        if getattr(options, each.name) is not None:
            name = each.name.replace("_", "-")
            raise ConfigError(
                f"--{name} is for made-up records, and sites of {source.name} have "
                "whole costs; leave it out"
            )
    assembled = assemble(source)
    found, asked = cost_noise(assembled), evaluations(assembled)
    if json:
        counted = {} if asked is None else {"evaluations": asdict(asked)}
        emit({**asdict(found), "enough": found.enough, **counted})
    else:
        _tell(found, asked, source)
    return 0


def _tell(found: CostNoise, asked: Evaluations | None, source: Source) -> None:
    chance = found.noise[0] >= CHANCE
    say("From the study alone: no cost was evaluated.")
    say(
        "What sites answer is clipped, so that no answer is longer than the clip. In each "
        f"coordinate of the mean of all answers there is noise of {found.noise[0]:.2g} times the "
        "clip. "
        + (
            "Hopeless: the noise outweighs all answers, and what is found will be chance."
            if chance
            else "Whether that is little enough depends on the costs."
        )
    )
    if asked is not None:
        say(asked.sentence())
    table(
        [f"Epsilon ({STATUS[found.status.value]})", "Noise over clip"],
        [
            [rounded_up(epsilon), f"{noise:.2g}"]
            for epsilon, noise in zip(found.epsilon, found.noise, strict=True)
        ],
    )
    say(
        f"At delta {short(found.delta)}, whatever the number of rounds. More sites, or masks "
        "through a coordinator, make it less as well; protecting single records, where sites have "
        "some, far less."
    )
    budgets = ",".join(f"{each:g}" for each in found.epsilon[:3])
    say(
        "What this noise does to an answer depends on the costs, so nothing more is forecast. "
        "Put made-up costs of the same kind in [problem.simulator] and compare objectives: "
        f"tacit sweep {source.name} -n 5 -e {budgets}. Without [privacy], `tacit run` says how "
        "good an answer its rounds find."
    )
