"""Private regressions of data sets that come with statsmodels, beside the pooled fits.

The records are dealt to eight sites and fitted by `tacit.glm`, with secure aggregation against one
colluding site, at the least of the given budgets at which intervals are printed; and pooled, by
statsmodels. Bounds are those of the notes with the data, or assumed where these give none.

    python benchmarks/real_data.py                        both fits of every model, from one seed
    python benchmarks/real_data.py --output comparison    with a page of forest plots
    python benchmarks/real_data.py --seeds 20             how often pooled estimates are covered
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import pandas as pd

import tacit
from tacit.data import Boolean, Numeric
from tacit.method import CoefficientTable
from tacit.report import figures

if TYPE_CHECKING:
    import plotly.graph_objects as go

SITES = 8
EPSILONS = (1.0, 4.0)
NORMAL = 1.959963984540054


@dataclass(frozen=True)
class Model:
    """A regression of one data set.

    Attributes:
        title: what is asked.
        dataset: name of the data set in statsmodels.
        family: distribution of the target.
        target: target, by name.
        columns: other columns, by name, with their bounds.
        separator: separator of the file.
        positive: column that `target` is the sign of, if it is no column of the file.
    """

    title: str
    dataset: str
    family: Any
    target: tuple[str, Any]
    columns: Mapping[str, Any]
    separator: str = ","
    positive: str = ""

    @property
    def formula(self) -> str:
        """The formula of `tacit.glm`."""
        return f"{self.target[0]} ~ {' + '.join(self.columns)}"

    def records(self) -> pd.DataFrame:
        """The records of the file, with the target."""
        package = find_spec("statsmodels")
        if package is None or not package.submodule_search_locations:
            sys.exit("the records come with statsmodels: pip install 'tacit[demo]'")
        folder = Path(package.submodule_search_locations[0]) / "datasets" / self.dataset
        frame = pd.read_csv(folder / f"{self.dataset}.csv", sep=self.separator)
        frame.columns = [name.strip("'") for name in frame.columns]
        if self.positive:
            frame[self.target[0]] = frame[self.positive] > 0
        return frame


# The columns of the notes that statsmodels gives, without the incentive payment, for which they
# state no limit. A record is a year of a person.
RANDHIE = {
    "lncoins": Numeric(0, np.log(101)),  # ln(coinsurance + 1), of 0 to 100 %: notes
    "idp": Boolean(),
    # ln(max(1, MDE / (0.01 coinsurance))): the notes state no limit; assumed are 1,000 dollars and
    # a least positive coinsurance of 25 %, which was not checked in a text
    "fmde": Numeric(0, np.log(1000 / 0.25)),
    "physlm": Numeric(0, 1),  # an indicator in the notes; the file has fractions
    # A number of diseases in the notes, but with fractions in the file, so that it is taken for a
    # percentage. Of all bounds, this is the one whose unit had to be seen in the records.
    "disea": Numeric(0, 100),
    "hlthg": Boolean(),
    "hlthf": Boolean(),
    "hlthp": Boolean(),
}

MODELS = {
    "randhie": Model(
        "Any visit to a doctor in a year (RAND Health Insurance Experiment)",
        "randhie",
        "binomial",
        ("any", Boolean()),
        RANDHIE,
        positive="mdvis",
    ),
    "randhie-counts": Model(
        "Visits to a doctor in a year (RAND Health Insurance Experiment)",
        "randhie",
        "poisson",
        ("mdvis", Numeric(0, 104)),  # no limit in the notes: two a week
        RANDHIE,
    ),
    # Codes of the notes. For ages and years of marriage these refer to Fair (1978), which was not
    # at hand: their limits are the least and largest code of the file.
    "fair": Model(
        "Any extramarital affair (Fair 1978)",
        "fair",
        "binomial",
        ("affair", Boolean()),
        {
            "rate_marriage": Numeric(1, 5),
            "age": Numeric(17.5, 42),
            "yrs_married": Numeric(0.5, 23),
            "religious": Numeric(1, 4),
        },
        positive="affairs",
    ),
    "anes96": Model(
        "Expected vote for Dole (American National Election Study 1996)",
        "anes96",
        "binomial",
        ("vote", Boolean()),
        {
            "PID": Numeric(0, 6),  # codes of the notes, as for educ and income
            "age": Numeric(18, 99),  # voting age; two digits
            "educ": Numeric(1, 7),
            "income": Numeric(1, 24),
        },
        separator="\t",
    ),
    "heart": Model(
        "Death observed after a heart transplant (Miller 1976)",
        "heart",
        "binomial",
        ("censors", Boolean()),
        {"age": Numeric(0, 100)},  # years of a human life: the notes state no limit
    ),
}


@dataclass(frozen=True, eq=False)
class Pooled:
    """The fit of statsmodels to all records, with parameters in the order of `tacit.glm`."""

    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    dispersion: float


def pooled(model: Model, frame: pd.DataFrame) -> Pooled:
    """The maximum likelihood fit to all records."""
    import statsmodels.api as sm

    family = {"binomial": sm.families.Binomial, "poisson": sm.families.Poisson}[model.family]
    table = frame[[model.target[0], *model.columns]].astype(float)
    found: Any = sm.GLM(
        table[model.target[0]], sm.add_constant(table[list(model.columns)]), family=family()
    ).fit()
    ends = np.asarray(found.conf_int())
    dispersion = float(found.pearson_chi2 / found.df_resid)
    return Pooled(np.asarray(found.params), ends[:, 0], ends[:, 1], dispersion)


def private(model: Model, frame: pd.DataFrame, epsilon: float, seed: int) -> CoefficientTable:
    """The private fit, of records dealt to the sites by chance."""
    dealt = np.random.default_rng(seed).permutation(len(frame)) % SITES
    names = [f"site {i + 1}" for i in range(SITES)]
    return tacit.glm(
        model.formula,
        frame.assign(site=[names[i] for i in dealt]),
        columns={model.target[0]: model.target[1], **model.columns},
        family=model.family,
        sites=names,
        epsilon=epsilon,
        seed=seed,
    ).table


def ladder(
    model: Model, frame: pd.DataFrame, epsilons: Sequence[float], seed: int
) -> dict[float, CoefficientTable]:
    """Private fits by epsilon, up to the first that has intervals."""
    found: dict[float, CoefficientTable] = {}
    for epsilon in epsilons:
        found[epsilon] = private(model, frame, epsilon, seed)
        if found[epsilon].refusal is None:
            break
    return found


def width_ratio(table: CoefficientTable, other: Pooled) -> np.ndarray:
    """Widths of private intervals over those of the pooled fit, one per coefficient."""
    ends = table.conf_int()
    return (ends["upper"] - ends["lower"]).to_numpy() / (other.upper - other.lower)


def contains(table: CoefficientTable, other: Pooled) -> np.ndarray:
    """Whether each private interval contains the pooled estimate."""
    ends = table.conf_int().to_numpy()
    return (ends[:, 0] <= other.values) & (other.values <= ends[:, 1])


def refusals(fits: Mapping[float, CoefficientTable]) -> list[str]:
    """One sentence per refused fit."""
    return [
        f"No intervals at epsilon {epsilon:g}: {table.refusal.reason}; {table.refusal.needs}."
        for epsilon, table in fits.items()
        if table.refusal is not None
    ]


def text(model: Model, fits: Mapping[float, CoefficientTable], other: Pooled) -> str:
    """Both fits side by side, and what was refused."""
    epsilon, table = list(fits.items())[-1]
    lines = [model.title, f"{table.records:,} records, {model.family}: {model.formula}"]
    if model.family == "poisson":
        lines.append(f"Pearson's chi-squared over its degrees of freedom: {other.dispersion:.1f}")
    lines += refusals(fits)
    ends = table.conf_int()
    head = f"private, epsilon {epsilon:g}"
    lines.append(f"{'':15s}{'pooled':>28s}{head:>32s}{'width':>8s}")
    for i, (name, ratio) in enumerate(zip(table.names, width_ratio(table, other), strict=True)):
        both = f"{other.values[i]:9.3f}  [{other.lower[i]:7.3f}, {other.upper[i]:7.3f}]"
        mine = f"{table.values[i]:9.3f}  "
        mine += f"[{ends['lower'].iloc[i]:7.3f}, {ends['upper'].iloc[i]:7.3f}]{ratio:8.2f}"
        if table.refusal is not None:
            mine = f"{table.values[i]:9.3f}  [ none ]"
        lines.append(f"{name:15s}{both:>28s}    {mine}")
    return "\n".join(lines) + "\n"


def over_seeds(model: Model, epsilon: float, seeds: Sequence[int]) -> str:
    """How often intervals are printed and contain the pooled estimates, in one line."""
    frame = model.records()
    other = pooled(model, frame)
    tables = [private(model, frame, epsilon, seed) for seed in seeds]
    kept = [table for table in tables if table.refusal is None]
    line = f"{model.formula.split(' ~')[0]:8s} epsilon {epsilon:<4g} "
    line += f"printed {len(kept)} of {len(tables)}"
    if not kept:
        return line
    held = np.array([contains(table, other) for table in kept])
    ratio = np.median([width_ratio(table, other) for table in kept], axis=0)
    return (
        f"{line}, contain the pooled estimate {held.sum()} of {held.size} ({held.mean():.1%}), "
        f"width {ratio.min():.2f} to {ratio.max():.2f} of the pooled one, median "
        f"{np.median(ratio):.2f}"
    )


def forest(table: CoefficientTable, other: Pooled, epsilon: float) -> go.Figure:
    """Coefficients of both fits, over the standard error of the pooled one: one scale for all."""
    import plotly.graph_objects as go

    ends = table.conf_int().to_numpy()
    unit = (other.upper - other.lower) / (2.0 * NORMAL)
    levels = np.arange(len(unit) - 1, 0, -1)  # the intercept is left out
    figure = go.Figure()
    for name, colour, symbol, shift, value, low, high in (
        ("pooled, no privacy", figures.ORANGE, "diamond", 0.17,
         other.values, other.lower, other.upper),
        (f"private, epsilon {epsilon:g}", figures.BLUE, "circle", -0.17,
         table.values, ends[:, 0], ends[:, 1]),
    ):  # fmt: skip
        if np.isnan(low).any():
            continue
        at, down, up = ((each / unit)[1:] for each in (value, low, high))
        figure.add_scatter(
            x=at,
            y=levels + shift,
            name=name,
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 9},
            error_x={
                "type": "data", "array": up - at, "arrayminus": at - down, "color": colour,
                "thickness": 2, "width": 4,
            },
        )  # fmt: skip
    figure.add_vline(x=0.0, line={"color": figures.GREY, "width": 1.5, "dash": "dot"})
    figure.update_xaxes(title="coefficient / its pooled standard error")
    figure.update_yaxes(
        tickvals=levels,
        ticktext=[figures.plain(name) for name in table.names[1:]],
        showgrid=False,
        range=[0.4, len(levels) + 0.6],
    )
    return figures.finish(figure, height=120 + 40 * len(levels), legend=True)


def page(parts: Sequence[tuple[Model, Mapping[float, CoefficientTable], Pooled]]) -> str:
    """All comparisons as one HTML page."""
    body: list[str] = []
    for i, (model, fits, other) in enumerate(parts):
        epsilon, table = list(fits.items())[-1]
        drawn = forest(table, other, epsilon).to_html(
            full_html=False, include_plotlyjs=i == 0, config={"displayModeBar": False}
        )
        notes = "".join(f"<p>{escape(each)}</p>" for each in refusals(fits))
        body.append(
            f"<h2>{escape(model.title)}</h2><p>{table.records:,} records, {model.family}: "
            f"<code>{escape(model.formula)}</code></p>{notes}{drawn}"
        )
    style = (
        f"body {{ font: 16px/1.5 {figures.FONT}; max-width: 56rem; margin: 2rem auto; "
        "padding: 0 1rem; color: #1b2733 } code { overflow-wrap: anywhere }"
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Private and pooled</title>'
        f"<style>{style}</style>"
        f"<h1>Private regressions at {SITES} sites, beside the pooled fits</h1>"
        "<p>Bars are 95 % intervals; those of private fits cover the noise, too.</p>"
        f"{''.join(body)}</html>"
    )


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--models", nargs="*", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--epsilons", nargs="*", type=float, default=list(EPSILONS))
    parser.add_argument("--seed", type=int, default=0, help="of the sites and the noise")
    parser.add_argument("--seeds", type=int, default=0, help="count over as many seeds instead")
    parser.add_argument("--output", type=Path, help="folder for the page")
    asked = parser.parse_args(given)
    chosen = {name: MODELS[name] for name in asked.models}
    if asked.seeds:
        for model in chosen.values():
            for epsilon in asked.epsilons:
                print(over_seeds(model, epsilon, range(asked.seeds)), flush=True)
        return
    parts = []
    for model in chosen.values():
        frame = model.records()
        other, fits = pooled(model, frame), ladder(model, frame, asked.epsilons, asked.seed)
        print(text(model, fits, other), flush=True)
        parts.append((model, fits, other))
    if asked.output is not None:
        asked.output.mkdir(parents=True, exist_ok=True)
        (asked.output / "comparison.html").write_text(page(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
