"""What masks cost between sites: a star's rounds with them and without, on this machine.

    python benchmarks/masked_sites.py [--floats 7840] [--agents 10] [--rounds 200]

Agents and coordinator are real processes with mutual TLS, signatures and the journal; noise is
simulated, so that no sampler and no accountant is in it. A round's time over the number of agents
is that of an agent-round, because the processes share the cores. Medians over rounds.
"""

from __future__ import annotations

import argparse
import statistics
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import numpy as np

from tacit import GradientDescent, Privacy, network, problem
from tacit._engine.agent_step import AgentStep, mixing_of
from tacit._engine.compiled import lay_out
from tacit._engine.contract import contract
from tacit._engine.keys import agent_secret
from tacit.deploy.identity import certificates, keys
from tacit.deploy.member.run_spec import Progress, RunSpec
from tacit.deploy.member.schedule import Schedule, forms
from tacit.deploy.member.session import Session
from tacit.deploy.member.sum_session import Sums, SumSession
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.outgoing import Outgoing
from tacit.deploy.messages.transport import Transport
from tacit.deploy.operate.rehearse import free_ports
from tacit.privacy.masked import Masks
from tacit.privacy.masking import new_key, pair_key

RUN = bytes(range(32))

Pairs = list[tuple[bytes, bytes]]


def member(
    number: int, folder: Path, floats: int, pairs: Pairs, masked: bool, rounds: int, answers: Any
) -> None:
    """One process of a run."""
    agents = len(pairs)
    rng = np.random.default_rng(0)
    task = problem.empirical_risk(
        [rng.normal(size=(4, floats)) for _ in range(agents)],
        [rng.choice([0.0, 1.0], 4) for _ in range(agents)],
        problem.Logistic(),
    )
    masks = Masks() if masked else None
    method = GradientDescent(
        step=0.1, privacy=Privacy(clip=1.0, noise_multiplier=10.0, masks=masks)
    )
    own = keys.load(folder / str(number))
    others = range(agents) if number == agents else [agents]
    cards = {other: keys.load(folder / str(other)).card for other in others}
    state = folder / f"state-{number}-{masked}"
    state.mkdir()
    with jax.enable_x64(True):
        agreed = contract(task, network.Coordinator(agents), method, rounds=rounds)
        plan, roots = lay_out(agreed, task)
        desk = AgentStep(plan, number, agent_secret(roots[0], number))
        objective = None
        if number < agents:
            objective = jax.tree.map(lambda leaf: leaf[number], plan.objectives)
        schedule = Schedule(plan, rounds)
        outgoing = Outgoing(state / "journal.db", RUN.hex(), None, {}, number, schedule.position)
        progress = Progress(rounds=rounds, seconds=[])
        build: Any = Session
        if masked:
            shared = {
                other: pair_key(pairs[number][0], pairs[other][1], RUN, number, other)
                for other in range(agents)
                if number not in (agents, other)
            }
            own_sums = Sums.of(agreed, None if number == agents else number, shared)
            build = partial(SumSession, own_sums)
        party = build(
            RunSpec(
                RUN,
                schedule,
                forms(plan),
                partial(mixing_of, desk.plan),
                patience=120.0,
                early=masked,
            ),
            desk,
            objective,
            None,
            own,
            cards,
            outgoing,
            progress,
            lambda *told: print("refused", *told),
        )
        transport = Transport(
            Endpoint(
                own,
                RUN.hex(),
                number,
                cards,
                state,
                listen=number == agents,
                serve=party.serve,
                accept=party.accept,
            )
        )
        party.run(transport)
        party.farewell()
        transport.close()
    answers.put(statistics.median((progress.seconds or [0.0])[5:]))


def measure(folder: Path, floats: int, agents: int, masked: bool, rounds: int) -> float:
    """Seconds of a round."""
    context = get_context("spawn")
    answers, pairs = context.Queue(), [new_key() for _ in range(agents)]
    running = [
        context.Process(target=member, args=(i, folder, floats, pairs, masked, rounds, answers))
        for i in range(agents + 1)
    ]
    for process in running:
        process.start()
    found = [answers.get(timeout=900) for _ in running]
    for process in running:
        process.join()
    return statistics.median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--floats", type=int, default=7840)
    parser.add_argument("--agents", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--times", type=int, default=2)
    options = parser.parse_args()
    for _ in range(options.times):
        with TemporaryDirectory() as name:
            folder = Path(name)
            certificates.create_authority(folder / "authority", "benchmark")
            for number, port in enumerate(free_ports(options.agents + 1)):
                address = f"127.0.0.1:{port}" if number == options.agents else ""
                keys.create(folder / str(number), f"m{number}", address, folder / "authority")
            found = [
                measure(folder, options.floats, options.agents, masked, options.rounds)
                for masked in (False, True)
            ]
        more = (found[1] - found[0]) / options.agents
        print(
            f"{options.floats} floats, {options.agents} agents: a round {1e3 * found[0]:.1f} ms, "
            f"with masks {1e3 * found[1]:.1f}; {1e3 * more:.2f} ms more an agent-round",
            flush=True,
        )


if __name__ == "__main__":
    main()
