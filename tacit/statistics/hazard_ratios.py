"""`tacit.cox`: a Cox regression over sites, with intervals that include the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tacit.arguments import checked
from tacit.data.feature import Feature
from tacit.data.frames import Table
from tacit.data.roles import check_roles, cox_roles
from tacit.errors import ConfigError
from tacit.method.cox import PrivateCox
from tacit.method.cox_answer import HazardRatios
from tacit.method.fitted_hazards import FittedHazards
from tacit.privacy.caution import DELTA
from tacit.privacy.ledger import Ledger
from tacit.privacy.masked import Masks
from tacit.statistics._outcome import Outcome, answered
from tacit.statistics._records import ONE_COLLUDER, budget, declared_records, run_on

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False, repr=False)
class Cox(Outcome):
    """A Cox regression, and what was guaranteed.

    Attributes:
        guarantee: guarantee of the whole run, owner by owner.
        result: outcome of the run.
        schema: declaration of the columns.
        on: columns that the hazard depends on.
    """

    on: tuple[str, ...] = ()

    @property
    def table(self) -> HazardRatios:
        """The hazard ratios.

        Raises:
            ConfigError: intervals are refused; the reason and what would do.
        """
        return answered(self.result, HazardRatios, "there are no hazard ratios")

    @cached_property
    def model(self) -> FittedHazards:
        """What may be published: the table, and the declarations by which it predicts.

        Raises:
            ConfigError: as for `table`.
        """
        table = self.table
        used = [*self.on, *([] if table.strata is None else [table.strata])]
        features = {name: self.schema.features[name] for name in used}
        schema = replace(self.schema, features=features, site=None)
        return FittedHazards(
            table,
            dict.fromkeys(self.on, ()),
            schema,
            str(self.guarantee),
            papers=self.result.papers,
        )

    def predict(
        self,
        data: Table,
        *,
        at: Sequence[float] = (),
        reference: Mapping[str, Any] | None = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """Relative hazards and survival of new records; as `FittedHazards.predict`."""
        return self.model.predict(data, at=at, reference=reference, level=level)

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Confidence intervals of the log hazard ratios that include the noise.

        Args:
            level: nominal coverage, in (0, 1).
        """
        return self.table.conf_int(level)

    def save(self, path: str | Path) -> None:
        """Write table and declarations to a file; `tacit.method.load_hazards` reads it."""
        self.model.save(path)

    @property
    def _shown(self) -> HazardRatios:
        return self.table

    def forest(self) -> go.Figure:
        """A forest plot: the hazard ratio of every column, of a number per a readable unit."""
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
    pieces: int | None = None,
    limit: float | None = None,
    strata: str | None = None,
    periods: Sequence[float] = (),
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
            off the records, with a warning: that is then assumed public. Those of columns that are
            not asked for are not used.
        edges: inner ends of the pieces of time in which the baseline hazard is constant.
        pieces: number of equal pieces between the bounds, at least 1, where no edges are given;
            `None` for 6.
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
        records_per_person: maximum number of records of one person at one site, at least 1. All of
            them are protected together; standard errors still take records as independent.
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
    if not on:
        raise ConfigError("on is empty; name the columns that the hazard depends on")
    check_roles(cox_roles(time, event, on, strata), site)
    remedy = "'days': data.Numeric(0, 1000)"
    _, schema, records = declared_records(
        data,
        [time, event, *on],
        strata,
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
    method = PrivateCox(
        lived.cut(*edges) if len(edges) else lived,
        records.column(event),
        [records.column(name) for name in on],
        pieces,
        limit,
        strata=None if strata is None else records.column(strata),
        periods=tuple(periods),
        privacy=budget(
            epsilon, delta, relation, masks, records_per_person, sites_per_person, large_delta
        ),
    )
    result = run_on(records, method, method.only_rounds, seed, ledger, dataset)
    return Cox(result.guarantee, result, schema, tuple(on))
