"""Figures 4 and 6 of Ryu, Kim (2021): penalty and proximity."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from tacit.papers.decide import below, every
from tacit.papers.ryu2021.drawing import along, ends, named, over_iterations, row
from tacit.papers.ryu2021.half import Answers, Part, Runs, Stated, figure
from tacit.papers.ryu2021.rules import Told, exceptions, lower
from tacit.papers.ryu2021.setting import DRAWN, METHODS, Data, Setting, run
from tacit.report.data import Row
from tacit.report.reproduction import Panel, Verdict

PENALTIES: tuple[float | str, ...] = (0.1, 1.0, 10.0, "1 hat", "0.01 hat")
PROXIMITIES = (1.0, 100.0, 1000.0)


def penalty_runs(at: Setting) -> Runs:
    """OutP with five penalties at three epsilons."""
    return {(e, rho): run(at, "OutP", e, rho) for e in DRAWN for rho in PENALTIES}


def proximity_runs(at: Setting) -> Runs:
    """Three methods with three proximities at three epsilons."""
    return {
        (method, e, a): run(at, method, e, proximity=a)
        for a in PROXIMITIES
        for e in DRAWN
        for method in METHODS
    }


def widths(errors: Mapping[object, list[float]]) -> list[float]:
    """Range of some errors, from lowest to highest, in every trial."""
    return np.ptp(np.array(list(errors.values()), dtype=float), axis=0).tolist()


def little_by_penalty(found: Answers, at: Setting) -> Told:
    """Whether every change of rho moves the error less than half as much as any of epsilon."""
    by_rho = {e: widths({rho: ends(found[e, rho]) for rho in PENALTIES}) for e in DRAWN}
    by_epsilon = {rho: widths({e: ends(found[e, rho]) for e in DRAWN}) for rho in PENALTIES}
    told = {
        f"epsilon {e:g} and {named(rho)}": below(
            [2.0 * width for width in by_rho[e]], by_epsilon[rho]
        )
        for e, rho in product(DRAWN, PENALTIES)
    }
    over_rho = ", ".join(f"{np.mean(by_rho[e]):.1f} at epsilon {e:g}" for e in DRAWN)
    over_epsilon = ", ".join(f"{np.mean(by_epsilon[r]):.1f} with {named(r)}" for r in PENALTIES)
    return every(list(told.values())), (
        f"From the best to the worst rho the test errors are apart by points: {over_rho}; from the "
        f"best to the worst epsilon: {over_epsilon}. Not greatly affected is taken as less than "
        f"half of that.{exceptions(told)}"
    )


def best_as_is(found: Answers, at: Setting) -> Told:
    """Whether OutP is best with a = 1."""
    return lower(
        [
            (
                f"epsilon {e:g}",
                ("a = 1", found["OutP", e, 1.0]),
                (f"a = {a:g}", found["OutP", e, a]),
            )
            for e in DRAWN
            for a in PROXIMITIES[1:]
        ]
    )


def tuned_is_ahead(found: Answers, at: Setting) -> Told:
    """Whether ObjP with a = 100 or 1000 ends below OutP with a = 1."""
    return lower(
        [
            (
                f"epsilon {e:g}",
                (f"ObjP with a = {a:g}", found["ObjP", e, a]),
                ("OutP with a = 1", found["OutP", e, 1.0]),
            )
            for e in DRAWN
            for a in PROXIMITIES[1:]
        ]
    )


def sometimes_ahead(found: Answers, at: Setting) -> Told:
    """Whether ObjP ends below ObjT with the same a anywhere."""
    told = {
        f"epsilon {e:g}, a = {a:g}": below(ends(found["ObjP", e, a]), ends(found["ObjT", e, a]))
        for e, a in product(DRAWN, PROXIMITIES)
    }
    where = [case for case, ahead in told.items() if ahead]
    if where:
        return Verdict.REPRODUCED, f"ObjP ends below ObjT at {'; '.join(where)}."
    verdict = Verdict.UNDECIDED if None in told.values() else Verdict.NOT_REPRODUCED
    open_ = {case: ahead for case, ahead in told.items() if ahead is None}
    return verdict, f"ObjP ends below ObjT nowhere.{exceptions(open_)}"


def less_tuning(found: Answers, at: Setting) -> Told:
    """Whether a moves the error of ObjT less than that of ObjP."""
    width = {
        (method, e): widths({a: ends(found[method, e, a]) for a in PROXIMITIES})
        for method in ("ObjT", "ObjP")
        for e in DRAWN
    }
    told = {f"epsilon {e:g}": below(width["ObjT", e], width["ObjP", e]) for e in DRAWN}
    said = ", ".join(
        f"{np.mean(width['ObjT', e]):.1f} and {np.mean(width['ObjP', e]):.1f} at epsilon {e:g}"
        for e in DRAWN
    )
    return every(list(told.values())), (
        f"From the best to the worst a the test errors of ObjT and ObjP are apart by points: "
        f"{said}.{exceptions(told)}"
    )


def _penalties(data: Data, place: str) -> Part:
    def panels(found: Answers, at: Setting) -> list[Panel]:
        return [
            over_iterations(
                f"{at.images}, OutP at epsilon {e:g}",
                [along(named(rho), found[e, rho], at) for rho in PENALTIES],
            )
            for e in DRAWN
        ]

    def rows(found: Answers, at: Setting) -> list[Row]:
        return [
            row(at, f"OutP, epsilon {e:g}, {named(rho)}", answer)
            for (e, rho), answer in found.items()
        ]

    said = "the performance of OutP is not greatly affected by rho, but by epsilon"
    stated = Stated(f"A.9, figure 4 ({place})", said, little_by_penalty, "the baseline")
    return Part(data, penalty_runs, (stated,), panels, rows)


def _proximities(found: Answers, at: Setting) -> list[Panel]:
    return [
        over_iterations(
            f"{at.images}, a = {a:g}, epsilon {e:g}",
            [along(method, found[method, e, a], at) for method in METHODS],
        )
        for a in PROXIMITIES
        for e in DRAWN
    ]


def _proximity_rows(found: Answers, at: Setting) -> list[Row]:
    return [
        row(at, f"{method}, epsilon {e:g}, a = {a:g}", answer)
        for (method, e, a), answer in found.items()
    ]


_ON6 = "A.11, figure 6"

FIG4 = figure(
    "fig4",
    "test error of OutP over iterations, for five penalties",
    _penalties("MNIST", "top"),
    _penalties("FEMNIST", "bottom"),
    notes=[
        "The step of OutP as coded is 1 / (rho + N/4 + 2 sqrt(t L)/epsilon), N the records of an "
        "agent and L = log(1.25e6): the larger the other parts, the less rho matters."
    ],
)
FIG6 = figure(
    "fig6",
    "FEMNIST: test error over iterations, for three proximities",
    Part(
        "FEMNIST",
        proximity_runs,
        (
            Stated(_ON6, "OutP is best with a = 1", best_as_is, "the baseline"),
            Stated(
                _ON6,
                "ObjP with a = 100 and 1000 has a lower test error than OutP with a = 1",
                tuned_is_ahead,
                "the baseline",
            ),
            Stated(
                _ON6, "in some cases ObjP is ahead of ObjT", sometimes_ahead, "the trust region"
            ),
            Stated(
                f"{_ON6}; section 4",
                "a moves the test error of ObjT less than that of ObjP, which needs tuning",
                less_tuning,
                "the trust region",
            ),
        ),
        _proximities,
        _proximity_rows,
    ),
    notes=[
        "a multiplies eta of OutP and ObjP and delta of ObjT. The noise of OutP as coded grows "
        "with it, too."
    ],
)
