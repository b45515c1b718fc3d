"""Figure 2 of Nozari, Tallapragada, Cortes (2016): functional perturbation over epsilon."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.method import CurvatureBounds
from tacit.papers.decide import every, ratio_above, smaller
from tacit.papers.nozari2016.accuracy import modulus_accuracy_at
from tacit.papers.nozari2016.fits import bent
from tacit.papers.nozari2016.minimisers import Domain
from tacit.papers.nozari2016.plan import (
    DEGREES,
    EPSILONS,
    FAST_DRAWS,
    FAST_FROM,
    FAST_RUNS,
    RUNS,
    TOLERANCE,
    Found,
    gathered,
    pieces,
    planned,
)
from tacit.papers.nozari2016.problem import AGENTS, HALF, P, Q, allowed, noise_scale
from tacit.papers.nozari2016.runs import ROUNDS
from tacit.papers.target import Answer, Scale, Target
from tacit.report.data import Row
from tacit.report.reproduction import (
    Claim,
    Curve,
    Panel,
    Reproduction,
    Verdict,
    compared,
    concluded,
)

PAPER_DEGREES = {4: "2nd", 6: "6th", 14: "14th"}
"""Degrees by the paper's names of its orders: 15, 28 and 120 coefficients."""

PRINTED_SET = CurvatureBounds(1.0, 22734.57, 3115019.74)
"""`alpha`, `beta` and `u` of section VII."""

HALVES = 0.5
"""A distance falls if it ends below this share of its first value, and is stationary if it does not
fall from one epsilon to the next."""


def _told(answers: Sequence[Answer], scale: Scale) -> Reproduction:
    plan = planned(scale)
    found = gathered(plan, answers[: len(plan)])
    distances = dict(zip(DEGREES, answers[len(plan) : -1], strict=True))
    costs = {degree: each["upper"] / noise_scale(1.0) for degree, each in distances.items()}
    least = min(each["lower"] / noise_scale(1.0) for each in distances.values())
    said = claims(found)
    verdict, sentence = concluded(said, shortened=scale is not Scale.FULL)
    record = (
        f"Epsilon is per unit of distance between whole costs here: replacing one record costs "
        f"between {least:.0f} and {max(costs.values()):.0f} times as much, over all degrees."
    )
    return Reproduction(
        verdict,
        f"{sentence} {record}",
        claims=said,
        published=[_left(found), _right(found), _two(found)],
        certified=[_certified(found, costs, answers[-1])],
        comparison=_comparison(found, costs),
        parameters=_parameters(found, distances),
        notes=[record, *NOTES],
        shortened=""
        if scale is Scale.FULL
        else f"instead of {RUNS} runs at {len(EPSILONS)} epsilons each: "
        + ", ".join(f"{FAST_RUNS[d]} of degree {d} from {FAST_FROM[d]:g} on" for d in DEGREES)
        + f"; the certified quadratics have {FAST_DRAWS} draws of the records instead of {RUNS}.",
    )


def of_degree(found: Sequence[Found], degree: int) -> list[Found]:
    """The runs of a degree, by epsilon."""
    return sorted((each for each in found if each.degree == degree), key=lambda f: f.epsilon)


def claims(found: Sequence[Found]) -> list[Claim]:
    """The paper's claims about the figure: order of the degrees, improvement, saturation, bound."""
    return [_improves(found), _saturates(found), _ordered(found), _bounded(found)]


def _improves(found: Sequence[Found]) -> Claim:
    """Accuracy improves with epsilon until truncation dominates."""
    ends = {d: (of_degree(found, d)[0], of_degree(found, d)[-1]) for d in PAPER_DEGREES}
    halved = {
        d: ratio_above(1.0 / HALVES, first.distances, last.distances)
        for d, (first, last) in ends.items()
    }
    rest = [d for d, falls in halved.items() if not falls]
    numbers = ", ".join(
        f"{first.mean:.2g} to {last.mean:.2g} with {d}" for d, (first, last) in ends.items()
    )
    return Claim(
        "section VII, last paragraph",
        "accuracy keeps improving as epsilon grows, until truncation dominates",
        every(list(halved.values())),
        f"From the smallest epsilon to the largest the mean distance goes from {numbers} as total "
        "degree"
        + (f"; that it halves does not show at {', '.join(map(str, rest))}." if rest else "."),
    )


def _saturates(found: Sequence[Found]) -> Claim:
    """The saturation value decreases with the order."""
    floors = [of_degree(found, degree)[-1] for degree in PAPER_DEGREES]
    verdict = every([_below(lower, upper) for upper, lower in itertools.pairwise(floors)])
    two = of_degree(found, 2)[-1].mean
    numbers = ", ".join(f"{f.mean:.2g} at degree {f.degree}" for f in floors)
    return Claim(
        "section VII, last paragraph",
        "the value at which accuracy saturates can be decreased by a higher order",
        verdict,
        f"At the largest epsilon: {numbers}"
        + ("; so few runs cannot tell their order." if verdict is Verdict.UNDECIDED else ".")
        + f" Degree 2, which is ours, has {two:.2g}"
        + (": a cost cut off after degree 4 is far from convex." if two < floors[0].mean else "."),
    )


def _ordered(found: Sequence[Found]) -> Claim:
    """Accuracy improves with the order, at every epsilon at which both orders were run."""
    best, worse = {True: 0, False: 0, None: 0}, []
    for low, high in itertools.pairwise(PAPER_DEGREES):
        uppers = {each.epsilon: each for each in of_degree(found, low)}
        for lower in of_degree(found, high):
            if lower.epsilon in uppers:
                told = _below(lower, uppers[lower.epsilon])
                best[told] += 1
                if told is False:
                    worse.append(f"{high} than {low} at {lower.epsilon:g}")
    last = [of_degree(found, degree)[-1] for degree in PAPER_DEGREES]
    verdict = every([_below(lower, upper) for upper, lower in itertools.pairwise(last)])
    if verdict is Verdict.REPRODUCED and worse:
        verdict = Verdict.CONDITIONALLY
    return Claim(
        "figure 2, caption",
        "accuracy improves with the truncation order",
        verdict,
        f"Of {sum(best.values())} comparisons of an order with the next one at the same epsilon "
        f"the higher one is ahead in {best[True]}, behind in {best[False]}, and {best[None]} "
        "cannot be told"
        + (
            f"; degree {', '.join(worse)} has the larger distance: where noise dominates, more "
            "coefficients are more noise."
            if worse
            else "."
        ),
    )


def _bounded(found: Sequence[Found]) -> Claim:
    """The bound of corollary VI.4 lies far above the measured values."""
    shares = [bound(each.epsilon, "printed") / each.mean for each in found if each.degree != 2]
    over = [
        each
        for each in found
        if each.degree != 2 and each.mean - 3.0 * _known(each) > bound(each.epsilon, "printed")
    ]
    low, high = bound(EPSILONS[-1], "printed"), bound(EPSILONS[0], "printed")
    return Claim(
        "section VII, last paragraph, and corollary VI.4",
        "the bound of corollary VI.4 is conservative",
        Verdict.REFUTED if over else Verdict.REPRODUCED,
        f"It says {low:.3g} to {high:.3g}, on a square of diameter 14.1, and is "
        f"{min(shares):.2g} to {max(shares):.2g} times the mean distance"
        + (f"; {len(over)} means lie above it." if over else "."),
    )


def _known(found: Found) -> float:
    """A standard error as drawn: for a single run it is unknown, and none is drawn."""
    return found.deviation if np.isfinite(found.deviation) else 0.0


def _below(lower: Found, upper: Found) -> bool | None:
    return smaller(lower.distances, upper.distances)


def _curves(found: Sequence[Found], scales: Mapping[int, float]) -> list[Curve]:
    curves = []
    for degree in DEGREES:
        own = sorted((f for f in found if f.degree == degree), key=lambda f: f.epsilon)
        low = [f.mean - 2.0 * _known(f) for f in own]
        high = [f.mean + 2.0 * _known(f) for f in own]
        x = [f.epsilon * scales[degree] for f in own]
        curves.append(Curve(f"degree {degree}", x, [f.mean for f in own], low, high))
    return curves


def bound(epsilon: float, form: Any) -> float:
    """Corollary VI.4 without the contribution of truncation.

    Args:
        epsilon: epsilon per unit of distance between costs.
        form: form of the result: "printed", with the set of section VII, or "corrected", with the
            set of the example.
    """
    square = Domain.box([-HALF, -HALF], [HALF, HALF])
    inside = PRINTED_SET if form == "printed" else allowed()
    return modulus_accuracy_at(epsilon, Q, inside, square, agents=AGENTS, form=form)


def _fit(found: Sequence[Found], degree: int) -> tuple[str, Curve]:
    """The slopes of the line of two pieces, and the line."""
    own = of_degree(found, degree)
    falls, rests, line = bent([f.epsilon for f in own], [f.distances for f in own])
    name = f"{PAPER_DEGREES[degree]} order, fit"
    return f"{falls:+.2f} and {rests:+.2f}", Curve(name, [f.epsilon for f in own], line.tolist())


def _limits(*, ours: bool) -> list[Curve]:
    """The bound as printed, and our corrected one."""
    curves = [
        Curve("corollary VI.4", EPSILONS, [bound(epsilon, "printed") for epsilon in EPSILONS])
    ]
    if ours:
        corrected = [bound(epsilon, "corrected") for epsilon in EPSILONS]
        curves.append(Curve("ours: VI.4 corrected", EPSILONS, corrected, reference=True))
    return curves


EPSILON = "epsilon per unit of distance between costs"
DISTANCE = "distance from the minimiser"


def _left(found: Sequence[Found]) -> Panel:
    own = of_degree(found, 6)
    slopes, line = _fit(found, 6)
    runs = Curve(
        "6th order, runs",
        [f.epsilon for f in own for _ in f.distances],
        [float(each) for f in own for each in f.distances],
        shape="points",
    )
    return Panel(
        "Figure 2, left: 6th order",
        EPSILON,
        DISTANCE,
        [runs, line, *_limits(ours=True)],
        f"Every circle is a run; the fit has the slopes {slopes}. Bounds are of the noise alone; "
        "what truncation adds comes on top.",
        "xy",
    )


def _right(found: Sequence[Found]) -> Panel:
    fits = [_fit(found, degree) for degree in PAPER_DEGREES]
    slopes = "; ".join(
        f"{name} {slope}" for name, (slope, _) in zip(PAPER_DEGREES.values(), fits, strict=True)
    )
    return Panel(
        "Figure 2, right: three orders",
        EPSILON,
        DISTANCE,
        [*(line for _, line in fits), *_limits(ours=False)],
        f"Slopes: {slopes}. The orders are the paper's names of 15, 28 and 120 coefficients, which "
        "are total degrees 4, 6 and 14.",
        "xy",
    )


def _two(found: Sequence[Found]) -> Panel:
    return Panel(
        "Ours: means, with total degree 2 besides",
        EPSILON,
        "mean distance",
        _curves(found, dict.fromkeys(DEGREES, 1.0)),
        "Bands: two standard errors, where there are several runs.",
        "xy",
    )


def _certified(found: Sequence[Found], costs: Mapping[int, float], quadratics: Any) -> Panel:
    return Panel(
        "Over the epsilon of one record",
        "epsilon for replacing one record, proved",
        "mean distance",
        [
            *_curves(found, costs),
            Curve(
                "quadratics, clipped",
                quadratics["loss"],
                [float(np.mean(each)) for each in quadratics["distance"]],
            ),
        ],
        "The same runs at what their noise costs a record at most, and the certified method on "
        "quadratics, whose clip enforces its epsilon.",
        "xy",
    )


def _comparison(found: Sequence[Found], costs: Mapping[int, float]) -> list[Row]:
    return [
        compared(
            f"degree {f.degree}, epsilon {f.epsilon:g}",
            None,
            f.mean,
            standard_error=_known(f) or None,
            runs=len(f.distances),
            record_epsilon=f.epsilon * costs[f.degree],
            bound_printed=bound(f.epsilon, "printed"),
            bound_corrected=bound(f.epsilon, "corrected"),
        )
        for f in found
    ]


NOTES = (
    "The paper draws curves and prints no number. Its orders 2, 6 and 14 have 15, 28 and 120 "
    "coefficients, which are total degrees 4, 6 and 14; total degree 2 is ours.",
    "The corrected bound has the missing factor of the noise, the square in the modulus, and the "
    "bound of the gradient of a sum; see docs/errata.md.",
    "The paper prints beta = 22734.6 and u = 3.1e6, bounds that hold and are far larger than the "
    "example asks for; those here are attained in it.",
)


def _parameters(found: Sequence[Found], distances: Mapping[int, Any]) -> dict[str, str]:
    runs = {degree: {len(f.distances) for f in found if f.degree == degree} for degree in DEGREES}
    inside = allowed()
    return {
        "runs": "; ".join(
            f"degree {degree}: {', '.join(map(str, sorted(each)))}" for degree, each in runs.items()
        )
        + " (each draws its records)",
        "data": "10 agents, 100 records each, features uniform in [0, 1]^2, labels fair, "
        "lambda = .01",
        "domain": "[-5, 5]^2",
        "q, p": f"{Q:g}, {P:g}; noise gamma / k^p, gamma = sqrt(zeta(2(q - p))) / epsilon",
        "order of coefficients": "total degree first, then falling powers of the first coordinate "
        "(ours: the noise depends on it, and the paper names none)",
        "set": f"alpha = {inside.strong_convexity:g}, beta = {inside.smoothness:g}, "
        f"u = {inside.gradient_bound:.1f}",
        "projection": "nearest in L2, by constraint generation, violation at most "
        f"{TOLERANCE:g} of beta and u (ours)",
        "minimiser": "by gradient descent with a coordinator on the released costs, "
        f"{ROUNDS} rounds (ours: the paper names no method, and any would do)",
        "what a record changes": "; ".join(
            f"degree {degree}: {each['lower']:.1f} to {each['upper']:.1f}"
            for degree, each in distances.items()
        )
        + " (weighted l1 norm, constant included)",
    }


FIG2 = Target(
    "nozari2016/fig2",
    "distance from the minimiser by functional perturbation, over epsilon, for three orders",
    pieces,
    _told,
)
