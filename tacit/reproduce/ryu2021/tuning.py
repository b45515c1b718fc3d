"""Figures 4 to 6 of Ryu, Kim (2021): the baseline's penalty and proximity, and the consensus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tacit.report.data import Row
from tacit.report.reproduction import Panel, Reproduction, Verdict, compared
from tacit.reproduce.ryu2021.errors import BAND, ENDS
from tacit.reproduce.ryu2021.setting import (
    PENALTIES,
    PROXIMITIES,
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

PLUS = "0.01 hat"
"""The penalty of OutP+."""


def fig4_runs(at: Setting) -> Runs:
    """OutP with five penalties, and ObjT, at both ends of epsilon."""
    outp = {(e, rho): run(at, "OutP", e, rho) for e in ENDS for rho in PENALTIES}
    return outp | {(e, "ObjT"): run(at, "ObjT", e) for e in ENDS}


def fig4(found: Answers, at: Setting) -> Reproduction:
    """Whether any penalty makes OutP as good as ObjT."""
    verdict, sentence = best_of_baseline(found, at, PENALTIES, "penalty", named)
    return Reproduction(
        verdict,
        sentence,
        published=errors_of(found, at, "OutP", PENALTIES, named),
        comparison=rows_of(found, "OutP", named),
        parameters=at.parameters(methods="OutP as coded, ObjT as coded; a = 1"),
        notes=[
            "Read as: no penalty repairs OutP. OutP+ is OutP with a hundredth of hat rho.",
            "The step of OutP as coded is 1 / (rho + N/4 + 2 sqrt(t L)/epsilon): the larger the "
            "other parts, the less rho matters.",
        ],
        shortened=at.shortened,
    )


def errors_of(
    found: Answers, at: Setting, baseline: str, choices: Sequence[Any], name: Callable[[Any], str]
) -> list[Panel]:
    """Errors of the baseline with each choice, and of ObjT, one panel an epsilon."""
    return [
        Panel(
            f"{baseline} at epsilon {epsilon:g}",
            "iteration",
            "test error, %",
            [
                *(along(name(each), found[epsilon, each], looks(at.rounds)) for each in choices),
                along("ObjT, hat rho", found[epsilon, "ObjT"], looks(at.rounds)),
            ],
            BAND,
            log="x",
        )
        for epsilon in ENDS
    ]


def rows_of(found: Answers, baseline: str, name: Callable[[Any], str]) -> list[Row]:
    """Errors at the end of every run."""
    return [
        compared(
            f"epsilon {epsilon:g}, {'ObjT' if each == 'ObjT' else f'{baseline}, {name(each)}'}",
            None,
            last(answer),
        )
        for (epsilon, each), answer in found.items()
    ]


def best_of_baseline(
    found: Answers, at: Setting, choices: Sequence[Any], what: str, name: Callable[[Any], str]
) -> tuple[Verdict, str]:
    """ObjT against the best that OutP reaches over the choices."""
    best = {e: min(choices, key=lambda c, e=e: last(found[e, c])) for e in ENDS}
    said = "; ".join(
        f"at epsilon {e:g} OutP ends at {last(found[e, best[e]]):.1f} % at best ({name(best[e])}), "
        f"ObjT at {last(found[e, 'ObjT']):.1f} %"
        for e in ENDS
    )
    beaten = [e for e in ENDS if lower(found[e, best[e]], found[e, "ObjT"])]
    if beaten:
        return (
            Verdict.NOT_REPRODUCED,
            f"With another {what} OutP ends below ObjT: {said}; {at.data}.",
        )
    if all(lower(found[e, "ObjT"], found[e, best[e]]) for e in ENDS):
        return (
            Verdict.CONDITIONALLY,
            f"With the trust region and the baseline as coded no {what} makes OutP as good as "
            f"ObjT: {said}; {at.data}.",
        )
    return (
        Verdict.UNDECIDED,
        f"With its best {what} OutP cannot be told from ObjT everywhere, from {at.trials} trials: "
        f"{said}; {at.data}.",
    )


def fig5_runs(at: Setting) -> Runs:
    """The runs of figure 4."""
    return fig4_runs(at)


def fig5(found: Answers, at: Setting) -> Reproduction:
    """How far the copies are from their consensus."""
    panels = [
        Panel(
            f"epsilon {epsilon:g}",
            "iteration",
            "mean l1 norm of w - z_p",
            [
                *(
                    along(f"OutP, {named(rho)}", found[epsilon, rho], looks(at.rounds), "violation")
                    for rho in PENALTIES
                ),
                along("ObjT", found[epsilon, "ObjT"], looks(at.rounds), "violation"),
            ],
            BAND,
            log="xy",
        )
        for epsilon in ENDS
    ]
    verdict, sentence = consensus(found, at)
    return Reproduction(
        verdict,
        sentence,
        published=panels,
        comparison=[
            compared(
                f"epsilon {e:g}, {'ObjT' if rho == 'ObjT' else 'OutP, ' + named(rho)}, at the end",
                None,
                last(found[e, rho], "violation"),
            )
            for e, rho in found
        ],
        parameters=at.parameters(violation="mean over agents of the l1 norm of w - z_p"),
        notes=[
            "Read as: the consensus violation of the runs of figure 4. Its definition is that of "
            "the authors' code.",
            "The violation of ObjT does not vanish: z_p - w is the difference of two noises over "
            "rho, whatever the iteration.",
        ],
        shortened=at.shortened,
    )


FALLS = 2.0
"""How many times below its peak a violation has to end to be called one that falls."""


def consensus(found: Answers, at: Setting) -> tuple[Verdict, str]:
    """Whether the violations of OutP fall."""
    outp = {(e, rho): found[e, rho]["violation"] for e in ENDS for rho in PENALTIES}
    falls = {key: max(map(_mean, each)) / _mean(each[-1]) for key, each in outp.items()}
    few, most = min(falls.values()), max(falls.values())
    said = f"OutP's violation falls {few:.1f} to {most:.1f} times from its peak"
    stay = [f"{named(rho)} at epsilon {e:g}" for (e, rho), times in falls.items() if times < FALLS]
    if stay:
        said += f", by less than {FALLS:g} with {' and '.join(stay)}"
    verdict = Verdict.NOT_REPRODUCED if stay else Verdict.CONDITIONALLY
    return verdict, f"With the trust region and the baseline as coded {said} ({at.data})."


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def fig6_runs(at: Setting) -> Runs:
    """OutP+ with three proximities, and ObjT, at both ends of epsilon."""
    outp = {(e, a): run(at, "OutP", e, PLUS, proximity=a) for e in ENDS for a in PROXIMITIES}
    return outp | {(e, "ObjT"): run(at, "ObjT", e) for e in ENDS}


def fig6(found: Answers, at: Setting) -> Reproduction:
    """Whether longer steps make OutP+ as good as ObjT."""
    verdict, sentence = best_of_baseline(found, at, PROXIMITIES, "proximity", scaled)
    return Reproduction(
        verdict,
        sentence,
        published=errors_of(found, at, "OutP+", PROXIMITIES, scaled),
        comparison=rows_of(found, "OutP+", scaled),
        parameters=at.parameters(methods="OutP+ as coded (0.01 hat rho), ObjT as coded"),
        notes=["Read as: the proximity a of OutP+ divides 1/eta, by which its noise grows, too."],
        shortened=at.shortened,
    )


def scaled(proximity: float) -> str:
    """A proximity in the legend."""
    return f"a = {proximity:g}"
