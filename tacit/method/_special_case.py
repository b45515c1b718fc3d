"""Methods that the literature names, and that are another method with some arguments fixed."""

from __future__ import annotations

import abc
from typing import Any

from tacit.method.phase import AbstractMethod, Phase
from tacit.method.worst_case import Neighbours
from tacit.network.base import AbstractNetwork
from tacit.problem.task import Task
from tacit.types import Index, Role, Unit, Vector


class AbstractSpecialCase(AbstractMethod):
    """A method under its own name that takes the steps of a more general one."""

    @abc.abstractmethod
    def general(self) -> AbstractMethod:
        """The more general method, with these arguments; raises what that refuses."""

    def __check_init__(self) -> None:
        self.check_budget()
        self.general()

    def init(self, role: Role, x0: Vector, degree: Index) -> Any:
        return self.general().init(role, x0, degree)

    def phases(self) -> tuple[Phase, ...]:
        return self.general().phases()

    def solution(self, state: Any) -> Vector:
        return self.general().solution(state)

    def protects(self, problem: Any) -> Unit:
        return self.general().protects(problem)

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        self.general().check(problem, network)

    def delta(self, agent: int) -> float:
        return self.general().delta(agent)

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        return self.general().worst_case(problem, owner)
