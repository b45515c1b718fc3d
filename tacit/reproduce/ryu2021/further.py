"""Remark 3 and figure 3 of Ryu, Kim (2021): a very small epsilon, and the writers of FEMNIST."""

from __future__ import annotations

import functools
from dataclasses import replace

from tacit.report.reproduction import Panel, Reproduction, Verdict, compared
from tacit.reproduce.ryu2021 import images
from tacit.reproduce.ryu2021.errors import BAND, ENDS
from tacit.reproduce.ryu2021.images import Chosen
from tacit.reproduce.ryu2021.setting import (
    CLOSE,
    PRINTED_FEMNIST,
    PRINTED_LONG,
    ROUNDS,
    Answers,
    Runs,
    Setting,
    along,
    last,
    looks,
    lower,
    run,
)
from tacit.reproduce.target import Scale

LONG_EPSILON, LONG_ROUNDS = 0.01, 1_000_000
PAIR = ("OutP", "ObjT")

SAMPLE = (36_708, 195)
"""Records and writers of the paper's sample of FEMNIST."""


def remark3_runs(at: Setting) -> Runs:
    """Both methods at a very small epsilon, for far fewer iterations than the remark has."""
    return {method: run(at, method, LONG_EPSILON) for method in PAIR}


def remark3(found: Answers, at: Setting) -> Reproduction:
    """Whether ObjT is ahead, as far as a shortened run can tell."""
    said = f"{last(found['ObjT']):.1f} % against {last(found['OutP']):.1f} % of OutP"
    after = f"After {at.rounds:,} of {LONG_ROUNDS:,} iterations at epsilon {LONG_EPSILON:g}"
    ahead = lower(found["ObjT"], found["OutP"])
    if ahead is None:
        verdict = Verdict.UNDECIDED
        sentence = (
            f"{after} {at.trials} trials cannot tell whether ObjT is ahead, at {said}; {at.data}."
        )
    elif ahead:
        verdict = Verdict.CONDITIONALLY
        sentence = f"{after} ObjT is at {said}, which is the order in the paper; {at.data}."
    else:
        verdict = Verdict.NOT_REPRODUCED
        sentence = f"{after} ObjT is not ahead, at {said}; {at.data}."
    return Reproduction(
        verdict,
        sentence,
        published=[
            Panel(
                f"epsilon {LONG_EPSILON:g} of an iteration",
                "iteration",
                "test error, %",
                [along(m, found[m], looks(at.rounds)) for m in PAIR],
                BAND,
                log="x",
            )
        ],
        comparison=[
            compared(
                f"{m}, test error %",
                None,
                last(found[m]),
                **{"paper, MNIST, 1e6 iterations": PRINTED_LONG[m]},
            )
            for m in PAIR
        ],
        parameters=at.parameters(epsilon=f"{LONG_EPSILON:g}", methods="as coded, a = 1"),
        notes=[
            "The numbers of the remark stand beside ours without a ratio, for another number of "
            "iterations."
        ],
        shortened="; ".join(
            filter(
                None, (at.shortened, f"{at.rounds:,} of the remark's {LONG_ROUNDS:,} iterations")
            )
        ),
    )


def femnist(scale: Scale) -> Setting:
    """The size of a run on FEMNIST.

    Raises:
        ConfigError: it is not there.
    """
    chosen = images.chosen_femnist()
    records, writers = _size(chosen)
    exact = (records, writers) == SAMPLE
    part = (
        ""
        if exact
        else f"{records:,} of the sample's {SAMPLE[0]:,} records, {writers} of its {SAMPLE[1]} "
        "writers"
    )
    if scale is Scale.FULL:
        return Setting(chosen, 0, ROUNDS, 10, exact, part)
    short = "40 of 20,000 iterations and 4 of 10 trials"
    return Setting(chosen, 0, 40, 4, False, "; ".join(filter(None, (part, short))))


@functools.cache
def _size(chosen: Chosen) -> tuple[int, int]:
    """Records for training, and writers."""
    read = images.read(chosen)
    return read.records, len(read.classes)


def fig3_runs(at: Setting) -> Runs:
    """Both methods at both ends of epsilon."""
    return {(method, e): run(at, method, e) for e in ENDS for method in PAIR}


def fig3(found: Answers, at: Setting) -> Reproduction:
    """The printed numbers, and the order at every epsilon."""
    ahead = [lower(found["ObjT", e], found["OutP", e]) for e in ENDS]
    off = {key: last(found[key]) - paper for key, paper in PRINTED_FEMNIST.items()}
    said = ", ".join(
        f"{last(found['ObjT', e]):.1f} % against {last(found['OutP', e]):.1f} % at epsilon {e:g}"
        for e in ENDS
    )
    near = all(abs(gap) <= CLOSE for (method, _), gap in off.items() if method == "ObjT")
    if False in ahead:
        verdict = Verdict.NOT_REPRODUCED
        sentence = f"ObjT does not end below OutP everywhere: {said}; {at.data}."
    elif None in ahead:
        verdict = Verdict.UNDECIDED
        sentence = (
            f"{at.trials} trials cannot tell whether ObjT ends below OutP everywhere: {said}; "
            f"{at.data}."
        )
    elif at.exact and not near:
        verdict = Verdict.NOT_REPRODUCED
        sentence = (
            f"ObjT ends below OutP, but more than {CLOSE:g} points from what is printed: {said}; "
            f"{at.data}."
        )
    else:
        verdict = Verdict.CONDITIONALLY
        sentence = (
            "With the trust region and the baseline as coded ObjT against OutP "
            f"ends at {said}; {at.data}."
        )
    return Reproduction(
        verdict,
        sentence,
        published=[
            Panel(
                f"FEMNIST, epsilon {epsilon:g} of an iteration",
                "iteration",
                "test error, %",
                [along(m, found[m, epsilon], looks(at.rounds)) for m in PAIR],
                BAND,
                log="x",
            )
            for epsilon in ENDS
        ],
        comparison=[
            compared(
                f"{method}, epsilon {e:g}, test error %",
                PRINTED_FEMNIST.get((method, e)) if at.exact else None,
                last(answer),
            )
            for (method, e), answer in found.items()
        ],
        parameters=replace(at, records=0).parameters(
            sample="the paper has 36,708 records of 195 writers, a 5 % sample of LEAF"
        ),
        notes=["Read as: test error over iterations. Pixels are inverted, as the authors do."],
        shortened=at.shortened,
    )
