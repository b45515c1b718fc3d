"""The requirements on every method, tacit's own and others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from tacit import checks
from tacit._engine import context_of, inputs
from tacit._engine.agent_step import from_bytes
from tacit._engine.keys import PhaseKeys
from tacit._engine.mistakes import nothing_kept
from tacit._engine.plan import Plan
from tacit._engine.runner import Simulation, run
from tacit.arguments import checked
from tacit.clipping import row_norms
from tacit.errors import ConfigError
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.stated import prepared
from tacit.network.base import AbstractNetwork
from tacit.privacy.query import sensitivity_of
from tacit.problem.task import Task
from tacit.ranges import Count
from tacit.testing.data import neighbours, other_data
from tacit.testing.hold import hold
from tacit.testing.keys import keys_describe
from tacit.testing.observed import Observed, Sent, Subject
from tacit.types import Context, Oracle, Role

_ROUNDING = 1.0 + 1e-9
"""Tolerance on a sensitivity: the rounding error of a movement that attains it."""


@checked(ConfigError, own="problem network method other")
def check_method(
    problem: Task,
    network: AbstractNetwork,
    method: AbstractMethod,
    *,
    rounds: Count = 6,
    other: Task | None = None,
) -> None:
    """Check a method against the requirements on every method of tacit.

    * What leaves an agent is made of released values and public ones: a run on other data in which
      the released values are those of the first run sends the same messages, and ends in the same
      states.
    * No answer of a query moves further between neighbouring data than the query states: on the
      worst case that the method declares, and on records that are replaced or left out.
    * A query states the size of its answer and draws no noise; the scale of the noise does not
      depend on data.
    * The same seed gives the same bits, whatever the order of agents and the number of trials.
    * The batched simulation agrees with the exact one: to 1e-12, or to 1e-6 for a method that uses
      function values or sums under masks. Numbers of size 1 are assumed.
    * Messages are finite, states hold no NaN, and both keep their shapes and types in all rounds.
    * With a `name` it can be named in a study: every argument is described, by the class or one
      that it derives from, and `example` sets those without a default. A variant for programs
      only that derives from a class with a name sets `name = ""`.

    Samples find mistakes and prove nothing: the bound of a query of your own needs a proof, and
    code that remembers data between runs is found only by reading it. It takes some seconds, most
    of them to compile.

    Args:
        problem: small problem with numbers of size 1; its data are used.
        network: network between the agents.
        method: method under test.
        rounds: number of rounds per run, at least 1.
        other: the same problem with different data and the same declared numbers; by default made
            up for records and for costs.

    Raises:
        AssertionError: a requirement does not hold.
        ConfigError: no different data can be made up, or those given declare other numbers.
        TacitError: the method does not run on this problem and network.
    """
    problem, network, method = inputs.admitted(problem, network, method)
    inputs.check_arguments(problem, network, method, rounds)
    if other is None:
        other = other_data(problem)
    else:
        remedy = "give the same problem with other data, or nothing"
        checks.instance("other", other, type(problem), remedy, ConfigError)
    method = prepared(method, problem, network)  # once, not for each of the two data sets
    subject = Subject(problem, other, network, method, rounds)
    if subject.agreed.owners.contexts != subject.agreed_elsewhere.owners.contexts:
        raise ConfigError(
            "other must declare the same numbers as the problem: records per agent, normaliser and "
            "bounds"
        )
    with nothing_kept(method):
        sizes_hold(subject)
        forms_hold(subject)
        numbers_hold(subject)
        queries_draw_no_noise(subject)
        noise_sees_no_data(subject)
        sensitivities_hold(subject)
        order_does_not_matter(subject)
        releases_determine_what_leaves(subject)
        trials_do_not_matter(subject)
        simulations_agree(subject, _simulated(subject, trials=2))
    if method.name:
        keys_describe(type(method))


def sizes_hold(subject: Subject) -> None:
    """A query states the size of its answer."""
    with jax.enable_x64(True):
        plan, roots = subject.laid_out()
        one = jax.tree.map(lambda leaf: leaf[0], plan.objectives)
        for index, phase in enumerate(plan.method.phases()):
            if phase.query is None or plan.method.privacy is None:
                continue
            state = jax.tree.map(lambda leaf: leaf[0], plan.initial()[phase.sender])
            context, keys = _context(plan, roots[0], index)
            answer = jax.eval_shape(phase.query, state, one, context, keys.sample)
            stated = (phase.query.size(subject.problem.dimension),)
            shape = getattr(answer, "shape", None)
            hold(
                shape == stated,
                f"{_query(phase)} states answers of shape {stated}, and gives "
                + ("no array" if shape is None else f"shape {shape}"),
            )


def queries_draw_no_noise(subject: Subject) -> None:
    """The key of a query selects records of a sample, or their rows of a mask, and nothing else."""
    with jax.enable_x64(True):
        plan, roots = subject.laid_out()
        objective = jax.tree.map(lambda leaf: leaf[0], plan.objectives)
        for index, phase in enumerate(plan.method.phases()):
            if phase.query is None or phase.release is None or phase.query.rate < 1.0:
                continue
            hold(
                phase.sender is plan.sender_role,
                f"phase {phase.name!r} asks a {phase.sender}, which has no data",
            )
            state = jax.tree.map(lambda leaf: leaf[0], plan.initial()[phase.sender])
            context, keys = _context(plan, roots[0], index)
            ask = eqx.filter_jit(phase.query)
            answers = [ask(state, objective, context, key) for key in (keys.sample, keys.noise)]
            hold(
                eqx.tree_equal(*answers),
                f"{_query(phase)} gives another answer with another key: only the mechanism of its "
                "release may draw noise",
            )


def noise_sees_no_data(subject: Subject) -> None:
    """The scale of the noise follows from declared numbers."""
    scales = [agreed.scales for agreed in (subject.agreed, subject.agreed_elsewhere)]
    for phase, one, other in zip(subject.agreed.phases, *scales, strict=True):
        hold(
            np.array_equal(one, other),
            f"phase {phase.name!r} has another noise scale when it is asked again, on other data: "
            "it must follow from declared numbers alone",
        )


def sensitivities_hold(subject: Subject, agents: Sequence[int] = (0,)) -> None:
    """No answer moves further than stated, in any state of the run.

    Args:
        subject: run under test.
        agents: numbers of the agents that are queried.
    """
    agreed = subject.agreed
    for index, phase in enumerate(agreed.phases):
        query, release = phase.query, phase.release
        # a claim may assume about the data what nothing enforces
        if query is None or release is None or release.mechanism.claim is not None:
            continue
        for agent in agents:
            public = agreed.owners.contexts[agent]
            if not math.isfinite(sensitivity_of(query, public, release.relation)):
                continue
            asked = [
                sent
                for sent in subject.observed.sent
                if sent.agent == agent and sent.at.phase == index
            ]
            with jax.enable_x64(True):
                _hold_apart(subject, phase, agent, asked)


def _hold_apart(subject: Subject, phase: Phase, agent: int, asked: Sequence[Sent]) -> None:
    """One query in the states of one agent, on all neighbouring data."""
    query, release, agreed = phase.query, phase.release, subject.agreed
    assert query is not None and release is not None
    relation, desk = release.relation, subject.desks()[agent]
    public = agreed.owners.contexts[agent]
    pairs = neighbours(subject.problem, subject.other, agreed, relation, agent)
    for pair in pairs:
        for sent in asked:
            ends = [desk.ask(sent.at, sent.before, end) for end in (pair.here, pair.there)]
            moved = float(row_norms(np.ravel(ends[1] - ends[0]), query.order))
            then = replace(public, round=max(sent.at.round, 0))
            stated = sensitivity_of(query, then, relation) * pair.units
            hold(
                moved <= stated * _ROUNDING,
                f"{_query(phase)} states a sensitivity of {stated:.6g}, and its answer moved by "
                f"{moved:.6g} in the l{query.order} norm in round {sent.at.round} ({pair.how})",
            )


def forms_hold(subject: Subject) -> None:
    """States and messages of a phase have the same shapes and types in all rounds."""
    known: dict[Any, tuple[Any, Any]] = {}
    for sent in subject.observed.sent:
        server = sent.agent == subject.network.agents
        structure, leaves = sent.message
        message = structure, [each[1:] for each in leaves]
        state = jax.tree.structure(sent.before), _forms(sent.before)
        first = known.setdefault((sent.at.phase, sent.at.step, server), (state, message))
        for what, now, before in zip(("state", "message"), (state, message), first, strict=True):
            hold(
                now == before,
                f"{_phase(subject, sent)}: the {what} has the form {now}, and before it had "
                f"{before}; shapes and types stay the same",
            )


def numbers_hold(subject: Subject) -> None:
    """Every message is finite, and no state holds NaN."""
    for sent in subject.observed.sent:
        for leaf in jax.tree.leaves(from_bytes(sent.message)):
            hold(np.isfinite(leaf).all(), f"{_phase(subject, sent)}: the message is not finite")
        for leaf in jax.tree.leaves(sent.before):
            hold(not np.isnan(leaf).any(), f"{_phase(subject, sent)}: the state holds NaN")
    hold(not np.isnan(subject.observed.states).any(), "a state holds NaN at the end of the run")


def order_does_not_matter(subject: Subject) -> None:
    """The same seed gives the same bits, in whatever order agents act."""
    agents = subject.network.agents
    for order in (None, [*range(0, agents, 2), *range(1, agents, 2)][::-1]):
        again, same = subject.observe(order=order), subject.observed
        what = "another run with the same seed" if order is None else f"agents in order {order}"
        hold(_released_alike(again, same), f"{what}: other values are released")
        hold(np.array_equal(again.states, same.states), f"{what}: states end otherwise")


def releases_determine_what_leaves(subject: Subject) -> None:
    """Other data with the same releases send the same messages, and end in the same states."""
    first = subject.observed
    hold(first.released, "nothing is released: the method asks the data for nothing")
    replayed = subject.observe(elsewhere=True, replay=first.released)
    more = replayed.released.keys() - first.released.keys()
    hold(not more, f"on other data more is released: {sorted(more)[:3]}")
    for one, other in itertools.zip_longest(first.sent, replayed.sent):
        sent = one or other
        hold(
            one is not None and other is not None and one.message == other.message,
            f"{_phase(subject, sent)}: on other data another message leaves, though the same "
            "values were released; only what is released may",
        )
    hold(
        np.array_equal(replayed.states, first.states),
        "on other data states end otherwise, though the same values were released",
    )
    hold(
        not np.array_equal(subject.observe(elsewhere=True).states, first.states),
        "on other data the run ends in the same states: they make no difference",
    )


def trials_do_not_matter(subject: Subject) -> None:
    """The first trial gives the same result, whatever the number of trials."""
    one, three = (_simulated(subject, trials, exact=True)[0] for trials in (1, 3))
    hold(np.array_equal(one, three), "the first of three trials is another than that of one")


def simulations_agree(subject: Subject, batched: Float[np.ndarray, "trials agents p"]) -> None:
    """The batched simulation gives the same as the exact one.

    Args:
        subject: run under test.
        batched: answers of two trials.
    """
    exact = _simulated(subject, trials=2, exact=True)
    # finite differences amplify the last bits of function values, and masked sums are on a grid
    masked = any(phase.hides.summed for phase in subject.method.phases())
    tolerance = 1e-6 if masked or subject.method.oracle is Oracle.VALUE else 1e-12
    hold(
        exact.shape == batched.shape
        and np.allclose(exact, batched, rtol=tolerance, atol=tolerance, equal_nan=True),
        f"the batched simulation differs from the exact one by {np.max(np.abs(exact - batched))}, "
        f"and may by {tolerance}",
    )


def _simulated(subject: Subject, trials: int, *, exact: bool = False) -> Any:
    """Answers of all trials."""
    return run(
        subject.problem,
        subject.network,
        subject.method,
        rounds=subject.rounds,
        seed=subject.seed,
        runtime=Simulation(trials=trials, exact=exact),
        record=subject.rounds,
    ).solutions


def _context(plan: Plan, secret: Any, phase: int) -> tuple[Context, PhaseKeys]:
    """The knowledge of agent 0 in round 0."""
    zero = jnp.asarray(0)
    return context_of(
        plan.public,
        round=zero,
        rounds=plan.rounds,
        step=0,
        agent=zero,
        agents=plan.agents,
        degree=plan.degrees[0],
        records=plan.records[0],
        secret=secret,
        phase=phase,
        dimension=plan.dimension,
    )


def _released_alike(one: Observed, other: Observed) -> bool:
    here, there = one.released, other.released
    return here.keys() == there.keys() and all(eqx.tree_equal(here[at], there[at]) for at in here)


def _forms(tree: Any) -> list[tuple[Any, Any]]:
    return [(np.shape(leaf), np.asarray(leaf).dtype) for leaf in jax.tree.leaves(tree)]


def _phase(subject: Subject, sent: Sent) -> str:
    phase = subject.agreed.phases[sent.at.phase]
    who = "the coordinator" if phase.sender is Role.SERVER else f"agent {sent.agent}"
    return f"phase {phase.name!r}, round {sent.at.round}, {who}"


def _query(phase: Phase) -> str:
    return f"phase {phase.name!r}: {type(phase.query).__name__}"
