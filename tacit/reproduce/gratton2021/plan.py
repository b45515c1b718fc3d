"""What is run for figures 4 to 7 of Gratton et al. (2021), at either scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.reproduce.gratton2021.contenders import CERTIFIED
from tacit.reproduce.gratton2021.noise_runs import audited, one_iteration
from tacit.reproduce.gratton2021.runs import d_zoa, proved, published
from tacit.reproduce.gratton2021.setting import ROUNDS, Kind
from tacit.reproduce.target import Answer, Piece, Scale

Claim = tuple[float, float]
"""Epsilon and delta."""

SMALL, LARGE = (0.15, 1e-3), (0.95, 1e-3)
"""The claims of one iteration whose error is drawn over rounds."""

LITTLE_NOISE: Sequence[Claim] = ((3.0, 1e-3), (19.0, 1e-3), (60.0, 1e-3), (150.0, 1e-3))
"""Claims at which only the baselines are run, to see what they do with little noise. 3 and 19 are
`N_k` times `SMALL` and `LARGE`: noise for a sum of losses at those is noise for a mean at these."""

CERTIFIED_ROUNDS = 100

TOTALS: Sequence[Claim] = ((2.04, 1e-3), (12.9, 1e-3))
"""What eq (25) makes of `SMALL` and `LARGE`, as true totals."""

PROVED = tuple(CERTIFIED)


def baselines(kind: Kind) -> tuple[str, ...]:
    """Those that the paper compares with: PVP and DVP need a smooth objective."""
    return ("DP-ADMM", "DPSG", "PVP", "DVP") if kind == "ridge" else ("DP-ADMM", "DPSG")


@dataclass(frozen=True)
class Trials:
    """How often something is run.

    Attributes:
        data: data sets.
        noise: draws of the noise on each, in pieces of `batch`.
        batch: as few as keep a piece short.
    """

    data: int
    noise: int
    batch: int

    @property
    def all(self) -> int:
        """Runs."""
        return self.data * self.noise


def trials(claim: Claim, scale: Scale) -> Trials:
    """100 of D-ZOA, or a few; those of a large epsilon take long."""
    if scale is Scale.FULL:
        return Trials(10, 10, 10 if claim[0] < 0.3 else 2)
    return Trials(1, 4, 4) if claim[0] < 0.3 else Trials(1, 3, 3)


def d_zoa_rounds(scale: Scale) -> int:
    """Of D-ZOA as printed; after some 60 its errors fall no more."""
    return ROUNDS if scale is Scale.FULL else ROUNDS // 2


def validation(scale: Scale) -> Sequence[int]:
    """Seeds of the data sets on which tuning is chosen: none of them is reported on."""
    return (1000, 1001) if scale is Scale.FULL else (1000,)


def epsilons(scale: Scale) -> Sequence[float]:
    """Of one iteration, in the trade-offs."""
    return (0.15, 0.25, 0.4, 0.6, 0.95) if scale is Scale.FULL else (0.15, 0.95)


def trade_offs(scale: Scale) -> dict[str, list[Claim]]:
    """The claims along each curve of figures 5 and 7, by a name."""
    if scale is Scale.FULL:
        over = {f"delta {d:g}": [(e, d) for e in epsilons(scale)] for d in (1e-3, 1e-6)}
        deltas = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
        return over | {f"epsilon {e:g}": [(e, d) for d in deltas] for e in (0.15, 0.95)}
    return {
        "delta 0.001": [(e, 1e-3) for e in epsilons(scale)],
        "epsilon 0.15": [(0.15, d) for d in (1e-6, 1e-3)],
    }


def all_claims(scale: Scale) -> list[Claim]:
    """Those of the trade-offs, each once."""
    return list(dict.fromkeys(claim for curve in trade_offs(scale).values() for claim in curve))


def d_zoa_pieces(kind: Kind, claim: Claim, scale: Scale) -> list[Piece]:
    """All runs of D-ZOA at a claim."""
    epsilon, delta = claim
    asked = trials(claim, scale)
    # directions grow with epsilon^2 / log(1.25 / delta); 9 s are compiling
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
                "trials": asked.batch,
                "rounds": d_zoa_rounds(scale),
            },
            9.0 + asked.batch * (0.4 + 58.0 * share) * d_zoa_rounds(scale) / ROUNDS,
        )
        for data in range(asked.data)
        for first in range(0, asked.noise, asked.batch)
    ]


def published_piece(name: str, kind: Kind, scale: Scale) -> Piece:
    """A baseline at all claims."""
    claims = [*all_claims(scale), *LITTLE_NOISE]
    data, noise = (10, 10) if scale is Scale.FULL else (2, 2)
    each = 0.7 if name in ("PVP", "DVP") else 0.2
    arguments = {
        "name": name,
        "kind": kind,
        "claims": [list(claim) for claim in claims],
        "validation": list(validation(scale)),
        "data": list(range(data)),
        "seed": 0,
        "trials": noise,
        "rounds": ROUNDS,
    }
    return Piece(
        published, arguments, 8.0 + len(claims) * each * (12 * len(validation(scale)) + data) / 2
    )


def records(scale: Scale) -> Sequence[int]:
    """`N_k` of the certified comparisons."""
    return (20, 200, 2000) if scale is Scale.FULL else (200,)


def totals(scale: Scale) -> Sequence[Claim]:
    """Of the certified comparisons; the first two are `TOTALS`."""
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
    """How much noise D-ZOA has, and an audit of its claim: of agent 1, or of three agents."""
    few = scale is Scale.FAST
    owners = (0,) if few else (0, 3, 4)
    said = {"kind": kind, "epsilon": SMALL[0], "delta": SMALL[1], "data": 0, "seed": 0}
    model, audit = (100, 200) if few else (2000, 2000)
    return [
        Piece(work, {**said, "owner": owner, "trials": count}, 18.0 + 0.006 * count)
        for owner in owners
        for work, count in ((one_iteration, model), (audited, audit))
    ]


@dataclass(frozen=True)
class Answers:
    """The answers of a figure, found again by what they are about."""

    kind: Kind
    scale: Scale
    claims: Sequence[Claim]
    answers: Sequence[Answer]

    @classmethod
    def pieces(cls, kind: Kind, scale: Scale, claims: Sequence[Claim]) -> list[Piece]:
        """In the order in which `answers` are read."""
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

    def of_d_zoa(self, claim: Claim) -> list[Answer]:
        """Of the data sets and trials that eq (22) allows."""
        return [answer for answer in self._all_of_d_zoa(claim) if "refused" not in answer]

    def refused(self, claim: Claim) -> int:
        """How many pieces of D-ZOA eq (22) leaves without a direction."""
        return len(self._all_of_d_zoa(claim)) - len(self.of_d_zoa(claim))

    def _all_of_d_zoa(self, claim: Claim) -> Sequence[Answer]:
        at = 0
        for each in self.claims:
            count = len(d_zoa_pieces(self.kind, each, self.scale))
            if each == claim:
                return self.answers[at : at + count]
            at += count
        raise KeyError(claim)

    @property
    def _d_zoa(self) -> int:
        return sum(len(d_zoa_pieces(self.kind, each, self.scale)) for each in self.claims)

    def of_baseline(self, name: str, claim: Claim) -> Answer:
        """A baseline's contest at a claim."""
        known = [*all_claims(self.scale), *LITTLE_NOISE]
        answer = self.answers[self._d_zoa + baselines(self.kind).index(name)]
        return answer["claims"][known.index(claim)]

    def of_proved(self, name: str, count: int, total: Claim) -> Answer:
        """A certified method's contest at a total."""
        row = list(records(self.scale)).index(count)
        at = self._d_zoa + len(baselines(self.kind)) + row * len(PROVED) + PROVED.index(name)
        return self.answers[at]["claims"][list(totals(self.scale)).index(total)]

    @property
    def noise(self) -> tuple[list[Answer], list[Answer]]:
        """Model estimates and audits, one an owner."""
        last = self.answers[-len(noise_pieces(self.kind, self.scale)) :]
        return list(last[::2]), list(last[1::2])
