"""Auditing a black box: any callable from data and a source of randomness to a vector."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from tacit import checks
from tacit._engine.keys import trial_key
from tacit.arguments import checked
from tacit.arguments.answers import answer, naming_progress, numbers_only
from tacit.audit.curve import claimed_pair, claimed_trade_off, is_gaussian, trade_off
from tacit.audit.estimators import lower_bounds, trials_to_reject
from tacit.audit.family import scaled
from tacit.audit.neighbours import same
from tacit.audit.readings import Scores
from tacit.audit.result import Audit
from tacit.audit.sequential import FEWEST, LOOKS, Progress, attack, learned, looks
from tacit.errors import ConfigError, OracleError
from tacit.privacy.event import Event
from tacit.privacy.guarantee import Guarantee, NoiseSource, Status
from tacit.ranges import numeric
from tacit.types import Relation, Unit

Mechanism = Callable[[Any, Any], Any]
"""From data and a source of randomness to an array."""

Score = Callable[[Any], Any]
"""From the outputs of many runs, shape `(runs, numbers)`, to one number a run."""

_SIDES = 2
_TRIED = 2
"""Runs on which a vectorised callable is compared with the same callable as it is."""


@checked(ConfigError, own="claim")
def audit_callable(
    mechanism: Mechanism,
    data: Any,
    neighbour: Any,
    *,
    claim: tuple[float, float] | Guarantee,
    trials: int = 20_000,
    score: Score | None = None,
    events: Sequence[Event] = (),
    generator: str = "jax",
    seed: int | None = None,
    confidence: float = 0.95,
    stop: bool = True,
    batch: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Run any mechanism on neighbouring data, and try to refute a claim of privacy.

    Args:
        mechanism: function of (data, randomness) that gives an array of any shape, the same in
            every run. All its randomness must come from its second argument. With JAX keys it is
            called for many runs at once if it can be traced and gives the same values (which is
            checked), and run by run otherwise.
        data: the data set D, passed on unchanged.
        neighbour: the data set D'. You must ensure that the two are neighbours.
        claim: epsilon and delta, or a whole guarantee.
        trials: number of runs on each data set, at least `FEWEST`.
        score: function of the outputs, shape `(runs, numbers)`, that gives one number per run,
            higher where D is likelier; it must be made without looking at the runs. Learned from
            half of them if `None`.
        events: releases that are claimed, where they are known: a claim about Gaussian noise, or
            about many Laplace releases, is then tested more sharply.
        generator: source of randomness that `mechanism` gets, a new one for each run: "jax" for a
            key, or "numpy" for a `numpy.random.Generator`.
        seed: seed of all randomness, at least 0; drawn and recorded if `None`.
        confidence: probability, in (0.5, 1), with which a true claim is not refuted.
        stop: whether to stop as soon as the claim is refuted.
        batch: number of runs per side that are held at once, at least 1; a 64th of all if `None`.
        progress: function called with (runs done per side, all runs per side).

    Raises:
        ConfigError: an argument out of range, or the same data set twice.
        OracleError: the mechanism or the score failed, or gave something that is not finite.
        PrivacyError: a claim out of range.

    Example:
        >>> def half_the_noise(data, key):
        ...     return jnp.sum(data) + 0.5 * jax.random.laplace(key, ())
        >>> one, other = np.array([1.0, 1.0]), np.array([1.0, 0.0])
        >>> found = audit_callable(half_the_noise, one, other, claim=(1.0, 0.0), seed=0)
        >>> found.refuted, found.trials < 20_000
        (True, True)
    """
    stated = _claimed(claim)
    if trials < FEWEST:
        raise ConfigError(f"trials={trials!r} must be at least {FEWEST}")
    if not 0.5 < confidence < 1.0:
        raise ConfigError(f"confidence={confidence!r} must be in (0.5, 1), such as 0.95")
    if batch is not None and batch < 1:
        raise ConfigError(f"batch={batch!r} must be at least 1")
    if generator not in ("jax", "numpy"):
        raise ConfigError(f"generator={generator!r} must be 'jax' or 'numpy'")
    if seed is not None and seed < 0:
        raise ConfigError(f"seed={seed!r} must be at least 0")
    if _equal(data, neighbour):
        raise ConfigError("data and neighbour are the same; change one record in one of them")
    seed = secrets.randbits(31) if seed is None else seed
    settings: dict[str, Any] = {
        "delta": stated.delta,
        "gaussian": is_gaussian(events),
        "curve": None if is_gaussian(events) else scaled(events),
    }
    box = _Box(mechanism, (data, neighbour), generator, seed)
    seen = attack(
        box,
        learned if score is None else _given(score),
        claim=stated.epsilon,
        when=list(looks(trials)) if stop else [(trials, 1.0)],
        batch=-(-trials // LOOKS[0][0]) if batch is None else min(batch, trials),
        confidence=confidence,
        settings=settings,
        progress=progress and naming_progress(progress, "runs done, runs", ConfigError),
    )
    needed = trials_to_reject(
        seen.scores, seen.others, stated.epsilon / 2.0, confidence=confidence, **settings
    )
    perfect = np.ones(len(seen.scores)), np.zeros(len(seen.others))
    least = (
        claimed_trade_off(events, stated.epsilon, stated.delta)
        if events
        else claimed_pair(stated.epsilon, stated.delta)
    )
    return Audit(
        claim=stated,
        bounds=seen.bounds,
        curve=trade_off(seen.scores, seen.others, least, confidence=confidence),
        trials=seen.trials,
        confidence=confidence,
        # the score is learned from half of the runs
        trials_needed_for_twice=needed if score is not None or needed is None else 2 * needed,
        ceiling=max(b.epsilon for b in lower_bounds(*perfect, confidence=confidence, **settings)),
        how="the data sets as given",
        exact=score is not None,
        rounds=1,
        seed=seed,
    )


def _claimed(claim: Any) -> Guarantee:
    """The guarantee that is claimed."""
    if isinstance(claim, Guarantee):
        return claim
    pair = isinstance(claim, tuple) and len(claim) == 2 and numeric(claim)
    if not pair or np.ndim(claim) != 1:
        raise ConfigError(
            f"claim is {checks.shown(claim)}; give epsilon and delta, such as claim=(1.0, 1e-6), "
            "or a Guarantee"
        )
    return _stated(*claim)


class _Box:
    """A mechanism on both data sets: many runs at a time, each with its own randomness."""

    def __init__(
        self, mechanism: Mechanism, sides: tuple[Any, Any], generator: str, seed: int
    ) -> None:
        self.mechanism, self.sides, self.seed = mechanism, sides, seed
        self.generator = generator
        jax_keys = generator == "jax"
        self.at_once = [self._vectorised(i) if jax_keys else None for i in range(_SIDES)]

    def __call__(self, first: int, count: int) -> tuple[Any, Any]:
        found = [self._runs(side, first, count) for side in range(_SIDES)]
        if found[0].shape != found[1].shape:
            raise OracleError(
                f"the mechanism gives {found[0].shape[1]} numbers on one data set and "
                f"{found[1].shape[1]} on the other; pad its output to one length"
            )
        for side, rows in enumerate(found):
            bad = ~np.isfinite(rows).all(axis=1)
            if bad.any():
                which = "neighbour" if side else "data"
                raise OracleError(
                    f"the mechanism gave a number that is not finite in run "
                    f"{first + int(np.argmax(bad))} on `{which}`; map such outputs to a number "
                    "that marks them, since they tell something too"
                )
        return found[0], found[1]

    def _runs(self, side: int, first: int, count: int) -> Float[np.ndarray, "runs numbers"]:
        at_once = self.at_once[side]
        numbers = range(first, first + count)
        if at_once is not None:
            with jax.enable_x64(True):
                return _rows(at_once(self._keys(side, first, count)), count)
        if self.generator == "jax":
            with jax.enable_x64(True):
                keys = self._keys(side, first, count)
                return self._stacked([self._call(side, key) for key in keys])
        draws = (np.random.default_rng([self.seed, side, number]) for number in numbers)
        return self._stacked([self._call(side, draw) for draw in draws])

    def _keys(self, side: int, first: int, count: int) -> Any:
        numbers = _SIDES * (first + jnp.arange(count)) + side
        return jax.vmap(lambda number: trial_key(self.seed, number))(numbers)

    def _call(self, side: int, randomness: Any) -> Any:
        try:
            made = answer(
                self.mechanism,
                self.sides[side],
                randomness,
                named="the mechanism",
                takes="data, randomness",
                fits=numbers_only("an output", "return its output, an array of numbers"),
                error=OracleError,
            )
            return _real(made).reshape(-1)
        except OracleError:
            raise
        except Exception as error:
            which = "neighbour" if side else "data"
            raise OracleError(f"the mechanism failed on `{which}`: {error}") from error

    def _stacked(self, found: list[Any]) -> Float[np.ndarray, "runs numbers"]:
        sizes = {len(row) for row in found}
        if len(sizes) > 1:
            raise OracleError(
                f"the mechanism gives between {min(sizes)} and {max(sizes)} numbers; pad its "
                "output to one length"
            )
        return np.stack(found)

    def _vectorised(self, side: int) -> Callable[[Any], Any] | None:
        """The mechanism over many keys, or `None` where vectorising would change it.

        A callable that draws noise without JAX's knowledge would be traced with one draw for all
        runs, and wrongly refuted: its values are compared with those of calling it.
        """
        with jax.enable_x64(True):
            keys = self._keys(side, 0, _TRIED)
            expected = self._stacked([self._call(side, key) for key in keys])
            at_once = jax.jit(jax.vmap(lambda key: self.mechanism(self.sides[side], key)))
            try:
                found = _rows(at_once(keys), _TRIED)
            except Exception:  # tracing may raise anything: then it runs untraced, as before
                return None
        same = found.shape == expected.shape and np.allclose(found, expected, rtol=1e-6)
        return at_once if same else None


def _equal(one: Any, other: Any) -> bool:
    """Whether two data sets are one, as far as can be seen."""
    try:
        return one is other or same(one, other)
    except Exception:  # objects of any kind may refuse to be compared
        return False


def _rows(found: Any, count: int) -> Float[np.ndarray, "runs numbers"]:
    return _real(found).reshape(count, -1)


def _real(found: Any) -> Float[np.ndarray, "*shape"]:
    if np.iscomplexobj(found):
        raise OracleError(
            "the mechanism gives complex numbers, of which an audit would see the real parts only; "
            "give real and imaginary parts side by side"
        )
    return np.asarray(found, dtype=float)


def _given(score: Score) -> Callable[[Any, Any], tuple[Scores, Scores]]:
    def both(rows: Any, others: Any) -> tuple[Scores, Scores]:
        return one(rows), one(others)

    def one(rows: Any) -> Scores:
        try:
            found = np.asarray(score(rows), dtype=float)
        except Exception as error:
            raise OracleError(f"the score failed: {error}") from error
        if found.shape != (len(rows),) or np.isnan(found).any():
            raise OracleError(
                f"the score gave shape {found.shape} or not-a-number for {len(rows)} runs; it must "
                "give one number a run"
            )
        return found

    return both


def _stated(epsilon: float, delta: float) -> Guarantee:
    return Guarantee(
        owner="the callable",
        epsilon=float(epsilon),
        delta=float(delta),
        unit=Unit.RECORD,
        relation=Relation.REPLACE_ONE,
        theorem="as claimed of the callable",
        status=Status.MODEL,
        noise=NoiseSource.SIMULATED,
        releases=1,
        assumptions=("the callable does what is claimed of it",),
        reason="nobody has looked inside",
    )
