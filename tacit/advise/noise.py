"""The noise that a budget would require: for advice, before a problem exists."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from jaxtyping import Int

from tacit._engine.calibrate import calibrate
from tacit._engine.charging import Owners
from tacit._engine.keys import public_key
from tacit.advise.setting import Setting, changed
from tacit.errors import PrivacyError
from tacit.method.phase import AbstractMethod
from tacit.method.releases import Releases
from tacit.privacy import facts
from tacit.privacy.facts import Fact
from tacit.types import PublicContext, Unit

MOST_EPSILON = 50.0
"""A larger epsilon is not protection worth advising."""


def multiplier(setting: Setting, rounds: int, method: AbstractMethod) -> float:
    """The noise multiplier that the budget requires for a number of rounds, at the most active
    site.

    Masks leave an agent the noise of all honest ones, so that its own is a share of it; the value
    of a mean of such answers does not depend on the masks themselves, which are left out.

    Args:
        setting: declared dimensions, with the budget and the network.
        rounds: number of rounds.
        method: method without masks, whose releases are counted.

    Raises:
        PrivacyError: a budget that no noise can meet.
    """
    privacy = calibrate(Releases(method), owners(setting, rounds)).method.privacy
    assert privacy is not None
    z = privacy.noise_multiplier
    hidden = setting.budget.hides.honest(setting.agents)
    return float(np.max(np.asarray(z, dtype=float))) / math.sqrt(hidden)


def owners(setting: Setting, rounds: int) -> Owners:
    """Declared constants of the most active sites, as many as one person may have records at."""
    count = min(setting.agents, setting.budget.sites_per_person)
    contexts = tuple(
        PublicContext(
            agent=k,
            agents=setting.agents,
            round=0,
            rounds=rounds,
            count=int(setting.counts[k]),
            normaliser=float(setting.divisors[k]),
            unit=Unit.RECORD,
            degree=1,
            participations=int(_charged(setting, rounds).max()),
            dimension=setting.parameters,
        )
        for k in range(count)
    )
    counted = Fact.RECORDS in facts.public(Unit.RECORD, setting.budget.relation)
    return Owners(contexts, tuple(str(k) for k in range(count)), counted=counted)


def _charged(setting: Setting, rounds: int) -> Int[np.ndarray, " agents"]:
    """Number of releases of every site, including sums abandoned because one is missing."""
    return np.asarray(setting.budget.hides.releases(setting.network, rounds, public_key(0)))


def with_epsilon(setting: Setting, epsilon: float) -> Setting:
    """The same setting with another budget."""
    return replace(setting, budget=changed(setting.budget, epsilon=epsilon))


def epsilon_for(
    setting: Setting, rounds: int, method: AbstractMethod, factor: float
) -> float | None:
    """Smallest epsilon, to two digits, whose noise is `factor` times smaller; `None` above 50.

    Args:
        setting: declared dimensions, with the budget in question.
        rounds: number of rounds.
        method: method as set, without masks.
        factor: reduction of the noise, above 1.
    """
    import equinox as eqx

    wanted = multiplier(setting, rounds, method) / factor

    def enough(epsilon: float) -> bool:
        budget = changed(setting.budget.alone(), epsilon=epsilon)
        asked = eqx.tree_at(lambda m: m.privacy.epsilon, method, budget.epsilon)
        try:
            return multiplier(with_epsilon(setting, epsilon), rounds, asked) <= wanted
        except PrivacyError:
            return False

    low, high = setting.epsilon, MOST_EPSILON
    if high <= low or not enough(high):
        return None
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return two_up(high)


def two_up(value: float) -> float:
    """Rounded up to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.3g}")
