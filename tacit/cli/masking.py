"""What masks that cancel in a sum save, against a coalition: by numbers, and for a study."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Bool

from tacit._engine.planning import MeanNoise
from tacit.cli.accounting import DELTA, FORMAT, Question, option
from tacit.cli.console import emit, say, table
from tacit.errors import ConfigError
from tacit.privacy import caution
from tacit.privacy.digits import rounded_up
from tacit.privacy.masks import masked_multiplier, worst_masked_mu


def masks(question: Question, *, json: bool) -> None:
    """Noise alone, masks, and one noise for all, at the same budget."""
    from tacit.network import TOPOLOGIES

    question.refuse(
        (
            *("noise_multiplier", "noise", "sampling", "clip", "records", "relation"),
            *("graph", "gossip_rounds", "observer", "fresh_noise"),
        ),
        "does not go with --masks: a sum takes --agents, --coalition, --absent, --epsilon, "
        "--delta, --rounds and --attempts, with Gaussian noise",
    )
    for name in ("agents", "epsilon", "rounds"):
        if getattr(question, name) is None:
            raise ConfigError(f"{option(name)} is missing: masks need --agents, -e and -r")
    offered = [name for name, one in TOPOLOGIES.items() if set(one.required) == {"agents"}]
    if question.masks not in offered:
        raise ConfigError(f"--masks={question.masks!r} must be one of {', '.join(offered)}")
    agents, rounds, epsilon = question.agents, question.rounds, question.epsilon
    assert agents is not None and rounds is not None and epsilon is not None
    attempts = rounds if question.attempts is None else question.attempts
    if attempts < rounds:
        raise ConfigError(f"--attempts={attempts} is below --rounds={rounds}: one a round is least")
    coalition = 1 if question.coalition is None else question.coalition
    absent, delta = question.absent or 0, DELTA if question.delta is None else question.delta
    if not question.large_delta:
        caution.check_delta(delta, agents, "agents", "or add --large-delta if that is meant")
    graph = pairs(TOPOLOGIES[question.masks].build(agents))
    learned = worst_masked_mu(graph, coalition, absent=absent)
    rows = [
        (name, masked_multiplier(epsilon, delta, count, told), agents * told**2 * count / rounds)
        for name, told, count in (
            ("noise alone", 1.0, rounds),
            ("masks", learned, attempts),
            ("one noise for all", 1.0 / math.sqrt(agents), rounds),
        )
    ]
    if json:
        emit(
            {
                "format": FORMAT,
                "question": "masks",
                "masks": question.masks,
                "agents": agents,
                "coalition": coalition,
                "absent": absent,
                "epsilon": epsilon,
                "warning": caution.warning(epsilon),
                "delta": delta,
                "rounds": rounds,
                "attempts": attempts,
                "hidden_among": round(1.0 / learned**2),
                "ways": [
                    {"way": name, "noise_multiplier": each, "relative_variance": cost}
                    for name, each, cost in rows
                ],
            }
        )
        return
    if warned := caution.warning(epsilon):
        say(warned)
    several = f"any {coalition} of them that pool what they know"
    bad = {0: "outsiders", 1: "any one of them"}.get(coalition, several)
    there = f", with up to {absent} others absent" if absent else ""
    say(
        f"{rounds:,} sums of {agents} values, masks on a {question.masks} graph, against {bad}"
        f"{there}; epsilon {epsilon:g} at delta {delta:g} for each owner:"
    )
    table(
        ["", "Noise multiplier of an agent", "Variance of the sum"],
        [[name, rounded_up(each), f"{cost:.4g}"] for name, each, cost in rows],
    )
    say(
        "The multiplier is the noise of one agent over what one record moves its value by. The "
        "variance is that of the sum of the noises, over that of one noise which a party that all "
        "trust would add."
    )
    if learned > 1.0 - 1e-9:
        say(
            "Masks bring nothing here: such a coalition can cut an agent off from all honest ones, "
            "and it has noise alone. Share masks among all pairs (--masks complete), or count on "
            "fewer."
        )
    else:
        say(
            "Masks hold only if at most so many pool what they know, each mask is used once, comes "
            "from a key that two agents alone know and looks random to all others, and what is "
            "asked of the records depends on public values only."
        )
    least = {"min_cohort": agents - absent} if absent else {}
    tried = {"attempts": attempts} if attempts > rounds else {}
    graphs = "" if question.masks == "complete" else ", among all pairs of agents"
    say(
        f"In a study: {as_toml(coalition=coalition, **least, **tried)} in [privacy]{graphs}, with "
        'a coordinator (or exact_sum = "tree" between peers) and a method that has masks in the '
        "comparison of `tacit methods`."
    )


def as_toml(**numbers: int) -> str:
    """The key of [privacy] that asks for masks.

    Example:
        >>> as_toml(coalition=1, min_cohort=9)
        'masks = { coalition = 1, min_cohort = 9 }'
    """
    return f"masks = {{ {', '.join(f'{name} = {value}' for name, value in numbers.items())} }}"


def show_mean_noise(found: MeanNoise) -> None:
    """The noise of a study, and what it would be otherwise."""
    coalition = 1 if found.coalition is None else found.coalition
    several = {0: "outsiders", 1: "1 agent"}.get(coalition, f"{coalition} agents")
    declared, alone = (
        (" (this study)", "") if found.coalition is not None else ("", " (this study)")
    )
    rows = (
        (f"noise of each alone{alone}", found.local),
        (f"masks, against {several}{declared}", found.masked[coalition]),
        ("one noise for all", found.central),
    )
    say(
        f"Noise in the mean of the {found.agents} agents' answers in a round, in each way to keep "
        "this budget:"
    )
    table(
        ["", "Standard deviation", "Variance, relative"],
        [[name, f"{each:.4g}", f"{(each / found.central) ** 2:.4g}"] for name, each in rows],
    )
    if warning := warned(found):
        say(warning)
    elif found.coalition is None and found.saves(coalition):
        say(
            f"{as_toml(coalition=coalition)} in [privacy] would make the noise "
            f"{found.gain(coalition):.3g} times smaller, if no two agents pool what they know."
        )


def warned(found: MeanNoise) -> str:
    """Why the masks that a study declares bring nothing; empty where they do, or are not used."""
    if found.coalition is None:
        return ""
    if found.bare:
        larger = ", or raise min_cohort" if found.cohort < found.agents else ""
        return (
            f"WARNING: coalition = {found.coalition} in sums of at least {found.cohort} agents "
            "equals local noise: one honest agent is hidden by its own noise alone. Count on fewer "
            f"corrupted agents{larger}."
        )
    if not found.saves(found.coalition):
        return (
            "WARNING: noise of each alone would be no larger than under these masks, which make "
            f"all agents add as much as the one that needs most, in {found.attempts:,} sums. Count "
            "on fewer corrupted agents, or leave masks out."
        )
    return ""


def pairs(graph: Any) -> Bool[np.ndarray, "agents agents"]:
    """Which pairs are neighbours on a graph."""
    found = np.zeros((graph.agents, graph.agents), dtype=bool)
    found[np.asarray(graph.receivers), np.asarray(graph.senders)] = True
    return found | found.T
