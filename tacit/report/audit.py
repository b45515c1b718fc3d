"""The page of an audit: the claim, lower bounds on epsilon, and the trade-off curve."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.report.assets import page, write_page
from tacit.report.canvas import blank, for_page
from tacit.report.data import Column, Row
from tacit.report.figures import BLUE, ORANGE, finish, thin
from tacit.report.tables import table

if TYPE_CHECKING:
    import plotly.graph_objects as go

EXPLANATION = (
    (
        "The audit",
        "plays the attacker: it runs the method many times on each of two adjacent data sets, "
        "reads everything that leaves, and counts how often it can tell which one was used.",
    ),
    (
        "Lower bound",
        "with the stated confidence, these counts show that epsilon is at least this number. They "
        "do not show how large epsilon may be.",
    ),
    (
        "Refuted",
        "the lower bound is above the claim: either the claim is false or the program does not do "
        "what the claim describes. Do not publish anything under it.",
    ),
    (
        "Not refuted",
        "the audit found nothing that contradicts the claim. That is not a proof: a stronger "
        "attack, other data or more runs might still find a leak. Only a theorem proves a claim.",
    ),
)
"""What a privacy officer needs to know to read the page."""

HEIGHT = 440


@dataclass(frozen=True)
class TradeOff:
    """The trade-off between false alarms and misses that an attacker achieves.

    All columns have the length of `false_alarms`, which ascends.

    Attributes:
        false_alarms: rate at which the attacker says D when it was D', in [0, 1].
        measured: measured rate at which it then says D' when it was D.
        low: lower end of the confidence band.
        high: upper end of the confidence band.
        claimed: lowest miss rate that the claim allows.

    Raises:
        ConfigError: columns that differ in length.
    """

    false_alarms: Column
    measured: Column
    low: Column
    high: Column
    claimed: Column

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in vars(self).items()}
        if len(set(lengths.values())) > 1:
            raise ConfigError(f"the columns of a trade-off curve differ in length: {lengths}")


@dataclass(frozen=True)
class AuditData:
    """Everything that the page of an audit shows.

    Attributes:
        title: title of the page.
        claim: the audited guarantee in words.
        verdict: the result as a sentence.
        refuted: whether the claim was refuted.
        facts: key figures, name and value.
        bounds: one row per estimator.
        power: number of runs that suffice to refute a wrong claim, in words.
        curve: the trade-off curve.
        how: what was run, on which data, in sentences.
        checks: one row per test of the noise.
        environment: machine and versions.
    """

    title: str
    claim: str
    verdict: str
    refuted: bool
    facts: Sequence[tuple[str, str]]
    bounds: Sequence[Row]
    power: str
    curve: TradeOff
    how: Sequence[str] = ()
    checks: Sequence[Row] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)


@checked(ConfigError)
def write_audit(path: str | os.PathLike[str], data: AuditData) -> Path:
    """Write the page of an audit; an older file at `path` is replaced whole or not at all.

    Args:
        path: path of the HTML file; its directory must exist.
        data: contents of the page.

    Returns:
        The path written.

    Raises:
        RuntimeFailure: the file could not be written.
    """
    return write_page(path, render_audit(data))


def render_audit(data: AuditData) -> str:
    """The page of an audit as HTML, self-contained like that of a run."""
    return page(
        "audit.html",
        {"tradeoff": for_page(trade_off, data.curve)},
        data=data,
        environment=data.environment,
        bounds=table(data.bounds),
        checks=table(data.checks) if data.checks else None,
        explanation=EXPLANATION,
        alternative=_alternative(data),
        height=HEIGHT,
    )


def trade_off(curve: TradeOff) -> go.Figure:
    """The measured curve with its band, and the region that the claim rules out.

    Args:
        curve: trade-off that attackers achieved.
    """
    keep = thin(len(curve.false_alarms))
    x = [float(curve.false_alarms[i]) for i in keep]

    def column(values: Column) -> list[float]:
        return [float(values[i]) for i in keep]

    figure = blank()
    figure.add_scatter(
        x=x,
        y=column(curve.claimed),
        name="lowest that the claim allows",
        mode="lines",
        line={"color": ORANGE, "width": 2, "dash": "dash"},
        fill="tozeroy",
        fillcolor="rgba(194, 87, 26, 0.10)",
        hovertemplate="false alarms %{x:.3f}<br>misses at least %{y:.3f}<extra>claim</extra>",
    )
    figure.add_scatter(
        x=[*x, *reversed(x)],
        y=[*column(curve.high), *reversed(column(curve.low))],
        name="confidence band",
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor="rgba(27, 127, 189, 0.25)",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=x,
        y=column(curve.measured),
        name="what the audit achieved",
        mode="lines",
        line={"color": BLUE, "width": 2},
        hovertemplate="false alarms %{x:.3f}<br>misses %{y:.3f}<extra>measured</extra>",
    )
    figure.update_xaxes(title="false alarms (says D, was D')", range=[-0.01, 1.01])
    figure.update_yaxes(title="misses (says D', was D)", range=[-0.01, 1.01])
    return finish(figure, height=HEIGHT, legend=True)


def _alternative(data: AuditData) -> str:
    """The figure in words."""
    region = "enters" if data.refuted else "stays out of"
    return (
        "Misses against false alarms. The better the attack, the closer its curve comes to the "
        "lower left corner. The claim rules out the shaded region under the dashed line; the "
        f"measured curve {region} it"
        + (
            ", in places with its whole confidence band."
            if data.refuted
            else " within its confidence band."
        )
    )
