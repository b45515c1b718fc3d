"""Running the methods themselves on synthetic records."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tacit.runner
from tacit.advise.candidates import Candidate, Pace, claimed
from tacit.advise.closed_form import ROUNDS, multiplier
from tacit.advise.law import Law, Slopes
from tacit.advise.measured import Measured, mean_scores, scores_of
from tacit.advise.setting import Setting, changed, unmasked
from tacit.advise.shrink import Shape, shape
from tacit.errors import ProblemError
from tacit.metrics import History
from tacit.problem.problem import Problem
from tacit.runner import Simulation

PATHS = (1.0, 3.0, 10.0, 30.0, 100.0)
"""Rounds times step that are tried, over a full step along the largest feature."""

_TUNED, _FRESH = (1, 2), (3, 4)
"""Seeds of synthetic records: those that settings are chosen on, those that are reported."""

_FINALISTS = 4
_WORK = 6e9

Told = Callable[[int, int], None]
"""Called with (simulations done, simulations)."""


@dataclass(frozen=True)
class Choice:
    """One setting of one method.

    Attributes:
        candidate: the method.
        clip: of one record's contribution.
        rounds: how many.
        path: rounds times step, over a full step along the largest feature.
        arguments: of the method.
    """

    candidate: Candidate
    clip: float
    rounds: int
    path: float
    arguments: dict[str, float] = field(hash=False)


class Bench:
    """Synthetic problems of one shape, so that one compilation serves all simulations.

    Args:
        setting: the declared dimensions.
        found: the methods to be run, whose cost fixes the size of the problems.
    """

    def __init__(self, setting: Setting, found: Sequence[Candidate]) -> None:
        self.setting = setting
        self.shape: Shape = shape(setting)
        self.slopes = Slopes.of(setting)
        self.found = found
        self._drawn: dict[int, tuple[Law, Problem, Any]] = {}

    def choices(self, candidate: Candidate, clip: float) -> list[Choice]:
        """The settings of a method that can be simulated in a few seconds."""
        grid = [(rounds, path) for rounds in ROUNDS for path in PATHS if path <= rounds]
        # the likeliest first: steps near a third of a full one
        grid.sort(key=lambda pair: abs(math.log(3.0 * pair[1] / pair[0])))
        made: list[Choice] = []
        spent = 0.0
        for rounds, path in grid:
            choice = self.choice(candidate, clip, rounds, path)
            if spent + self.cost(choice) <= _WORK:
                made.append(choice)
                spent += self.cost(choice)
        return made

    def cost(self, choice: Choice) -> float:
        """Multiplications of one simulation, roughly."""
        evaluations = max(1, choice.candidate.evaluations(self.setting.parameters))
        return self.shape.work * evaluations * choice.rounds

    def choice(self, candidate: Candidate, clip: float, rounds: int, path: float) -> Choice:
        """The method set for a clip and a path; a full step reaches a quadratic's optimum."""
        degree = float(np.mean(self.shape.network.degrees))
        curvature = self.slopes.clipped(clip) * self.slopes.variances.max()
        pace = Pace(path / rounds * self.setting.weight / curvature, degree)
        return Choice(candidate, clip, rounds, path, candidate.arguments(pace))

    def check(self, candidate: Candidate) -> None:
        """Refuse a method whose assumptions the problem breaks.

        Raises:
            ProblemError: what the method says about it.
            NetworkError: as above.
        """
        method = self._method(
            Choice(candidate, 1.0, 1, 1.0, candidate.arguments(Pace(1.0, 2.0))), 1.0
        )
        method.check(self.drawn(_TUNED[0])[1], self.shape.network)

    def drawn(self, seed: int) -> tuple[Law, Problem, Any]:
        """Law, problem and optimum for a seed.

        Raises:
            ProblemError: an optimum that is zero, against which nothing can be measured.
        """
        if seed not in self._drawn:
            law = Law.of(self.setting, seed)
            problem = law.problem(self.shape.records, self.shape.agents)
            optimum = problem.reference().solution
            if float(np.linalg.norm(optimum)) < 1e-6 * float(np.linalg.norm(law.truth)):
                raise ProblemError(
                    "the optimum of the synthetic records is zero: the regulariser outweighs what "
                    "there is to learn; lower its strength"
                )
            self._drawn[seed] = law, problem, optimum
        return self._drawn[seed]

    def errors(self, choice: Choice, setting: Setting, seed: int) -> Any:
        """Normalised error of every trial, and the answers.

        Args:
            choice: what to run.
            setting: whose records and budget fix the noise; of the bench's shape otherwise.
            seed: of the synthetic records and the simulated noise.
        """
        _, problem, optimum = self.drawn(seed)
        z = multiplier(setting, choice.rounds, self._budgeted(choice, setting))
        result = tacit.runner.run(
            problem,
            self.shape.network,
            self._method(choice, z * self.shape.noise(setting)),
            rounds=choice.rounds,
            seed=seed,
            runtime=Simulation(trials=self.shape.trials),
            record=[choice.rounds],
            reference=optimum,
        )
        return np.where(result.finished, _last(result.history) / problem.agents, np.inf), result

    def tune(
        self, choices: Sequence[Choice], setting: Setting, told: Told, clips: Sequence[float] = ()
    ) -> Choice:
        """The choice with the smallest mean error on the records for tuning.

        All choices run on the first set of them, then the best and its neighbours with other
        clips; the best few also on the second set, so that luck with one does not decide.

        Args:
            choices: at least one.
            setting: whose records and budget fix the noise.
            told: how far it is.
            clips: further ones to try with the best choice.
        """
        tried: dict[tuple[float, int, float], tuple[float, Choice]] = {}
        total = len(choices) + (3 * len(clips) + 4 if clips else 0) + _FINALISTS

        def run(choice: Choice) -> None:
            key = (choice.clip, choice.rounds, choice.path)
            done = sum(self.cost(other) for _, other in tried.values())
            if key not in tried and done <= 2.0 * _WORK:
                told(min(len(tried), total), total)
                mean = float(np.mean(self.errors(choice, setting, _TUNED[0])[0]))
                tried[key] = mean, choice

        for choice in choices:
            run(choice)
        best = min(tried.values(), key=_first)[1]
        for clip in clips:
            for other in near(self.choices(best.candidate, clip), best):
                if other.rounds == best.rounds:
                    run(other)
        if clips:
            best = min(tried.values(), key=_first)[1]
            for other in near(self.choices(best.candidate, best.clip), best):
                run(other)
        finalists = sorted(tried.values(), key=_first)[:_FINALISTS]
        both: list[tuple[float, Choice]] = []
        if not self.shape.repeated:
            return finalists[0][1]
        for error, each in finalists:
            told(total - len(finalists) + len(both), total)
            again = float(np.mean(self.errors(each, setting, _TUNED[1])[0]))
            both.append((error + again, each))
        return min(both, key=_first)[1]

    def confirm(self, choice: Choice, setting: Setting) -> Measured:
        """The choice on records that it was not chosen on."""
        errors: list[Any] = []
        scores: list[dict[str, dict[str, float]]] = []
        for seed in _FRESH if self.shape.repeated else _FRESH[:1]:
            found, result = self.errors(choice, setting, seed)
            errors.append(found)
            law, _, optimum = self.drawn(seed)
            scores.append(scores_of(law, optimum, result.solutions[result.finished]))
        return Measured(
            choice.candidate.name,
            choice.clip,
            choice.rounds,
            choice.arguments,
            np.concatenate(errors),
            mean_scores(scores),
        )

    def _budgeted(self, choice: Choice, setting: Setting) -> Any:
        return choice.candidate.method(choice.arguments, unmasked(setting.budget))

    def _method(self, choice: Choice, noise_multiplier: float) -> Any:
        # the multiplier has paid for people with several records, and is what masks leave of it
        budget = changed(
            unmasked(self.setting.budget),
            clip=choice.clip,
            sites_per_person=1,
            records_per_person=1,
        )
        method = choice.candidate.method(choice.arguments, budget)
        return claimed(method, noise_multiplier)


def near(choices: Sequence[Choice], other: Choice) -> list[Choice]:
    """Those with the rounds of another choice and a path beside its own, or the reverse."""
    found = [
        each
        for each in choices
        if (each.rounds == other.rounds and 0.2 < each.path / other.path < 5.0)
        or (each.path == other.path and 0.2 < each.rounds / other.rounds < 5.0)
    ]
    return found or list(choices)


def _first(pair: tuple[float, Choice]) -> float:
    return pair[0]


def _last(history: History) -> Any:
    return history.measured["distance"][-1]
