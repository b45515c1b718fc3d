"""Figures 1 and 2 of Ryu, Kim (2021): test errors of the three methods along the iterations."""

from __future__ import annotations

from collections.abc import Mapping

from tacit.report.reproduction import Panel, Reproduction, Verdict, compared
from tacit.reproduce.ryu2021.setting import (
    CLOSE,
    EPSILONS,
    METHODS,
    PRINTED,
    PROTOTYPE,
    Answers,
    Runs,
    Setting,
    along,
    last,
    looks,
    lower,
    named,
    run,
)

BAND = "Mean over trials and the 20th to 80th percentile, as in the paper."

CONSTANTS = (0.1, 1.0, 10.0)
ENDS = (0.05, 5.0)
"""The smallest and the largest epsilon."""


def fig1_runs(at: Setting) -> Runs:
    """ObjT with constant penalties and with the growing one, at both ends of epsilon."""
    return {
        (epsilon, rho): run(at, "ObjT", epsilon, rho)
        for epsilon in ENDS
        for rho in (*CONSTANTS, "1 hat")
    }


def fig1(found: Answers, at: Setting) -> Reproduction:
    """Whether the growing penalty is the best choice."""
    panels, beaten, open_ = [], [], []
    for epsilon in ENDS:
        own = {rho: found[epsilon, rho] for rho in (*CONSTANTS, "1 hat")}
        curves = [along(named(rho), answer, looks(at.rounds)) for rho, answer in own.items()]
        panels.append(
            Panel(
                f"ObjT at epsilon {epsilon:g}", "iteration", "test error, %", curves, BAND, log="x"
            )
        )
        beaten += [
            f"rho = {rho:g} at epsilon {epsilon:g} ({last(own[rho]):.1f} % against "
            f"{last(own['1 hat']):.1f} %)"
            for rho in CONSTANTS
            if lower(own[rho], own["1 hat"])
        ]
        open_ += [
            f"rho = {rho:g} at epsilon {epsilon:g} ({last(own[rho]):.1f} % against "
            f"{last(own['1 hat']):.1f} %)"
            for rho in CONSTANTS
            if lower(own[rho], own["1 hat"]) is None and last(own[rho]) < last(own["1 hat"])
        ]
    ends = ", ".join(f"{last(found[e, '1 hat']):.1f} % at epsilon {e:g}" for e in ENDS)
    if beaten:
        verdict = Verdict.NOT_REPRODUCED
        sentence = (
            f"Of the constant penalties {' and '.join(beaten)} did better than the growing one"
        )
    elif open_:
        verdict = Verdict.UNDECIDED
        sentence = (
            f"Whether {' and '.join(open_)} did better than the growing penalty cannot be told "
            f"from {at.trials} trials"
        )
    else:
        verdict = Verdict.CONDITIONALLY
        sentence = (
            "With the trust region as coded at neither end of epsilon did a constant "
            f"penalty of 0.1, 1 or 10 end below the growing one ({ends})"
        )
    return Reproduction(
        verdict,
        f"{sentence}; {at.data}.",
        published=panels,
        comparison=[
            compared(f"{named(rho)}, epsilon {epsilon:g}", None, last(found[epsilon, rho]))
            for epsilon, rho in found
        ],
        parameters=at.parameters(methods="ObjT as coded (delta = 1)"),
        notes=[
            "Read as: the figure shows why the penalty grows with t and with 1/epsilon. The "
            "constants are those of figure 4.",
        ],
        shortened=at.shortened,
    )


def fig2_runs(at: Setting) -> Runs:
    """Three methods at five epsilons."""
    return {
        (method, epsilon): run(at, method, epsilon) for epsilon in EPSILONS for method in METHODS
    }


def fig2(found: Answers, at: Setting) -> Reproduction:
    """Whether objective perturbation ends below output perturbation at every epsilon."""
    panels = [
        Panel(
            f"epsilon {epsilon:g} of an iteration",
            "iteration",
            "test error, %",
            [along(m, found[m, epsilon], looks(at.rounds)) for m in METHODS],
            BAND,
            log="x",
        )
        for epsilon in EPSILONS
    ]
    verdict, sentence = order_of(found, at)
    return Reproduction(
        verdict,
        sentence,
        published=panels,
        comparison=rows(found, at),
        parameters=at.parameters(methods="ObjT as coded (delta = 1), ObjP, OutP as coded; a = 1"),
        notes=[
            "Read as: test error over iterations, one panel an epsilon.",
            "Epsilon is that of one iteration, under a sensitivity that is local, so that not even "
            "one iteration is private; what the runs total is in the target `table`.",
        ],
        shortened=at.shortened,
    )


def order_of(found: Answers, at: Setting) -> tuple[Verdict, str]:
    """The claim that objective perturbation wins, and on all of MNIST the printed numbers."""
    ahead = {e: lower(found["ObjT", e], found["OutP", e]) for e in EPSILONS}
    lost = [e for e, is_ahead in ahead.items() if is_ahead is False]
    unknown = [e for e, is_ahead in ahead.items() if is_ahead is None]
    gaps = [last(found["OutP", e]) - last(found["ObjT", e]) for e in EPSILONS]
    off = far(found) if at.exact else {}
    said = f"{min(gaps):.1f} to {max(gaps):.1f} points; {at.data}"
    if lost:
        where = ", ".join(f"{e:g}" for e in lost)
        return (
            Verdict.NOT_REPRODUCED,
            f"At epsilon {where} ObjT did not end below OutP (gaps of {said}).",
        )
    if unknown:
        where = ", ".join(f"{e:g}" for e in unknown)
        return (
            Verdict.UNDECIDED,
            f"At epsilon {where} the spread of {at.trials} trials cannot tell whether ObjT ends "
            f"below OutP (gaps of {said}).",
        )
    if off:
        worst = ", ".join(f"{m} at {e:g} by {gap:+.2f}" for (m, e), gap in off.items())
        return (
            Verdict.NOT_REPRODUCED,
            f"ObjT ends below OutP at every epsilon (by {said}), but more than "
            f"{CLOSE:g} points from what is printed: {worst}.",
        )
    numbers = f", within {CLOSE:g} points of what is printed for ObjT" if at.exact else ""
    return (
        Verdict.CONDITIONALLY,
        f"With the trust region and the baseline as coded ObjT ends below OutP at "
        f"every epsilon, by {said}{numbers}.",
    )


def far(found: Answers) -> dict[tuple[str, float], float]:
    """ObjT's printed numbers that are missed by more than `CLOSE`, with the difference."""
    gaps = {key: last(found[key]) - paper for key, paper in PRINTED.items() if key[0] == "ObjT"}
    return {key: gap for key, gap in gaps.items() if abs(gap) > CLOSE}


def rows(
    found: Answers, at: Setting, printed: Mapping[tuple[str, float], float] = PRINTED
) -> list[dict[str, object]]:
    """The table: the paper's number stands beside ours only where the records are the same."""
    made = []
    for (method, epsilon), answer in found.items():
        paper = printed.get((method, epsilon))
        further = {} if at.exact else {"paper, on MNIST": paper}
        if at.chosen.source == "mnist":
            further["prototype"] = PROTOTYPE.get((method, epsilon))
        made.append(
            compared(
                f"{method}, epsilon {epsilon:g}, test error %",
                paper if at.exact else None,
                last(answer),
                **further,
            )
        )
    return made
