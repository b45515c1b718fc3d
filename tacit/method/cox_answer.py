"""Hazard ratios, with sampling and privacy errors apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float

from tacit.method import latex
from tacit.method.aligned import ruled
from tacit.method.answer import NORMAL, PRIVATE_SIZE, REPEATED, reach
from tacit.method.per_unit import per

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class HazardRatios:
    """A Cox regression: log hazard ratios, and the baseline hazard by piece.

    Attributes:
        names: names of the effects.
        values: log hazard ratios of one unit more, or of a level against its reference, shape
            `(d,)`.
        sampling: covariance of their sampling error, shape `(d, d)`.
        privacy: covariance of their error due to the noise, shape `(d, d)`.
        joint: covariance of the log hazard ratios and of the logarithms of all baseline hazards
            behind them, stratum by stratum, for both errors, shape `(d + cells, d + cells)`.
        spans: distance between the bounds of each column; 1 for levels.
        edges: start of the first piece of time, then the ends of all.
        hazards: baseline hazard in each piece of each stratum, per unit of time, where all columns
            are 0, shape `(strata, pieces)`.
        time: name of the column of times.
        event: what the event is, such as "died = true".
        limit: cumulative hazard up to which records were followed; `None` for no limit.
        sites: number of sites whose records were used.
        of_sites: number of all sites.
        periods: start of the first period of time with effects of its own, then the ends of all.
            Effects of the first period stand first.
        strata: name of the column of strata, or `None`.
        levels: names of the strata; one without a name if there are none.
        tested: whether noise leaves enough for a test of proportional hazards.
        private_size: whether the number of records is private; it is not released here.
        repeated: whether a person may have several records, so that they are not independent.
    """

    names: tuple[str, ...]
    values: Float[np.ndarray, " d"]
    sampling: Float[np.ndarray, "d d"]
    privacy: Float[np.ndarray, "d d"]
    joint: Float[np.ndarray, "k k"]
    spans: tuple[float, ...]
    edges: tuple[float, ...]
    hazards: Float[np.ndarray, "strata pieces"]
    time: str
    event: str
    limit: float | None
    sites: int
    of_sites: int
    periods: tuple[float, ...]
    strata: str | None = None
    levels: tuple[str, ...] = ("",)
    tested: bool = True
    private_size: bool = False
    repeated: bool = False
    kind: ClassVar[str] = "cox"

    @property
    def errors(self) -> Float[np.ndarray, " d"]:
        """Standard errors of the log hazard ratios, for sampling and noise."""
        return np.sqrt(np.diag(self.sampling + self.privacy))

    @property
    def p_values(self) -> Float[np.ndarray, " d"]:
        """Two-sided p-values of Wald's tests that a ratio is 1."""
        from scipy.stats import norm

        return 2.0 * norm.sf(np.abs(self.values / self.errors))

    def proportional(self) -> pd.DataFrame:
        """Wald's tests that effects are the same in all periods, with the noise in them.

        One row for each effect and one for all together, "all"; none with one period, or where the
        noise hides too much.
        """
        import pandas as pd
        from scipy.stats import chi2

        periods = len(self.periods) - 1
        d = len(self.names) // periods
        rows: list[dict[str, Any]] = []
        # each period against the first
        against = np.hstack([-np.ones((periods - 1, 1)), np.eye(periods - 1)])
        shown = [name.removesuffix(self._within()) for name in self.names[:d]]
        for name, chosen in (*zip(shown, np.eye(d)[:, None], strict=True), ("all", np.eye(d))):
            contrast = np.kron(against, chosen)
            degrees = len(contrast)
            if not (degrees and self.tested):
                continue
            apart = contrast @ self.values
            spread = contrast @ (self.sampling + self.privacy) @ contrast.T
            statistic = float(apart @ np.linalg.solve(spread, apart))
            p_value = float(chi2.sf(statistic, degrees))
            found = {"chi_squared": statistic, "degrees": degrees, "p_value": p_value}
            rows.append({"parameter": name, **found})
        return pd.DataFrame(rows, columns=["parameter", "chi_squared", "degrees", "p_value"])

    def _within(self) -> str:
        """What the names of the effects of the first period end with."""
        return f" ({self.periods[0]:g}, {self.periods[1]:g}]"

    def frame(self) -> pd.DataFrame:
        """One row per effect: log hazard ratio with its errors, z, p, and ratio with 95 % ends."""
        import pandas as pd

        errors = self.errors
        return pd.DataFrame(
            {
                "parameter": self.names,
                "log_hazard_ratio": self.values,
                "standard_error": errors,
                "sampling_error": np.sqrt(np.diag(self.sampling)),
                "privacy_error": np.sqrt(np.maximum(np.diag(self.privacy), 0.0)),
                "z": self.values / errors,
                "p_value": self.p_values,
                "hazard_ratio": np.exp(self.values),
                "lower": np.exp(self.values - NORMAL * errors),
                "upper": np.exp(self.values + NORMAL * errors),
            }
        )

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Confidence intervals of the log hazard ratios that include the noise.

        Args:
            level: nominal coverage, in (0, 1).

        Raises:
            ConfigError: a level out of range.
        """
        import pandas as pd

        half = reach(level) * self.errors
        ends = {"lower": self.values - half, "upper": self.values + half}
        return pd.DataFrame(ends, index=pd.Index(self.names, name="parameter"))

    def baseline(self) -> pd.DataFrame:
        """The baseline hazard: one row per piece of each stratum, with its ends."""
        import pandas as pd

        ends = {"from": self.edges[:-1], "to": self.edges[1:]}
        found = [
            pd.DataFrame({**({self.strata: level} if self.strata else {}), **ends, "hazard": row})
            for level, row in zip(self.levels, self.hazards, strict=True)
        ]
        return pd.concat(found, ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Effects and baseline as plain values."""
        rows: list[dict[str, Any]] = self.frame().to_dict("records")
        baseline: list[dict[str, Any]] = self.baseline().to_dict("records")
        return {
            "kind": self.kind,
            "time": self.time,
            "event": self.event,
            "limit": self.limit,
            "sites": self.sites,
            "of_sites": self.of_sites,
            "strata": self.strata,
            "periods": list(self.periods),
            "proportional_hazards": self.proportional().to_dict("records"),
            "rows": rows,
            "baseline": baseline,
        }

    def effects(self) -> list[dict[str, Any]]:
        """Ratios of every column, of a number per a readable unit, as rows of a forest plot."""
        found: list[dict[str, Any]] = []
        inner = np.sqrt(np.diag(self.sampling))
        for i, name in enumerate(self.names):
            ends = {
                "value": 0.0,
                "lower": -self.errors[i],
                "upper": self.errors[i],
                "sampling_lower": -inner[i],
                "sampling_upper": inner[i],
            }
            unit, named = per(self.spans[i])
            moved = {
                key: math.exp(unit * (self.values[i] + NORMAL * each)) for key, each in ends.items()
            }
            found.append({"parameter": f"{name}{named}", **moved})
        return found

    def sentence(self) -> str:
        """Whose records these are, the model, and what the intervals cover."""
        whose = (
            f"all {self.sites}"
            if self.sites == self.of_sites
            else f"{self.sites} of {self.of_sites}"
        )
        found = (
            f"Cox regression of the records of {whose} sites: hazard ratios of one unit more, or "
            f"of a level against its reference. Time is {self.time}, the event {self.event}; the "
            f"baseline hazard is constant in each of {len(self.edges) - 1} pieces of time"
        )
        found += "." if self.strata is None else f", for each {self.strata} on its own."
        if self.limit is not None:
            found += (
                f" Records are followed up to a cumulative hazard of {self.limit:g}, which bounds "
                "what each adds and biases nothing."
            )
        covered = "sampling and the noise" if self.privacy.any() else "sampling; no noise was added"
        found += f" Standard errors and 95 % intervals cover {covered}."
        if len(self.periods) > 2 and not self.tested:
            found += " The noise hides too much for a test of proportional hazards."
        elif len(self.periods) > 2:
            *each, (_, statistic, degrees, p) = self.proportional().itertuples(index=False)
            found += (
                " Test of proportional hazards, that effects are the same in all periods: "
                f"chi-squared {statistic:.2f}, degrees of freedom {degrees}, {_p(p)}"
            )
            alone = ", ".join(f"{name} {_p(p_value)}" for name, _, _, p_value in each)
            found += f" ({alone})." if len(each) > 1 else "."
        if self.repeated:
            found += f" {REPEATED}"
        return f"{found} {PRIVATE_SIZE.format(released='')}" if self.private_size else found

    def cells(self) -> list[list[str]]:
        """Headings and rows of the printed table, as text."""
        heads = ["", "coef", "std err", "sampling", "privacy", "P>|z|"]
        rows = [[*heads, "hazard ratio", "2.5 %", "97.5 %"]]
        for name, *numbers in self.frame().itertuples(index=False):
            value, error, sampling, privacy, _, p, ratio, lower, upper = numbers
            shown = [f"{each:.4g}" for each in (value, error, sampling, privacy)]
            ratios = [f"{each:.3f}" for each in (ratio, lower, upper)]
            rows.append([name, *shown, f"{p:.3f}" if p >= 0.001 else "<0.001", *ratios])
        return rows

    def summary(self) -> str:
        """The table as text."""
        return ruled(self.cells(), [self.sentence()])

    def __repr__(self) -> str:
        return self.summary()

    def to_html(self) -> str:
        """The table in HTML, with its explanation below."""
        heads, *rows = self.cells()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows
        )
        return (
            f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
            f"<p>{escape(self.sentence())}</p>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_latex(self) -> str:
        """The table in LaTeX, for the booktabs package."""
        heads, *rows = self.cells()
        return latex.table([latex.latex(head) for head in heads], rows)


def _p(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"
