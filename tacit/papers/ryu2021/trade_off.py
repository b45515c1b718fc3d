"""Figure 2 of Ryu, Kim (2021): test error over epsilon, with our additions beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tacit.papers.ryu2021 import beside
from tacit.papers.ryu2021.drawing import BAND, band, ends, last, row
from tacit.papers.ryu2021.half import Answers, Part, Runs, Stated, figure
from tacit.papers.ryu2021.rules import growing, improved, near, printed, printed_of_unnamed
from tacit.papers.ryu2021.setting import EPSILONS, METHODS, Data, Setting, run
from tacit.report.data import Row
from tacit.report.reproduction import Panel

SMALL, LARGE = EPSILONS[0], EPSILONS[-1]

WITHOUT = ("ObjT", None)
"""The run without privacy: ObjT without noise, with the penalty of an infinite epsilon."""

Printed = Mapping[tuple[str, float | None], float]

PRINTED: Mapping[Data, Printed] = {
    "MNIST": {("ObjT", LARGE): 7.84, WITHOUT: 7.42, ("ObjT", SMALL): 12.80, ("OutP", SMALL): 21.79},
    "FEMNIST": {
        ("ObjT", LARGE): 36.29,
        WITHOUT: 35.25,
        ("ObjT", SMALL): 72.40,
        ("OutP", SMALL): 91.05,
    },
}
"""Test errors, %, after 20,000 iterations, from section 4."""

IMPROVEMENT: Mapping[Data, float] = {"MNIST": 8.99, "FEMNIST": 18.65}
"""Points from OutP to ObjT at the smallest epsilon, from section 4."""


def runs(at: Setting) -> Runs:
    """Three methods at five epsilons, and one run without privacy, which draws no noise."""
    private = {(method, e): run(at, method, e) for e in EPSILONS for method in METHODS}
    return {**private, WITHOUT: run(at, *WITHOUT, trials=1)}


def words(method: str, epsilon: float | None) -> str:
    """A run in words."""
    return "without privacy" if epsilon is None else f"{method}, epsilon {epsilon:g}"


def stated(data: Data) -> list[Stated]:
    """The statements of section 4 about a half of the figure."""
    place = f"section 4, figure 2 ({'a' if data == 'MNIST' else 'b'})"
    paper = PRINTED[data]

    def of(method: str, epsilon: float, coded: str) -> Stated:
        value = paper[method, epsilon]
        return Stated(
            place,
            f"the test error of {method} at epsilon {epsilon:g} is {value:.2f} %",
            lambda found, at: printed(ends(found[method, epsilon]), value, at),
            coded,
        )

    return [
        of("ObjT", LARGE, "the trust region"),
        Stated(
            place,
            f"the test error of a method without privacy is {paper[WITHOUT]:.2f} %",
            lambda found, at: printed_of_unnamed(last(found[WITHOUT]), paper[WITHOUT], at),
            "",
        ),
        Stated(
            place,
            f"at epsilon {LARGE:g} ObjT is close to a method without privacy",
            lambda found, at: near(
                ("ObjT", ends(found["ObjT", LARGE])), last(found[WITHOUT]), "without privacy", at
            ),
            "the trust region",
        ),
        Stated(
            place,
            "the test errors of all three methods increase as epsilon decreases",
            lambda found, at: growing(
                {m: {e: ends(found[m, e]) for e in EPSILONS} for m in METHODS}
            ),
        ),
        of("ObjT", SMALL, "the trust region"),
        of("OutP", SMALL, "the baseline"),
        Stated(
            place,
            f"at epsilon {SMALL:g} ObjT improves on OutP by {IMPROVEMENT[data]:.2f} points",
            lambda found, at: improved(found, at, SMALL, IMPROVEMENT[data]),
        ),
    ]


def panels(found: Answers, at: Setting) -> list[Panel]:
    """Errors over epsilon."""
    curves = [band(m, EPSILONS, [ends(found[m, e]) for e in EPSILONS]) for m in METHODS]
    return [Panel(at.images, "epsilon of one iteration", "test error, %", curves, BAND, log="x")]


def rows(data: Data) -> Callable[[Answers, Setting], list[Row]]:
    """Errors beside those that the paper prints."""

    def made(found: Answers, at: Setting) -> list[Row]:
        keys = [*((method, e) for e in EPSILONS for method in METHODS), WITHOUT]
        return [row(at, words(*key), found[key], PRINTED[data].get(key)) for key in keys]

    return made


def _mnist_rows(found: Answers, at: Setting) -> Sequence[Row]:
    return [*rows("MNIST")(found, at), *beside.rows(found, at)]


FIG2 = figure(
    "fig2",
    "test error over epsilon, on MNIST and on FEMNIST",
    Part(
        "MNIST",
        lambda at: {**runs(at), **beside.runs(at)},
        stated("MNIST"),
        panels,
        _mnist_rows,
        beside.panels,
        beside.notes,
    ),
    Part(
        "FEMNIST",
        runs,
        stated("FEMNIST"),
        panels,
        rows("FEMNIST"),
        notes=lambda found, at: ["Certified methods are run for (a) alone."],
    ),
    notes=[
        "Epsilon is that of one iteration, under a sensitivity that is local, so that not even one "
        "iteration is private."
    ],
)
