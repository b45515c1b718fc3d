"""What must hold for every method, whatever it does."""

from __future__ import annotations

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import PRNGKeyArray

import tacit
from tacit.errors import PrivacyError
from tacit.method import claim
from tacit.method.calibrate import calibrate
from tacit.method.claim import Owners
from tacit.method.pdop_step import ProjectedStep
from tacit.method.pvp import ProximalSolution
from tacit.runner import Simulation
from tacit.runtime import context_of
from tacit.runtime.exact import Transcript
from tacit.runtime.keys import PhaseKeys
from tacit.runtime.plan import Plan
from tacit.types import Context, Oracle
from tests.conformance.runs import transcript
from tests.conformance.table import FEATURES, Row, plain_rows, rows, runtime_rows
from tests.laid_out import lay_out


def _same(one: Transcript, other: Transcript) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)


def _context(plan: Plan, secret: PRNGKeyArray, phase: int) -> tuple[Context, PhaseKeys]:
    """What agent 0 knows in round 0."""
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
    )


@functools.lru_cache(maxsize=1)
def _batched(row: Row) -> tacit.Result:
    """Two trials side by side, which take long to compile."""
    runtime = Simulation(trials=2)
    return tacit.run(
        row.task(0),
        row.network,
        row.method,
        rounds=row.rounds,
        seed=1,
        record=2,
        reference="solve",
        runtime=runtime,
    )


@functools.lru_cache(maxsize=1)
def _released(row: Row) -> tuple[Transcript, np.ndarray]:
    """An exact run, and its final states."""
    return transcript(row, seed=0)


@pytest.mark.slow
@plain_rows
def test_batched_simulation_agrees_with_the_exact_runtime(row: Row) -> None:
    runtime = Simulation(trials=2, exact=True)
    exact = tacit.run(
        row.task(0), row.network, row.method, rounds=row.rounds, seed=1, runtime=runtime
    )
    # finite differences amplify the last bits of function values, and masked sums are on a grid
    masked = any(phase.hides.summed for phase in row.method.phases())
    tolerance = 1e-6 if masked or row.method.oracle is Oracle.VALUE else 1e-12
    np.testing.assert_allclose(
        exact.solutions, _batched(row).solutions, rtol=tolerance, atol=tolerance
    )


@runtime_rows
def test_the_order_of_agents_does_not_matter(row: Row) -> None:
    first, states = _released(row)
    second, reordered = transcript(row, seed=0, order=[2, 0, 3, 1])
    assert _same(first, second)
    assert np.array_equal(states, reordered)


@plain_rows
def test_replayed_releases_determine_everything_that_leaves(row: Row) -> None:
    released, states = _released(row)
    assert released
    on_other_data, replayed = transcript(row, seed=5, replay=released)
    assert np.array_equal(states, replayed)
    assert not on_other_data.keys() - released.keys()
    # and the data do matter when nothing is replayed
    assert not np.array_equal(states, transcript(row, seed=5)[1])


@plain_rows
def test_noise_scales_do_not_depend_on_data(row: Row) -> None:
    scales = []
    for seed in (0, 5):
        with jax.enable_x64(True):
            plan, _, _ = lay_out(row.task(seed), row.network, row.method, row.rounds, seed=1)
            scales.append([np.asarray(scale) for scale in plan.scales])
    for one, other in zip(*scales, strict=True):
        assert np.array_equal(one, other)
    if row.status == "proved":
        assert min(np.min(scale) for scale in scales[0] if np.any(scale)) > 0


@runtime_rows
def test_one_trial_is_the_same_however_many_there_are(row: Row) -> None:
    def answers(trials: int) -> np.ndarray:
        runtime = Simulation(trials=trials, exact=True)
        return tacit.run(
            row.task(0), row.network, row.method, rounds=3, seed=1, runtime=runtime
        ).solutions[0]

    assert np.array_equal(answers(1), answers(3))


@pytest.mark.slow
@plain_rows
def test_history_and_guarantee_are_complete(row: Row) -> None:
    result = _batched(row)
    history = result.history
    assert list(history.rounds) == [0, 2, 4, 6]
    assert {"consensus", "distance", "objective"} <= set(history.measured)
    assert all(np.all(np.isfinite(value)) for value in history.measured.values())
    before = any(phase.once and phase.query is not None for phase in row.method.phases())
    assert before or history.evaluations[0] == 0
    assert np.all(np.diff(history.evaluations) >= 0)
    assert history.bytes[-1] > 0
    assert {guarantee.status.value for guarantee in result.guarantee.owners} == {row.status}
    # beside a claim about one release stands what the whole run would cost
    spent = np.array(
        [g.epsilon if g.total_epsilon is None else g.total_epsilon for g in result.guarantee.owners]
    )
    np.testing.assert_allclose(history.epsilon[-1], spent, rtol=1e-6)
    assert np.all(history.epsilon[1:] >= history.epsilon[:-1])
    if row.method.privacy is not None:
        budget = np.broadcast_to(row.method.privacy.epsilon, spent.shape)
        assert np.all(spent <= budget * (1 + 1e-9))


@plain_rows
def test_no_query_draws_noise(row: Row) -> None:
    # its key chooses the records of a sample, or their rows of a mask, and nothing else
    with jax.enable_x64(True):
        plan, roots, _ = lay_out(row.task(0), row.network, row.method, row.rounds, seed=1)
        objective = jax.tree.map(lambda leaf: leaf[0], plan.objectives)
        state = jax.tree.map(lambda leaf: leaf[0], plan.initial()[plan.sender_role])
        for index, phase in enumerate(plan.method.phases()):
            if phase.query is None or phase.release is None or phase.query.rate < 1.0:
                continue
            assert phase.sender is plan.sender_role
            context, keys = _context(plan, roots[0], index)
            ask = eqx.filter_jit(phase.query)
            answers = [ask(state, objective, context, key) for key in (keys.sample, keys.noise)]
            assert eqx.tree_equal(*answers)
            # and the table says how large the noise is, or that it follows the records
    found = tacit.account(row.task(0), row.network, row.method, rounds=row.rounds)
    for cells in itertools.chain(*found.releases):
        # a method said to protect by its own randomness alone has no noise
        if row.status != "none" and cells.mechanism not in ("", "Intrinsic"):
            assert cells.noise_scale is None or cells.noise_scale > 0.0
            assert cells.sensitivity is None or np.isfinite(cells.sensitivity)


@rows
def test_a_query_is_the_only_thing_that_sees_the_objective(row: Row) -> None:
    for phase in row.method.phases():
        assert (phase.query is None) == (phase.release is None)
    with jax.enable_x64(True):
        owners = Owners.of(row.task(0), row.network, 3, np.full(4, 3))
        calibrated = calibrate(row.method.on(row.network), owners)
        assert all(claim.Releases(calibrated).all(public) for public in owners.contexts)
        assert jnp.asarray(1.0).dtype == jnp.float64


@rows
def test_a_query_states_the_size_of_its_answer(row: Row) -> None:
    with jax.enable_x64(True):
        plan, roots, _ = lay_out(row.task(0), row.network, row.method, row.rounds, seed=1)
        one = jax.tree.map(lambda leaf: leaf[0], plan.objectives)
        for index, phase in enumerate(plan.method.phases()):
            if phase.query is None or plan.method.privacy is None:
                continue
            state = jax.tree.map(lambda leaf: leaf[0], plan.initial()[phase.sender])
            context, keys = _context(plan, roots[0], index)
            answer = jax.eval_shape(phase.query, state, one, context, keys.sample)
            assert answer.shape == (phase.query.size(FEATURES),)


@rows
def test_between_sites_answers_are_bounded_or_refused_for_their_rounding(row: Row) -> None:
    if row.status != "proved":
        return
    with jax.enable_x64(True):
        _, _, agreed = lay_out(row.task(0), row.network, row.method, row.rounds, seed=1)
    for phase in row.method.on(row.network).phases():
        assert phase.query is not None or phase.release is None
        if phase.query is None or phase.release is None:
            continue
        for public in agreed.owners.contexts:
            relation = phase.release.relation
            if isinstance(phase.query, ProjectedStep | ProximalSolution):
                with pytest.raises(PrivacyError, match="is rounded in proportion to"):
                    phase.query.computed(public, relation, 9)
                continue
            proved = phase.query.sensitivity(public, relation)
            computed = phase.query.computed(public, relation, 9)
            assert proved < computed.sensitivity < proved * (1.0 + 1e-12)
            assert proved <= computed.largest < np.inf
