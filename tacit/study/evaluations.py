"""How often a study's simulators are evaluated, and which evaluations an interrupted run leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit._engine.contract import contract
from tacit.problem.boxes import BlackBox
from tacit.problem.problem import Problem
from tacit.study.read import Source
from tacit.study.run import Assembled


@dataclass(frozen=True)
class Evaluations:
    """Evaluations of all sites together; a simulation makes a few more, of its start and answer.

    Attributes:
        once: those before the first round.
        per_round: those of the round with most, at least 0.
        total: those of the whole run.
        workers: how many are made at a time on one machine, at least 1.
    """

    once: int
    per_round: int
    total: int
    workers: int

    @property
    def turns(self) -> int:
        """Times of one evaluation that a simulation takes at least, if all take equally long."""
        return math.ceil(self.total / self.workers)

    def sentence(self) -> str:
        """These numbers in words.

        Example:
            >>> Evaluations(once=0, per_round=40, total=1200, workers=2).sentence()[:62]
            'Evaluations of all sites: 40 per round, 1,200 in all. Simulate'
        """
        once = f"{self.once:,} before the first round, " if self.once else ""
        many = f"{self.workers:,} at a time" if self.workers > 1 else "one at a time"
        return (
            f"Evaluations of all sites: {once}{self.per_round:,} per round, {self.total:,} in all. "
            f"Simulated with {many}, that takes {self.turns:,} times as long as one; between sites "
            "all sites evaluate at the same time."
        )


def evaluations(assembled: Assembled, rounds: int | None = None) -> Evaluations | None:
    """The evaluations of a study with simulators; `None` for one without. Nothing is evaluated.

    Args:
        assembled: result of `assemble`.
        rounds: number of rounds, at least 1; the study's own by default.

    Raises:
        ConfigError: a budget that cannot be met, with the line of the file.
    """
    problem, settings = assembled.problem, assembled.source.study.run
    if not isinstance(problem, Problem) or not isinstance(problem.objectives, BlackBox):
        return None
    with assembled.source.blamed():
        agreed = contract(
            problem,
            assembled.network,
            assembled.method,
            rounds=settings.rounds if rounds is None else rounds,
            seed=settings.shared_seed,
        )
        by_round = agreed.evaluations(np.arange(agreed.rounds + 1))
    return Evaluations(
        once=int(by_round[0]),
        per_round=int(np.diff(by_round).max()),
        total=int(by_round[-1]),
        workers=problem.objectives.host.evaluation.workers or 1,
    )


def left(source: Source) -> str:
    """What becomes of the evaluations that earlier starts of a study left in its `cache`, in words.

    Args:
        source: the study.

    Returns:
        A clause; empty without a file of evaluations.
    """
    simulator = getattr(getattr(source.study, "problem", None), "simulator", None)
    cache = getattr(simulator, "cache", None)
    if cache is None or not (source.folder / cache).exists():
        return ""
    told = f"the evaluations made so far are in {source.folder / cache}"
    privacy = source.study.privacy
    if privacy is not None and privacy.ledger is not None:
        return f"{told}, but a run that is charged to a ledger draws other noise and other points"
    if source.study.run.seed is None:
        return f"{told}, but another start draws other points unless [run] has a seed"
    return f"{told} and will be used"
