"""What all agents draw in a simulated run: noise, samples, and how far one record moves an answer.

An attack on the claim of one owner looks at that owner's releases on the worst data. Here the same
compiled loop runs on the records as they are, and an observer notes for all agents and rounds the
release minus the private answer. It also asks the query about units that reveal the sample, and
about the records with one of them replaced by a huge one. What it gathers are private numbers; only
the verdict on whether they follow the right law leaves this module.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from tacit._engine.batched import Observation
from tacit._engine.charging import Owners
from tacit._engine.keys import trial_key
from tacit._engine.plan import Plan, as_arrays
from tacit._engine.step import ask
from tacit.audit.checks import Check, normal_checks, sample_checks, standard
from tacit.audit.transcript import exact_law, observed, survey
from tacit.method.phase import Phase
from tacit.method.worst_case import LinearUnits
from tacit.privacy.query import sensitivity_of
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.task import Rows
from tacit.types import AbstractPrivate, Relation

_NUMBERS = 2**20
"""Numbers that are drawn, roughly, and at least `_FEWEST` and at most `_MOST` runs."""

_FEWEST, _MOST, _ROUNDS = 16, 256, 40
_UNITS = 20
"""Units of the probe by which a sample is read: unit `j` counts `2^j`."""

_WHOLE = 0.01
"""How far from a whole number the sum of the units that were drawn may be, by rounding."""

_SMALL = 1e-2
_HUGE = 1e4
_ROUNDING = 1e-6
_APART = 2**30
"""Numbers of trials that no other part of an audit has."""


class Draws(eqx.Module):
    """Notes the noise, the samples and the changes of the answers of all agents.

    Attributes:
        objectives: objectives of all agents, stacked.
        rivals: the same with one record of every agent replaced, each in a different way.
        rounds: number of rounds that are observed.
        dimension: number of parameters.
    """

    objectives: AbstractPrivate
    rivals: tuple[AbstractPrivate, ...]
    rounds: int = eqx.field(static=True)
    dimension: int = eqx.field(static=True)

    def start(self, plan: Plan) -> dict[int, dict[str, Array]]:
        """Empty arrays for what is gathered in every phase that releases."""
        sizes: dict[int, int] = {}

        def note(gathered: Any, seen: Observation) -> Any:
            sizes[seen.index] = jnp.asarray(seen.released)[0].size
            return gathered

        survey(plan, note)
        room = {}
        for index, size in sizes.items():
            phase = plan.method.phases()[index]
            shape = (1 if phase.rounds.before else self.rounds, phase.repeat, plan.agents)
            room[index] = {
                "noise": jnp.full((*shape, size), jnp.nan),
                "coarse": jnp.zeros(()),
                "sample": jnp.full(shape, jnp.nan),
                "moved": jnp.zeros(plan.agents),
            }
        return room

    def __call__(self, gathered: Any, seen: Observation) -> Any:
        here = gathered[seen.index]
        context = seen.known(jnp.asarray(0))[0]
        at = (0 if seen.phase.rounds.before else context.round, context.step)
        noise, answers, scale = self._noise(seen)
        awake = seen.awake
        sizes = jnp.abs(jnp.where(awake[:, None], answers, 0.0)) / scale[:, None]
        after = {
            "noise": here["noise"].at[at].set(jnp.where(awake[:, None], noise, jnp.nan)),
            "coarse": jnp.maximum(here["coarse"], jnp.max(jnp.where(sizes < jnp.inf, sizes, 0.0))),
            "sample": here["sample"].at[at].set(jnp.where(awake, self._samples(seen), jnp.nan)),
            "moved": jnp.maximum(here["moved"], jnp.where(awake, self._moved(seen), 0.0)),
        }
        return {**gathered, seen.index: after}

    def _asked(self, seen: Observation, objectives: AbstractPrivate) -> tuple[Array, Array]:
        """What every agent's noise is added to, and its scale."""
        assert seen.phase.release is not None
        mechanism = seen.phase.release.mechanism

        def one(agent: Array) -> tuple[Array, Array]:
            state, objective = jax.tree.map(lambda leaf: leaf[agent], (seen.states, objectives))
            scale = seen.scale[agent]
            given = ask(seen.phase, state, objective, *seen.known(agent), scale)
            answer, size = mechanism.noise_in(given, scale)
            return jnp.ravel(jnp.asarray(answer)), jnp.asarray(size)

        return jax.vmap(one)(jnp.arange(len(seen.awake)))

    def _answers(self, seen: Observation, objectives: AbstractPrivate) -> Array:
        return self._asked(seen, objectives)[0]

    def _noise(self, seen: Observation) -> tuple[Array, Array, Array]:
        """Noise of every agent divided by its scale, the answers, and the scale."""
        assert seen.phase.release is not None
        (answers, scale), agents = self._asked(seen, self.objectives), len(seen.awake)
        noise = (jnp.reshape(seen.released, answers.shape) - answers) / scale[:, None]
        covariance = seen.phase.hides.covariance(agents)
        if covariance is not None:  # what remains when the masks are removed
            noise = jnp.asarray(np.linalg.inv(np.linalg.cholesky(covariance))) @ noise
        return noise, answers, scale

    def _samples(self, seen: Observation) -> Array:
        """Which units of the probe every agent drew, as a whole number; none if it cannot be read.

        It cannot where the answer is not a sum over the units, such as that of an inner solver.
        """
        query = seen.phase.query
        assert query is not None
        if query.rate >= 1.0:
            return jnp.zeros(len(seen.awake))
        whole = dataclasses.replace(query, rate=1.0)

        def one(agent: Array) -> Array:
            state = jax.tree.map(lambda leaf: leaf[agent], seen.states)
            context, keys = seen.known(agent)
            probe = self._probe(seen, agent)
            nothing = eqx.tree_at(lambda p: p.gradients, probe, 0.0 * probe.gradients)
            asked = ((query, probe), (whole, probe), (whole, nothing))
            drawn, every, none = (
                jnp.ravel(jnp.asarray(question(state, units, context, keys.sample)))
                for question, units in asked
            )
            drawn, every = drawn - none, every - none  # an answer may count from an iterate
            share = query.rate * (drawn @ every) / (every @ every)
            number = share * (2**_UNITS - 1)
            read = jnp.abs(number - jnp.round(number)) < _WHOLE
            return jnp.where(read, jnp.round(number), jnp.nan)

        return jax.vmap(one)(jnp.arange(len(seen.awake)))

    def _probe(self, seen: Observation, agent: Array) -> LinearUnits:
        """Units with gradients that no clip shortens, each twice as long as the one before."""
        clip = jnp.asarray(getattr(seen.phase.query, "clip", 1.0))
        own = clip if clip.ndim == 0 else clip[agent]
        longest = _SMALL * jnp.where(jnp.isfinite(own), own, 1.0) / self.dimension
        lengths = longest * 2.0 ** (jnp.arange(_UNITS) - _UNITS)
        return LinearUnits(jnp.ones(()), lengths[:, None] * jnp.ones((1, self.dimension)))

    def _moved(self, seen: Observation) -> Array:
        """The largest distance between answers about neighbouring records."""
        query, release = seen.phase.query, seen.phase.release
        assert query is not None and release is not None
        if not self.rivals:
            return jnp.zeros(len(seen.awake))
        answers = [self._answers(seen, rival) for rival in self.rivals]
        if release.relation is Relation.ADD_REMOVE:
            first = 1  # the one without the record
        else:
            answers, first = answers[1:], len(answers)
        ways = [
            jnp.linalg.norm(one - other, ord=query.order, axis=1)
            for i, one in enumerate(answers[:first])
            for other in answers[i + 1 :]
        ]
        return jnp.max(jnp.stack(ways), axis=0)


def simulated_checks(
    plan: Plan, owners: Owners, names: tuple[str, ...], seed: int, *, proved: bool
) -> list[Check]:
    """Tests of what all agents draw in simulated runs, in the current precision.

    Args:
        plan: the run, with the actual records or others in their place.
        owners: declared constants of the owners.
        names: names of the agents.
        seed: seed of the runs.
        proved: whether the bound on the sensitivity is enforced, not assumed.
    """
    rounds = min(int(plan.rounds), _ROUNDS)
    phases = plan.method.phases()
    releasing = {
        index: phase
        for index, phase in enumerate(phases)
        if phase.query is not None
        and phase.release is not None
        and exact_law(phase.release.mechanism) is not None
    }
    if len(releasing) < sum(phase.query is not None for phase in phases):
        return []  # the noise of some release cannot be separated from what it hides
    runs_in = [phase.rounds for phase in releasing.values()]
    if any(each.of(int(plan.rounds)).start >= rounds for each in runs_in):
        # queries at the end are observed in a shorter run, with the same noise
        rounds = max(rounds, *(phase.rounds.least for phase in phases))
        plan = eqx.tree_at(lambda p: p.rounds, plan, jnp.asarray(rounds))
    rivals = _rivals(plan.objectives) if proved else ()
    draws = Draws(plan.objectives, rivals, rounds, len(plan.x0))
    room = jax.tree.leaves(draws.start(plan))
    numbers = sum(leaf.size for leaf in room)
    runs = int(np.clip(_NUMBERS // max(numbers, 1), _FEWEST, _MOST))
    roots = jax.vmap(lambda number: trial_key(seed, number))(_APART + jnp.arange(runs))
    seen = jax.tree.map(np.asarray, _drawn(plan, draws, roots))
    found: list[Check] = []
    for index, phase in releasing.items():
        found += _checks(phase, seen[index], names)
        metric = phase.release is not None and phase.release.relation is Relation.METRIC
        if rivals and not metric:
            found.append(_movement(phase, seen[index]["moved"], owners, names))
    return found


@eqx.filter_jit
def _drawn(plan: Plan, draws: Draws, roots: Key[Array, " runs"]) -> Any:
    # one after the other: an answer about records holds one number per record
    return jax.lax.map(
        lambda root: observed(plan, draws, root, draws.rounds), roots, batch_size=_FEWEST
    )


def _checks(phase: Phase, seen: dict[str, np.ndarray], names: tuple[str, ...]) -> list[Check]:
    assert phase.query is not None and phase.release is not None
    noise = seen["noise"]
    runs, rounds, repeat, agents, size = noise.shape
    before = phase.rounds.before
    columns = [
        names[agent] + ("" if before else f" in round {round + 1}") + _step(step, repeat)
        for round in range(rounds)
        for step in range(repeat)
        for agent in range(agents)
    ]
    noise = noise.reshape(runs, -1, size)
    there = np.flatnonzero(np.isfinite(noise).all(axis=(0, 2)))  # an absent agent draws nothing
    if not len(there):
        return []
    kept = [columns[i] for i in there]
    law = exact_law(phase.release.mechanism)
    assert law is not None
    normal = standard(noise[:, there], law.kind)
    resolution = float(np.finfo(float).eps * seen["coarse"].max())
    found = normal_checks(f"noise of {phase.release.name!r}", normal, kept, resolution)
    readable = np.isfinite(seen["sample"].reshape(runs, -1)[:, there]).all()
    if phase.query.rate < 1.0 and readable:
        drawn = seen["sample"].reshape(runs, -1)[:, there].astype(np.int64)
        taken = (drawn[:, None, :] >> np.arange(_UNITS)[:, None]) & 1 == 1
        of = f"samples of {phase.release.name!r}"
        found += sample_checks(of, taken.reshape(-1, len(there)), phase.query.rate, kept)
    return found


def _step(step: int, repeat: int) -> str:
    return f", step {step + 1}" if repeat > 1 else ""


def _movement(phase: Phase, moved: np.ndarray, owners: Owners, names: tuple[str, ...]) -> Check:
    """Whether one record changed an answer by more than its noise allows for."""
    assert phase.query is not None and phase.release is not None
    relation = phase.release.relation
    most = np.array([sensitivity_of(phase.query, each, relation) for each in owners.contexts])
    shares = moved.max(axis=0) / most
    worst = int(np.argmax(shares))
    said = (
        f"{shares[worst]:.4g} of what the noise is made for, at {names[worst]}, with one record "
        "replaced by a huge one"
    )
    broken = not shares[worst] <= 1.0 + _ROUNDING
    of = f"answers of {phase.release.name!r}"
    return Check(of, "one record moves them no further", said, 0.0 if broken else 1.0)


def _rivals(objectives: AbstractPrivate) -> tuple[AbstractPrivate, ...]:
    """The first record of every agent removed, unchanged, and replaced by two huge ones."""
    if isinstance(objectives, Rows):
        return _tables(objectives)
    if not isinstance(objectives, EmpiricalRisk):
        return ()
    features, mask = np.asarray(objectives.features), np.asarray(objectives.mask)

    def replaced(value: float | None, counted: float = 1.0) -> AbstractPrivate:
        rows, there = features.copy(), mask.copy()
        if value is not None:
            rows[:, 0] = value
        there[:, 0] = counted
        return as_arrays(
            EmpiricalRisk(
                normaliser=objectives.normaliser,
                features=rows,
                targets=objectives.targets,
                mask=there,
                loss=objectives.loss,
                gradient_bounds=objectives.gradient_bounds,
            )
        )

    return replaced(0.0, 0.0), replaced(None), replaced(_HUGE), replaced(-_HUGE)


def _tables(tables: Rows) -> tuple[Rows, ...]:
    """The same for records that are only described."""
    found: list[Rows] = []
    for value, counted in ((0.0, 0.0), (None, 1.0), (_HUGE, 1.0), (-_HUGE, 1.0)):
        values, mask = np.array(tables.values), np.array(tables.mask)
        if value is not None:
            values[:, 0] = value
        mask[:, 0] = counted
        found.append(as_arrays(Rows(tables.normaliser, values, mask)))
    return tuple(found)
