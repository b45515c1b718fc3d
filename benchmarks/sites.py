"""What a round between sites costs beyond its arithmetic, beside bare messages and a bare fsync.

    python benchmarks/sites.py [--floats 10 100000] [--rounds 200] [--members 3] [--delay 50]
                               [--star] [--secure]

Members of a ring (two: a pair) or the agents of a star and its coordinator are real processes on
this machine, with mutual TLS, an access list, signatures and the journal. Noise is simulated, so
that no sampler and no accountant is in it; with `--secure` it is drawn on a grid, and each release
is charged to a ledger. A
round's overhead is its time less that of the compiled halves, measured alone in the same process.
Bare: the same bytes pushed to all neighbours and awaited from all over the same connections,
unsigned and unchecked, and a file of as many bytes written and synced. Medians over rounds, of the
slowest. With `--delay`, everything between members takes so many milliseconds longer, one way; the
ideal round is then one delay.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import threading
import time
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit import DPSG, GradientDescent, Privacy, network, problem
from tacit._engine.agent_step import AgentStep, At, mixing_of
from tacit._engine.compiled import lay_out
from tacit._engine.contract import Contract, contract
from tacit._engine.keys import agent_secret
from tacit.deploy.identity import certificates, keys
from tacit.deploy.member.run_spec import Progress, RunSpec
from tacit.deploy.member.schedule import Schedule, forms
from tacit.deploy.member.sending import Noised, Releaser
from tacit.deploy.member.session import Session
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.outgoing import Account, Outgoing
from tacit.deploy.messages.transport import Transport
from tacit.deploy.operate.rehearse import free_ports
from tacit.privacy.event import Event
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import SecureNoise

RUN = bytes(range(32))


def member(
    number: int,
    members: int,
    folder: Path,
    floats: int,
    rounds: int,
    lines: list[str],
    answers: Any,
    star: bool,
    secure: bool,
) -> None:
    """One process: a run, then bare messages over new connections."""
    agents = members - star
    rng = np.random.default_rng(0)
    task = problem.empirical_risk(
        [rng.normal(size=(4, floats)) for _ in range(agents)],
        [rng.choice([0.0, 1.0], 4) for _ in range(agents)],
        problem.Logistic(),
    )
    method = (GradientDescent if star else DPSG)(
        step=0.1, privacy=Privacy(clip=1.0, noise_multiplier=10.0)
    )
    everybody = [keys.load(folder / str(i)) for i in range(members)]
    own, around = everybody[number], sorted({(number - 1) % members, (number + 1) % members})
    if star:
        around = [agents] if number < agents else list(range(agents))
    cards = {other: replace(everybody[other].card, address=lines[other]) for other in around}
    state = folder / f"state-{number}"
    state.mkdir()
    graph = network.Coordinator(agents)
    if not star:
        graph = network.ring(members) if members > 2 else network.complete(members)
    with jax.enable_x64(True):
        agreed = contract(task, graph, method, rounds=rounds, grid=secure)
        plan, roots = lay_out(agreed, task)
        desk = AgentStep(plan, number, agent_secret(roots[0], number))
        objective = account = releaser = None
        if number < agents:
            objective = jax.tree.map(lambda leaf: leaf[number], plan.objectives)
            if secure:
                account, releaser = paid(agreed, number, state / "ledger")
        schedule = Schedule(plan, rounds)
        phases = {phase.name: index for index, phase in enumerate(plan.method.phases())}
        outgoing = Outgoing(
            state / "journal.db", RUN.hex(), account, phases, number, schedule.position
        )
        progress = Progress(rounds=rounds, seconds=[])
        party = Session(
            RunSpec(RUN, schedule, forms(plan), partial(mixing_of, desk.plan), patience=60.0),
            desk,
            objective,
            releaser,
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
                listen=not star or number == agents,
                serve=party.serve,
                accept=party.accept,
            )
        )
        party.run(transport)
        party.farewell()
        transport.close()
        arithmetic = 0.0 if star else alone(desk, objective, cards, rounds)
    whole = statistics.median((progress.seconds or [0.0])[5:])
    listen = not star or number == agents
    found = bare(number, own, cards, state, floats, rounds, listen)
    answers.put((number, whole, arithmetic, *found))


def paid(agreed: Contract, number: int, path: Path) -> tuple[Account, Releaser]:
    """A ledger whose budget is never spent, and secure noise."""
    ledger, name = Ledger.create(path), f"agent {number}"
    ledger.set_budget(name, "records", epsilon=1e9, delta=1e-6)
    noised: dict[int, Noised] = {}
    events: dict[int, Event] = {}
    for index, phase in enumerate(agreed.phases):
        if phase.release is not None:
            release: Any = agreed.release(index, number)
            noised[index] = lambda answer, _, release=release: release(answer, SecureNoise())
            events[index] = release.event
    neighbours = agreed.guarantee[number].neighbours
    return Account(ledger, name, "records", neighbours), Releaser(noised, events, name)


def alone(desk: AgentStep, objective: Any, cards: Any, rounds: int) -> float:
    """Seconds of the compiled halves of one round."""
    plan, phase = desk.plan, desk.plan.method.phases()[0]
    state = plan.method.init(desk.role, plan.x0, jnp.asarray(desk.degree))
    took = []
    for round in range(min(rounds, 50)):
        began = time.perf_counter()
        mixing = mixing_of(plan, round)
        sent, payload, _ = desk.send(At(round, 0), state, objective)
        state = desk.receive(At(round, 0), phase, sent, dict.fromkeys(cards, payload), mixing)
        jax.block_until_ready(state)
        took.append(time.perf_counter() - began)
    return statistics.median(took[5:])


def bare(
    number: int,
    own: keys.Keys,
    cards: Any,
    state: Path,
    floats: int,
    rounds: int,
    listen: bool,
) -> tuple[float, float]:
    """Seconds of a round of bare messages, and of a file that is synced."""
    came, held = threading.Condition(), set[tuple[int, str]]()

    def accept(sender: int, key: str, data: bytes) -> None:
        with came:
            held.add((sender, key.partition("/")[2]))
            came.notify_all()

    data, transport = (
        os.urandom(8 * floats),
        Transport(
            Endpoint(
                own,
                "cd" * 32,
                number,
                cards,
                state,
                listen=listen,
                serve=lambda key: data,
                accept=accept,
            )
        ),
    )
    messages, syncs = [], []
    for round in range(rounds):
        began, key = time.perf_counter(), f"{round}/0/0"
        transport.publish(f"{number}/{key}", data)
        with came:
            while not came.wait_for(lambda key=key: all((o, key) in held for o in cards), 0.25):
                for other in cards:
                    transport.request(other, [f"{other}/{key}"])
        messages.append(time.perf_counter() - began)
        began = time.perf_counter()
        with (state / "bare").open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        syncs.append(time.perf_counter() - began)
    time.sleep(1.0)
    transport.close()
    return statistics.median(messages[5:]), statistics.median(syncs)


async def _carry(source: asyncio.StreamReader, to: asyncio.StreamWriter, seconds: float) -> None:
    """Write what is read, so many seconds later."""
    loop = asyncio.get_running_loop()

    def late(data: bytes) -> None:
        if not to.is_closing():
            to.write(data) if data else to.close()

    while True:
        data = await source.read(1 << 16)
        loop.call_later(seconds, late, data)
        if not data:
            return


def slow_lines(addresses: list[str], lines: list[str], seconds: float) -> None:
    """One process: whatever comes to a line goes to the address behind it, later."""

    async def line(port: int, behind: int) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                there = await asyncio.open_connection("127.0.0.1", behind)
            except OSError:
                writer.close()
                return
            await asyncio.gather(
                _carry(reader, there[1], seconds), _carry(there[0], writer, seconds)
            )

        server = await asyncio.start_server(accept, "127.0.0.1", port)
        await server.serve_forever()

    async def all_lines() -> None:
        ports = [[int(each.rpartition(":")[2]) for each in some] for some in (lines, addresses)]
        await asyncio.gather(*(line(*pair) for pair in zip(*ports, strict=True)))

    asyncio.run(all_lines())


def measure(floats: int, members: int, rounds: int, delay: float, star: bool, secure: bool) -> None:
    """Run all processes, and print what a round took."""
    context = get_context("spawn")
    with TemporaryDirectory() as name:
        folder, answers = Path(name), context.Queue()
        certificates.create_authority(folder / "authority", "benchmark")
        ports = [f"127.0.0.1:{port}" for port in free_ports(2 * members)]
        addresses, lines = ports[:members], ports[members:] if delay else ports[:members]
        for number, address in enumerate(addresses):
            keys.create(folder / str(number), f"member {number}", address, folder / "authority")
        if delay:
            late = (addresses, lines, 1e-3 * delay)
            context.Process(target=slow_lines, args=late, daemon=True).start()
        running = [
            context.Process(
                target=member,
                args=(i, members, folder, floats, rounds, lines, answers, star, secure),
            )
            for i in range(members)
        ]
        for process in running:
            process.start()
        found = [answers.get(timeout=600) for _ in running]
        for process in running:
            process.join()
    whole, arithmetic, messages, sync = (max(row[i] for row in found) for i in (1, 2, 3, 4))
    over = whole - arithmetic
    print(
        f"{floats:7d} floats: a round {1e3 * whole:.1f} ms, its arithmetic {1e3 * arithmetic:.1f}, "
        f"overhead {1e3 * over:.1f}; bare messages {1e3 * messages:.1f} and fsync "
        f"{1e3 * sync:.1f}; overhead over bare {over / (messages + sync):.2f}"
        + (f"; {1e3 * whole / delay:.2f} delays" if delay else ""),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--floats", type=int, nargs="+", default=[10, 100_000])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--delay", type=float, default=0.0, help="milliseconds, one way")
    parser.add_argument("--star", action="store_true", help="the last member coordinates")
    parser.add_argument("--secure", action="store_true", help="secure noise, and a ledger")
    given = parser.parse_args()
    for floats in given.floats:
        measure(floats, given.members, given.rounds, given.delay, given.star, given.secure)


if __name__ == "__main__":
    main()
