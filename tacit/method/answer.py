"""The answer of a run: a minimiser, a table, or the reason why there is no answer.

An answer is computed on the host from released numbers and public constants, so it is
post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from tacit import checks
from tacit.errors import ConfigError
from tacit.escape import cell
from tacit.method.latex import noted
from tacit.privacy.wording import brief_of
from tacit.ranges import numeric

if TYPE_CHECKING:
    import pandas as pd


NORMAL = 1.959963984540054
"""Two-sided 95 % point of the standard normal distribution."""

REPEATED = (
    "They take records as independent: where several are of one person, as declared here, they are "
    "too small."
)
"""What an answer with errors and intervals says if a person may have several records."""

PRIVATE_SIZE = (
    "The number of records is private{released}. Protected is whether a record is there; replacing "
    "one is two such changes."
)
"""What an answer says under add/remove adjacency, with whether the number is released."""

FROM_CELLS = (
    ", and the one printed is released: it follows from the cells and takes no share of the budget"
)
"""How a number of records is released that costs nothing."""


def reach(level: float) -> float:
    """Half of an interval of this nominal coverage, in standard errors.

    Args:
        level: nominal coverage, in (0, 1).

    Raises:
        ConfigError: a level out of range.
    """
    from scipy.stats import norm

    if not (numeric(level) and np.ndim(level) == 0 and 0.0 < level < 1.0):
        raise ConfigError(f"level={checks.shown(level)} must be a number between 0 and 1")
    return float(norm.ppf(0.5 + level / 2.0))


@runtime_checkable
class Answer(Protocol):
    """What the numbers of a run mean."""

    kind: ClassVar[str]
    """Kind of answer, in one word: the name of its file in the results."""

    def frame(self) -> pd.DataFrame:
        """The answer as a table."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain values."""
        ...

    def sentence(self) -> str:
        """The answer as a sentence for a reader."""
        ...


@runtime_checkable
class Printed(Answer, Protocol):
    """An answer that is printed as a table of its own, rather than as its frame."""

    def cells(self) -> list[list[str]]:
        """Headings and rows of the printed table, as text."""
        ...

    def summary(self) -> str:
        """The table as text."""
        ...

    def to_latex(self) -> str:
        """The table in LaTeX, for the booktabs package."""
        ...


@runtime_checkable
class Page(Protocol):
    """What has a table for a page."""

    def to_html(self) -> str:
        """The table in HTML, with its explanation below."""
        ...


@dataclass(frozen=True)
class Minimiser:
    """The parameters that minimise a problem.

    Attributes:
        names: names of the parameters.
        values: values of the parameters, in the same order.
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    kind: ClassVar[str] = "coefficients"

    def frame(self) -> pd.DataFrame:
        """One row per parameter."""
        import pandas as pd

        return pd.DataFrame({"parameter": self.names, "value": self.values})

    def to_dict(self) -> dict[str, Any]:
        """Values by name."""
        return {"kind": self.kind, "values": dict(zip(self.names, self.values, strict=True))}

    def sentence(self) -> str:
        """The number of parameters found."""
        return f"{len(self.values)} parameters were fitted."


@dataclass(frozen=True)
class Refused:
    """No answer, and why: decided after the releases, from them alone.

    Attributes:
        reason: reason for the refusal, as a clause.
        needs: what would be sufficient, as a clause.
    """

    reason: str
    needs: str
    kind: ClassVar[str] = "refused"

    def frame(self) -> pd.DataFrame:
        """One row: the reason, and what would be sufficient."""
        import pandas as pd

        return pd.DataFrame({"reason": [self.reason], "needs": [self.needs]})

    def to_dict(self) -> dict[str, Any]:
        """Both clauses."""
        return {"kind": self.kind, "reason": self.reason, "needs": self.needs}

    def sentence(self) -> str:
        """Both clauses, as a sentence."""
        return f"There is no answer: {self.reason}; {self.needs}."


def files_of(answer: Answer, protection: str = "") -> dict[str, str]:
    """The files of an answer, by name: its frame as CSV, and as a page and in LaTeX if it has them.

    All of them follow from the answer, and so from what was released.

    Args:
        answer: the answer.
        protection: guarantee of the run, in words; page and table end with it in a few words.
    """
    found = {f"{answer.kind}.csv": safe(answer.frame()).to_csv(index=False)}
    if isinstance(answer, Printed) and isinstance(answer, Page):
        found |= {
            f"{answer.kind}.html": page_of(answer, protection),
            f"{answer.kind}.tex": noted(answer.to_latex(), brief_of(protection)),
        }
    return found


def page_of(answer: Page, protection: str) -> str:
    """The table of an answer in HTML, with its explanation and the guarantee below.

    Args:
        answer: the answer.
        protection: guarantee of the run, in words; it is told in a few.
    """
    brief = brief_of(protection)
    return answer.to_html() + (f"\n<p>{escape(brief)}</p>" if brief else "")


def safe(frame: pd.DataFrame) -> pd.DataFrame:
    """A table whose texts no spreadsheet reads as formulas (`tacit.escape`)."""
    texts = {name: frame[name].map(cell) for name in frame if frame[name].dtype.kind not in "biuf"}
    return frame.assign(**texts)
