"""`tacit.survival` and `tacit.cox`: survival curves and Cox regression over sites.

Both run in this process with simulated noise, to see what they would give between sites.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tacit._engine.result import Result
from tacit._engine.runner import run
from tacit.arguments import checked
from tacit.data.describable import describable
from tacit.data.feature import Categorical, Feature
from tacit.data.frames import Table, one_table
from tacit.data.partition import by_column
from tacit.data.schema import Schema
from tacit.data.table import prepare
from tacit.data.undeclared import check_declared
from tacit.errors import ConfigError
from tacit.method.answer import Refused
from tacit.method.cox import PrivateCox
from tacit.method.cox_answer import HazardRatios
from tacit.method.survival import PrivateSurvival
from tacit.method.survival_answer import SurvivalCurves
from tacit.network import Coordinator
from tacit.privacy.budget import Privacy
from tacit.privacy.caution import DELTA
from tacit.privacy.guarantee import Guarantees
from tacit.privacy.ledger import Ledger
from tacit.privacy.masked import Masks
from tacit.problem.task import Records, record_tables

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

_ONE_COLLUDER = Masks()


@dataclass(frozen=True, eq=False)
class Survival:
    """Survival curves, and what was guaranteed.

    Attributes:
        guarantee: guarantee of the whole run, owner by owner.
        result: outcome of the run.
        schema: declaration of the columns.
    """

    guarantee: Guarantees
    result: Result
    schema: Schema

    @property
    def curves(self) -> SurvivalCurves:
        """The curves, medians, means and the test.

        Raises:
            ConfigError: the noise hides the records; `result` has what was released.
        """
        answer = self.result.answer
        if isinstance(answer, SurvivalCurves):
            return answer
        reason = f": {answer.reason}; {answer.needs}" if isinstance(answer, Refused) else ""
        raise ConfigError(f"there are no curves{reason}")

    def summary(self) -> str:
        """The table, what it covers, and what was guaranteed."""
        return f"{self.curves.summary()}\n\n{self.guarantee}"

    def __repr__(self) -> str:
        return repr(self.curves)

    def _repr_html_(self) -> str:
        return self.curves.to_html()

    def to_frame(self) -> pd.DataFrame:
        """The curves as a pandas frame, one row per group and end of an interval."""
        return self.curves.frame()

    def to_html(self) -> str:
        """The table in HTML, with its explanation below."""
        return self.curves.to_html()

    def to_latex(self) -> str:
        """The table in LaTeX, for the booktabs package."""
        return self.curves.to_latex()

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
    intervals: int = 40,
    until: float | None = None,
    site: str = "site",
    sites: Sequence[str] | None = None,
    epsilon: float | None = 1.0,
    delta: float = DELTA,
    relation: Literal["replace_one", "add_remove"] = "replace_one",
    masks: Masks | None = _ONE_COLLUDER,
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
            off the records, with a warning: that is then assumed public.
        edges: inner ends of the intervals of the curve, ascending, within the bounds of `time`.
        intervals: number of equal intervals between the bounds, where no edges are given.
        until: time up to which means are restricted, an end of an interval; `None` for the last one
            that all curves reach.
        site: column that holds each record's site.
        sites: names of the sites; by default those in the data, which are then assumed public.
        epsilon: privacy budget of everything together, positive; `None` for no privacy.
        delta: probability of a larger loss, in [1e-12, 1).
        relation: adjacency, "replace_one" or "add_remove", under which the number of records is
            private as well, and released.
        masks: secure aggregation, by default against one colluding site; `None` for local noise.
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
    schema, records = _records(data, [time, event], by, columns, site, sites, size)
    lived = records.column(time)
    method = PrivateSurvival(
        lived.cut(*edges) if len(edges) else lived,
        records.column(event),
        None if by is None else records.column(by),
        intervals,
        until,
        privacy=_budget(epsilon, delta, relation, masks),
    )
    star = Coordinator(len(records.names))
    result = run(records, star, method, rounds=1, seed=seed, ledger=ledger, dataset=dataset)
    return Survival(result.guarantee, result, schema)


@dataclass(frozen=True, eq=False)
class Cox:
    """A Cox regression, and what was guaranteed.

    Attributes:
        guarantee: guarantee of the whole run, owner by owner.
        result: outcome of the run.
        schema: declaration of the columns.
    """

    guarantee: Guarantees
    result: Result
    schema: Schema

    @property
    def table(self) -> HazardRatios:
        """The hazard ratios.

        Raises:
            ConfigError: intervals are refused; the reason and what would do.
        """
        answer = self.result.answer
        if isinstance(answer, HazardRatios):
            return answer
        reason = f": {answer.reason}; {answer.needs}" if isinstance(answer, Refused) else ""
        raise ConfigError(f"there are no hazard ratios{reason}")

    def summary(self) -> str:
        """The table, what it covers, and what was guaranteed."""
        return f"{self.table.summary()}\n\n{self.guarantee}"

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table.to_html()

    def to_frame(self) -> pd.DataFrame:
        """The hazard ratios as a pandas frame, one row each."""
        return self.table.frame()

    def to_latex(self) -> str:
        """The table in LaTeX, for the booktabs package."""
        return self.table.to_latex()

    def forest(self) -> go.Figure:
        """A forest plot: the hazard ratio of every column over its declared range."""
        from tacit.report.figures import forest

        return forest(self.table.effects(), "hazard ratio")


@checked(ConfigError, own="data columns ledger")
def cox(
    data: Table | str | Path | Mapping[str, Table | str | Path],
    time: str,
    event: str,
    on: Sequence[str],
    *,
    columns: Mapping[str, Feature] | None = None,
    edges: Sequence[float] = (),
    pieces: int = 6,
    limit: float | None = None,
    strata: str | None = None,
    periods: Sequence[float] = (),
    site: str = "site",
    sites: Sequence[str] | None = None,
    epsilon: float | None = 1.0,
    delta: float = DELTA,
    relation: Literal["replace_one", "add_remove"] = "replace_one",
    masks: Masks | None = _ONE_COLLUDER,
    size: int | Sequence[int] | None = None,
    seed: int | None = None,
    ledger: Ledger | None = None,
    dataset: str = "",
) -> Cox:
    """Fit a Cox regression over several sites, with intervals that include the noise.

    Records that lack a value are dropped.

    Args:
        data: table of pandas, polars or Arrow with a column of sites, or one table per site by
            name. A path stands for the table in that file.
        time: column of the time until the event or the censoring.
        event: column of two levels, the second of which is the event: true, or 1.
        on: columns that the hazard depends on: numbers, or levels against the first.
        columns: declarations of columns, with bounds or levels. One that is not declared is read
            off the records, with a warning: that is then assumed public.
        edges: inner ends of the pieces of time in which the baseline hazard is constant.
        pieces: number of equal pieces between the bounds, where no edges are given.
        limit: cumulative hazard up to which a record is followed, positive; by default 1 with a
            budget, and none without.
        strata: column whose levels have a baseline hazard of their own, such as that of the sites;
            `None` for one baseline.
        periods: inner ends of periods of time in each of which every column has an effect of its
            own, each the end of a piece; the test of proportional hazards compares them.
        site: column that holds each record's site.
        sites: names of the sites; by default those in the data, which are then assumed public.
        epsilon: privacy budget of the whole fit, positive; `None` for no privacy.
        delta: probability of a larger loss, in [1e-12, 1).
        relation: adjacency, "replace_one" or "add_remove".
        masks: secure aggregation, by default against one colluding site; `None` for local noise.
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
        >>> age, followed = rng.uniform(20, 80, 6000), rng.uniform(2, 12, 6000)
        >>> lived = rng.exponential(12, 6000) * np.exp(-0.03 * (age - 50))
        >>> table = pd.DataFrame({
        ...     "clinic": rng.choice(["a", "b", "c"], 6000), "age": age,
        ...     "years": np.minimum(lived, followed), "died": lived <= followed,
        ... })
        >>> declared = {
        ...     "years": data.Numeric(0, 10), "died": data.Boolean(), "age": data.Numeric(20, 80)
        ... }
        >>> fit = tacit.cox(
        ...     table, "years", "died", ["age"], columns=declared, site="clinic", seed=0
        ... )
        >>> float(fit.table.values[0].round(2))
        0.03
    """
    if strata is not None and strata == site and strata not in (columns or {}):
        named = list(data) if sites is None and isinstance(data, Mapping) else sites
        if named is not None:  # public, and so are the strata
            columns = {**(columns or {}), site: Categorical(list(map(str, named)))}
    schema, records = _records(data, [time, event, *on], strata, columns, site, sites, size)
    lived = records.column(time)
    method = PrivateCox(
        lived.cut(*edges) if len(edges) else lived,
        records.column(event),
        [records.column(name) for name in on],
        pieces,
        limit,
        strata=None if strata is None else records.column(strata),
        periods=tuple(periods),
        privacy=_budget(epsilon, delta, relation, masks),
    )
    star, rounds = Coordinator(len(records.names)), method.only_rounds
    result = run(records, star, method, rounds=rounds, seed=seed, ledger=ledger, dataset=dataset)
    return Cox(result.guarantee, result, schema)


def _records(
    data: Table | str | Path | Mapping[str, Table | str | Path],
    names: Sequence[str],
    by: str | None,
    columns: Mapping[str, Feature] | None,
    site: str,
    sites: Sequence[str] | None,
    size: int | Sequence[int] | None,
) -> tuple[Schema, Records]:
    """The declared columns, and the records of every site that have them all."""
    frame, sites = one_table(data, site, sites)
    check_declared(columns)
    chosen = describable(frame, names, by, site, columns or {})
    chosen.found.warn("columns={'days': data.Numeric(0, 1000)}", stacklevel=4)
    schema = Schema(
        chosen.found.features,
        None,
        site=site,
        intercept=False,
        missing="drop",
        assumptions=chosen.assumptions,
    )
    divided = by_column(prepare(frame, schema), sites)
    return schema, record_tables(divided.features, schema, names=divided.names, size=size)


def _budget(
    epsilon: float | None,
    delta: float,
    relation: Literal["replace_one", "add_remove"],
    masks: Masks | None,
) -> Privacy | None:
    if epsilon is None:
        return None
    return Privacy(clip=1.0, epsilon=epsilon, delta=delta, relation=relation, masks=masks)
