"""`tacit.table1`: a table 1 over sites, every number with the error due to the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tacit.arguments import checked
from tacit.data.feature import Feature
from tacit.data.frames import Table
from tacit.errors import ConfigError
from tacit.method.table_one import PrivateTableOne
from tacit.method.table_one_answer import TableOne
from tacit.privacy.caution import DELTA
from tacit.privacy.ledger import Ledger
from tacit.privacy.masked import Masks
from tacit.statistics._outcome import Outcome, answered
from tacit.statistics._records import ONE_COLLUDER, budget, declared_records, run_on


@dataclass(frozen=True, eq=False, repr=False)
class Description(Outcome):
    """A table 1, and what was guaranteed.

    Attributes:
        guarantee: guarantee of the whole run, owner by owner.
        result: outcome of the run.
        schema: declaration of the columns.
        left_out: columns that were not named and are not described: identifiers, dates, texts of
            too many levels, and columns of one value.
    """

    left_out: tuple[str, ...] = ()

    @property
    def table(self) -> TableOne:
        """The table.

        Raises:
            ConfigError: a run that gave no numbers; `result` has what was released.
        """
        return answered(self.result, TableOne, "there is no table")

    @property
    def _shown(self) -> TableOne:
        return self.table


@checked(ConfigError, own="data columns ledger")
def table1(
    data: Table | str | Path | Mapping[str, Table | str | Path],
    variables: Sequence[str] | None = None,
    *,
    by: str | None = None,
    columns: Mapping[str, Feature] | None = None,
    medians: Sequence[str] = (),
    bins: int = 20,
    shares: Mapping[str, float] | None = None,
    suppress_below: int = 0,
    site: str = "site",
    sites: Sequence[str] | None = None,
    epsilon: float | None = 1.0,
    delta: float = DELTA,
    relation: Literal["replace_one", "add_remove"] = "replace_one",
    masks: Masks | None = ONE_COLLUDER,
    records_per_person: int = 1,
    sites_per_person: int = 1,
    large_delta: bool = False,
    decimal: Literal[".", ","] = ".",
    size: int | Sequence[int] | None = None,
    seed: int | None = None,
    ledger: Ledger | None = None,
    dataset: str = "",
) -> Description:
    """Describe the records of several sites by group: a table 1 from one private sum.

    Runs in this process with simulated noise, to see what it would give between sites. Missing
    values are a row of their own; records without a group are dropped.

    Args:
        data: table of pandas, polars or Arrow with a column of sites, or one table per site by
            name. A path stands for the table in that file.
        variables: columns to describe; by default all but those of sites and groups, identifiers,
            dates, texts of too many levels, and columns of one value.
        by: column by whose levels records are grouped; `None` for no groups.
        columns: declarations of columns, with bounds or levels. One that is not declared is read
            off the records, with a warning: that is then assumed public. Those of columns that are
            not asked for are not used.
        medians: numbers of which median and quartiles are asked for as well, at the cost of a
            further column each.
        bins: number of equal intervals between the bounds from which quantiles are read off, at
            least 2.
        shares: relative shares of the budget by column, positive; 1 where none is given.
        suppress_below: number of records below which counts are not printed, a rule for readers
            that adds no privacy.
        site: column that holds each record's site.
        sites: names of the sites; by default those in the data, which are then assumed public.
        epsilon: privacy budget of the whole table, positive; `None` for no privacy.
        delta: probability of a larger loss, in [1e-12, 1).
        relation: adjacency, "replace_one" or "add_remove", under which the number of records is
            private as well, and released.
        masks: secure aggregation, by default against one colluding site; `None` for local noise.
        records_per_person: maximum number of records of one person at one site, at least 1. All of
            them are protected together; p-values still take records as independent.
        sites_per_person: maximum number of sites with records of one person, at least 1; more than
            1 needs `masks=None`.
        large_delta: accept a delta of at least one over the number of records of a site.
        decimal: decimal mark of numbers that the table holds as text, such as `data.load` leaves
            them.
        size: declared public number near the number of records of a site; needed under
            "add_remove".
        seed: seed of the simulated noise, at least 0; drawn if `None`.
        ledger: ledger to be charged.
        dataset: name of the dataset in the ledger.

    Raises:
        ConfigError: an argument out of range.
        ProblemError: a column or record that does not fit the declarations.
        PrivacyError: a budget that cannot be met.

    Example:
        >>> import numpy as np, pandas as pd, tacit
        >>> from tacit import data
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame({
        ...     "clinic": rng.choice(["a", "b", "c"], 6000), "arm": rng.choice(["x", "y"], 6000),
        ...     "age": rng.uniform(20, 80, 6000), "ill": rng.random(6000) < 0.3,
        ... })
        >>> declared = {
        ...     "arm": data.Categorical(["x", "y"]), "age": data.Numeric(20, 80),
        ...     "ill": data.Boolean(),
        ... }
        >>> found = tacit.table1(table, by="arm", columns=declared, site="clinic", seed=0)
        >>> frame = found.to_frame()
        >>> round(frame.loc[frame["statistic"] == "mean", "value"].iloc[0])
        50
        >>> found.guarantee.worst.status.value
        'proved'
    """
    chosen, schema, records = declared_records(
        data,
        variables,
        by,
        columns,
        "'age': data.Numeric(18, 90)",
        missing="indicator",
        decimal=decimal,
        site=site,
        sites=sites,
        size=size,
    )
    method = PrivateTableOne(
        [records.column(name) for name in chosen.names],
        None if by is None else records.column(by),
        medians,
        bins,
        shares,
        suppress_below,
        privacy=budget(
            epsilon, delta, relation, masks, records_per_person, sites_per_person, large_delta
        ),
    )
    result = run_on(records, method, 1, seed, ledger, dataset)
    return Description(result.guarantee, result, schema, chosen.left_out)
