"""What the general estimators choose: a method with its arguments, its network and its loss.

Arguments that are not given follow from declared numbers alone: how many columns, classes and
sites there are, and the loss. No record is read.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit import checks
from tacit._engine.names import graph_of
from tacit.advise.candidates import Candidate, Pace
from tacit.advise.law import Slopes
from tacit.advise.setting import Setting, two_digits
from tacit.errors import ConfigError, PrivacyError
from tacit.method import PreconditionedDescent
from tacit.method.phase import AbstractMethod
from tacit.network import TOPOLOGIES, AbstractNetwork, Coordinator, complete
from tacit.privacy.budget import Privacy
from tacit.problem.losses import AbstractLinearLoss, AbstractScalarLoss, Softmax
from tacit.study import METHODS
from tacit.study._described.catalogue import Entry, Protection
from tacit.types import Oracle

if TYPE_CHECKING:
    import networkx

_PATH = 30.0
"""Rounds times step, over a full step along the largest curvature: what advice tries first for 100
rounds, and the same distance for any other number of them."""

_LONGEST = 0.3
"""Longest step, over a full one."""


class Made(NamedTuple):
    """Records of this shape, as everyone knows them.

    Attributes:
        features: number of columns, without the intercept.
        sites: number of sites.
        loss: loss of one record.
        target: bounds of a numeric target, as the loss sees it.
    """

    features: int
    sites: int
    loss: AbstractLinearLoss
    target: tuple[float, float]

    def slopes(self, network: AbstractNetwork) -> Slopes:
        """Gradients of made-up records of this shape."""
        parameters = self.loss.dimension(self.features + 1)
        # only the order of the clip is read of the budget, and no number of records at all
        budget = Privacy(clip=1.0, epsilon=1.0)
        return Slopes(Setting(1, parameters, network, budget, self.loss, target=self.target))


def entry_of(name: str) -> Entry:
    """The method of this name, as in study files.

    Raises:
        ConfigError: no method has it.
    """
    if name not in METHODS:
        hint = checks.hint(name, METHODS, "`tacit methods` lists them")
        raise ConfigError(f"method={name!r} is not a method of tacit; {hint}")
    return METHODS[name]


def loss_of(loss: object, known: Mapping[str, AbstractLinearLoss]) -> AbstractLinearLoss:
    """The loss of this name, or the one that is given.

    Args:
        loss: name, or a loss with one score per record (softmax: one per class).
        known: losses by name.

    Raises:
        ConfigError: another name or object.
    """
    names = ", ".join(map(repr, known))
    if isinstance(loss, str):
        if loss not in known:
            raise ConfigError(f"loss={loss!r} is not one of {names}")
        return known[loss]
    if not isinstance(loss, AbstractScalarLoss | Softmax):
        raise ConfigError(
            f"loss={checks.shown(loss)} must be one of {names}, or a loss with one score per "
            "record, such as problem.Huber(0.2)"
        )
    return loss


def network_of(
    given: str | AbstractNetwork | networkx.Graph[Any] | None,
    coordinated: bool,
    sites: Sequence[str],
) -> AbstractNetwork:
    """The network that is given, by name or as an object, or the one that suits the method.

    Args:
        given: what is given for it.
        coordinated: whether the method has a coordinator.
        sites: names of the sites, which the nodes of a graph may have, too.

    Raises:
        ConfigError: another name.
        NetworkError: another object, or a graph that is not connected.
    """
    agents = len(sites)
    if given is None:
        return Coordinator(agents) if coordinated else complete(agents)
    if isinstance(given, AbstractNetwork):
        return given
    if isinstance(given, str):
        plain = {
            name: each for name, each in TOPOLOGIES.items() if list(each.required) == ["agents"]
        }
        if given == "coordinator":
            return Coordinator(agents)
        if given in plain:
            return plain[given].build(agents)
        names = ", ".join(map(repr, ["coordinator", *plain]))
        raise ConfigError(f"network={given!r} is not one of {names}; give other graphs as objects")
    return graph_of(given, sites)


def check_given(method: AbstractMethod, budget: Privacy | None, *, masks: bool, clip: bool) -> None:
    """Refuse a method object whose budget is not the one that the estimator names.

    Args:
        method: method, with its own budget.
        budget: budget by the estimator's arguments.
        masks: whether the estimator's masks are meant, too.
        clip: whether its clip is.

    Raises:
        ConfigError: two budgets that differ; names the first difference.
    """
    own = method.privacy
    if own is None or budget is None:
        if own is not budget:
            said = "no budget" if own is None else f"epsilon={own.epsilon}"
            wanted = "None" if budget is None else f"{budget.epsilon}"
            raise ConfigError(
                f"the method has {said} and the estimator epsilon={wanted}; make them agree, so "
                "that epsilon is what a fit costs"
            )
        return
    compared = ["epsilon", "delta", "relation", *["masks"] * masks, *["clip"] * clip]
    for name in compared:
        mine, asked = getattr(own, name), getattr(budget, name)
        if not np.array_equal(np.asarray(mine), np.asarray(asked)):
            raise ConfigError(
                f"the budget of the method has {name}={mine} and the estimator {name}={asked}; "
                "make them agree"
            )


class Named:
    """A method by its name, its arguments to be filled in from the shape of the records.

    Args:
        entry: method of study files.
        given: arguments that the user chose.

    Raises:
        ConfigError: a method that fits no model by optimisation, or an argument that it lacks.
    """

    def __init__(self, entry: Entry, given: object) -> None:
        if entry.build.oracle is Oracle.ROWS:
            raise ConfigError(
                f"method={entry.name!r} minimises no loss; for regressions with intervals take "
                "PrivateLogisticRegression and those beside it"
            )
        if not (given is None or isinstance(given, Mapping)):
            raise ConfigError(
                f"method_params={checks.shown(given)} must hold arguments of the method by name, "
                "such as {'step': 0.5}"
            )
        self.entry = entry
        self.parameters = dict(inspect.signature(entry.build).parameters)
        self.parameters.pop("privacy", None)
        self.given: dict[str, Any] = dict(given or {})
        unknown = next((name for name in self.given if name not in self.parameters), None)
        if unknown is not None:
            raise ConfigError(
                f"method_params: {entry.name} has no argument {unknown!r}; it has "
                f"{', '.join(self.parameters)}"
            )

    def check(self, private: bool) -> None:
        """Refuse a budget where the method adds no noise, and none where it must have one.

        Raises:
            ConfigError: with what to write instead.
        """
        name = self.entry.name
        if private and self.entry.protection is Protection.NONE:
            raise ConfigError(
                f"method={name!r} takes no budget; write epsilon=None, or take a private method "
                "such as 'gradient-descent'"
            )
        if not private and self.entry.protection is Protection.REQUIRED:
            raise ConfigError(
                f"method={name!r} needs a budget; give epsilon, or take a method without privacy "
                "such as 'gradient-descent'"
            )

    @property
    def _whitens(self) -> bool:
        """Whether step and clip are in whitened coordinates."""
        return self.entry.build is PreconditionedDescent

    def clip(self, slopes: Slopes) -> float:
        """Twice the root mean square of the norms of made-up records' gradients.

        Real columns often stand at the ends of their bounds, where rows are longer than made-up
        ones, and a clip that shortens the gradients of the rarer class above all moves the
        intercept.
        """
        # a whitened row has the root of their number as its root mean square length
        longer = math.sqrt(slopes.width) / slopes.length if self._whitens else 1.0
        return two_digits(2.0 * slopes.typical * longer)

    def arguments(
        self, made: Made, slopes: Slopes, clip: float, rounds: int, degree: float
    ) -> dict[str, Any]:
        """All arguments without a budget: those that were chosen, and the others by advice.

        Raises:
            ConfigError: an argument for which there is no advice.
        """
        if self._whitens:
            bend = made.loss.curvature
            advised: dict[str, Any] = {"step": 1.0 / bend} if math.isfinite(bend) else {}
            if not advised and "step" not in self.given:
                raise ConfigError(
                    f"method={self.entry.name!r} has no rule for the step with a loss of unbounded "
                    "curvature; give method_params={'step': ...}"
                )
        else:
            pace = Pace(min(_LONGEST, _PATH / rounds) / slopes.clipped(clip), degree)
            advised = Candidate(self.entry.build).arguments(pace)
        if "average" in self.parameters:
            advised["average"] = True  # with noise, the mean of later iterates is more accurate
        known = {name: value for name, value in advised.items() if name in self.parameters}
        found = known | self.given
        empty = inspect.Parameter.empty
        missing = [n for n, p in self.parameters.items() if p.default is empty and n not in found]
        if missing:
            raise ConfigError(
                f"method={self.entry.name!r} has no rule for {', '.join(missing)}; give "
                f"method_params={{{missing[0]!r}: ...}}"
            )
        return found

    def hidden(self, arguments: Mapping[str, Any], budget: Privacy, network: Any) -> bool:
        """Whether the masks of a budget hide what the method releases on a network."""
        try:
            budget.hides.check_agents(network.agents)
            method = self.entry.build(**arguments, privacy=budget)
            return network.coordinated and budget.hides.used(method.phases())
        except PrivacyError:
            return False

    def build(self, arguments: Mapping[str, Any], budget: Privacy | None) -> AbstractMethod:
        """The method."""
        if self.entry.protection is Protection.NONE:
            return self.entry.build(**arguments)
        return self.entry.build(**arguments, privacy=budget)
