"""Figures 1 and 3 of Ryu, Kim (2021): the three methods along the iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from tacit.papers.decide import below, every
from tacit.papers.ryu2021.drawing import along, ends, last, over_iterations, row
from tacit.papers.ryu2021.half import Answers, Part, Runs, Stated, figure
from tacit.papers.ryu2021.rules import Case, Told, exceptions, faster, lower, number
from tacit.papers.ryu2021.setting import DRAWN, METHODS, Setting, looks, run
from tacit.papers.target import Answer
from tacit.report.data import Row
from tacit.report.reproduction import Panel, compared

ENDS = (DRAWN[0], DRAWN[-1])

OURS = ("ObjP", "ObjT")
"""The methods of the paper; OutP is its baseline."""


def runs(at: Setting) -> Runs:
    """Three methods at three epsilons."""
    return {(method, e): run(at, method, e) for e in DRAWN for method in METHODS}


def beside(found: Answers, first: Sequence[str], second: Sequence[str]) -> list[Case]:
    """Some methods beside others, at every epsilon."""
    return [
        (f"epsilon {e:g}", (a, found[a, e]), (b, found[b, e]))
        for e in DRAWN
        for a in first
        for b in second
    ]


def noise_grows(found: Answers, at: Setting) -> Told:
    """Whether the noise of each method is larger at a smaller epsilon, in every iteration."""
    told = {
        f"{method}, epsilon {small:g} against {large:g}": _always(
            found[method, large], found[method, small]
        )
        for method in METHODS
        for small, large in pairwise(DRAWN)
    }
    return every(list(told.values())), f"{_noises(found, at)}{exceptions(told)}"


def more_noise(found: Answers, at: Setting) -> Told:
    """Whether the noise of ObjP and ObjT is larger than that of OutP, in every iteration."""
    told = {
        f"{method} at epsilon {e:g}": _always(found["OutP", e], found[method, e])
        for e in DRAWN
        for method in OURS
    }
    return every(list(told.values())), f"{_noises(found, at)}{exceptions(told)}"


def _always(less: Answer, more: Answer) -> bool | None:
    """Whether the first noise is smaller in every recorded iteration."""
    told = [below(a, b) for a, b in zip(less["noise"], more["noise"], strict=True)]
    return False if False in told else None if None in told else True


def _noises(found: Answers, at: Setting) -> str:
    first, end = looks(at)[0], looks(at)[-1]
    said = "; ".join(
        f"{method} "
        + ", ".join(
            f"{number(found[method, e]['noise'][0])} to {number(found[method, e]['noise'][-1])}"
            for e in DRAWN
        )
        for method in METHODS
    )
    epsilons = ", ".join(f"{e:g}" for e in DRAWN)
    return f"Mean magnitudes from iteration {first} to {end:,} at epsilon {epsilons}: {said}."


def flat(found: Answers, at: Setting) -> Told:
    """Whether epsilon moves the error of ObjP less than half as much as that of both others."""
    change = {
        method: [
            abs(small - large)
            for small, large in zip(*(ends(found[method, e]) for e in ENDS), strict=True)
        ]
        for method in METHODS
    }
    told = [below([2.0 * c for c in change["ObjP"]], change[other]) for other in ("OutP", "ObjT")]
    said = ", ".join(f"{method} {number(change[method])}" for method in METHODS)
    return every(told), (
        f"From epsilon {ENDS[0]:g} to {ENDS[1]:g} the test error changes by points: {said}. Not "
        "significant is taken as less than half of what the others change."
    )


def loses_at_one(found: Answers, at: Setting) -> Told:
    """Whether ObjP ends above OutP at epsilon 1."""
    return lower([("epsilon 1", ("OutP", found["OutP", 1.0]), ("ObjP", found["ObjP", 1.0]))])


def panels(*, noise: bool) -> Callable[[Answers, Setting], list[Panel]]:
    """Errors at each epsilon, with the noise below where the paper shows it."""

    def drawn(found: Answers, at: Setting) -> list[Panel]:
        def of(what: str, title: str, y: str, log: bool) -> list[Panel]:
            return [
                over_iterations(
                    f"{title}, epsilon {e:g}",
                    [along(method, found[method, e], at, what) for method in METHODS],
                    y,
                    log=log,
                )
                for e in DRAWN
            ]

        top = (
            of("noise", f"{at.images}, noise", "mean magnitude of a coordinate", True)
            if noise
            else []
        )
        return [*top, *of("error", at.images, "test error, %", False)]

    return drawn


def rows(*, noise: bool) -> Callable[[Answers, Setting], list[Row]]:
    """Errors, and the noise where the paper shows it, at the end of every run."""

    def made(found: Answers, at: Setting) -> list[Row]:
        errors = [
            row(at, f"{method}, epsilon {e:g}", answer) for (method, e), answer in found.items()
        ]
        magnitudes = [
            compared(f"{at.images}, {method}, epsilon {e:g}, noise", None, last(answer, "noise"))
            for (method, e), answer in found.items()
        ]
        return [*errors, *magnitudes] if noise else errors

    return made


_ON1, _ON3 = "section 4, figure 1", "section 4, figure 3"

FIG1 = figure(
    "fig1",
    "MNIST: noise and test error over iterations",
    Part(
        "MNIST",
        runs,
        (
            Stated(
                _ON1,
                "the noise of all three grows as epsilon falls",
                noise_grows,
            ),
            Stated(
                _ON1,
                "at the same epsilon the noise of ObjP and ObjT is larger than that of OutP",
                more_noise,
            ),
            Stated(
                _ON1,
                "the test errors of ObjP and ObjT are below those of OutP",
                lambda found, at: lower(beside(found, OURS, ["OutP"])),
            ),
            Stated(
                f"{_ON1}; abstract",
                "ObjP and ObjT converge faster than OutP",
                lambda found, at: faster(beside(found, OURS, ["OutP"]), at),
            ),
        ),
        panels(noise=True),
        rows(noise=True),
    ),
    notes=[
        "Noise of ObjP and ObjT is on gradients, that of OutP on solutions: their magnitudes are "
        "compared because the paper does, and say nothing about privacy."
    ],
)
FIG3 = figure(
    "fig3",
    "FEMNIST: test error over iterations",
    Part(
        "FEMNIST",
        runs,
        (
            Stated(
                _ON3,
                "ObjT has the least test error",
                lambda found, at: lower(beside(found, ["ObjT"], ["OutP", "ObjP"])),
            ),
            Stated(
                _ON3,
                "ObjT converges fastest",
                lambda found, at: faster(beside(found, ["ObjT"], ["OutP", "ObjP"]), at),
            ),
            Stated(
                _ON3,
                "at epsilon 1 the test error of ObjP is above that of OutP",
                loses_at_one,
                "the baseline",
            ),
            Stated(
                f"{_ON3}; figure 2 (b)",
                "epsilon has no significant effect on the test error of ObjP",
                flat,
            ),
        ),
        panels(noise=False),
        rows(noise=False),
    ),
)
