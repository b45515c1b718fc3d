"""The guarantee of a study, and the saving from masks, without running it."""

from __future__ import annotations

import tacit._engine.planning
from tacit._engine.planning import Account, MeanNoise
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.study.own_code import metrics
from tacit.study.run import Assembled


@checked(ConfigError)
def account(assembled: Assembled, rounds: int | None = None) -> Account:
    """What a run of the study would release, cost and guarantee.

    No record is read; only the numbers of records are used.

    Args:
        assembled: result of `assemble`.
        rounds: number of rounds; the study's own by default.

    Raises:
        ConfigError: a method, network and budget that do not match, or a metric that is not
            found, with the line of the file.
    """
    _check(rounds)
    settings = assembled.source.study.run
    metrics(assembled.source)  # which a run would refuse first
    with assembled.source.blamed():
        return tacit._engine.planning.account(
            assembled.problem,
            assembled.network,
            assembled.method,
            rounds=settings.rounds if rounds is None else rounds,
            seed=settings.shared_seed,
            trials=settings.trials,
        )


@checked(ConfigError)
def mean_noise(assembled: Assembled, rounds: int | None = None) -> MeanNoise | None:
    """The saving from masks in a study, actual or possible; `None` where it cannot use them.

    Args:
        assembled: result of `assemble`.
        rounds: number of rounds; the study's own by default.

    Raises:
        ConfigError: a budget that cannot be met, with the line of the file.
    """
    _check(rounds)
    settings = assembled.source.study.run
    with assembled.source.blamed():
        return tacit._engine.planning.mean_noise(
            assembled.problem,
            assembled.network,
            assembled.method,
            rounds=settings.rounds if rounds is None else rounds,
            seed=settings.shared_seed,
        )


def _check(rounds: int | None) -> None:
    """Refuse rounds that were asked for here: no line of the file is to blame."""
    if rounds is not None and rounds < 1:
        raise ConfigError(f"rounds={rounds!r} must be at least 1")
