"""The outcome of a function on a table: its answer, and what was guaranteed."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Protocol, TypeVar

from tacit._engine.result import Result
from tacit.data.schema import Schema
from tacit.errors import ConfigError
from tacit.method.answer import Page, Printed, Refused, page_of
from tacit.method.latex import noted
from tacit.privacy.digits import rounded_up
from tacit.privacy.guarantee import Status
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.wording import STATUS, brief_of

if TYPE_CHECKING:
    import pandas as pd

A = TypeVar("A")


class Shown(Printed, Page, Protocol):
    """An answer that is printed, and has a page."""


def answered(result: Result, kind: type[A], none: str) -> A:
    """The answer of a run.

    Args:
        result: outcome of the run.
        kind: kind of answer that is wanted.
        none: what to say where there is none, such as "there is no table".

    Raises:
        ConfigError: the run gave another answer, or none; with the reason, what would do and what
            was spent.
    """
    answer = result.answer
    if isinstance(answer, kind):
        return answer
    reason = f": {answer.reason}; {answer.needs}" if isinstance(answer, Refused) else ""
    raise ConfigError(f"{none}{reason}{spent(result)}")


def spent(result: Result) -> str:
    """What the releases of a run without an answer cost all the same; empty without privacy.

    Args:
        result: outcome of the run.
    """
    worst, charge = result.guarantee.worst, result.charge
    if worst.status is Status.NONE:
        return ""
    cost = f"epsilon = {rounded_up(worst.epsilon)} at delta = {rounded_up(worst.delta)}"
    if worst.status is not Status.PROVED:
        cost += f" ({STATUS[worst.status.value]})"
    entered = ""
    if charge is not None:
        entered = f", and the ledger has it in entry {charge.sequence}"
    return (
        f". The sums were released before this was known, and cost {cost} all the same{entered}; "
        "another run on these records adds its own cost to that"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(abc.ABC):
    """An answer that is printed as a table, and what was guaranteed."""

    guarantee: Guarantees
    result: Result
    schema: Schema

    @property
    @abc.abstractmethod
    def _shown(self) -> Shown:
        """The answer."""

    def summary(self) -> str:
        """The table, what it covers, and what was guaranteed."""
        return f"{self._shown.summary()}\n\n{self.guarantee}"

    def __repr__(self) -> str:
        answer = self.result.answer
        return self._refused(answer) if isinstance(answer, Refused) else self._shown.summary()

    def _refused(self, answer: Refused) -> str:
        cost = spent(self.result).removeprefix(". ")
        return f"{answer.sentence()} {cost}.".removesuffix(" .")

    def _repr_html_(self) -> str:
        answer = self.result.answer
        if isinstance(answer, Refused):
            return f"<p>{escape(self._refused(answer))}</p>"
        return self.to_html()

    def to_frame(self) -> pd.DataFrame:
        """Every number with its errors and intervals as a pandas frame, one row each."""
        return self._shown.frame()

    def to_html(self) -> str:
        """The table in HTML, with its explanation and the guarantee below."""
        return page_of(self._shown, str(self.guarantee))

    def to_latex(self) -> str:
        """The table in LaTeX, for the booktabs package, with the guarantee below it."""
        return noted(self._shown.to_latex(), brief_of(str(self.guarantee)))

    def cite(self) -> str:
        """What to cite, as BibTeX: the papers that describe the method, and tacit."""
        return self.result.cite()
