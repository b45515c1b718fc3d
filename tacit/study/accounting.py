"""What a study guarantees, and what masks save in it, without running it."""

from __future__ import annotations

import tacit._engine.planning
from tacit._engine.planning import Account, MeanNoise
from tacit.study.run import Assembled


def account(assembled: Assembled, rounds: int | None = None) -> Account:
    """What running the study would release, cost and promise.

    Nothing is asked of any record; that there are so many of them is all that is used.

    Args:
        assembled: from `assemble`.
        rounds: instead of the study's own.

    Raises:
        ConfigError: a method, network and budget that do not fit, with the line of the file.
    """
    settings = assembled.source.study.run
    with assembled.source.blamed():
        return tacit._engine.planning.account(
            assembled.problem,
            assembled.network,
            assembled.method,
            rounds=settings.rounds if rounds is None else rounds,
            seed=settings.seed,
            trials=settings.trials,
        )


def mean_noise(assembled: Assembled, rounds: int | None = None) -> MeanNoise | None:
    """What masks save in a study, or would save; `None` where it cannot use them.

    Args:
        assembled: from `assemble`.
        rounds: instead of the study's own.

    Raises:
        ConfigError: a budget that cannot be met, with the line of the file.
    """
    settings = assembled.source.study.run
    with assembled.source.blamed():
        return tacit._engine.planning.mean_noise(
            assembled.problem,
            assembled.network,
            assembled.method,
            rounds=settings.rounds if rounds is None else rounds,
            seed=settings.seed,
        )
