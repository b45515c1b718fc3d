"""The methods that a study file can name: one row a method."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from tacit.config.arguments import Argument, arguments
from tacit.method import DGD, DPSG, DZOA, DZOASolver, GradientDescent, PaperClaim
from tacit.method.phase import AbstractMethod
from tacit.privacy.budget import Privacy
from tacit.types import Role


class Protection(StrEnum):
    """Whether a method takes a budget."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NONE = "none"


@dataclass(frozen=True)
class Entry:
    """One method by name.

    Attributes:
        name: in study files.
        build: its class.
        protection: whether it takes a budget.
        status: how sure its guarantee is, in words.
        when: when to choose it.
        example: values of the arguments without default, for describing it.
        per_site: arguments that may differ from site to site.
    """

    name: str
    build: type[AbstractMethod]
    protection: Protection
    status: str
    when: str
    example: Mapping[str, Any]
    per_site: tuple[str, ...] = ()

    @property
    def parameters(self) -> tuple[Argument, ...]:
        """The keys of its section, from its signature and docstring."""
        return arguments(self.build, leave_out=("privacy",), per_site=self.per_site)

    @property
    def summary(self) -> str:
        """First line of its docstring."""
        return (inspect.getdoc(self.build) or "").splitlines()[0]

    def default(self) -> AbstractMethod:
        """An instance to describe, with an example budget where it takes one."""
        values = dict(self.example)
        if self.protection is not Protection.NONE:
            values["privacy"] = Privacy(clip=1.0, epsilon=1.0, delta=1e-6)
        return self.build(**values)

    @property
    def coordinated(self) -> bool:
        """Whether it needs a coordinator instead of peers."""
        return any(phase.sender is Role.SERVER for phase in self.default().phases())


def _rows(*entries: Entry) -> Mapping[str, Entry]:
    return MappingProxyType({entry.name: entry for entry in entries})


METHODS: Mapping[str, Entry] = _rows(
    Entry(
        name="gradient-descent",
        build=GradientDescent,
        protection=Protection.OPTIONAL,
        status="proved with [privacy], none without",
        when="a coordinator can be reached by every site; it need not be trusted with [privacy]",
        example={"step": 0.5},
    ),
    Entry(
        name="dgd",
        build=DGD,
        protection=Protection.NONE,
        status="none",
        when="sites talk to neighbours only and nothing has to be protected: the baseline",
        example={"step": 0.5},
    ),
    Entry(
        name="dpsg",
        build=DPSG,
        protection=Protection.REQUIRED,
        status="proved",
        when="sites talk to neighbours only and records must be protected: begin with this one",
        example={"step": 0.5},
    ),
    Entry(
        name="d-zoa",
        build=DZOA,
        protection=Protection.REQUIRED,
        status="proved",
        when="only values of the loss can be had, no gradients, and records must be protected",
        example={},
    ),
    Entry(
        name="d-zoa-solver",
        build=DZOASolver,
        protection=Protection.NONE,
        status="none; model with claim",
        when="only values of the loss can be had; with claim, to reproduce the D-ZOA paper",
        example={"step": 0.05, "printed": True, "claim": PaperClaim(epsilon=0.15, delta=1e-3)},
        per_site=("step", "directions"),
    ),
)
"""Every method, by the name that a study file gives it."""
