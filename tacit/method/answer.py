"""What a run answers: a minimiser, a table, or in words why there is no answer.

An answer is made on the host of released numbers and public constants, so it is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from tacit.escape import cell

if TYPE_CHECKING:
    import pandas as pd


@runtime_checkable
class Answer(Protocol):
    """What the numbers of a run say."""

    kind: ClassVar[str]
    """What it is, in one word: the name of its file in results."""

    def frame(self) -> pd.DataFrame:
        """As a table."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        ...

    def sentence(self) -> str:
        """In a sentence for a reader."""
        ...


@dataclass(frozen=True)
class Minimiser:
    """The parameters that minimise a problem.

    Attributes:
        names: of the parameters.
        values: of them.
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    kind: ClassVar[str] = "coefficients"

    def frame(self) -> pd.DataFrame:
        """One row a parameter."""
        import pandas as pd

        return pd.DataFrame({"parameter": self.names, "value": self.values})

    def to_dict(self) -> dict[str, Any]:
        """Values by name."""
        return {"kind": self.kind, "values": dict(zip(self.names, self.values, strict=True))}

    def sentence(self) -> str:
        """How many parameters were found."""
        return f"{len(self.values)} parameters were fitted."


@dataclass(frozen=True)
class Refused:
    """No answer, and why: decided after the releases, from them alone.

    Attributes:
        reason: why, as a clause.
        needs: what would do, as a clause.
    """

    reason: str
    needs: str
    kind: ClassVar[str] = "refused"

    def frame(self) -> pd.DataFrame:
        """One row: the reason, and what would do."""
        import pandas as pd

        return pd.DataFrame({"reason": [self.reason], "needs": [self.needs]})

    def to_dict(self) -> dict[str, Any]:
        """Both clauses."""
        return {"kind": self.kind, "reason": self.reason, "needs": self.needs}

    def sentence(self) -> str:
        """Both, as a sentence."""
        return f"There is no answer: {self.reason}; {self.needs}."


def safe(frame: pd.DataFrame) -> pd.DataFrame:
    """A table whose texts no spreadsheet takes for formulas (`tacit.escape`)."""
    texts = {name: frame[name].map(cell) for name in frame if frame[name].dtype.kind not in "biuf"}
    return frame.assign(**texts)
