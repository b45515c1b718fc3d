"""What Ryu, Kim (2021) print, and at which size it is run here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.errors import ConfigError, ProblemError
from tacit.report.reproduction import Curve, Reproduction, Verdict
from tacit.reproduce.decide import below
from tacit.reproduce.ryu2021 import images
from tacit.reproduce.ryu2021.images import Chosen
from tacit.reproduce.ryu2021.runs import BETA, SCHEDULES, STEP_DELTA, path
from tacit.reproduce.target import Answer, Piece, Scale, Target

EPSILONS = (0.05, 0.1, 1.0, 3.0, 5.0)
METHODS = ("OutP", "ObjP", "ObjT")
PENALTIES: tuple[float | str, ...] = (0.1, 1.0, 10.0, "1 hat", "0.01 hat")
PROXIMITIES = (1.0, 100.0, 1000.0)
ROUNDS = 20_000

PRINTED = {("ObjT", 0.05): 12.80, ("ObjT", 5.0): 7.84, ("OutP", 0.05): 21.79}
"""Test errors on MNIST, %, after 20,000 iterations, from the paper."""

PRINTED_FEMNIST = {("ObjT", 0.05): 72.40, ("OutP", 0.05): 91.05, ("ObjT", 5.0): 36.29}
"""Test errors on FEMNIST, %, from the paper."""

PRINTED_LONG = {"ObjT": 15.64, "OutP": 37.98}
"""Test errors on MNIST, %, after a million iterations at epsilon .01, from remark 3."""

PROTOTYPE = {
    ("ObjT", 0.05): 12.94,
    ("ObjT", 0.1): 11.36,
    ("ObjT", 1.0): 8.33,
    ("ObjT", 3.0): 8.22,
    ("ObjT", 5.0): 7.86,
    ("OutP", 0.05): 23.3,
}
"""Test errors on MNIST, %, of a prototype; after 15,000 iterations at epsilon 1, 10,000 at 3."""

CLOSE = 0.4
"""Points that a test error may be off: one standard error of 10,000 test records is 0.33."""

_LOOKS = 24
"""Times at which a run is looked at, evenly in the logarithm."""


@dataclass(frozen=True)
class Setting:
    """The records, and how much is run on them.

    Attributes:
        chosen: the images.
        records: of them for training, 0 for all.
        rounds: in place of the paper's 20,000.
        trials: in place of the paper's 10.
        exact: whether all this is the paper's.
        shortened: what was left out, in a sentence.
    """

    chosen: Chosen
    records: int
    rounds: int
    trials: int
    exact: bool
    shortened: str

    @property
    def data(self) -> str:
        """The records in words."""
        if self.chosen.source == "digits":
            return "scikit-learn's digits (1,500 records with 64 features) in place of MNIST"
        if self.chosen.source == "femnist":
            return "FEMNIST, every writer an agent"
        part = f"{self.records:,} of its 60,000 records" if self.records else "all 60,000 records"
        return f"MNIST, {part}"

    def parameters(self, **further: str) -> dict[str, str]:
        """What every figure of the paper shares."""
        c1, c2, every = SCHEDULES.get(self.chosen.source, SCHEDULES["mnist"])
        agents = "one a writer" if self.chosen.source == "femnist" else "10, in the file's order"
        return {
            "data": self.data,
            "agents": agents,
            "rounds": f"{self.rounds:,}",
            "trials": f"{self.trials}; only the noise differs (seed 0)",
            "penalty": f"min(1e9, {c1:g} 1.2^floor(t/{every}) + {c2:g}/epsilon), called hat rho",
            "regulariser": f"{BETA:g} times the squared norm, a share at each agent",
            "start": "all copies and multipliers 0 (not in the paper)",
            "OutP": f"as coded, delta {STEP_DELTA:g} of an iteration",
            "answer": "w of the last round, as printed",
            "precision": "float32",
        } | further


def setting(scale: Scale) -> Setting:
    """The size of a run with the images at hand.

    Raises:
        ConfigError: there are none.
    """
    chosen = images.chosen()
    mnist = chosen.source == "mnist"
    if scale is Scale.FULL:
        return Setting(chosen, 0, ROUNDS, 10, mnist, "")
    if mnist:
        short = (
            "6,000 of 60,000 records (so that the noise is ten times as large), 200 of 20,000 "
            "iterations and 4 of 10 trials"
        )
        return Setting(chosen, 6000, 200, 4, False, short)
    short = "1,500 of 20,000 iterations and 4 of 10 trials"
    return Setting(chosen, 0, 1500, 4, False, short)


def run(
    at: Setting,
    method: str,
    epsilon: float,
    rho: float | str = "1 hat",
    proximity: float = 1.0,
    **changed: Any,
) -> Piece:
    """A run as a piece of work.

    Args:
        at: the records, and how much.
        method: as in `runs.path`.
        epsilon: of one iteration.
        rho: the penalty.
        proximity: `a`.
        changed: arguments of `path` in place of those of the setting.
    """
    rounds = changed.get("rounds", at.rounds)
    arguments: dict[str, Any] = {
        "source": at.chosen.source,
        "digest": at.chosen.digest,
        "records": at.records,
        "method": method,
        "epsilon": epsilon,
        "rho": rho,
        "proximity": proximity,
        "rounds": rounds,
        "stops": looks(rounds),
        "trials": at.trials,
        "seed": 0,
    } | changed
    return Piece(path, arguments, seconds(arguments), resumes=True)


def looks(rounds: int) -> list[int]:
    """When a run is looked at.

    Example:
        >>> looks(4)
        [1, 2, 3, 4]
    """
    found = np.geomspace(1, rounds, _LOOKS).round().astype(int)
    return [int(stop) for stop in np.unique(found)]


_SIZES = {"mnist": (60_000, 7840, 10), "femnist": (36_708, 48_608, 195), "digits": (1500, 640, 10)}
"""Records, parameters and agents."""


def seconds(arguments: Mapping[str, Any]) -> float:
    """Processor seconds of a run: of multiplying records by parameters, and of drawing noise."""
    records, parameters, agents = _SIZES[arguments["source"]]
    records = arguments["records"] or records
    trials = arguments["trials"]
    multiplying = 2.2e-10 * records * parameters * (1.0 + 0.25 * (trials - 1))
    drawing = 4e-8 * agents * parameters * trials
    return round(5.0 + arguments["rounds"] * (multiplying + drawing), 1)


ELSEWHERE = (
    "There is no certified half here: certified methods at equal total epsilon stand in the target "
    "`table`."
)

Runs = Mapping[Any, Piece]
Answers = Mapping[Any, Answer]


def figure(
    name: str,
    title: str,
    runs: Callable[[Setting], Runs],
    shown: Callable[[Answers, Setting], Reproduction],
    size: Callable[[Scale], Setting] = setting,
) -> Target:
    """A target whose runs have names; without images it is not run, and says what is missing."""

    def pieces(scale: Scale) -> list[Piece]:
        try:
            return list(runs(size(scale)).values())
        except (ConfigError, ProblemError):
            return []

    def told(answers: Sequence[Answer], scale: Scale) -> Reproduction:
        try:
            at = size(scale)
        except (ConfigError, ProblemError) as error:
            return Reproduction(Verdict.NOT_RUN, f"{error}.")
        found = shown(dict(zip(runs(at), answers, strict=True)), at)
        return found if found.certified else replace(found, notes=[*found.notes, ELSEWHERE])

    return Target(f"ryu2021/{name}", title, pieces, told)


def along(name: str, answer: Answer, stops: Sequence[int], what: str = "error") -> Curve:
    """Mean over trials with the paper's band, the 20th to 80th percentile."""
    values = np.asarray(answer[what], dtype=float)
    low, high = np.percentile(values, [20, 80], axis=1)
    band = values.shape[1] > 1
    return Curve(
        name,
        list(stops),
        [float(v) for v in values.mean(axis=1)],
        [float(v) for v in low] if band else None,
        [float(v) for v in high] if band else None,
    )


def last(answer: Answer, what: str = "error") -> float:
    """Mean over trials at the end of a run."""
    return float(np.mean(answer[what][-1]))


def lower(first: Answer, second: Answer) -> bool | None:
    """Whether the first run ends with the lower error; `None` where their noise cannot tell."""
    return below(first["error"][-1], second["error"][-1])


def named(rho: float | str) -> str:
    """A penalty in the legend."""
    if not isinstance(rho, str):
        return f"rho {rho:g}"
    share = float(rho.removesuffix(" hat"))
    return "hat rho" if share == 1.0 else f"hat rho times {share:g}"
