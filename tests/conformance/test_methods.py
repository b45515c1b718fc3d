"""What must hold for every method, whatever it does."""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit._engine.calibrate import calibrate
from tacit._engine.charging import Owners
from tacit._engine.runner import Simulation
from tacit.errors import PrivacyError
from tacit.method._pdop_step import ProjectedStep
from tacit.method.pvp import ProximalSolution
from tacit.method.releases import Releases
from tacit.testing.method import (
    forms_hold,
    noise_sees_no_data,
    numbers_hold,
    order_does_not_matter,
    queries_draw_no_noise,
    releases_determine_what_leaves,
    sensitivities_hold,
    simulations_agree,
    sizes_hold,
    trials_do_not_matter,
)
from tacit.testing.observed import Subject
from tests.conformance.table import Row, plain_rows, rows, runtime_rows
from tests.laid_out import lay_out


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
        reference=None if row.described else "solve",
        runtime=runtime,
    )


@functools.lru_cache(maxsize=1)
def _subject(row: Row) -> Subject:
    """What keeps an exact run, and runs again on other data."""
    return Subject(row.task(0), row.task(5), row.network, row.method, row.rounds)


@pytest.mark.slow
@plain_rows
def test_batched_simulation_agrees_with_the_exact_runtime(row: Row) -> None:
    simulations_agree(_subject(row), _batched(row).solutions)


@runtime_rows
def test_the_order_of_agents_does_not_matter(row: Row) -> None:
    order_does_not_matter(_subject(row))


@plain_rows
def test_replayed_releases_determine_everything_that_leaves(row: Row) -> None:
    releases_determine_what_leaves(_subject(row))


@plain_rows
def test_states_and_messages_keep_their_forms_and_hold_numbers(row: Row) -> None:
    forms_hold(_subject(row))
    numbers_hold(_subject(row))


@plain_rows
def test_no_answer_moves_further_than_its_query_states(row: Row) -> None:
    sensitivities_hold(_subject(row), agents=(0, 3))


@plain_rows
def test_noise_scales_do_not_depend_on_data(row: Row) -> None:
    noise_sees_no_data(_subject(row))
    if row.status == "proved":
        scales = _subject(row).agreed.scales
        assert min(np.min(scale) for scale in scales if np.any(scale)) > 0


@runtime_rows
def test_one_trial_is_the_same_however_many_there_are(row: Row) -> None:
    trials_do_not_matter(_subject(row))


@pytest.mark.slow
@plain_rows
def test_history_and_guarantee_are_complete(row: Row) -> None:
    result = _batched(row)
    history = result.history
    assert list(history.rounds) == [*range(0, row.rounds, 2), row.rounds]
    measured = {"consensus"} if row.described else {"consensus", "distance", "objective"}
    assert measured <= set(history.measured)
    assert all(np.all(np.isfinite(value)) for value in history.measured.values())
    before = any(phase.rounds.before and phase.query is not None for phase in row.method.phases())
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
    queries_draw_no_noise(_subject(row))
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
        calibrated = calibrate(Releases(row.method.on(row.network)), owners)
        assert all(calibrated.all(public) for public in owners.contexts)
        assert jnp.asarray(1.0).dtype == jnp.float64


@rows
def test_a_query_states_the_size_of_its_answer(row: Row) -> None:
    sizes_hold(_subject(row))


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
