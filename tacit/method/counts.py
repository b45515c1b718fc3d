"""Private counts: the number of records, over all sites, with each level of declared columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import numpy as np

from tacit.data.cells import Column
from tacit.errors import ConfigError
from tacit.method._one_sum import OneSum, check_columns, together
from tacit.method.answer import NORMAL
from tacit.privacy.budget import Privacy
from tacit.privacy.statistics import BlockSum, Counts
from tacit.problem.task import Task

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class CountTable:
    """The number of records with each level, with the error due to the noise.

    Attributes:
        columns: names of the counted columns, one per row.
        levels: levels of those columns, one per row.
        counts: released counts, without rounding; they may be below 0.
        errors: standard deviations of the noise in the counts.
        sites: number of sites whose records were counted.
        of_sites: number of all sites.
    """

    columns: tuple[str, ...]
    levels: tuple[str, ...]
    counts: tuple[float, ...]
    errors: tuple[float, ...]
    sites: int
    of_sites: int
    kind: ClassVar[str] = "counts"

    def frame(self) -> pd.DataFrame:
        """One row per level: count, standard error, and the ends of a 95 % interval."""
        import pandas as pd

        counts, errors = np.array(self.counts), np.array(self.errors)
        return pd.DataFrame(
            {
                "column": self.columns,
                "level": self.levels,
                "count": counts,
                "standard_error": errors,
                "lower": counts - NORMAL * errors,
                "upper": counts + NORMAL * errors,
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values."""
        rows: list[dict[str, Any]] = self.frame().to_dict("records")
        return {"kind": self.kind, "sites": self.sites, "of_sites": self.of_sites, "rows": rows}

    def sentence(self) -> str:
        """The sites whose records were counted, and what the intervals cover."""
        whose = (
            f"all {self.sites} sites"
            if self.sites == self.of_sites
            else f"{self.sites} of {self.of_sites} sites"
        )
        noise = (
            "Standard errors and 95 % intervals cover the noise only"
            if any(self.errors)
            else "No noise was added"
        )
        return (
            f"Counts of the records of {whose}. {noise}: the counts are a census of these records, "
            "not a sample of a larger population."
        )


class PrivateCounts(OneSum):
    """Counts of records by the levels of declared columns, over all sites in one sum.

    One round: the server asks, every client answers with the noisy number of its records with each
    level, and the server adds up the answers. All columns are one release, each with the same
    share of the budget: the noise in the counts of one of `q` columns is `sqrt(q)` times as large
    as if it were the only column, and does not depend on its number of levels.

    Source: Dwork et al. (2006), section 3. There one holder has a histogram and adds Laplace noise;
    here every client adds Gaussian noise to its own.

    What leaves: each client's counts, to the server, which need not be trusted when `privacy` is
    given (Gaussian mechanism; status proved). Without it, not private. With `Privacy(masks=...)`
    the server can read only their sum.

    Args:
        columns: declared columns to count by, with numbers cut into intervals.
        privacy: budget and relation, or `None`. A clip of 1 or more has no effect, as a record adds
            1 to each column.

    Example:
        >>> from tacit.method import PrivateCounts
        >>> from tacit.data import Column
        >>> method = PrivateCounts([Column("sex", ("f", "m"), (0, 1))])
        >>> [(phase.name, phase.sender.value) for phase in method.phases()]
        [('question', 'server'), ('counts', 'client')]
    """

    name: ClassVar[str] = "counts"
    when: ClassVar[str] = (
        "the question is how many records have each level of some columns, and not a model"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"columns": (Column("sex", ("f", "m"), (0, 1)),)}
    )
    answers: ClassVar[str] = "counts"
    columns: Sequence[Column] = eqx.field(static=True, converter=together)
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        check_columns(self.columns, "count")
        for column in self.columns:
            if not column.levels:
                raise ConfigError(
                    f"columns: {column.name!r} is a number, of which every value could be a level "
                    "of its own; cut it into intervals by declared edges"
                )

    @property
    def read(self) -> Sequence[Column]:
        return self.columns

    def numbers(self, task: Task) -> tuple[str, ...]:
        cells = [f"{column.name}={level}" for column in self.columns for level in column.levels]
        return (*cells, "sites")

    @property
    def query(self) -> BlockSum:
        """One block of counts per column, all with the same share of the budget."""
        share = 1.0 / len(self.columns)
        blocks = [Counts(each.cell, len(each.levels), share=share) for each in self.columns]
        return BlockSum(tuple(blocks), relation=self.relation)

    def told(
        self, parts: Sequence[np.ndarray], spreads: Sequence[float], sites: int, of_sites: int
    ) -> CountTable:
        rows = [
            (column.name, level, spread)
            for column, spread in zip(self.columns, spreads, strict=True)
            for level in column.levels
        ]
        columns, levels, errors = zip(*rows, strict=True)
        values = np.concatenate(list(parts))
        return CountTable(columns, levels, tuple(values.tolist()), errors, sites, of_sites)
