"""`tacit.glm`: a regression over sites from a formula, with intervals that include the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tacit import checks
from tacit._engine.result import Result
from tacit.arguments import checked
from tacit.data.cells import columns_of
from tacit.data.design import Design
from tacit.data.feature import Feature
from tacit.data.formula import named_in, parse_formula
from tacit.data.frames import Table, one_table
from tacit.data.oddities import COUNTS
from tacit.data.partition import by_column
from tacit.data.rules import Missing
from tacit.data.schema import Schema
from tacit.data.table import prepare
from tacit.data.undeclared import check_declared, column_named, filled
from tacit.errors import ConfigError
from tacit.method.coefficients import CoefficientTable
from tacit.method.comparison import Comparison
from tacit.method.fitted import FittedRegression
from tacit.method.glm import FamilyName, PrivateGLM
from tacit.privacy.caution import DELTA
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.ledger import Ledger
from tacit.privacy.masked import Masks
from tacit.problem.task import record_tables
from tacit.statistics._outcome import answered
from tacit.statistics._records import (
    ONE_COLLUDER,
    budget,
    run_on,
    warn_of_fractions,
    warn_of_moved,
    warn_of_sites,
)

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted regression.

    Attributes:
        formula: formula of the model.
        guarantee: guarantee of the whole fit, owner by owner.
        result: outcome of the run.
        schema: declaration of the columns.
    """

    formula: str
    guarantee: Guarantees
    result: Result
    schema: Schema

    @cached_property
    def model(self) -> FittedRegression:
        """What may be published: the table, and the declarations by which it predicts.

        Raises:
            ConfigError: as for `table`.
        """
        # without a column of weights, which no prediction needs
        used = {name: self.schema.features[name] for name in named_in(self.formula)}
        schema = replace(self.schema, features=used)
        return FittedRegression(
            self.formula, self.table, schema, str(self.guarantee), papers=self.result.papers
        )

    @property
    def design(self) -> Design:
        """Columns of the regression."""
        return self.model.design

    @property
    def table(self) -> CoefficientTable:
        """Coefficients with their intervals, or without them and the reason.

        Raises:
            ConfigError: a run that gave no numbers; `result` has what was released.
        """
        return answered(self.result, CoefficientTable, "there are no coefficients")

    def summary(self) -> str:
        """The table, what it covers, and what was guaranteed."""
        return f"{self.formula}\n{self.table.summary()}\n\n{self.guarantee}"

    def __repr__(self) -> str:
        return repr(self.model)

    def _repr_html_(self) -> str:
        return self.model._repr_html_()

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas frame, one row per coefficient."""
        return self.table.frame()

    @checked(ConfigError)
    def to_latex(self, *, ratios: bool = False, errors: bool = False) -> str:
        """The table in LaTeX, for the booktabs package, with records and guarantee below it.

        Args:
            ratios: whether odds or rate ratios stand in the place of coefficients.
            errors: whether sampling error and privacy error have columns of their own.
        """
        return self.model.to_latex(ratios=ratios, errors=errors)

    def cite(self) -> str:
        """What to cite, as BibTeX: the papers that describe the method, and tacit."""
        return self.result.cite()

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Confidence intervals that include the noise.

        Args:
            level: nominal coverage, in (0, 1).
        """
        return self.table.conf_int(level)

    def forest(self) -> go.Figure:
        """A forest plot: the effect of every column, of a number per a readable unit.

        Raises:
            ConfigError: a table without intervals.
        """
        from tacit.report.figures import forest

        if self.table.refusal is not None:
            raise ConfigError(f"there are no intervals to draw: {self.table.refusal.reason}")
        return forest(self.table.effects(), self.table.effect)

    def predict(self, data: Table, *, level: float = 0.95) -> pd.DataFrame:
        """Means of new records, with intervals; as `FittedRegression.predict`."""
        return self.model.predict(data, level=level)

    def compare(self, data: Table) -> Comparison:
        """Predictions beside the targets of records, not private; as `FittedRegression.compare`."""
        return self.model.compare(data)

    def calibration(self, data: Table) -> go.Figure:
        """Observed means beside predicted ones, by tenths of the prediction.

        Not private: do not publish it unless the records are public.

        Args:
            data: table with the columns of the formula.

        Raises:
            ProblemError: as for `compare`.
        """
        from tacit.report.comparing import calibration_figure

        return calibration_figure(self.compare(data))

    def roc(self, data: Table) -> go.Figure:
        """The ROC curve of a binomial model.

        Not private: do not publish it unless the records are public.

        Args:
            data: table with the columns of the formula.

        Raises:
            ProblemError: as for `compare`, another family, or records with one kind of answer.
        """
        from tacit.report.comparing import roc_figure

        return roc_figure(self.compare(data))

    def save(self, path: str | Path) -> None:
        """Write table and declarations to a file; `tacit.method.load_regression` reads it."""
        self.model.save(path)


@checked(ConfigError, own="data columns weights ledger")
def glm(
    formula: str,
    data: Table | str | Path | Mapping[str, Table | str | Path],
    *,
    columns: Mapping[str, Feature] | None = None,
    family: FamilyName,
    site: str = "site",
    sites: Sequence[str] | None = None,
    epsilon: float | None = 1.0,
    delta: float = DELTA,
    relation: Literal["replace_one", "add_remove"] = "replace_one",
    masks: Masks | None = ONE_COLLUDER,
    records_per_person: int = 1,
    sites_per_person: int = 1,
    large_delta: bool = False,
    sums: int = 4,
    covariance: Literal["model", "robust"] | None = None,
    weights: str | None = None,
    missing: Missing = "error",
    decimal: Literal[".", ","] = ".",
    size: int | Sequence[int] | None = None,
    seed: int | None = None,
    ledger: Ledger | None = None,
    dataset: str = "",
) -> Regression:
    """Fit a generalised linear model to the records of several sites, in three or four sums.

    Runs in this process with simulated noise, to see what it would give between sites.

    Args:
        formula: model such as `"visits ~ age + C(sex) + bs(income, df=4) + offset(log(days))"`, of
            declared columns.
        data: table of pandas, polars or Arrow with a column of sites, or one table per site by
            name. A path stands for the table in that file.
        columns: declarations of columns, with bounds or levels. One of the model that is not
            declared is read off the records, with a warning: that is then assumed public. Those of
            other columns are not used.
        family: distribution of the target: "gaussian", "binomial" (a boolean, or two levels of
            which the second counts as 1), "multinomial" (three levels or more, against the first),
            "poisson", "negative_binomial" or "gamma".
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
        sums: number of sums, 3 or 4.
        covariance: "model", or "robust" for a sandwich; by default "model", or with weights
            "robust".
        weights: column of the records' weights, declared from at least 0 on; `None` where all
            count alike.
        missing: rule for missing values; `tacit fit` takes "drop".
        decimal: decimal mark of numbers that the table holds as text, such as `data.load` leaves
            them.
        size: declared public number near the number of records of a site; needed under
            "add_remove", where it is private.
        seed: seed of the simulated noise, at least 0; drawn if `None`. A seed that is known can be
            used to subtract the noise.
        ledger: ledger to be charged.
        dataset: name of the dataset in the ledger.

    Returns:
        The coefficients in the units of the data. Where a check fails, intervals are left out, with
        the reason and what would do.

    Raises:
        ConfigError: an argument out of range.
        ProblemError: a formula, column or record that does not fit the declarations.
        PrivacyError: a budget that cannot be met.

    Example:
        >>> import numpy as np, pandas as pd, tacit
        >>> from tacit import data
        >>> rng = np.random.default_rng(0)
        >>> age = rng.uniform(20, 80, 6000)
        >>> table = pd.DataFrame({"clinic": rng.choice(["a", "b", "c"], 6000), "age": age})
        >>> table["ill"] = rng.random(6000) < 1 / (1 + np.exp(3 - 0.05 * age))
        >>> declared = {"age": data.Numeric(20, 80), "ill": data.Boolean()}
        >>> fit = tacit.glm("ill ~ age", table, columns=declared, family="binomial",
        ...                 site="clinic", epsilon=1.0, seed=0)
        >>> fit.to_frame()[["parameter", "coefficient"]].round(2).values.tolist()
        [['Intercept', -3.06], ['age', 0.05]]
        >>> fit.guarantee.worst.status.value
        'proved'
    """
    if not isinstance(weights, str | None):
        raise ConfigError(f"weights={checks.shown(weights)} must be the name of a column of data")
    asked = [*named_in(formula), *([] if weights is None else [weights])]
    frame, sites = one_table(data, site, sites, asked)
    check_declared(columns)
    for name in columns or {}:
        column_named(frame, name, "columns declares")
    declared = filled(frame, columns or {}, named_in(formula), family, decimal, weights)
    declared.warn("columns={'age': data.Numeric(18, 90)}", stacklevel=3)
    if family in COUNTS:
        warn_of_fractions(frame, next(iter(named_in(formula))), decimal, stacklevel=3)
    schema = Schema(
        declared.features,
        None,
        site=site,
        intercept=False,
        missing=missing,
        decimal=decimal,
        assumptions=declared.assumptions,
    )
    found = columns_of(schema)
    target, design = parse_formula(formula, found)
    prepared = prepare(frame, schema)
    warn_of_moved(prepared, None, stacklevel=3)
    divided = by_column(prepared, sites)
    warn_of_sites(divided, site, size, stacklevel=3)
    records = record_tables(divided.features, schema, names=divided.names, size=size)
    weighted = None if weights is None else found[weights]
    agreed = budget(
        epsilon, delta, relation, masks, records_per_person, sites_per_person, large_delta
    )
    method = PrivateGLM(design, target, family, sums, covariance, weights=weighted, privacy=agreed)
    result = run_on(records, method, sums, seed, ledger, dataset)
    return Regression(formula, result.guarantee, result, schema)
