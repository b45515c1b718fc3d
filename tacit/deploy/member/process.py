"""`tacit agent` and `tacit coordinator`: a member's process, from its files to the model."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax

from tacit._engine.agent_step import AgentStep, mixing_of
from tacit._engine.keys import agent_secret, trial_key
from tacit._engine.shared_noise import pair_secrets
from tacit.arguments import checked
from tacit.data.schema import Prepared
from tacit.deploy.agreement.binding import Binding, digest_of
from tacit.deploy.agreement.declared import (
    Declared,
    check_secure,
    declared,
    own_secret,
    releases,
)
from tacit.deploy.agreement.manifest import Manifest
from tacit.deploy.files import check_private, make_folder, why, write_text
from tacit.deploy.identity.keys import Keys
from tacit.deploy.identity.pair_keys import check_writable, forget, has_key, pair_keys
from tacit.deploy.member.adding import ADDING, together
from tacit.deploy.member.adding import check_state as check_adding
from tacit.deploy.member.checking import Options, check, check_rehearsal, check_versions
from tacit.deploy.member.neighbours import SumGraph, neighbours, seats, sum_graph
from tacit.deploy.member.paying import account_of, remaining
from tacit.deploy.member.run_spec import Progress, RunSpec, Stopping
from tacit.deploy.member.schedule import forms
from tacit.deploy.member.sending import Releaser
from tacit.deploy.member.session import Session
from tacit.deploy.member.sum_session import Sums, SumSession
from tacit.deploy.messages import evidence
from tacit.deploy.messages.carrier import Carrier, Endpoint
from tacit.deploy.messages.journal import check_state
from tacit.deploy.messages.outgoing import Account, Outgoing
from tacit.deploy.messages.relaying import Relay
from tacit.deploy.messages.transport import Zenoh
from tacit.deploy.operate.finished import MANIFEST
from tacit.deploy.operate.report import write_report
from tacit.deploy.operate.results import Outcome, has_compared, note_compared, write
from tacit.deploy.operate.watch import Watch, serve_metrics, starting
from tacit.errors import ConfigError, RuntimeFailure
from tacit.method.citation import papers_of
from tacit.problem.boxes import tally
from tacit.study.costs import OwnCost
from tacit.study.fitted import fitted, fitted_model

log = logging.getLogger("tacit.site")


@checked(ConfigError)
def run(
    options: Options,
    stopping: Stopping | None = None,
    *,
    only_check: bool = False,
    carrier: Carrier | None = None,
    between: Callable[[], None] = lambda: None,
) -> Outcome:
    """Take part in a run, from its start or from where this member left off.

    Args:
        options: locations of the files.
        stopping: event that is set to stop after the current turn; the same command resumes.
        only_check: whether to check everything and release nothing.
        carrier: what carries the messages; if `None`, connections of tacit's own.
        between: function called between the accounting, the compiling, the turns and the report.

    Raises:
        TacitError: a fault in files, budget, network or neighbours.
    """
    state, kept = options.state.resolve(), options.keys.resolve()
    if state == kept or state in kept.parents or kept in state.parents:
        raise ConfigError(
            f"--state {options.state} and the folder of the keys {options.keys} are one, or one is "
            "in the other; give the state a folder of its own"
        )
    found, by = check(options), carrier or Zenoh()
    manifest, keys, number, _ = found
    graph = sum_graph(manifest)
    if graph is None or only_check:
        return _part(options, found, graph, by, stopping, between, only_check=only_check)
    relay = Relay(by, graph.place(manifest, number))
    here = number == graph.root
    if here:
        check_adding(keys, manifest.run, options.state / ADDING, len(manifest.agents))
    return together(
        relay,
        partial(_part, options, found, graph, relay),
        partial(_add_up, options, graph, relay) if here else None,
        stopping,
        manifest.patience,
        between,
    )


def _add_up(
    options: Options,
    graph: SumGraph,
    relay: Relay,
    stopping: Stopping,
    between: Callable[[], None],
) -> Outcome:
    """Add up for all peers, with the keys of an agent and a state beside its own."""
    there = replace(
        options, state=options.state / ADDING, data=None, ledger=None, metrics=None, adding=True
    )
    return _part(there, check(there), graph, relay, stopping, between)


def _part(
    options: Options,
    found: tuple[Manifest, Keys, int, Prepared | OwnCost | None],
    graph: SumGraph | None,
    by: Carrier,
    stopping: Stopping | None,
    between: Callable[[], None],
    *,
    only_check: bool = False,
) -> Outcome:
    """Take part as an agent, or as who adds up."""
    manifest, keys, number, prepared = found
    tested = options.test_seed is not None
    if tested:
        check_rehearsal(manifest)
    try:
        make_folder(options.state)
    except OSError as error:
        raise ConfigError(
            f"{options.state} cannot be written ({why(error)}), and it has to hold what this "
            "member sends; nothing was sent. Free some space, or make it writable for this user, "
            "and give the same command again"
        ) from error
    check_private(options.state)
    check_state(options.state, manifest.run.hex())
    evidence.check(options.state)
    restore = options.restore and prepared is None  # an agent would answer twice
    with (
        Binding(
            keys,
            manifest.run,
            options.state,
            restore=restore,
            part=ADDING if options.adding else "",
        ) as binding,
        jax.enable_x64(True),
    ):
        binding.check(digest_of(keys, prepared))
        check_versions(options.state)
        run_ = declared(manifest, prepared, number, grid=not tested)
        if not tested:
            check_secure(run_)
        coordinates = prepared is None
        paid = options.ledger or binding.ledger
        with account_of(options, paid, run_, number, coordinates or tested) as account:
            if account is not None:
                account.ledger.check(
                    account.owner,
                    account.dataset,
                    remaining(account, run_, number),
                    neighbours=account.neighbours,
                )
            shared: dict[int, bytes] = {}
            ended = (options.state / "result.json").exists() and not has_key(keys, manifest.run)
            if run_.masked and not coordinates and not ended:
                check_writable(keys)
                shared = pair_keys(keys, number, manifest.run, manifest.offers())
            if only_check:
                names = run_.contract.numbers
                return Outcome(None, names, manifest.run.hex(), 0, None, tested)
            binding.bind(digest_of(keys, prepared))
            return _take_part(
                options,
                run_,
                graph,
                keys,
                number,
                account,
                shared,
                binding,
                stopping,
                by,
                between,
            )


def _take_part(
    options: Options,
    run_: Declared,
    graph: SumGraph | None,
    keys: Keys,
    number: int,
    account: Account | None,
    shared: dict[int, bytes],
    binding: Binding,
    stopping: Stopping | None,
    carrier: Carrier,
    between: Callable[[], None],
) -> Outcome:
    manifest, status = run_.manifest, options.state / "status.json"
    write_text(options.state / MANIFEST, manifest.toml())
    starting(status, manifest, keys.card.name, run_.schedule.rounds)
    log.info(
        "%(name)s: run %(run)s, %(rounds)d rounds; compiling",
        {"name": keys.card.name, "run": manifest.run.hex()[:12], "rounds": run_.schedule.rounds},
    )
    if account is not None and run_.guarantee[number].followed:
        log.warning(
            "%(name)s: model claim, not a proof, and not a certificate: the guarantee holds only "
            "if all members follow the protocol",
            {"name": keys.card.name},
        )
    between()  # what computed the contract, before more is compiled
    plan, coordinates = run_.plan, number == len(manifest.agents)
    if options.test_seed is None:
        secret, simulated = own_secret(options.state / "secret"), None
    else:
        root = trial_key(options.test_seed, 0)
        secret, simulated = agent_secret(root, number), pair_secrets(plan, root, number)
    desk = AgentStep(plan, number, secret, simulated)
    between()
    desk.prepare(None if account is None else run_.objective)
    releaser = None
    if account is not None:
        noised, events = releases(run_, number, shared)
        releaser = Releaser(noised, events, account.owner)
    phases = {phase.name: index for index, phase in enumerate(run_.contract.phases)}
    outgoing = Outgoing(
        options.state / "journal.db",
        manifest.run.hex(),
        account,
        phases,
        number,
        run_.schedule.position,
        binding,
    )
    progress = Progress(rounds=run_.schedule.rounds, seconds=[], stopping=stopping)
    members = seats(manifest, graph)
    cards = {other: members[other].card for other in neighbours(manifest, number)}
    relay = carrier if isinstance(carrier, Relay) else None
    terms = RunSpec(
        manifest.run,
        run_.schedule,
        forms(plan),
        partial(mixing_of, desk.plan),
        manifest.patience,
        manifest.silent == "skip",
        early=manifest.summed,
        bounds=run_.bounds(),
        ask_every=carrier.ask_every,
        cut_off=partial(_cut_off, graph, relay, number),
        beside=graph is not None,
    )
    member = Session
    if manifest.summed:
        own = None if coordinates else number
        member = partial(SumSession, Sums.of(run_.contract, own, shared))
    party = member(
        terms,
        desk,
        run_.objective,
        releaser,
        keys,
        cards,
        outgoing,
        progress,
        _refused,
        clients=None
        if not plan.network.coordinated
        else {i: each.card for i, each in enumerate(manifest.agents) if i != number},
        restore=options.restore and coordinates,
    )
    endpoint = Endpoint(
        keys,
        manifest.run.hex(),
        number,
        cards,
        options.state,
        listen=coordinates or manifest.coordinator is None,
        serve=party.serve,
        accept=party.accept,
    )
    transport = carrier.connect(endpoint)
    paid: dict[str, str] = {}
    if account is not None:
        path = account.ledger.path.resolve()
        paid = {"ledger": str(path), "owner": account.owner, "dataset": account.dataset}
    log.info(
        "%(doing)s; a neighbour is named here when it is heard",
        {"doing": carrier.doing(endpoint)},
    )
    watch = Watch(
        status,
        manifest.run,
        keys.card.name,
        [each.name for each in members],
        party,
        paid,
        connections=lambda: transport.connections,
        linked=None if relay is None else relay.silence,
    )
    try:
        with watch, _metrics(options.metrics, watch):
            between()
            solution = party.run(transport)
            mine = total = None
            if account is not None:
                total = account.ledger.balance(account.owner, account.dataset).spent
                delta = run_.guarantee[number].delta
                mine = account.ledger.spent(manifest.run.hex(), account.owner, delta)
            answer = model = regression = None
            said = str(run_.guarantee)
            if solution is not None:
                method, names = run_.contract.method, run_.contract.numbers
                answer = method.answer(solution, run_.contract)
                regression = fitted(run_.source, answer, said, papers_of(method))
                model = fitted_model(run_.source, names, solution, said)
            outcome = Outcome(
                solution=solution,
                names=run_.contract.numbers,
                answer=answer,
                regression=regression,
                model=model,
                run=manifest.run.hex(),
                member=keys.card.name,
                rounds=party.rounds,
                epsilon=mine,
                epsilon_of_account=total,
                protection=said,
                simulated=options.test_seed is not None,
                round_seconds=progress.seconds or [],
                refused=party.mailbox.counts["refused"],
                absences=[
                    (members[each.agent].name, each.first, each.back)
                    for each in outgoing.absences.all()
                ],
            )
            guarantee = None if account is None else run_.guarantee[number]
            if not party.finished_before:
                write(options.state, outcome, guarantee)
            _tell_failures(run_.objective)
            watch.state = "finished"
            party.farewell(compare=not has_compared(options.state))
            if party.compared is not None:
                outcome = replace(outcome, compared=party.compared)
                note_compared(options.state, party.compared)
            if options.adding:
                return outcome
            forget(keys, manifest.run)
            if outcome.solution is not None:
                between()
                _report(options.state, run_)
            return outcome
    finally:
        transport.close()
        outgoing.close()


def _cut_off(
    graph: SumGraph | None, relay: Relay | None, number: int, silent: Sequence[int]
) -> str:
    """Where messages of silent members may be held up on their way."""
    if graph is None or relay is None:
        return ""
    if number == len(graph.names):
        return graph.cut_off(silent)
    return graph.out_of_reach(number, relay.near())


def _tell_failures(objective: Any) -> None:
    """Say in the owner's own log where its simulator gave no value, and why."""
    became = tally(objective)
    for agent, told in became.failure.items():
        log.warning(
            "%(some)s this site's simulator since this start failed, and its answers were 0 before "
            "noise: %(told)s. Nobody else is told",
            {
                "some": "every evaluation of" if agent in became.silent else "some evaluations of",
                "told": told,
            },
        )
    if became.constant:
        log.warning(
            "this site's simulator gave the same value everywhere: does it read its parameters? "
            "Nobody else is told"
        )
    for told in became.losses.values():
        log.warning(
            "losses of this site's records are not finite numbers and counted as 0: %(told)s. "
            "Nobody else is told",
            {"told": told},
        )


def _report(state: Path, run_: Declared) -> None:
    """Write the report; the run is over, so a full disk costs only the page."""
    try:
        write_report(state, run_)
    except (OSError, RuntimeFailure) as error:
        log.error(
            "the report was not written (%(why)s); write it with: tacit report %(state)s",
            {"why": str(error), "state": str(state)},
        )


@contextmanager
def _metrics(port: int | None, watch: Watch) -> Generator[None, None, None]:
    end = None if port is None else serve_metrics(port, watch.document)
    try:
        yield
    finally:
        if end is not None:
            end()


_TOLD: Counter[int] = Counter()


def _refused(sender: int, key: str, reason: str) -> None:
    # the 1st, 2nd, 4th, 8th ... per sender, so that nobody can fill another's disk with logs
    _TOLD[sender] += 1
    if _TOLD[sender] & (_TOLD[sender] - 1):
        return
    log.warning(
        "refused a message of agent %(sender)d (%(key).80r): %(reason)s",
        {"sender": sender, "key": key, "reason": reason},
    )
