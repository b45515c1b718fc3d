"""From the transcripts of many runs to one score each: how much more likely under D than D'.

The simulation's own loop runs the method, and an observer sees every release of the audited owner.
At the same state, with the same public randomness, it asks the query about both data sets and adds
up the exact log-likelihood ratio of the releases. With pairwise masks nobody sees that release:
the observer sees the sum over the honest agents (`sums`), or where pairs of agents share noise,
what all releases reveal about it to a coalition (`correlated`). Where a release has no usable
density (a method's own randomness is said to protect), it gathers features, from which a score is
learned.
"""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from tacit._engine.batched import OBSERVED, ONCE, Observation, Observer, Simulator
from tacit._engine.plan import Plan, as_arrays
from tacit.audit.view import left
from tacit.errors import PrivacyError
from tacit.method.phase import AbstractMethod
from tacit.method.worst_case import Neighbours
from tacit.privacy.laws import Law
from tacit.privacy.mechanism import Mechanism
from tacit.privacy.sensitivity import sample
from tacit.ranges import Numbers
from tacit.types import AbstractPrivate, Index

_TRIED = 2**14
"""Keys that are tried for one that leaves a unit out of a sample, or takes it."""

_SAME = 0
"""Seed of the randomness with which a query is asked again: the same in all trials, so that what
it adds to the features is the same in all of them too."""


class Pair(eqx.Module):
    """Two data sets, and the agents that hold the unit in which they differ.

    Attributes:
        objectives: objectives of all agents, leading axis = agent.
        others: the same, with one unit changed.
        owners: indices of the agents that hold part of that unit.
        lonely: whether the owners hold one unit each, and nothing else has a loss.
    """

    objectives: AbstractPrivate
    others: AbstractPrivate
    owners: Int[Array, " owners"]
    lonely: bool = eqx.field(static=True)

    @classmethod
    def of(cls, neighbours: Neighbours) -> Pair:
        """The pair as arrays in the precision of the current context."""
        return cls(
            as_arrays(neighbours.objectives),
            as_arrays(neighbours.others),
            jnp.asarray(neighbours.owners),
            neighbours.others_zero and neighbours.objectives.units == 1,
        )


class AbstractObserver(eqx.Module):
    """Adds up a quantity over all releases of the audited owners."""

    pair: eqx.AbstractVar[Pair]

    @abc.abstractmethod
    def start(self, plan: Plan) -> Any:
        """What is gathered before anything is released."""

    @abc.abstractmethod
    def of_owner(
        self, owner: Index, seen: Observation, state: Any, released: Any, scale: Numbers
    ) -> Any:
        """What one owner's release adds, with noise of the given scale."""

    def __call__(self, gathered: Any, seen: Observation) -> Any:
        def one(owner: Index) -> Any:
            state = _row(seen.states, owner)
            released, scale = left(owner, seen, self.pair.objectives)
            added = self.of_owner(owner, seen, state, released, scale)
            return jnp.where(seen.awake[owner], added, 0.0)

        added = jnp.sum(jax.vmap(one)(self.pair.owners), axis=0)
        return self.add(gathered, seen, added)

    def add(self, gathered: Any, seen: Observation, added: Array) -> Any:
        """Combine it with what was gathered before."""
        return gathered + added


class Likelihood(AbstractObserver):
    """The exact log-likelihood ratio of all that the owners reveal, D over D'."""

    pair: Pair

    def start(self, plan: Plan) -> Float[Array, ""]:
        return jnp.zeros(())

    def of_owner(
        self, owner: Index, seen: Observation, state: Any, released: Any, scale: Numbers
    ) -> Float[Array, ""]:
        query, release = seen.phase.query, seen.phase.release
        assert query is not None and release is not None
        context, keys = seen.known(owner)
        law = release.mechanism.noised
        assert law is not None
        ratio = law.log_ratio

        def answer(objectives: AbstractPrivate, key: PRNGKeyArray) -> Array:
            return jnp.asarray(query(state, _row(objectives, owner), context, key))

        one, other = self.pair.objectives, self.pair.others
        if query.rate >= 1.0:
            return ratio(released, answer(one, keys.sample), answer(other, keys.sample), scale)
        # the unit is in the sample with probability `rate`, and there is nothing else
        there, absent = _forced(query.rate)
        without = answer(one, absent)
        densities = [
            jnp.logaddexp(
                jnp.log1p(-query.rate),
                jnp.log(query.rate) + ratio(released, answer(data, there), without, scale),
            )
            for data in (one, other)
        ]
        return densities[0] - densities[1]


class Features(AbstractObserver):
    """Features from which a score can be learned, where no likelihood is known.

    For every releasing phase, the sum over the rounds of the release minus the answer that is
    expected there (between the two data sets); and how far that lies in the direction in which
    the answers differ. The expected answers come from asking the query again about both data sets.

    Attributes:
        pair: the two data sets.
        again: whether the query is asked again; unnecessary where every trial releases once,
            from the same state.
    """

    pair: Pair
    again: bool = eqx.field(static=True)

    def start(self, plan: Plan) -> dict[int, Float[Array, " features"]]:
        sizes: dict[int, int] = {}

        def note(gathered: Any, seen: Observation) -> Any:
            one = _row(seen.released, 0)
            sizes[seen.index] = sum(leaf.size for leaf in jax.tree.leaves(one)) + self.again
            return gathered

        survey(plan, note)
        return {index: jnp.zeros(size) for index, size in sizes.items()}

    def of_owner(
        self, owner: Index, seen: Observation, state: Any, released: Any, scale: Numbers
    ) -> Float[Array, " features"]:
        released = _flat(released)
        if not self.again:
            return released
        query, release = seen.phase.query, seen.phase.release
        assert query is not None and release is not None
        context, _ = seen.known(owner)
        key = jax.random.fold_in(jax.random.key(_SAME), context.round + 1)
        context = eqx.tree_at(lambda c: c.key, context, key)
        noise_in = release.mechanism.noise_in
        one, other = (
            _flat(noise_in(query(state, _row(objective, owner), context, key), 1.0)[0])
            for objective in (self.pair.objectives, self.pair.others)
        )
        rest = released - (one + other) / 2.0
        return jnp.append(rest, (one - other) @ rest)

    def add(self, gathered: Any, seen: Observation, added: Array) -> Any:
        return {**gathered, seen.index: gathered[seen.index] + added}


def observer(method: AbstractMethod, pair: Pair, rounds: int) -> AbstractObserver:
    """The exact likelihood where there is one for every release of the method, else features."""
    releasing = [phase for phase in method.phases() if phase.query is not None]
    exact = all(
        phase.query is not None
        and phase.release is not None
        and exact_law(phase.release.mechanism) is not None
        and (phase.query.rate >= 1.0 or pair.lonely)
        for phase in releasing
    )
    if exact:
        return Likelihood(pair)
    return Features(pair, again=rounds > 1 or len(releasing) > 1 or releasing[0].repeat > 1)


def gather(
    plan: Plan, observe: AbstractObserver, roots: Key[Array, " trials"]
) -> Float[np.ndarray, "trials features"]:
    """What the observer gathers from one run of the plan per key, in the current precision.

    Returns:
        One row per trial: the log-likelihood ratio, or the features.
    """
    gathered = _gather(plan, observe, roots)
    columns = [np.asarray(leaf).reshape(len(roots), -1) for leaf in jax.tree.leaves(gathered)]
    return np.concatenate(columns, axis=1)


@eqx.filter_jit
def _gather(plan: Plan, observe: AbstractObserver, roots: Key[Array, " trials"]) -> Any:
    return jax.vmap(lambda root: observed(plan, observe, root, plan.rounds))(roots)


def observed(plan: Plan, observe: Any, root: PRNGKeyArray, rounds: Index) -> Any:
    """What an observer with a `start` gathers in the first rounds of one run. Traced."""
    simulator = Simulator(plan, root, observe=observe)
    states = {**plan.initial(), OBSERVED: observe.start(plan)}
    states = simulator.round(states, jnp.asarray(ONCE), once=True)
    return jax.lax.fori_loop(0, rounds, lambda t, s: simulator.round(s, t, once=False), states)[
        OBSERVED
    ]


def survey(plan: Plan, note: Observer) -> None:
    """Show an observer every release once, in shapes only, to allocate what it gathers."""
    simulator = Simulator(plan, plan.shared, observe=note)
    for once in (True, False):
        states = {**plan.initial(), OBSERVED: jnp.zeros(())}
        jax.eval_shape(
            lambda states=states, once=once: simulator.round(states, jnp.asarray(0), once=once)
        )


def exact_law(mechanism: Mechanism) -> Law | None:
    """The law of additive noise with a public scale; `None` where anything else protects."""
    return None if mechanism.own_records else mechanism.noised


def _forced(rate: float) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    """A key with which a sample contains its only unit, and one with which it does not."""
    with jax.ensure_compile_time_eval():
        keys = jax.vmap(jax.random.key)(jnp.arange(_TRIED))
        taken = np.asarray(jax.vmap(lambda key: sample(key, 1, rate))(keys))[:, 0]
        if taken.all() or not taken.any():
            raise PrivacyError(
                f"sampling={rate:g} is so near to 0 or 1 that an audit sees one case only; audit "
                "a rate between 0.001 and 0.999"
            )
        return keys[int(np.argmax(taken))], keys[int(np.argmin(taken))]


def _row(tree: Any, index: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)


def _flat(tree: Any) -> Float[Array, " entries"]:
    return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)])
