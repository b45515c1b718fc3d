"""The methods that a study file can name: those of `tacit.method` that have a name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import tacit.method
from tacit.errors import PrivacyError
from tacit.method.phase import AbstractMethod
from tacit.privacy.budget import Privacy
from tacit.study._grammar.arguments import Argument, arguments, summary

if TYPE_CHECKING:
    from tacit.study._described.traits import Traits


class Protection(StrEnum):
    """Whether a method takes a budget."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NONE = "none"


@dataclass(frozen=True)
class Entry:
    """Facts about a method for study files and `tacit describe`; they follow from the class.

    Attributes:
        build: class of the method.
    """

    build: type[AbstractMethod]

    @property
    def name(self) -> str:
        """Name in study files."""
        return self.build.name

    @property
    def when(self) -> str:
        """When to choose it."""
        return self.build.when

    @property
    def per_site(self) -> tuple[str, ...]:
        """Arguments that may differ between sites."""
        return self.build.per_agent

    @property
    def protection(self) -> Protection:
        """Whether the method takes a budget."""
        budget = inspect.signature(self.build).parameters.get("privacy")
        if budget is None:
            return Protection.NONE
        required = budget.default is inspect.Parameter.empty
        return Protection.REQUIRED if required else Protection.OPTIONAL

    @property
    def status(self) -> str:
        """Status of its guarantee, in words."""
        return self.traits.status

    @cached_property
    def traits(self) -> Traits:
        """Its requirements and guarantee, found by calling it."""
        from tacit.study._described.traits import traits

        return traits(self.build)

    @property
    def parameters(self) -> tuple[Argument, ...]:
        """The keys of its section, from its signature and docstring."""
        return arguments(
            self.build, leave_out=("privacy", *self.build.modelled), per_site=self.per_site
        )

    @property
    def summary(self) -> str:
        """First line of its docstring."""
        return summary(self.build)

    def default(self, *, private: bool = True) -> AbstractMethod:
        """An instance to describe, with an example budget where it takes one and is private."""
        values = dict(self.build.example)
        if self.protection is Protection.NONE or not private:
            return self.build(**values)
        try:
            return self.build(**values, privacy=Privacy(clip=1.0, epsilon=1.0, delta=1e-6))
        except PrivacyError:  # made for Laplace noise
            pure = Privacy(clip=1.0, epsilon=1.0, delta=0.0, noise="laplace")
            return self.build(**values, privacy=pure)

    @property
    def coordinated(self) -> bool:
        """Whether the method needs a coordinator instead of peers."""
        return self.default().coordinated


def _found() -> Mapping[str, Entry]:
    exported = (getattr(tacit.method, name) for name in tacit.method.__all__)
    named = [
        Entry(each)
        for each in exported
        if isinstance(each, type) and issubclass(each, AbstractMethod) and each.name
    ]
    return MappingProxyType({entry.name: entry for entry in sorted(named, key=lambda e: e.name)})


METHODS: Mapping[str, Entry] = _found()
"""Every method, by its name in study files."""

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "dvp": "has no certified mode: it perturbs the objective and releases an exact "
        "minimiser, which no amount of noise on a gradient proves private (a proof needs a smooth "
        "loss, a term for the Jacobian, and an argument for inexact minimisers). Use 'pvp', which "
        "adds noise to the solution itself and is proved; 'dvp-as-published' reproduces the paper"
    }
)
"""Methods of the literature that a study cannot name, with the reason."""
