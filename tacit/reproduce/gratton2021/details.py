"""The tables beside figures 4 to 7 of Gratton et al. (2021): errors, parameters, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.report.data import Row
from tacit.report.reproduction import compared
from tacit.reproduce.gratton2021.contenders import SETTINGS, Setting
from tacit.reproduce.gratton2021.curves import finals, mean
from tacit.reproduce.gratton2021.findings import best_baseline, errors_of_baselines
from tacit.reproduce.gratton2021.plan import (
    CERTIFIED_ROUNDS,
    LARGE,
    LITTLE_NOISE,
    PROVED,
    SMALL,
    TOTALS,
    Answers,
    Claim,
    baselines,
    d_zoa_rounds,
    records,
    totals,
    trials,
    validation,
)
from tacit.reproduce.gratton2021.setting import ALPHA0, INNER_STEPS, PENALTY, ROUNDS, Kind
from tacit.reproduce.target import Scale

PROTOTYPE: Mapping[tuple[Kind, float], Mapping[str, float]] = {
    ("ridge", 0.15): {"D-ZOA": 1.3e-4, "DP-ADMM": 1.20, "DPSG": 1.31, "PVP": 164, "DVP": 103},
    ("ridge", 0.95): {"D-ZOA": 3.6e-6, "DP-ADMM": 0.077, "DPSG": 0.062, "PVP": 4.2, "DVP": 2.6},
    ("lasso", 0.15): {"D-ZOA": 2.0e-4, "DP-ADMM": 1.24, "DPSG": 1.34, "PVP": 151, "DVP": 100},
    ("lasso", 0.95): {"D-ZOA": 5.1e-5, "DP-ADMM": 0.075, "DPSG": 0.063, "PVP": 3.9, "DVP": 2.5},
}
"""Errors of an independent prototype, 10 trials: the paper prints none. Its tuning of the baselines
is not known; PVP and DVP have the errors that they have here with D-ZOA's penalty, 4."""


def rows(found: Answers) -> list[Row]:
    """Our errors beside the prototype's: the paper prints none."""
    table: list[Row] = []
    for claim in (SMALL, LARGE):
        ours = {"D-ZOA": mean(found.of_d_zoa(claim))}
        ours |= errors_of_baselines(found, claim)
        for name, error in ours.items():
            known = PROTOTYPE[found.kind, claim[0]][name]
            what = f"{name}, claimed epsilon {claim[0]:g}"
            table.append(compared(what, None, error, prototype=known))
            if name in ("PVP", "DVP"):
                # the first setting; the error of the validation data
                error = found.of_baseline(name, claim)["tuning"][0]
                what = f"{name}, claimed epsilon {claim[0]:g}, penalty 4 (validation data)"
                table.append(compared(what, None, error, prototype=known))
    return table


def parameters(found: Answers, claims: Sequence[Claim]) -> dict[str, str]:
    """All numbers, those included that the paper leaves out."""

    def chosen(setting: Setting) -> str:
        return ", ".join(f"{name} {value:g}" for name, value in setting.items())

    at = {f"{claim[0]:g}": claim for claim in (SMALL, LARGE, *LITTLE_NOISE)}
    tuned = {
        f"{n}, chosen": "; ".join(
            f"at {said}: {chosen(found.of_baseline(n, claim)['chosen'])}"
            for said, claim in at.items()
        )
        for n in baselines(found.kind)
    }
    certified = {
        f"{n}, proved, chosen": "; ".join(
            f"N_k {count}, epsilon {total[0]:g}: "
            f"{chosen(found.of_proved(n, count, total)['chosen'])}"
            for count in records(found.scale)
            for total in TOTALS
        )
        for n in PROVED
    }
    kept = found.of_d_zoa(SMALL)
    runs = {f"{e:g} ({d:g})": len(finals(found.of_d_zoa((e, d)))) for e, d in claims}
    return {
        "network": "K = 5, edges 12, 14, 23, 34, 45 (a star for DP-ADMM)",
        "data": "N_k = 20, P = 10, noise variance 0.1, columns then rows normalised, eta = 1; a "
        "sum of losses as in eqs (30) and (31)",
        "D-ZOA": f"rho = {PENALTY:g}, {d_zoa_rounds(found.scale)} rounds of {INNER_STEPS} inner "
        f"steps, u1 = 1, alpha0 = {ALPHA0:g}, cold start, last iterate",
        "left out: R and L": "R = ||b*||, L = "
        + ("1 + 2 R / K" if found.kind == "ridge" else "1 + sqrt(P) / K"),
        "J of eq (22) at the first claim": "; ".join(str(a["directions"]) for a in kept[:2]),
        "D-ZOA's runs at claims (delta)": ", ".join(f"{c}: {n}" for c, n in runs.items()),
        "left out: the baselines' tuning": f"{SETTINGS} settings each, chosen for every claim on "
        f"data sets {', '.join(map(str, validation(found.scale)))}, which are not reported on",
        "baselines' noise": "ours, by analogy with eq (20), as the paper prints none: scaled to "
        "c1 = 1 and a sum of losses, 2 c1 in a gradient",
        "error": "sum_k ||b_k - b*||^2 / ||b*||^2, mean of the last 20 rounds (as published); mean "
        "loss with the weaker penalty eta / N_k, whose minimiser is that of the sum, answer after "
        f"{CERTIFIED_ROUNDS} rounds (proved)",
        **tuned,
        **certified,
    }


def notes(found: Answers, claims: Sequence[Claim]) -> list[str]:
    """What else a reader must know."""
    said = [
        "Eq (22) computes J from ||b*||, which is private: the published setting leaks before it "
        "begins.",
        "PVP as published is proved here with clipped gradients; no form of DVP is proved, so it "
        "is not among the certified methods."
        if found.kind == "ridge"
        else "PVP is not in the paper's figure; it is among the certified methods because it has a "
        "proof.",
    ]
    scaled = [(c, mean(found.of_d_zoa(c)), best_baseline(found, b)) for c, b in _as_a_mean(found)]
    said += [
        f"D-ZOA's J at a claimed {claim[0]:g} counts the sensitivity of a mean loss, N_k = 20 "
        f"times less than of this sum. Baselines scaled so, too: {best} {theirs:.2g}, D-ZOA "
        f"{ours:.2g}."
        for claim, ours, (best, theirs) in scaled
    ]
    refused = {claim: found.refused(claim) for claim in claims}
    if any(refused.values()):
        said.append(
            "Eq (22) allows less than one direction, so that nothing can be run, on "
            + ", ".join(
                f"{count} of {count + len(found.of_d_zoa((e, d)))} pieces at epsilon {e:g} with "
                f"delta {d:g}"
                for (e, d), count in refused.items()
                if count
            )
            + "."
        )
    return said


def _as_a_mean(found: Answers) -> list[tuple[Claim, Claim]]:
    """Claims, and those whose noise for a sum is theirs for a mean."""
    return [(SMALL, LITTLE_NOISE[0]), (LARGE, LITTLE_NOISE[1])]


def shortened(scale: Scale, claims: Sequence[Claim]) -> str:
    """What a fast run leaves out."""
    if scale is Scale.FULL:
        return ""
    fewest, most = (f(trials(claim, scale).all for claim in claims) for f in (min, max))
    runs = f"{most}" if fewest == most else f"{fewest} to {most}"
    return (
        f"D-ZOA has {runs} runs of {d_zoa_rounds(scale)} rounds at each claim instead of 100 of "
        f"{ROUNDS}, the baselines 4, the certified "
        "methods 8; tuning has 1 validation data set instead of 2, the trade-offs fewer points, "
        f"the certified comparison N_k = {records(scale)[0]} only and {len(totals(scale))} totals "
        f"instead of {len(totals(Scale.FULL))}, the audit 200 runs of one agent instead of 2,000 "
        "of three, and the Gaussian fit 100 runs instead of 2,000"
    )
