"""`tacit account --graph`: what one agent, or a coalition, learns from gossip averaging."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from tacit.cli.accounting import DELTA, FORMAT, Question, option
from tacit.cli.console import emit, say, table
from tacit.errors import ConfigError
from tacit.privacy import caution
from tacit.privacy.accounting import epsilon as epsilon_of
from tacit.privacy.digits import rounded_up
from tacit.privacy.event import GaussianRelease
from tacit.privacy.views import GossipNoise, gossip_guarantees


def gossip(question: Question, *, json: bool) -> None:
    """One line an agent: what the observers learn of it."""
    from tacit.network import TOPOLOGIES

    question.refuse(
        (
            *("epsilon", "rounds", "noise", "sampling", "relation", "clip", "records"),
            *("coalition", "absent", "attempts"),
        ),
        "does not go with --graph: averaging takes --agents, --gossip-rounds, --noise-multiplier "
        "and --delta, with Gaussian noise",
    )
    for name in ("graph", "agents", "gossip_rounds", "noise_multiplier"):
        if getattr(question, name) is None:
            raise ConfigError(
                f"{option(name)} is missing: averaging needs --graph, --agents, "
                "--gossip-rounds and --noise-multiplier"
            )
    offered = [name for name, one in TOPOLOGIES.items() if set(one.required) == {"agents"}]
    if question.graph not in offered:
        raise ConfigError(f"--graph={question.graph!r} must be one of {', '.join(offered)}")
    assert question.agents is not None and question.gossip_rounds is not None
    assert question.noise_multiplier is not None
    graph = TOPOLOGIES[question.graph].build(question.agents)
    noise = GossipNoise.EVERY_STEP if question.fresh_noise else GossipNoise.ONCE
    delta = DELTA if question.delta is None else question.delta
    if not question.large_delta:
        agents = question.agents
        caution.check_delta(delta, agents, "agents", "or add --large-delta if that is meant")
    promised = gossip_guarantees(
        weight_matrix(graph),
        question.gossip_rounds,
        question.noise_multiplier,
        delta,
        list(question.observer or (0,)),
        noise=noise,
    )
    everybody = epsilon_of([GaussianRelease(question.noise_multiplier)], delta)
    if json:
        from tacit.study._output.files import jsonable

        emit(
            jsonable(
                {
                    "format": FORMAT,
                    "question": "gossip",
                    "graph": question.graph,
                    "agents": question.agents,
                    "gossip_rounds": question.gossip_rounds,
                    "noise_multiplier": question.noise_multiplier,
                    "noise": noise.value,
                    "observers": sorted(set(question.observer or (0,))),
                    "epsilon_to_everybody": everybody,
                    "guarantee": promised.to_dict(),
                }
            )
        )
        return
    watching = " and ".join(promised[0].observers)
    added = "afresh at every step" if question.fresh_noise else "added once"
    say(
        f"{question.gossip_rounds:,} averaging steps on a {question.graph} of {question.agents} "
        f"agents, noise {added}, seen by {watching}:"
    )
    table(
        ["Owner", f"Epsilon to {watching}", "Epsilon to everybody", "Delta", "Status"],
        [
            [g.owner, rounded_up(g.epsilon), rounded_up(everybody), rounded_up(delta), "model"]
            for g in promised
        ],
    )
    say(
        '"To everybody" is proved whatever the others do: against whoever reads every message. '
        "The other column is a model claim:"
    )
    say(promised.worst.sentence())
    if noise is GossipNoise.ONCE and promised.equal and promised.worst.epsilon == everybody:
        say(
            "Nobody is hidden by distance here: with noise added once, what is sent later lets the "
            "observer solve for everybody's noisy value. Compare --fresh-noise."
        )


def weight_matrix(graph: Any) -> Float[np.ndarray, "agents agents"]:
    """Row `i` the weights that agent `i` gives, itself included."""
    weights = np.diag(np.asarray(graph.self_weight, dtype=float))
    weights[np.asarray(graph.receivers), np.asarray(graph.senders)] = np.asarray(graph.weight)
    return weights
