"""What `tacit plan gossip` and `masks` print."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.cli.accounting import FORMAT, as_toml
from tacit.cli.choosing import check_agents, one_of
from tacit.cli.console import emit, guarded, say, table
from tacit.network import TOPOLOGIES, Graph, adjacency_matrix, weight_matrix
from tacit.privacy.digits import rounded_up, short
from tacit.privacy.plan_shared import GossipPlan, MasksPlan, plan_gossip, plan_masks
from tacit.study._output.files import jsonable


def show_gossip(
    graph: str,
    agents: int,
    steps: int,
    noise_multiplier: float,
    delta: float,
    observers: Sequence[int],
    *,
    fresh_noise: bool,
    large_delta: bool,
    json: bool,
) -> int:
    """See `tacit plan gossip`."""

    def command() -> int:
        plan = plan_gossip(
            weight_matrix(_graph(graph, agents)),
            steps=steps,
            noise_multiplier=noise_multiplier,
            delta=delta,
            observers=observers,
            fresh_noise=fresh_noise,
            large_delta=large_delta,
        )
        if json:
            emit(
                jsonable(
                    {
                        "format": FORMAT,
                        "question": "gossip",
                        "graph": graph,
                        "agents": agents,
                        "gossip_rounds": steps,
                        "noise_multiplier": noise_multiplier,
                        "noise": plan.noise.value,
                        "observers": sorted(set(observers)),
                        "epsilon_to_everybody": plan.everybody,
                        "guarantee": plan.guarantee.to_dict(),
                    }
                )
            )
            return 0
        added = "at every step" if fresh_noise else "once"
        _tell_gossip(plan, f"{steps:,} averaging steps on a {graph} of {agents} agents", added)
        return 0

    return guarded(command, as_json=json)


def _tell_gossip(plan: GossipPlan, what: str, added: str) -> None:
    watching = " and ".join(plan.guarantee[0].observers)
    say(f"{what}, with noise added {added}, seen by {watching}:")
    table(
        ["Owner", f"Epsilon against {watching}", "Epsilon against everybody", "Delta", "Status"],
        [
            [
                each.owner,
                rounded_up(each.epsilon),
                rounded_up(plan.everybody),
                rounded_up(each.delta),
                each.status.value,
            ]
            for each in plan.guarantee
        ],
    )
    say(
        '"Against everybody" is proved: against an adversary who reads every message. The other '
        "column is a model claim:"
    )
    say(plan.guarantee.worst.sentence())
    if plan.exposed:
        say(
            "Distance hides nobody here: if noise is added only once, later messages let the "
            "observer solve for everybody's noisy value. Compare with --fresh-noise."
        )


def show_masks(
    graph: str,
    agents: int,
    epsilon: float,
    rounds: int,
    delta: float,
    coalition: int,
    absent: int,
    attempts: int | None,
    *,
    large_delta: bool,
    json: bool,
) -> int:
    """See `tacit plan masks`."""

    def command() -> int:
        plan = plan_masks(
            adjacency_matrix(_graph(graph, agents)),
            epsilon=epsilon,
            rounds=rounds,
            delta=delta,
            coalition=coalition,
            absent=absent,
            attempts=attempts,
            large_delta=large_delta,
        )
        sums = rounds if attempts is None else attempts
        if json:
            ways = {
                "noise alone": plan.local,
                "masks": plan.masked,
                "one noise for all": plan.central,
            }
            emit(
                {
                    "format": FORMAT,
                    "question": "masks",
                    "masks": graph,
                    "agents": agents,
                    "coalition": coalition,
                    "absent": absent,
                    "epsilon": epsilon,
                    "warning": plan.warning,
                    "delta": delta,
                    "rounds": rounds,
                    "attempts": sums,
                    "hidden_among": plan.hidden_among,
                    "ways": [{"way": name, **way._asdict()} for name, way in ways.items()],
                }
            )
            return 0
        if plan.warning:
            say(plan.warning)
        against = {0: "outsiders", 1: "any one of them"}.get(
            coalition, f"any {coalition} of them that pool what they know"
        )
        missing = f", with up to {absent} others absent" if absent else ""
        say(
            f"{rounds:,} sums of {agents} values, with pairwise masks on a {graph} graph, against "
            f"{against}{missing}; epsilon {epsilon:g} at delta {short(delta)} for each owner:"
        )
        _tell_masks(plan)
        least = {"min_cohort": agents - absent} if absent else {}
        tried = {"attempts": sums} if sums > rounds else {}
        pairs = "" if graph == "complete" else ", with masks between all pairs of agents"
        say(
            f"In a study: {as_toml(coalition=coalition, **least, **tried)} in [privacy]{pairs}, "
            'with a coordinator (or exact_sum = "tree" between peers) and a method that supports '
            "masks according to `tacit methods`."
        )
        return 0

    return guarded(command, as_json=json)


def _tell_masks(plan: MasksPlan) -> None:
    ways = {
        "local noise": plan.local,
        "secure aggregation": plan.masked,
        "central noise": plan.central,
    }
    table(
        ["", "Noise multiplier per agent", "Variance of the sum"],
        [
            [name, rounded_up(way.noise_multiplier), f"{way.relative_variance:.4g}"]
            for name, way in ways.items()
        ],
    )
    say(
        "The noise multiplier is the scale of one agent's noise divided by the sensitivity of its "
        "value. The variance is that of the sum of all noises, relative to central noise: one "
        "noise, added by a party that everybody trusts."
    )
    if plan.bare:
        say(
            "Masks save nothing here: such a coalition can cut an agent off from all honest ones, "
            "which leaves it with local noise. Share masks between all pairs (--graph complete), "
            "or assume a smaller coalition."
        )
    else:
        say(
            "This holds if no larger coalition pools what it knows, each mask is used once and "
            "comes from a key that only two agents know, and what is asked of the records depends "
            "on public values only."
        )


def _graph(name: str, agents: int) -> Graph:
    check_agents(agents)
    offered = [kind for kind, one in TOPOLOGIES.items() if set(one.required) == {"agents"}]
    return TOPOLOGIES[one_of("--graph", name, offered)].build(agents)
