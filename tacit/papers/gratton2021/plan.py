"""The runs for figures 4 to 7 of Gratton et al. (2021), at either scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tacit.papers.gratton2021.contenders import CERTIFIED
from tacit.papers.gratton2021.noise_runs import audited, one_iteration
from tacit.papers.gratton2021.runs import d_zoa, proved, published
from tacit.papers.gratton2021.setting import ROUNDS, Kind
from tacit.papers.target import Answer, Piece, Scale

Claim = tuple[float, float]
"""Epsilon and delta."""

SMALL, LARGE = (0.15, 1e-3), (0.95, 1e-3)
"""Claims per iteration."""

DRAWN = (SMALL[0], LARGE[0])
"""Epsilons per iteration, over rounds and of the curves over delta. Printed for the latter."""

DELTAS = (1e-3, 1e-6)
"""Deltas of the panels over rounds, and of the curves over epsilon. Printed for the latter."""

OURS = "D-ZOA"

LITTLE_NOISE: Sequence[Claim] = ((3.0, 1e-3), (19.0, 1e-3), (60.0, 1e-3), (150.0, 1e-3))
"""Claims at which only the baselines are run, to see their accuracy with little noise. 3 and 19 are
`N_k` times `SMALL` and `LARGE`: noise for a sum of losses at those is noise for a mean at these."""

CERTIFIED_ROUNDS = 100

TOTALS: Sequence[Claim] = ((2.04, 1e-3), (12.9, 1e-3))
"""Totals of `SMALL` and `LARGE` by eq (25), as true totals."""

PROVED = tuple(CERTIFIED)


def baselines(kind: Kind) -> tuple[str, ...]:
    """The baselines of the paper: PVP and DVP need a smooth objective."""
    return ("DP-ADMM", "DPSG", "PVP", "DVP") if kind == "ridge" else ("DP-ADMM", "DPSG")


TYPICAL = 5
"""The data set whose `||b*||` is nearest to the median of the ten: J of eq (22) grows with its
square, and so does the time that a run of D-ZOA takes."""


def data_sets(scale: Scale) -> Sequence[int]:
    """Seeds of the data sets reported on."""
    return range(10) if scale is Scale.FULL else (TYPICAL,)


def trials(claim: Claim, scale: Scale) -> tuple[int, int]:
    """Trials of D-ZOA on each data set, and per piece: those with a large epsilon take long."""
    small = claim[0] < 0.3
    if scale is Scale.FULL:
        return 10, 10 if small else 2
    return (10, 10) if small else (3, 3)


def d_zoa_rounds(scale: Scale) -> int:
    """Rounds of D-ZOA as printed; after about 55 its errors no longer fall."""
    return ROUNDS if scale is Scale.FULL else 70


def validation(scale: Scale) -> Sequence[int]:
    """Seeds of the data sets on which tuning is chosen: none of them is reported on."""
    return (1000, 1001) if scale is Scale.FULL else (1000,)


def epsilons(scale: Scale) -> Sequence[float]:
    """Epsilons per iteration, in the trade-offs."""
    return (0.15, 0.25, 0.4, 0.6, 0.95) if scale is Scale.FULL else DRAWN


def trade_offs(scale: Scale) -> dict[str, list[Claim]]:
    """The claims of each curve over epsilon or delta, ascending, by the name of the fixed one."""
    deltas = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2) if scale is Scale.FULL else sorted(DELTAS)
    over = {f"delta {d:g}": [(e, d) for e in epsilons(scale)] for d in DELTAS}
    return over | {f"epsilon {e:g}": [(e, d) for d in deltas] for e in DRAWN}


def all_claims(scale: Scale) -> list[Claim]:
    """The claims of the trade-offs, each once."""
    return list(dict.fromkeys(claim for curve in trade_offs(scale).values() for claim in curve))


def drawn_claims(scale: Scale) -> list[Claim]:
    """The claims whose error is drawn over rounds, at either scale."""
    return [(epsilon, delta) for delta in DELTAS for epsilon in DRAWN]


def d_zoa_pieces(kind: Kind, claim: Claim, scale: Scale) -> list[Piece]:
    """All runs of D-ZOA at a claim."""
    epsilon, delta = claim
    asked, batch = trials(claim, scale)
    # directions grow with epsilon^2 / log(1.25 / delta); compilation takes 9 s
    share = (epsilon / 0.95) ** 2 * math.log(1250.0) / math.log(1.25 / delta)
    return [
        Piece(
            d_zoa,
            {
                "kind": kind,
                "epsilon": epsilon,
                "delta": delta,
                "data": data,
                "seed": first,
                "trials": batch,
                "rounds": d_zoa_rounds(scale),
            },
            6.0 + batch * (0.4 + 115.0 * share) * d_zoa_rounds(scale) / ROUNDS,
        )
        for data in data_sets(scale)
        for first in range(0, asked, batch)
    ]


BASELINE_RUNS = {Scale.FAST: 30, Scale.FULL: 10}
"""Runs on each data set; they are quick, and many are needed to see a small gain from delta."""


def published_piece(name: str, kind: Kind, scale: Scale) -> Piece:
    """A baseline at all claims."""
    claims = [*all_claims(scale), *LITTLE_NOISE]
    data = list(data_sets(scale))
    each = 0.7 if name in ("PVP", "DVP") else 0.2
    arguments = {
        "name": name,
        "kind": kind,
        "claims": [list(claim) for claim in claims],
        "validation": list(validation(scale)),
        "data": data,
        "seed": 0,
        "trials": BASELINE_RUNS[scale],
        "rounds": ROUNDS,
    }
    runs = 12 * len(validation(scale)) + len(data)
    return Piece(published, arguments, 8.0 + len(claims) * each * runs / 2)


def records(scale: Scale) -> Sequence[int]:
    """`N_k` of the certified comparisons."""
    return (20, 200, 2000) if scale is Scale.FULL else (200,)


def totals(scale: Scale) -> Sequence[Claim]:
    """Totals of the certified comparisons; the first two are `TOTALS`."""
    return (*TOTALS, (1.0, 1e-3), (5.0, 1e-3), (50.0, 1e-3)) if scale is Scale.FULL else TOTALS


def proved_piece(name: str, kind: Kind, count: int, scale: Scale) -> Piece:
    """A certified method at all totals."""
    data, noise = (10, 10) if scale is Scale.FULL else (2, 4)
    arguments = {
        "name": name,
        "kind": kind,
        "records": count,
        "totals": [list(total) for total in totals(scale)],
        "validation": list(validation(scale)),
        "data": list(range(data)),
        "seed": 0,
        "trials": noise,
        "rounds": CERTIFIED_ROUNDS,
    }
    each = 0.15 * (1 + count / 400) * (3 if name == "PVP" else 1)
    return Piece(
        proved, arguments, 7.0 + len(totals(scale)) * each * (12 * len(validation(scale)) + data)
    )


def noise_pieces(kind: Kind, scale: Scale) -> list[Piece]:
    """The size of D-ZOA's noise, and an audit of its claim: of agent 1, or of three agents."""
    few = scale is Scale.FAST
    owners = (0,) if few else (0, 3, 4)
    said = {"kind": kind, "epsilon": SMALL[0], "delta": SMALL[1], "data": TYPICAL, "seed": 0}
    model, audit = (100, 200) if few else (2000, 2000)
    return [
        Piece(work, {**said, "owner": owner, "trials": count}, 18.0 + 0.006 * count)
        for owner in owners
        for work, count in ((one_iteration, model), (audited, audit))
    ]


@runtime_checkable
class Compared(Protocol):
    """The runs of D-ZOA and of the methods compared with it, at claims of privacy."""

    @property
    def scale(self) -> Scale:
        """Scale of the runs."""
        ...

    @property
    def methods(self) -> tuple[str, ...]:
        """Names, `OURS` first."""
        ...

    def of(self, name: str, claim: Claim) -> list[Answer]:
        """The runs of a method at a claim; none if it cannot be run."""
        ...


@dataclass(frozen=True)
class Answers:
    """The answers of a figure, indexed by their subject."""

    kind: Kind
    scale: Scale
    claims: Sequence[Claim]
    answers: Sequence[Answer]

    @classmethod
    def pieces(cls, kind: Kind, scale: Scale, claims: Sequence[Claim]) -> list[Piece]:
        """The pieces, in the order in which `answers` are read."""
        return [
            *(piece for claim in claims for piece in d_zoa_pieces(kind, claim, scale)),
            *(published_piece(name, kind, scale) for name in baselines(kind)),
            *(
                proved_piece(name, kind, count, scale)
                for count in records(scale)
                for name in PROVED
            ),
            *noise_pieces(kind, scale),
        ]

    @property
    def methods(self) -> tuple[str, ...]:
        """D-ZOA and its baselines."""
        return (OURS, *baselines(self.kind))

    def of(self, name: str, claim: Claim) -> list[Answer]:
        """Runs of D-ZOA on the data sets that eq (22) allows; a baseline's contest at the claim."""
        if name == OURS:
            return [answer for answer in self._all_of_d_zoa(claim) if "refused" not in answer]
        known = [*all_claims(self.scale), *LITTLE_NOISE]
        answer = self.answers[self._d_zoa + baselines(self.kind).index(name)]
        return [answer["claims"][known.index(claim)]]

    def refused(self, claim: Claim) -> int:
        """Number of pieces of D-ZOA that eq (22) leaves without a direction."""
        return len(self._all_of_d_zoa(claim)) - len(self.of(OURS, claim))

    def _all_of_d_zoa(self, claim: Claim) -> Sequence[Answer]:
        before = self.claims[: list(self.claims).index(claim)]
        first = sum(map(self._pieces_of_d_zoa, before))
        return self.answers[first : first + self._pieces_of_d_zoa(claim)]

    def _pieces_of_d_zoa(self, claim: Claim) -> int:
        asked, batch = trials(claim, self.scale)
        return len(data_sets(self.scale)) * math.ceil(asked / batch)

    @property
    def _d_zoa(self) -> int:
        return sum(map(self._pieces_of_d_zoa, self.claims))

    def of_proved(self, name: str, count: int, total: Claim) -> Answer:
        """A certified method's contest at a total."""
        row = list(records(self.scale)).index(count)
        at = self._d_zoa + len(baselines(self.kind)) + row * len(PROVED) + PROVED.index(name)
        return self.answers[at]["claims"][list(totals(self.scale)).index(total)]

    @property
    def noise(self) -> tuple[list[Answer], list[Answer]]:
        """Model estimates and audits, one per owner."""
        last = self.answers[-len(noise_pieces(self.kind, self.scale)) :]
        return list(last[::2]), list(last[1::2])
