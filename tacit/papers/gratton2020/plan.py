"""The pieces of the figures of Gratton et al. (2020), and their answers.

Claims of privacy, the baseline, the methods with a proof and their tuning are those of the
journal's figures, so that answers are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.papers.gratton2021.noise_runs import audited
from tacit.papers.gratton2021.plan import (
    LITTLE_NOISE,
    OURS,
    SMALL,
    TYPICAL,
    Claim,
    all_claims,
    data_sets,
    proved_piece,
    published_piece,
    records,
    totals,
)
from tacit.papers.gratton2021.runs import d_zoa
from tacit.papers.gratton2021.setting import ROUNDS, Kind
from tacit.papers.target import Answer, Piece, Scale

BASELINE = "DP-ADMM"

KIND: Kind = "lasso"

RUNS = {Scale.FAST: 6, Scale.FULL: 10}
"""Draws of the noise on each data set."""

AUDITS = {Scale.FAST: 300, Scale.FULL: 2000}
"""Runs of one iteration."""


def certified_records(scale: Scale) -> int:
    """`N_k` of the certified comparison: the largest tried."""
    return records(scale)[-1]


@dataclass(frozen=True)
class Found:
    """The answers, indexed by their subject.

    Attributes:
        scale: scale of the run.
        answers: answers in the order of `pieces`.
    """

    scale: Scale
    answers: Sequence[Answer]

    @staticmethod
    def pieces(scale: Scale) -> list[Piece]:
        """D-ZOA at every claim and data set, the baseline, both with a proof, and an audit."""
        trials = RUNS[scale]
        said = {"kind": KIND, "seed": 0, "version": "2020"}
        # fewer are not enough: after 70 its errors still fall
        each = {"trials": trials, "rounds": ROUNDS}
        return [
            *(
                Piece(
                    d_zoa,
                    {"epsilon": epsilon, "delta": delta, "data": number, **said, **each},
                    6.0 + 0.01 * ROUNDS * trials,
                )
                for epsilon, delta in all_claims(scale)
                for number in data_sets(scale)
            ),
            published_piece(BASELINE, KIND, scale),
            *(
                proved_piece(name, KIND, certified_records(scale), scale)
                for name in (OURS, BASELINE)
            ),
            Piece(
                audited,
                {
                    "epsilon": SMALL[0],
                    "delta": SMALL[1],
                    "data": TYPICAL,
                    "owner": 0,
                    "trials": AUDITS[scale],
                    **said,
                },
                18.0 + 0.006 * AUDITS[scale],
            ),
        ]

    @property
    def methods(self) -> tuple[str, ...]:
        """D-ZOA and its baseline."""
        return (OURS, BASELINE)

    def of(self, name: str, claim: Claim) -> list[Answer]:
        """Answers of D-ZOA on all data sets; of the baseline, its contest at the claim."""
        if name == OURS:
            count = len(data_sets(self.scale))
            first = count * all_claims(self.scale).index(claim)
            return list(self.answers[first : first + count])
        known = [*all_claims(self.scale), *LITTLE_NOISE]
        return [self.answers[-4]["claims"][known.index(claim)]]

    def proved(self, total: Claim) -> tuple[Answer, Answer]:
        """D-ZOA and the baseline at a true total."""
        at = list(totals(self.scale)).index(total)
        return self.answers[-3]["claims"][at], self.answers[-2]["claims"][at]

    @property
    def audit(self) -> float:
        """A lower bound on epsilon per iteration."""
        return self.answers[-1]["epsilon"]
