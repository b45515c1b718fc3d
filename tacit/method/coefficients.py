"""A table of regression coefficients, with sampling and privacy errors apart, or without intervals.

Whether intervals may be printed is decided from released numbers and public constants alone.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from tacit import checks
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.method import latex
from tacit.method.aligned import ruled
from tacit.method.answer import NORMAL, REPEATED, Refused, reach
from tacit.method.per_unit import per

if TYPE_CHECKING:
    import pandas as pd

Matrix = Float[np.ndarray, "d d"]

CURVATURE = 0.75
"""Largest noise of the information, as an operator, over its smallest eigenvalue."""

MISFIT = 3.0
"""Largest excess of clipped residuals, in standard errors."""

MARGIN = 1.25
"""Factor on what a refusal says would do: it is estimated with noise, and so is the next fit."""

_LOST = 8.0
"""Noise over eigenvalue from which on that eigenvalue says nothing about what is needed."""

SPREAD = 16.0
"""Mean eigenvalue over the smallest one, where noise hides the smallest one and one is guessed."""

_PROPER = {"gaussian": "Gaussian", "poisson": "Poisson"}
"""Families that are named after somebody."""


def in_words(family: str) -> str:
    """The name of a family in a sentence."""
    return _PROPER.get(family, family.replace("_", " "))


def names_of(columns: Sequence[str], levels: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of the coefficients, level by level where each has its own.

    Args:
        columns: names of the columns, the intercept first.
        levels: levels of the target, the first of which has no coefficients; or none.
    """
    if not levels:
        return tuple(columns)
    return tuple(f"{level}: {name}" for level in levels[1:] for name in columns)


@dataclass(frozen=True)
class Checks:
    """The numbers by which intervals are printed or refused.

    Attributes:
        curvature: noise of the information over its smallest eigenvalue; infinite if that is not
            positive. At most 0.75 is printed: then no eigenvalue was raised, and the inverse is
            that of the records.
        moved: mean square of the last step of the linear predictor.
        allowed: largest `moved` that is printed: half the root mean square standard error of the
            predictor, so that what a Newton step leaves out is below a quarter of it. With an
            identity link, where only the clip bends the score, half the variance of the errors.
        excess: clipped residuals beyond those that the model predicts, in standard errors; 0
            without a clip. At most 3 are printed.
        average: noise of the information over its mean eigenvalue; infinite if the noise hides
            that one too. Nothing is refused for it.
    """

    curvature: float
    moved: float
    allowed: float
    excess: float
    average: float = math.inf

    @property
    def passed(self) -> bool:
        """Whether intervals may be printed."""
        return bool(self.curvature <= CURVATURE and self.moved <= self.allowed and self.fits)

    @property
    def fits(self) -> bool:
        """Whether the number of clipped residuals is that of the model."""
        return bool(abs(self.excess) <= MISFIT)

    @property
    def lacks(self) -> float:
        """Factor on records times privacy (in mu) at which four fits in five would be printed.

        If `lost`, a guess; or a lower bound, if noise hides the mean eigenvalue too.
        """
        lacks = max(1.0, min(self.curvature, _LOST) / CURVATURE, min(self._stepped, _LOST))
        if self.lost:
            guess = SPREAD * self.average / CURVATURE
            return max(lacks, guess) if math.isfinite(guess) else lacks
        return lacks if lacks == 1.0 else MARGIN * lacks

    @property
    def _stepped(self) -> float:
        return self.moved / self.allowed if self.allowed > 0.0 else math.inf

    @property
    def lost(self) -> bool:
        """Whether the noise is so large that `lacks` is a guess or a lower bound."""
        return max(self.curvature, self._stepped) > _LOST


class Wald(NamedTuple):
    """A joint test that several coefficients are 0.

    Attributes:
        statistic: chi-squared statistic.
        degrees: degrees of freedom.
        p_value: probability of a larger statistic if all coefficients are 0.
    """

    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, eq=False)
class CoefficientTable:
    """Coefficients in the units of the data, with both sources of their uncertainty.

    Attributes:
        names: names of the coefficients, the intercept first.
        values: coefficients, shape `(d,)`.
        sampling: covariance due to the sampling of records, shape `(d, d)`.
        privacy: covariance due to the noise, shape `(d, d)`.
        checks: the numbers by which intervals are printed or refused.
        refusal: reason why intervals are not printed, or `None`.
        family: family of the model.
        link: link of the model.
        records: public number of records.
        spans: how far each column reaches in the units of the data, such as 60 for an age from 20
            to 80; 1 for levels, splines and the intercept.
        levels: levels of the target, if each but the first has coefficients of its own, against the
            first; otherwise empty.
        repeated: whether a person may have several records, so that they are not independent.
        declared: whether `records` is what was declared, because their number is private.
    """

    names: tuple[str, ...]
    values: Float[np.ndarray, " d"]
    sampling: Matrix
    privacy: Matrix
    checks: Checks
    refusal: Refused | None
    family: str
    link: str
    records: int
    spans: tuple[float, ...]
    levels: tuple[str, ...] = ()
    repeated: bool = False
    declared: bool = False
    kind: ClassVar[str] = "coefficients"

    @property
    def each(self) -> int:
        """Number of coefficients of a level, or of the model."""
        return len(self.names) // max(len(self.levels) - 1, 1)

    @property
    def slopes(self) -> list[int]:
        """Places of all coefficients but intercepts."""
        return [place for place in range(len(self.names)) if place % self.each]

    @property
    def covariance(self) -> Matrix:
        """Covariance of the coefficients from both sources, shape `(d, d)`."""
        return self.sampling + self.privacy

    @property
    def standard_errors(self) -> Float[np.ndarray, " d"]:
        """Standard errors from both sources; not a number where intervals are refused."""
        return self._errors(self.covariance)

    def _errors(self, covariance: Matrix) -> Float[np.ndarray, " d"]:
        if self.refusal is not None:
            return np.full(len(self.names), np.nan)
        return np.sqrt(np.maximum(np.diag(covariance), 0.0))

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Confidence intervals that include the noise.

        Args:
            level: nominal coverage, in (0, 1).

        Raises:
            ConfigError: a level out of range.
        """
        import pandas as pd

        half = reach(level) * self.standard_errors
        ends = {"lower": self.values - half, "upper": self.values + half}
        return pd.DataFrame(ends, index=pd.Index(self.names, name="parameter"))

    def wald(self, names: Sequence[str]) -> Wald:
        """Test that several coefficients are all 0, such as those of one factor.

        Args:
            names: names of coefficients, at least one.

        Raises:
            ConfigError: no names, one that is unknown, or a table without intervals.
        """
        from scipy.stats import chi2

        if self.refusal is not None:
            raise ConfigError(f"no test without standard errors: {self.refusal.reason}")
        chosen = [names] if isinstance(names, str) else list(names)
        missing = [name for name in chosen if name not in self.names]
        if missing or not chosen:
            wrong = checks.shown(missing[0]) if missing else "names"
            raise ConfigError(
                f"{wrong} is not a coefficient; these are: {', '.join(self.names)}"
                if missing
                else "names is empty; give at least one coefficient"
            )
        places = [self.names.index(name) for name in dict.fromkeys(chosen)]
        part = self.covariance[np.ix_(places, places)]
        values = self.values[places]
        statistic = float(values @ np.linalg.solve(part, values))
        return Wald(statistic, len(places), float(chi2.sf(statistic, len(places))))

    @property
    def ratio(self) -> str:
        """Name of the exponential of a coefficient; empty for a linear model."""
        return {"logit": "odds_ratio", "log": "rate_ratio"}.get(self.link, "")

    def frame(self) -> pd.DataFrame:
        """One row per coefficient: errors from both sources, test, interval, and its ratio.

        Where intervals are refused, coefficients stand alone: all else is not a number.
        """
        import pandas as pd
        from scipy.stats import norm

        error = self.standard_errors
        ends = self.conf_int()
        with np.errstate(divide="ignore", invalid="ignore"):
            z = self.values / error
        table = {
            "parameter": self.names,
            "coefficient": self.values,
            "standard_error": error,
            "sampling_error": self._errors(self.sampling),
            "privacy_error": self._errors(self.privacy),
            "z": z,
            "p_value": 2.0 * norm.sf(np.abs(z)),
            "lower": ends["lower"].to_numpy(),
            "upper": ends["upper"].to_numpy(),
        }
        if self.ratio:
            table |= {
                self.ratio: np.exp(self.values + 0.0 * error),
                f"{self.ratio}_lower": np.exp(table["lower"]),
                f"{self.ratio}_upper": np.exp(table["upper"]),
            }
        return pd.DataFrame(table)

    @property
    def effect(self) -> str:
        """What `effects` are: "odds ratio", "rate ratio" or "effect"."""
        return self.ratio.replace("_", " ") or "effect"

    def effects(self) -> list[dict[str, Any]]:
        """What a forest plot draws: the effect of every column, of a number per a readable unit.

        Returns:
            One row per coefficient but the intercept: `parameter`, `value`, `lower` and `upper`,
            and `sampling_lower` and `sampling_upper` of an interval without the noise. As ratios,
            where the model has them. Empty without intervals.
        """
        if self.refusal is not None:
            return []
        shown = np.exp if self.ratio else np.asarray
        reach = {"": NORMAL * self.standard_errors}
        reach["sampling_"] = NORMAL * self._errors(self.sampling)
        rows: list[dict[str, Any]] = []
        for i in self.slopes:
            unit, named = per(self.spans[i])
            value = float(shown(unit * self.values[i]))
            row: dict[str, Any] = {"parameter": f"{self.names[i]}{named}", "value": value}
            for kind, each in reach.items():
                row[f"{kind}lower"] = float(shown(unit * (self.values[i] - each[i])))
                row[f"{kind}upper"] = float(shown(unit * (self.values[i] + each[i])))
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, with `None` for what is not printed."""
        rows = self.frame().to_dict("records")
        found: dict[str, Any] = {
            "kind": self.kind,
            "family": self.family,
            "link": self.link,
            "records": self.records,
            "rows": [{str(key): _plain(value) for key, value in row.items()} for row in rows],
        }
        if self.levels:
            found["levels"] = list(self.levels)
        if self.refusal is not None:
            found["refused"] = self.refusal.to_dict()
        return found

    @property
    def counted(self) -> str:
        """Number of records, and where it comes from if it is private."""
        return f"about {self.records:,} (as declared)" if self.declared else f"{self.records:,}"

    def sentence(self) -> str:
        """What was fitted, and what the intervals cover."""
        fitted = (
            f"A {in_words(self.family)} model with {self.link} link and {len(self.names)} "
            f"coefficients was fitted to {self.counted} records, in the units of the data."
        )
        if self.levels:
            fitted += f" Coefficients of a level are against {self.levels[0]!r}."
        if self.refusal is not None:
            return (
                f"{fitted} No intervals: {self.refusal.reason}; {self.refusal.needs}. Without "
                "intervals coefficients are not printed, since even a sign may be wrong; the "
                "file of the table has them."
            )
        covered = (
            f"{fitted} Standard errors and 95 % intervals cover the sampling of the records and "
            "the noise."
        )
        return f"{covered} {REPEATED}" if self.repeated else covered

    def ratios(self) -> list[dict[str, str]]:
        """Odds or rate ratios with their intervals, as text.

        None for a linear model, nor where intervals are refused.
        """
        if not self.ratio or self.refusal is not None:
            return []
        names = (self.ratio, f"{self.ratio}_lower", f"{self.ratio}_upper")
        rows = self.frame().to_dict("records")
        return [
            {
                "parameter": str(row["parameter"]),
                **{
                    label: _short(float(row[name]), name)
                    for label, name in zip((self.effect, "2.5 %", "97.5 %"), names, strict=True)
                },
            }
            for row in (rows[place] for place in self.slopes)
        ]

    def cells(self) -> list[list[str]]:
        """Headings and rows of `summary`, as text; no rows where intervals are refused."""
        frame = self.frame()
        rows = [["", "coef", "std err", "sampling", "privacy", "z", "P>|z|", "[0.025", "0.975]"]]
        if self.refusal is not None:
            return rows
        columns = list(frame.columns[1:9])
        for row in frame.to_dict("records"):
            cells = [_short(float(row[column]), column) for column in columns]
            rows.append([str(row["parameter"]), *cells])
        return rows

    def summary(self) -> str:
        """The table as text, as statisticians know it; its sentence where intervals are refused."""
        if self.refusal is not None:
            return "\n".join(textwrap.wrap(self.sentence(), 80))
        return ruled(self.cells(), [self.sentence()])

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from html import escape

        if self.refusal is not None:
            return f"<p>{escape(self.sentence())}</p>"
        shown = self.frame().to_html(index=False, na_rep="", float_format="{:#.4g}".format)
        return f"{shown}<p>{escape(self.sentence())}</p>"

    @checked(ConfigError)
    def to_latex(self, *, ratios: bool = False, errors: bool = False, below: str = "") -> str:
        """The table in LaTeX, for the booktabs package; what levels are against is in a comment.

        Args:
            ratios: whether odds or rate ratios with their intervals stand in the place of
                coefficients; for a linear model they are coefficients all the same.
            errors: whether the sampling error and the privacy error have columns of their own.
            below: a line below the table, as text.

        Raises:
            ConfigError: a table without intervals.
        """
        if self.refusal is not None:
            raise ConfigError(f"there is no table without intervals: {self.refusal.reason}")
        heads = {
            "coefficient": "Coefficient",
            "standard_error": "Standard error",
            "sampling_error": "Sampling",
            "privacy_error": "Privacy",
            "lower": "2.5 \\%",
            "upper": "97.5 \\%",
        }
        if ratios and self.ratio:
            ends = (f"{self.ratio}_lower", f"{self.ratio}_upper")
            heads = {self.ratio: self.effect.capitalize(), **dict(zip(ends, _ENDS, strict=True))}
            # errors are those of the coefficient
            more = {"sampling_error": "Sampling", "privacy_error": "Privacy"}
            heads |= {each: f"{name} (log)" for each, name in more.items()} if errors else {}
        elif not errors:
            del heads["sampling_error"], heads["privacy_error"]
        heads["p_value"] = "$p$"
        rows = [
            [str(row["parameter"]), *(_short(float(row[each]), each) for each in heads)]
            for row in self.frame().to_dict("records")
        ]
        against = f"% levels against {self.levels[0]!r}\n" if self.levels else ""
        return against + latex.table(["", *heads.values()], rows, below)


_ENDS = ("2.5 \\%", "97.5 \\%")


def _short(value: float, column: str) -> str:
    if math.isnan(value):
        return ""
    if column == "z":
        return f"{value:.2f}"
    if column == "p_value":
        return f"{value:.3f}" if value >= 0.001 else "<0.001"
    return f"{value:#.4g}"


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else None
