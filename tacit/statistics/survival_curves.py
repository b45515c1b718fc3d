"""`tacit.survival`: survival curves over sites, with intervals that include the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tacit.arguments import checked
from tacit.data.feature import Feature
from tacit.data.frames import Table
from tacit.data.roles import check_roles, survival_roles
from tacit.errors import ConfigError
from tacit.method.survival import PrivateSurvival
from tacit.method.survival_answer import SurvivalCurves
from tacit.privacy.caution import DELTA
from tacit.privacy.ledger import Ledger
from tacit.privacy.masked import Masks
from tacit.statistics._outcome import Outcome, answered
from tacit.statistics._records import ONE_COLLUDER, budget, declared_records, run_on

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False, repr=False)
class Survival(Outcome):
    """Survival curves, and what was guaranteed.

    Attributes:
        guarantee: guarantee of the whole run, owner by owner.
        result: outcome of the run.
        schema: declaration of the columns.
    """

    @property
    def curves(self) -> SurvivalCurves:
        """The curves, medians, means and the test.

        Raises:
            ConfigError: the noise hides the records; `result` has what was released.
        """
        return answered(self.result, SurvivalCurves, "there are no curves")

    @property
    def _shown(self) -> SurvivalCurves:
        return self.curves

    def plot(self) -> go.Figure:
        """The curves with their bands, and the numbers at risk."""
        from tacit.report.plot import survival

        return survival(self.result)


@checked(ConfigError, own="data columns ledger")
def survival(
    data: Table | str | Path | Mapping[str, Table | str | Path],
    time: str,
    event: str,
    *,
    by: str | None = None,
    columns: Mapping[str, Feature] | None = None,
    edges: Sequence[float] = (),
    intervals: int | None = None,
    until: float | None = None,
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
) -> Survival:
    """Estimate survival curves over several sites by group, and test whether they differ.

    Runs in this process with simulated noise, to see what it would give between sites. Records that
    lack a time, an event or a group are dropped.

    Args:
        data: table of pandas, polars or Arrow with a column of sites, or one table per site by
            name. A path stands for the table in that file.
        time: column of the time until the event or the censoring.
        event: column of two levels, the second of which is the event: true, or 1.
        by: column by whose levels records are grouped; `None` for no groups.
        columns: declarations of columns, with bounds or levels. One that is not declared is read
            off the records, with a warning: that is then assumed public. Those of columns that are
            not asked for are not used.
        edges: inner ends of the intervals of the curve, ascending, within the bounds of `time`.
        intervals: number of equal intervals between the bounds, at least 1, where no edges are
            given; `None` for 40.
        until: time up to which means are restricted, an end of an interval; `None` for the last one
            that all curves reach.
        site: column that holds each record's site.
        sites: names of the sites; by default those in the data, which are then assumed public.
        epsilon: privacy budget of everything together, positive; `None` for no privacy.
        delta: probability of a larger loss, in [1e-12, 1).
        relation: adjacency, "replace_one" or "add_remove", under which the number of records is
            private as well, and released.
        masks: secure aggregation, by default against one colluding site; `None` for local noise.
        records_per_person: maximum number of records of one person at one site, at least 1. All of
            them are protected together; intervals and the test still take records as independent.
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
        >>> lived, followed = rng.exponential(5, 6000), rng.uniform(2, 12, 6000)
        >>> table = pd.DataFrame({
        ...     "clinic": rng.choice(["a", "b", "c"], 6000),
        ...     "years": np.minimum(lived, followed), "died": lived <= followed,
        ... })
        >>> declared = {"years": data.Numeric(0, 10), "died": data.Boolean()}
        >>> found = tacit.survival(
        ...     table, "years", "died", columns=declared, site="clinic", seed=0
        ... )
        >>> frame = found.to_frame()
        >>> float(frame.loc[frame["time"] == 5.0, "survival"].iloc[0].round(2))
        0.36
        >>> found.guarantee.worst.status.value
        'proved'
    """
    check_roles(survival_roles(time, event, by), site)
    remedy = "'days': data.Numeric(0, 1000)"
    _, schema, records = declared_records(
        data,
        [time, event],
        by,
        columns,
        remedy,
        missing="drop",
        decimal=decimal,
        site=site,
        sites=sites,
        size=size,
        time=time,
    )
    lived = records.column(time)
    method = PrivateSurvival(
        lived.cut(*edges) if len(edges) else lived,
        records.column(event),
        None if by is None else records.column(by),
        intervals,
        until,
        privacy=budget(
            epsilon, delta, relation, masks, records_per_person, sites_per_person, large_delta
        ),
    )
    result = run_on(records, method, 1, seed, ledger, dataset)
    return Survival(result.guarantee, result, schema)
