"""The methods that suit a setting, and their arguments for a clip and a pace."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import tacit.method
from tacit._engine.run_guarantee import guarantees
from tacit.advise.noise import owners
from tacit.advise.setting import Setting, two_digits
from tacit.errors import PrivacyError, TacitError
from tacit.method.phase import AbstractMethod
from tacit.method.releases import Releases
from tacit.privacy.budget import Privacy
from tacit.privacy.guarantee import Status
from tacit.types import Oracle


@dataclass(frozen=True)
class Pace:
    """How a method should move, in terms of the synthetic law.

    Attributes:
        step: length of a gradient step on the mean objective, positive.
        degree: mean number of neighbours.
    """

    step: float
    degree: float


def _one_step(pace: Pace) -> dict[str, float]:
    return {"step": two_digits(pace.step)}


def _proximal(pace: Pace) -> dict[str, float]:
    return {"proximity": two_digits(pace.step)}


def _penalised(pace: Pace) -> dict[str, float]:
    # the sites' mean moves by 1 / (1 / proximity + 2 penalty degree) times the mean gradient:
    # half of that is left to each term
    return {
        "penalty": two_digits(1.0 / (4.0 * pace.degree * pace.step)),
        "proximity": two_digits(2.0 * pace.step),
    }


def _split(pace: Pace) -> dict[str, float]:
    # the step and the penalty of its coupling must multiply to less than 1
    step = two_digits(pace.step)
    return {"step": step, "penalty": two_digits(0.5 / step)}


_RECIPES: Mapping[str, Callable[[Pace], dict[str, float]]] = MappingProxyType(
    {"d-zoa": _penalised, "d-zoa-star": _proximal, "zoo-admm": _split}
)
"""Arguments for a pace, where they are not just `step`."""

_LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        "dp-fedsgd": "it takes the same steps as gradient-descent",
        "preconditioned-descent": "its step and clip are in coordinates of its own",
    }
)
"""Methods that are not measured, and the reason."""


@dataclass(frozen=True)
class Candidate:
    """A proved private method that fits the network.

    Attributes:
        build: class of the method.
    """

    build: type[AbstractMethod]

    @property
    def name(self) -> str:
        """Name in study files."""
        return self.build.name

    def arguments(self, pace: Pace) -> dict[str, float]:
        """Its arguments for a pace, rounded to the digits that are advised."""
        return _RECIPES.get(self.name, _one_step)(pace)

    def method(self, arguments: Mapping[str, Any], privacy: Privacy) -> AbstractMethod:
        """The method with these arguments and this budget."""
        return self.build(**arguments, privacy=privacy)

    def hidden(self, budget: Privacy) -> bool:
        """Whether its releases can be hidden in sums in the way that the budget declares."""
        if not budget.hides.summed:
            return True
        try:
            phases = self.method(self.arguments(Pace(1.0, 1.0)), budget).phases()
        except PrivacyError:
            return False
        return budget.hides.used(phases)

    def evaluations(self, parameters: int) -> int:
        """Number of evaluations per record and round."""
        method = self.method(self.arguments(Pace(1.0, 1.0)), Privacy(clip=1.0, epsilon=1.0))
        return sum(
            phase.repeat * phase.query.evaluations(parameters)
            for phase in method.phases()
            if phase.query is not None
        )


def candidates(setting: Setting) -> tuple[list[Candidate], dict[str, str]]:
    """The methods to measure, and the reason for each private one that is left out.

    Args:
        setting: declared dimensions, with the network, the oracle and the budget.
    """
    kept: list[Candidate] = []
    left_out: dict[str, str] = {}
    for build in (*_private(), *setting.methods):
        if build.name in _LEFT_OUT:
            left_out[build.name] = _LEFT_OUT[build.name]
            continue
        candidate = Candidate(build)
        unsettable = _unsettable(build)
        if unsettable:
            left_out[build.name] = f"advice does not know how to set {', '.join(unsettable)}"
            continue
        try:
            budget = setting.budget.alone()
            method = candidate.method(candidate.arguments(Pace(1.0, 2.0)), budget)
            proved = _proved(method, setting)
        except TacitError as error:
            left_out[build.name] = str(error)
            continue
        if not proved:
            left_out[build.name] = "its guarantee is not proved"
        elif method.coordinated != setting.network.coordinated:
            needs = "a coordinator" if method.coordinated else "peers"
            left_out[build.name] = f"it needs {needs}"
        elif setting.oracle is Oracle.VALUE and build.oracle is not Oracle.VALUE:
            left_out[build.name] = "it asks for gradients, and only values can be had"
        elif setting.oracle is not Oracle.VALUE and build.oracle is Oracle.VALUE:
            left_out[build.name] = "it makes do with values, and gradients tell more"
        elif not candidate.hidden(setting.budget):
            left_out[build.name] = "masks cannot hide what it releases"
        else:
            kept.append(candidate)
    return kept, left_out


def _private() -> list[type[AbstractMethod]]:
    """Methods of study files that take a budget."""
    exported = (getattr(tacit.method, name) for name in tacit.method.__all__)
    named = [
        each
        for each in exported
        if isinstance(each, type)
        and issubclass(each, AbstractMethod)
        and each.name
        and each.oracle is not Oracle.ROWS  # it does not fit a model
    ]
    budgeted = [each for each in named if "privacy" in inspect.signature(each).parameters]
    return sorted(budgeted, key=lambda each: each.name)


def _unsettable(build: type[AbstractMethod]) -> list[str]:
    """Required arguments that do not follow from a pace, and missing ones that a pace would set."""
    known = inspect.signature(build).parameters
    given = set(_RECIPES.get(build.name, _one_step)(Pace(1.0, 1.0)))
    required = {name for name, p in known.items() if p.default is inspect.Parameter.empty}
    return sorted((required - given - {"privacy"}) | (given - set(known)))


def _proved(method: AbstractMethod, setting: Setting) -> bool:
    """Whether its releases come with a proof, whatever their noise."""
    tried, held = Releases(claimed(method, 1.0)), owners(setting, 1)
    stated = guarantees(tried, held, held.kinds(tried))
    return all(each.status is Status.PROVED for each in stated)


def claimed(method: AbstractMethod, multiplier: float) -> AbstractMethod:
    """The method with this noise multiplier instead of a budget to calibrate to."""
    import equinox as eqx

    return eqx.tree_at(
        lambda m: (m.privacy.epsilon, m.privacy.noise_multiplier),
        method,
        (None, multiplier),
        is_leaf=lambda leaf: leaf is None,
    )
