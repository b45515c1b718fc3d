"""Rehearsals: the methods themselves, with their noise, on synthetic records of a study's shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

import tacit._engine.runner
from tacit._engine.runner import Simulation
from tacit.advise.candidates import Candidate, Pace, claimed
from tacit.advise.law import Law, Slopes
from tacit.advise.measured import Measured
from tacit.advise.noise import multiplier
from tacit.advise.setting import Setting, changed, two_digits
from tacit.advise.shrink import Shape, shape
from tacit.errors import ProblemError
from tacit.problem.problem import Problem
from tacit.problem.scores import base_scores, scores, share_kept
from tacit.types import Params

ROUNDS = (10, 30, 100, 300)
"""Numbers of rounds that are tried."""

PATHS = (3.0, 10.0, 30.0, 100.0, 300.0)
"""Products of rounds and step that are tried, over a full step along the largest curvature."""

CLIPS = (1.0, 0.25, 0.5, 2.0, 4.0, 8.0)
"""Clips that are tried, over the typical norm of one record's gradient; the first comes first."""

_LONGEST, _SHORTEST = 3.0, 1.0 / 30.0
"""Largest and smallest step that is tried, over a full step: clipped gradients are smaller."""

_TUNED, _FINAL, _FRESH = (1, 2), (3, 4), (11, 12, 13, 14)
"""Seeds of synthetic records: those for choosing settings, in two stages, and those for the report.
In each set, numbers fill their bounds in one half and only a part of them in the other."""

_HELD_OUT = 3000
"""Number of synthetic records on which scores are computed."""

_FINALISTS = 3
_WORK = 6e9
_WORST = 3.0
"""Cap on the share lost in a trial that is far worse than the base rate, or diverged."""

Told = Callable[[int, int], None]
"""Called with (simulations done, simulations)."""


@dataclass(frozen=True)
class Choice:
    """One setting of one method.

    Attributes:
        candidate: method to be set.
        clip: clip of one record's contribution.
        factor: the clip over the typical norm of one record's gradient (root mean square).
        rounds: number of rounds.
        path: rounds times step, over a full step along the largest curvature.
        arguments: arguments of the method.
    """

    candidate: Candidate
    clip: float
    factor: float
    rounds: int
    path: float
    arguments: dict[str, float] = field(hash=False)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Synthetic records of all sites, and the best possible knowledge about them.

    Attributes:
        law: law of the records.
        problem: problem over the records.
        held_out: features and answers of fresh records, as the loss encodes them.
        pooled: mean loss of the pooled fit on those.
        base: mean loss of the base rate on those.
    """

    law: Law
    problem: Problem
    held_out: tuple[Any, Any]
    pooled: float
    base: float

    def loss(self, solution: Params) -> float:
        """Mean loss on fresh records; `held_out` has targets as the loss encodes them."""
        loss, (rows, known) = self.law.setting.loss, self.held_out
        with jax.enable_x64(True), np.errstate(over="ignore", invalid="ignore"):
            weights = np.asarray(loss.weights(np.asarray(solution), rows.shape[1]))
            return float(np.mean(np.asarray(loss.value(rows @ weights, known))))


class Bench:
    """Synthetic problems of one shape, so that one compilation serves all simulations of a method.

    Args:
        setting: declared dimensions of the study.
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.shape: Shape = shape(setting)
        self.slopes = Slopes(setting)
        self._drawn: dict[int, Drawn] = {}
        self._noise: dict[tuple[str, int], float] = {}

    def choices(self, candidate: Candidate, factor: float) -> list[Choice]:
        """The settings of a method that can be simulated in a few seconds."""
        grid = [(rounds, path) for rounds in ROUNDS for path in PATHS if path <= _LONGEST * rounds]
        # the likeliest first: steps near a third of a full step
        grid.sort(key=lambda pair: abs(math.log(3.0 * pair[1] / pair[0])))
        made: list[Choice] = []
        spent = 0.0
        for rounds, path in grid:
            choice = self.choice(candidate, factor, rounds, path)
            if spent + self.cost(choice) <= _WORK:
                made.append(choice)
                spent += self.cost(choice)
        return made

    def cost(self, choice: Choice) -> float:
        """Approximate number of multiplications of one simulation."""
        evaluations = max(1, choice.candidate.evaluations(self.setting.parameters))
        return self.shape.work * evaluations * choice.rounds

    def choice(self, candidate: Candidate, factor: float, rounds: int, path: float) -> Choice:
        """The method set for a clip and a path; a full step reaches a quadratic's optimum."""
        clip = two_digits(factor * self.slopes.typical)
        degree = float(np.mean(self.shape.network.degrees))
        weight = float(np.mean(self.shape.counts / self.shape.divisors))
        pace = Pace(path / rounds / (self.slopes.clipped(clip) * weight), degree)
        return Choice(candidate, clip, factor, rounds, path, candidate.arguments(pace))

    def check(self, candidate: Candidate) -> None:
        """Refuse a method whose assumptions the problem breaks.

        Raises:
            ProblemError: the method's own message.
            NetworkError: as above.
        """
        self._method(self.choice(candidate, 1.0, 1, 1.0), 1.0).check(
            self.drawn(_TUNED[0]).problem, self.shape.network
        )

    def drawn(self, seed: int) -> Drawn:
        """Records, their pooled fit and their base rate for a seed.

        Raises:
            ProblemError: a pooled fit that has learned nothing at all.
        """
        if seed not in self._drawn:
            law = Law(self.setting, seed)
            problem = law.problem(self.shape.counts, self.shape.divisors)
            rows, answers = law.draw(_HELD_OUT)
            solution = problem.reference().solution
            loss = self.setting.loss
            fresh = loss.encode(answers, "made-up row {}".format)
            fitted = self.setting.parameters - self.setting.intercept * self.setting.classes
            if not np.any(np.abs(solution[:fitted]) > 1e-9):
                raise ProblemError(
                    "the pooled fit of the made-up records is zero: the regulariser outweighs what "
                    "there is to learn; lower its strength"
                )
            objectives: Any = problem.objectives
            known = np.asarray(objectives.targets)[np.asarray(objectives.mask) > 0]
            base = base_scores(loss, known, fresh)["loss"]
            pooled = scores(loss, rows, fresh, solution)["loss"]
            self._drawn[seed] = Drawn(law, problem, (rows, fresh), pooled, base)
        return self._drawn[seed]

    def losses(self, choice: Choice, seed: int, less: float = 1.0) -> Float[np.ndarray, " trials"]:
        """Mean loss of every trial on fresh records; infinite where it diverged.

        Args:
            choice: setting to run.
            seed: seed of the synthetic records and the simulated noise.
            less: factor by which the noise is smaller than the budget requires.
        """
        drawn = self.drawn(seed)
        key = (repr(choice.candidate), choice.rounds)
        if key not in self._noise:
            self._noise[key] = multiplier(self.setting, choice.rounds, self.budgeted(choice))
        result = tacit._engine.runner.run(
            drawn.problem,
            self.shape.network,
            self._method(choice, self._noise[key] * self.shape.noise / less),
            rounds=choice.rounds,
            seed=seed,
            runtime=Simulation(trials=self.shape.trials),
            record=[choice.rounds],
        )
        found = [drawn.loss(answers.mean(axis=0)) for answers in result.solutions]
        return np.where(result.finished, found, np.inf)

    def shares(self, choice: Choice, seed: int, less: float = 1.0) -> Float[np.ndarray, " trials"]:
        """The share kept in every trial; NaN where the pooled fit gains nothing."""
        drawn = self.drawn(seed)
        found = [
            share_kept(loss, drawn.pooled, drawn.base, higher=False)
            for loss in self.losses(choice, seed, less)
        ]
        return np.array([np.nan if share is None else share for share in found])

    def tune(
        self, choices: Sequence[Choice], told: Told, *, clips: bool = False, less: float = 1.0
    ) -> Choice:
        """The choice that loses least on the records for tuning.

        All choices run on the first set of records, then the best and its neighbours with other
        clips; the best few also on the second set, so that luck with one set does not decide.

        Args:
            choices: settings to compare, at least one.
            told: function called with the progress.
            clips: whether to try other clips with the best choice.
            less: factor by which the noise is smaller than the budget requires.
        """
        tried: dict[tuple[float, int, float], tuple[float, Choice]] = {}
        others = CLIPS[1:] if clips else ()
        total = len(choices) + (3 * len(others) + 4 if clips else 0) + _FINALISTS

        def run(choice: Choice) -> None:
            key = (choice.clip, choice.rounds, choice.path)
            done = sum(self.cost(other) for _, other in tried.values())
            if key not in tried and done <= 2.0 * _WORK:
                told(min(len(tried), total), total)
                tried[key] = self.lost(choice, _TUNED, less), choice

        for choice in choices:
            run(choice)
        best = min(tried.values(), key=_first)[1]
        for factor in others:
            if 0.5 * factor * self.slopes.typical >= self.slopes.norms.max():
                continue  # half of it does not clip anything either
            for other in near(self.choices(best.candidate, factor), best):
                if other.rounds == best.rounds:
                    run(other)
        if others:
            best = min(tried.values(), key=_first)[1]
            for other in near(self.choices(best.candidate, best.factor), best):
                run(other)
        finalists = sorted(tried.values(), key=_first)[:_FINALISTS]
        both: list[tuple[float, Choice]] = []
        for lost, each in finalists:
            told(total - len(finalists) + len(both), total)
            both.append((lost + self.lost(each, _FINAL, less), each))
        return min(both, key=_first)[1]

    def lost(self, choice: Choice, seeds: Sequence[int], less: float) -> float:
        """Mean share of the pooled fit's gain that the trials lose; absurd values are capped."""
        found: list[float] = []
        for seed in seeds:
            drawn = self.drawn(seed)
            gain = max(drawn.base - drawn.pooled, 1e-3 * abs(drawn.base))
            left = (self.losses(choice, seed, less) - drawn.pooled) / gain
            found.append(float(np.mean(np.minimum(left, _WORST))))
        return float(np.mean(found))

    def confirm(self, choice: Choice, less: float = 1.0) -> Measured:
        """The choice measured on records that it was not chosen on."""
        shares = [self.shares(choice, seed, less) for seed in _FRESH]
        pooled = float(np.median([self.drawn(seed).pooled for seed in _FRESH]))
        base = float(np.median([self.drawn(seed).base for seed in _FRESH]))
        return Measured(
            choice.candidate.name,
            choice.clip,
            choice.rounds,
            choice.arguments,
            np.concatenate(shares),
            {"pooled": pooled, "base rate": base},
        )

    def budgeted(self, choice: Choice) -> Any:
        """The method as recommended, without masks."""
        return choice.candidate.method(choice.arguments, self.setting.budget.alone())

    def _method(self, choice: Choice, noise_multiplier: float) -> Any:
        # the multiplier accounts for persons with several records, and for the part that masks
        # leave
        budget = changed(
            self.setting.budget.alone(),
            clip=choice.clip,
            sites_per_person=1,
            records_per_person=1,
        )
        method = choice.candidate.method(choice.arguments, budget)
        return claimed(method, noise_multiplier)


def near(choices: Sequence[Choice], other: Choice) -> list[Choice]:
    """Choices with the same rounds as another and an adjacent path, or the reverse."""
    found = [
        each
        for each in choices
        if (each.rounds == other.rounds and 0.2 < each.path / other.path < 5.0)
        or (each.path == other.path and 0.2 < each.rounds / other.rounds < 5.0)
    ]
    return found or list(choices)


def _first(pair: tuple[float, Choice]) -> float:
    return pair[0]
