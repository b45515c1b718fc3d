"""What the figures of Gratton et al. (2020) are made of: claims of privacy, pieces, answers.

The baseline, the methods with a proof and their tuning are those of the journal's figures, so that
answers are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.reproduce.gratton2021.noise_runs import audited
from tacit.reproduce.gratton2021.plan import (
    LARGE,
    LITTLE_NOISE,
    SMALL,
    Claim,
    all_claims,
    proved_piece,
    published_piece,
    records,
    totals,
    validation,
)
from tacit.reproduce.gratton2021.runs import d_zoa, published
from tacit.reproduce.gratton2021.setting import ROUNDS, Kind
from tacit.reproduce.target import Answer, Piece, Scale

BASELINE = "DP-ADMM"

KIND: Kind = "lasso"

DRAWN = (SMALL[0], LARGE[0])
"""Claimed epsilons over rounds, and over delta: printed for figure 3 (b), not for figure 2."""

DELTAS = (1e-3, 1e-6)
"""Of the panels of figure 2, and of the curves of figure 3 (a)."""

RUNS = {Scale.FAST: (2, 2), Scale.FULL: (10, 10)}
"""Data sets, and draws of the noise on each."""

AUDITS = {Scale.FAST: 300, Scale.FULL: 2000}
"""Runs of one iteration."""


def claimed(scale: Scale) -> list[Claim]:
    """Of one iteration: all that the figures need."""
    if scale is Scale.FULL:
        return all_claims(scale)
    return [(epsilon, delta) for epsilon in DRAWN for delta in DELTAS]


def curves_of(scale: Scale) -> dict[str, list[Claim]]:
    """The claims of each curve of figure 3, by its name: two over epsilon, two over delta."""
    claims = claimed(scale)
    fixed_delta = {f"delta {d:g}": sorted(c for c in claims if c[1] == d) for d in DELTAS}
    fixed = {
        f"epsilon {e:g}": sorted((c for c in claims if c[0] == e), key=lambda c: c[1])
        for e in DRAWN
    }
    return fixed_delta | fixed


def _baseline_piece(scale: Scale) -> Piece:
    """The baseline at all claims; in full that of the journal's figures has them all."""
    shared = published_piece(BASELINE, KIND, scale)
    if scale is Scale.FULL:
        return shared
    asked = [list(claim) for claim in (*claimed(scale), *LITTLE_NOISE)]
    seconds = 8.0 + len(asked) * 0.1 * (12 * len(validation(scale)) + 2)
    return Piece(published, {**shared.arguments, "claims": asked}, seconds)


def certified_records(scale: Scale) -> int:
    """`N_k` of the certified comparison: the largest that is tried."""
    return records(scale)[-1]


@dataclass(frozen=True)
class Found:
    """The answers, found again by what they are about.

    Attributes:
        scale: of the run.
        answers: in the order of `pieces`.
    """

    scale: Scale
    answers: Sequence[Answer]

    @staticmethod
    def pieces(scale: Scale) -> list[Piece]:
        """D-ZOA at every claim and data set, the baseline, both with a proof, and an audit."""
        data, trials = RUNS[scale]
        said = {"kind": KIND, "seed": 0, "version": "2020"}
        each = {"trials": trials, "rounds": ROUNDS}
        return [
            *(
                Piece(
                    d_zoa,
                    {"epsilon": epsilon, "delta": delta, "data": number, **said, **each},
                    9.0 + 3.5 * trials,
                )
                for epsilon, delta in claimed(scale)
                for number in range(data)
            ),
            _baseline_piece(scale),
            *(
                proved_piece(name, KIND, certified_records(scale), scale)
                for name in ("D-ZOA", BASELINE)
            ),
            Piece(
                audited,
                {
                    "epsilon": SMALL[0],
                    "delta": SMALL[1],
                    "data": 0,
                    "owner": 0,
                    "trials": AUDITS[scale],
                    **said,
                },
                18.0 + 0.006 * AUDITS[scale],
            ),
        ]

    def of_d_zoa(self, claim: Claim) -> list[Answer]:
        """Of all data sets."""
        count = RUNS[self.scale][0]
        first = count * claimed(self.scale).index(claim)
        return list(self.answers[first : first + count])

    def of_baseline(self, claim: Claim) -> Answer:
        """At the same claim."""
        known = [*claimed(self.scale), *LITTLE_NOISE]
        return self.answers[-4]["claims"][known.index(claim)]

    def proved(self, total: Claim) -> tuple[Answer, Answer]:
        """D-ZOA and the baseline at a true total."""
        at = list(totals(self.scale)).index(total)
        return self.answers[-3]["claims"][at], self.answers[-2]["claims"][at]

    @property
    def audit(self) -> float:
        """A lower bound on epsilon of one iteration."""
        return self.answers[-1]["epsilon"]
