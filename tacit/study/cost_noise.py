"""How much of an answer will be noise, where each site has one whole cost: from public numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tacit._engine.doubts import noise_of_mean
from tacit._engine.planning import contract
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.privacy.guarantee import Status
from tacit.study.run import Assembled

TIMES = (1, 2, 4, 8, 16, 32, 64)
"""Budgets that are tried, over that of the study."""

CHANCE = 1.0
"""Noise at which an answer is chance, in units of the clip."""


@dataclass(frozen=True)
class CostNoise:
    """Noise in the mean of all answers of a run, in units of the clip.

    No answer is longer than the clip, so at 1 and above what is found is chance. How much less is
    enough depends on the costs.

    Attributes:
        epsilon: budgets of a run, ascending, the study's own first.
        noise: standard deviation in each coordinate of that mean, for each budget.
        delta: delta of each.
        status: status of these guarantees.
    """

    epsilon: tuple[float, ...]
    noise: tuple[float, ...]
    delta: float
    status: Status

    @property
    def enough(self) -> float | None:
        """The first of these budgets at which the answer is not chance; `None` if there is none."""
        rows = zip(self.epsilon, self.noise, strict=True)
        return next((epsilon for epsilon, noise in rows if noise < CHANCE), None)


@checked(ConfigError)
def cost_noise(assembled: Assembled) -> CostNoise:
    """Noise of a study of whole costs at its own and at larger budgets; nothing is evaluated.

    Args:
        assembled: result of `assemble`, of a study with a budget whose sites have whole costs.

    Raises:
        ConfigError: a study of records, or without a budget in epsilon.
    """
    source, method = assembled.source, assembled.method
    budget: Any = getattr(method, "privacy", None)
    if not source.costs:
        raise ConfigError(f"{source.name} is a study of records; `tacit advise` rehearses it")
    if budget is None or budget.epsilon is None:
        with source.blamed():
            raise ConfigError(
                "without epsilon in [privacy] there is no noise to forecast; `tacit run` evaluates "
                "the costs and says whether the answer is better than the start"
            )
    found: list[tuple[float, float, float]] = []
    status = Status.NONE
    for times in TIMES:
        given: Any = replace(budget, epsilon=budget.epsilon * times)
        changed: Any = replace(method, privacy=given)
        with source.blamed():
            agreed = contract(
                assembled.problem,
                assembled.network,
                changed,
                rounds=source.study.run.rounds,
                seed=source.study.run.shared_seed,
            )
        worst = agreed.guarantee.worst
        noise = noise_of_mean(agreed.guarantee, agreed.table, assembled.problem.agents)
        found.append((worst.epsilon, noise, worst.delta))
        status = worst.status
    epsilons, noises, deltas = zip(*found, strict=True)
    return CostNoise(epsilons, noises, max(deltas), status)
