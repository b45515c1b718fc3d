"""The sections of a report: their headings, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tacit.privacy.digits import rounded_down
from tacit.problem.scores import kept_in_words, share_kept
from tacit.report import comparing, drawing, figures, masking, words
from tacit.report.canvas import for_page
from tacit.report.curves import survival
from tacit.report.data import COMPARED, PUBLIC_HISTORY, Column, ReportData, Row
from tacit.report.tables import Table, cost, heading, number, sideways, table

if TYPE_CHECKING:
    import plotly.graph_objects as go

OWNERS = 25
"""Maximum number of sites in the table of guarantees, largest epsilon first."""

FEATURES = 200
"""Maximum number of coefficients in the table."""

ROUNDS = 40
"""Maximum number of rounds in the table of the history."""

_DISTANCE = (
    "Distance is the squared distance of a site's answer from the pooled fit, divided by the "
    "squared norm of the pooled fit and summed over the sites: answering zero scores the number "
    "of sites."
)
_AVERAGED = (
    "From halfway on, a site's answer is the mean of its iterates since then, in which noise "
    "averages out."
)
_WITH_NOISE = {
    "coefficients": "The coefficients include noise: their error is not that of an ordinary "
    "regression table.",
    "parameters": "The parameters include noise.",
}


@dataclass(frozen=True)
class Block:
    """A figure or a table with its caption.

    Attributes:
        caption: what it shows, in a sentence.
        anchor: name of a figure in the page.
        alternative: text read out instead of the figure; the caption if empty.
        figure: the figure, absent if Plotly is; or
        table: the table.
        simulation_only: whether it shows values that were not released.
        title: the heading above it.
        folded: whether it is collapsed at first.
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
    """A heading with an anchor, an introduction and the content below it."""

    anchor: str
    title: str
    intro: str
    blocks: tuple[Block, ...]
    facts: Mapping[str, Any] | None = None
    columns: bool = False


def sections(data: ReportData) -> list[Section]:
    """The sections beside the guarantee, without empty ones; an answer goes before it."""
    found = [
        _answer(data),
        _members(data),
        _network(data),
        _convergence(data),
        _accuracy(data),
        _coefficients(data),
        _calibration(data),
        _spending(data),
        _noise(data),
        _releases(data),
    ]
    return [section for section in found if section is not None]


def owners(data: ReportData) -> Block | None:
    """The guarantee of every site, or of those with the largest epsilon if there are many."""
    rows = list(data.guarantee_table)
    if not rows:
        return None
    if len(rows) > OWNERS:
        rows.sort(key=lambda row: -float(row.get("epsilon") or 0.0))
    shown = table(rows, OWNERS)
    condition = words.CONDITIONS.get(data.guarantee_status)
    caption = "The guarantee of each site" + (f", {condition}." if condition else ".")
    if shown.omitted:
        caption += (
            f" Shown: the {OWNERS} with the largest epsilon; guarantee.json has {shown.omitted:,} "
            "more."
        )
    return Block(caption, table=shown)


def _members(data: ReportData) -> Section | None:
    if not data.members:
        return None
    return Section(
        "members",
        "Members",
        "Everybody signed one manifest, the study included. Its digest is the run id: had a byte "
        "differed, it would have been another run.",
        (Block("Who took part.", table=table(data.members, OWNERS)),),
        data.agreement,
    )


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
        "Every site communicates with the coordinator only."
        if picture.coordinated
        else "Every site communicates with its neighbours only; there is no coordinator."
    )
    return Section(
        "network",
        "Network",
        intro,
        (Block(caption, "network-figure", for_page(drawing.draw, picture)),),
        picture.facts,
    )


def _convergence(data: ReportData) -> Section | None:
    rounds = data.history.get("round", ())
    if not len(rounds) or not set(data.history) - {"round", "epsilon"}:
        return None
    blocks = []
    monitored = {
        heading(name): values
        for name, values in data.history.items()
        if name in COMPARED
        and _drawable(values)
        # beside its gap, the objective itself is a flat line
        and not (name == "objective" and "objective_gap" in data.history)
    }
    if monitored:
        ends = "; ".join(f"{name} {words.last(v)}" for name, v in monitored.items())
        meaning = f" {_DISTANCE}" if "distance" in data.history else ""
        blocks.append(
            Block(
                f"Compared with the pooled fit, on a log scale. At the end: {ends}.{meaning}",
                "gap-figure",
                for_page(
                    figures.convergence,
                    rounds,
                    monitored,
                    (figures.BLUE, figures.ORANGE, figures.GREY),
                ),
                simulation_only=True,
                title="Distance to the pooled fit",
            )
        )
    for name, values in data.history.items():
        if name in PUBLIC_HISTORY or name in COMPARED:
            continue
        blocks.append(
            Block(
                f"A metric of the study's own. At the end: {words.last(values)}.",
                f"metric-figure-{len(blocks) + 1}",
                for_page(figures.measured, rounds, name, values),
                simulation_only=True,
                title=heading(name),
            )
        )
    consensus = data.history.get("consensus", ())
    if _drawable(consensus):
        blocks.append(
            Block(
                "Root mean square distance of the sites' answers from their mean, on a log scale. "
                f"At the end: {words.last(consensus)}.",
                "consensus-figure",
                for_page(
                    figures.convergence, rounds, {heading("consensus"): consensus}, (figures.GREEN,)
                ),
                title="Disagreement between sites",
            )
        )
    rows = _rows(data.history)
    blocks.append(
        Block(
            "The training history"
            + (f", {len(rows)} of {len(rounds):,} rounds." if len(rows) < len(rounds) else ".")
            + " history.csv has all of it.",
            table=table(rows, ROUNDS),
            simulation_only=any(name not in PUBLIC_HISTORY for name in data.history),
            title="Training history",
            folded=True,
        )
    )
    if data.answer_sentence and len(blocks) == 1:
        return None  # sums converge to nothing, and history.csv has their messages
    intro = f"{words.ending(data.status)} {_AVERAGED if data.averaged else ''}".strip()
    if len(blocks) == 1:  # nothing to draw: the objective of black boxes is not measured
        only = replace(blocks[0], title="", folded=False)
        return Section("convergence", "Training history", intro, (only,))
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
                for_page(figures.accuracy, rows, metric),
                simulation_only=True,
                title=heading(metric) + (f" ({way})" if way else ""),
                alternative=f"{values}.",
            )
        )
    intro = (
        "What privacy costs: the agreed model compared with a fit to the pooled records without "
        "privacy, and with the base rate, the best constant answer for the sites' records. All of "
        "it, the base rate included, is computed from private records without noise; a page of "
        "releases only shows none of it."
    )
    return Section("accuracy", "Accuracy", intro, tuple(blocks), columns=True)


def _coefficients(data: ReportData) -> Section | None:
    if not data.coefficients:
        return None
    pooled = any("pooled" in row for row in data.coefficients)
    shown = figures.largest(data.coefficients, FEATURES)
    drawn = min(len(data.coefficients), figures.COEFFICIENTS)
    numbers = data.numbers
    caption = f"The {numbers} that the sites agreed on"
    caption += ", each joined to that of the pooled fit." if pooled else "."
    if drawn < len(data.coefficients):
        caption += f" Drawn: the {drawn} largest of {len(data.coefficients):,}."
    listed = f"All {numbers}." if len(shown) == len(data.coefficients) else (
        f"The {len(shown)} largest of {len(data.coefficients):,} {numbers}; "
        "model.npz has all of them."
    )  # fmt: skip
    return Section(
        "coefficients",
        numbers.capitalize(),
        f"The {numbers} were released without noise."
        if data.noise == "none"
        else _WITH_NOISE[numbers],
        (
            Block(
                caption,
                "coefficients-figure",
                for_page(figures.coefficients, data.coefficients, numbers),
                simulation_only=pooled,
            ),
            Block(listed, table=table(_named(shown, numbers), FEATURES), simulation_only=pooled),
        ),
    )


def _named(rows: Sequence[Row], numbers: str) -> Sequence[Row]:
    """Rows whose first heading says what is listed: only coefficients belong to features."""
    if numbers == "coefficients":
        return rows
    return [
        {"parameter" if key == "feature" else key: value for key, value in row.items()}
        for row in rows
    ]


def _answer(data: ReportData) -> Section | None:
    if not data.answer:
        refusal = data.answer_sentence
        return Section("answer", "Answer", refusal, ()) if refusal else None
    intro = "Made of what was released and of declared numbers, by post-processing."
    blocks = [Block(data.answer_sentence, table=table(data.answer, len(data.answer)))]
    if data.effects:
        caption = (
            f"The {data.effect} of every column, of a number per the unit that is named, with 95 % "
            "intervals: "
            "thick for the sampling of the records alone, thin with the noise."
        )
        blocks.insert(
            0, Block(caption, "effects-figure", for_page(figures.forest, data.effects, data.effect))
        )
    if data.curves:
        caption = (
            "Survival with a band that holds each whole curve with 95 %, for sampling and noise "
            "together, and the numbers at risk as released."
        )
        blocks.insert(
            0, Block(caption, "survival-figure", for_page(survival, data.curves, data.time))
        )
    if data.ratios:
        caption = f"The {data.effect} of one unit more, or of a level against its reference."
        blocks.append(Block(caption, table=table(data.ratios, len(data.ratios))))
    return Section("answer", "Answer", intro, tuple(blocks))


def _calibration(data: ReportData) -> Section | None:
    found = data.comparison
    if found is None:
        return None
    rows = found.calibration()
    ends = zip(rows["lower"], rows["predicted"], rows["upper"], strict=True)
    inside = sum(bool(low <= mean <= high) for low, mean, high in ends)
    blocks = [
        Block(
            "Observed means with 95 % intervals, by tenths of the prediction; on the dotted line "
            f"they would be equal. {inside} of {len(rows)} intervals contain the prediction.",
            "calibration-figure",
            for_page(comparing.calibration_figure, found),
            simulation_only=True,
            title="Calibration",
        )
    ]
    if found.both:
        blocks.append(
            Block(
                f"The area under the curve is {found.auc:.3f}; 0.5 would be no better than chance.",
                "roc-figure",
                for_page(comparing.roc_figure, found),
                simulation_only=True,
                title="ROC curve",
            )
        )
    intro = (
        f"The regression beside the {len(found.observed):,} records of the simulated sites, which "
        "it was fitted to. Not private: computed from these records without noise. Do not publish "
        "it unless the records are public; a run between sites shows none of it."
    )
    return Section("calibration", "Calibration", intro, tuple(blocks), columns=True)


def _spending(data: ReportData) -> Section | None:
    epsilon = data.history.get("epsilon", ())
    if all(figures.finite(value) is None for value in epsilon):
        return None
    caption = f"Largest epsilon of any site after each round. At the end: {cost(epsilon[-1])}"
    if data.epsilon_budget is not None:
        caption += f" of a budget of {rounded_down(data.epsilon_budget, 4)}"
    condition = words.CONDITIONS.get(data.guarantee_status)
    if condition:
        caption += f" ({condition})"
    figure = for_page(figures.spending, data.history["round"], epsilon, data.epsilon_budget)
    return Section(
        "spending",
        "Epsilon spent per round",
        "Each release reveals a little more. Spending only grows: nothing is ever refunded.",
        (Block(caption + ".", "spending-figure", figure),),
    )


def _noise(data: ReportData) -> Section | None:
    found = data.mean_noise
    if found is None:
        return None
    return Section(
        "noise",
        "Noise, with and without secure aggregation",
        "Only the mean is needed. With local noise, each site hides its own answer and the noise "
        "adds up; with secure aggregation by pairwise masks the sites hide each other, against "
        "coalitions up to a declared size.",
        (
            Block(
                masking.caption(found),
                "noise-figure",
                for_page(masking.ways, found),
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
        "The phases of a round: who computes on private data, what leaves, and how it is "
        "protected.",
        (
            Block(
                "One column per phase. A phase that reads no private data costs nothing.",
                table=sideways(data.phases, "phase"),
            ),
        ),
    )


def _kept(rows: Sequence[Row], metric: str) -> str:
    """The share of the pooled fit's gain over the base rate that the agreed model keeps."""
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
    """Whether there is something to draw on a log scale."""
    return any(figures.positive(value) is not None for value in values)


def _rows(history: Mapping[str, Column]) -> list[Row]:
    keep = figures.every(len(history["round"]), ROUNDS)
    return [{name: values[i] for name, values in history.items()} for i in keep]
