"""The parts of a report: which tables and figures stand under which heading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.problem.scores import kept_in_words, share_kept
from tacit.report import drawing, figures, masking, words
from tacit.report.data import PUBLIC_HISTORY, Column, ReportData, Row
from tacit.report.tables import Table, heading, number, sideways, table

if TYPE_CHECKING:
    import plotly.graph_objects as go

OWNERS = 25
"""Most owners in the table of guarantees, those with the largest epsilon first."""

FEATURES = 200
"""Most coefficients in the table."""

ROUNDS = 40
"""Most rounds in the table of the history."""

_DISTANCE = (
    "Distance is the squared distance of a site's answer from the pooled solution over that "
    "solution's squared norm, summed over the sites: answering zero scores the number of sites."
)
_AVERAGED = (
    "From half of the rounds on, a site's answer is the mean of its iterates since then, in which "
    "noise averages out."
)
_WITH_NOISE = (
    "The coefficients were released with noise in them: their error is not that of an ordinary "
    "regression table."
)
_WITHOUT_NOISE = "The coefficients were released as they are, without noise."


@dataclass(frozen=True)
class Block:
    """A figure or a table with its caption.

    Attributes:
        caption: what it shows, in a sentence.
        anchor: name of a figure in the page.
        alternative: what is read out in place of a figure, the caption where it is empty.
        figure: to be drawn, or
        table: to be printed.
        simulation_only: whether it shows what was not released.
        title: above it.
        folded: whether a reader has to open it.
    """

    caption: str
    anchor: str = ""
    figure: go.Figure | None = None
    table: Table | None = None
    simulation_only: bool = False
    title: str = ""
    folded: bool = False
    alternative: str = ""


@dataclass(frozen=True)
class Section:
    """A heading with an anchor, an introduction and what stands below it."""

    anchor: str
    title: str
    intro: str
    blocks: tuple[Block, ...]
    facts: Mapping[str, Any] | None = None
    columns: bool = False


def sections(data: ReportData) -> list[Section]:
    """The sections after the guarantee, without those that have nothing to show."""
    found = [
        _network(data),
        _convergence(data),
        _accuracy(data),
        _coefficients(data),
        _answer(data),
        _spending(data),
        _noise(data),
        _releases(data),
    ]
    return [section for section in found if section is not None]


def owners(data: ReportData) -> Block | None:
    """The guarantee of every owner, or of those with the largest epsilon where there are many."""
    rows = list(data.guarantee_table)
    if not rows:
        return None
    if len(rows) > OWNERS:
        rows.sort(key=lambda row: -float(row.get("epsilon") or 0.0))
    shown = table(rows, OWNERS)
    condition = words.CONDITIONS.get(data.guarantee_status)
    caption = "The guarantee for each owner of data" + (f", {condition}." if condition else ".")
    if shown.omitted:
        caption += (
            f" Shown: the {OWNERS} with the largest epsilon; {shown.omitted:,} more are in "
            "guarantee.json."
        )
    return Block(caption, table=shown)


def _network(data: ReportData) -> Section | None:
    picture = data.network
    if picture is None or not picture.names:
        return None
    count, drawn = len(picture.names), len(drawing.excerpt(picture))
    shape = "one coordinator" if picture.coordinated else f"{len(picture.edges):,} links"
    caption = f"{picture.kind}: {count:,} sites, {shape}."
    caption = caption[:1].upper() + caption[1:]
    if drawn < count:
        which = (
            f"the first {drawn:,}"
            if picture.coordinated
            else f"the {drawn:,} nearest to {picture.names[0]}"
        )
        caption += f" Drawn: {which}."
    intro = (
        "Every site talks to the coordinator only."
        if picture.coordinated
        else "Every site talks to its neighbours only; nobody stands in the middle."
    )
    return Section(
        "network",
        "Network",
        intro,
        (Block(caption, "network-figure", drawing.draw(picture)),),
        picture.facts,
    )


def _convergence(data: ReportData) -> Section | None:
    rounds = data.history.get("round", ())
    if not len(rounds):
        return None
    blocks = []
    monitored = {
        heading(name): values
        for name, values in data.history.items()
        if name not in PUBLIC_HISTORY
        and _drawable(values)
        # beside its gap, the objective itself is a flat line
        and not (name == "objective" and "objective_gap" in data.history)
    }
    if monitored:
        ends = "; ".join(f"{name} {words.last(v)}" for name, v in monitored.items())
        meaning = f" {_DISTANCE}" if "distance" in data.history else ""
        blocks.append(
            Block(
                "Against the best solution of all data together, on a log scale. At the end: "
                f"{ends}.{meaning}",
                "gap-figure",
                figures.convergence(
                    rounds, monitored, (figures.BLUE, figures.ORANGE, figures.GREY)
                ),
                simulation_only=True,
                title="Distance to the pooled solution",
            )
        )
    consensus = data.history.get("consensus", ())
    if _drawable(consensus):
        blocks.append(
            Block(
                "How far the answers of the sites lie from their mean (root mean square), on a log "
                f"scale. At the end: {words.last(consensus)}.",
                "consensus-figure",
                figures.convergence(rounds, {heading("consensus"): consensus}, (figures.GREEN,)),
                title="Disagreement between sites",
            )
        )
    rows = _rows(data.history)
    blocks.append(
        Block(
            "The history that was recorded"
            + (f", {len(rows)} of {len(rounds):,} rounds." if len(rows) < len(rounds) else ".")
            + " All of it is in history.parquet.",
            table=table(rows, ROUNDS),
            simulation_only=any(name not in PUBLIC_HISTORY for name in data.history),
            title="The numbers",
            folded=True,
        )
    )
    intro = f"{words.ending(data.status)} {_AVERAGED if data.averaged else ''}".strip()
    return Section("convergence", "Convergence and consensus", intro, tuple(blocks))


def _accuracy(data: ReportData) -> Section | None:
    rows = data.accuracy or ()
    metrics = [m for m in dict.fromkeys(k for row in rows for k in row) if m != "name"]
    if not metrics:
        return None
    blocks = []
    for metric in metrics:
        values = "; ".join(
            f"{row['name']} {number(row[metric])}" for row in rows if row.get(metric) is not None
        )
        way = figures.direction(metric)
        blocks.append(
            Block(
                _kept(rows, metric),
                f"accuracy-figure-{len(blocks) + 1}",
                figures.accuracy(rows, metric),
                simulation_only=True,
                title=heading(metric) + (f" ({way})" if way else ""),
                alternative=f"{values}.",
            )
        )
    intro = (
        "What privacy costs: the agreed model beside a fit to all records in one place without "
        "privacy, and beside the base rate, the best constant answer to the records of the sites: "
        "what can be said without looking at any feature. All of it is computed from private "
        "records without noise, the base rate too; a page of releases only shows none of it."
    )
    return Section("accuracy", "Accuracy", intro, tuple(blocks), columns=True)


def _coefficients(data: ReportData) -> Section | None:
    if not data.coefficients:
        return None
    pooled = any("pooled" in row for row in data.coefficients)
    shown = figures.largest(data.coefficients, FEATURES)
    drawn = min(len(data.coefficients), figures.COEFFICIENTS)
    caption = "The coefficients that the sites agreed on"
    caption += ", joined to those of the pooled fit." if pooled else "."
    if drawn < len(data.coefficients):
        caption += f" Drawn: the {drawn} largest of {len(data.coefficients):,}."
    listed = "All coefficients." if len(shown) == len(data.coefficients) else (
        f"The {len(shown)} largest of {len(data.coefficients):,} coefficients; "
        "all of them are in model.npz."
    )  # fmt: skip
    return Section(
        "coefficients",
        "Coefficients",
        _WITHOUT_NOISE if data.noise == "none" else _WITH_NOISE,
        (
            Block(
                caption,
                "coefficients-figure",
                figures.coefficients(data.coefficients),
                simulation_only=pooled,
            ),
            Block(listed, table=table(shown, FEATURES), simulation_only=pooled),
        ),
    )


def _answer(data: ReportData) -> Section | None:
    if not data.answer:
        return None
    intro = "Made of what was released and of declared numbers, by post-processing."
    block = Block(data.answer_sentence, table=table(data.answer, len(data.answer)))
    return Section("answer", "Answer", intro, (block,))


def _spending(data: ReportData) -> Section | None:
    epsilon = data.history.get("epsilon", ())
    if not _drawable(epsilon):
        return None
    caption = f"Epsilon after each round, the most of any owner. At the end: {words.last(epsilon)}"
    if data.epsilon_budget is not None:
        caption += f" of a budget of {number(data.epsilon_budget)}"
    condition = words.CONDITIONS.get(data.guarantee_status)
    if condition:
        caption += f" ({condition})"
    figure = figures.spending(data.history["round"], epsilon, data.epsilon_budget)
    return Section(
        "spending",
        "Epsilon spent over the rounds",
        "Each release tells a little more. The account only grows: nothing is ever refunded.",
        (Block(caption + ".", "spending-figure", figure),),
    )


def _noise(data: ReportData) -> Section | None:
    found = data.mean_noise
    if found is None:
        return None
    return Section(
        "noise",
        "Noise, with and without masks",
        "Only the mean is wanted. Where every site's own noise has to hide its answer, the noises "
        "add up; masks that cancel in the sum let the sites hide each other, against a coalition "
        "of a size that is declared.",
        (
            Block(
                masking.caption(found),
                "noise-figure",
                masking.ways(found),
                alternative=masking.alternative(found),
            ),
        ),
    )


def _releases(data: ReportData) -> Section | None:
    if not data.phases:
        return None
    return Section(
        "releases",
        "Releases",
        "The steps of a round: who computes on private data, what leaves, and how it is protected.",
        (
            Block(
                "One column for each step. A step that reads no private data costs nothing.",
                table=sideways(data.phases, "phase"),
            ),
        ),
    )


def _kept(rows: Sequence[Row], metric: str) -> str:
    """How much of what the pooled fit gains over the base rate the agreed model keeps."""
    found = {
        start: figures.finite(row.get(metric))
        for row in rows
        for start in ("agreed", "pooled", "base rate")
        if str(row["name"]).startswith(start)
    }
    agreed, pooled, base = map(found.get, ("agreed", "pooled", "base rate"))
    way = figures.direction(metric)
    if agreed is None or pooled is None or base is None or not way:
        return ""
    share = share_kept(agreed, pooled, base, higher=way.startswith("higher"))
    said = kept_in_words(share)
    return f"{said[:1].upper()}{said[1:]}."


def _drawable(values: Column) -> bool:
    return any(figures.finite(value) is not None for value in values)


def _rows(history: Mapping[str, Column]) -> list[Row]:
    keep = figures.every(len(history["round"]), ROUNDS)
    return [{name: values[i] for name, values in history.items()} for i in keep]
