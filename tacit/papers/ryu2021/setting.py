"""The records of Ryu, Kim (2021), the scale of the runs, and the runs as pieces of work."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tacit.errors import ConfigError, ProblemError
from tacit.papers.ryu2021 import images
from tacit.papers.ryu2021.images import Chosen
from tacit.papers.ryu2021.runs import BETA, SCHEDULES, STEP_DELTA, path
from tacit.papers.target import Piece, Scale

Data = Literal["MNIST", "FEMNIST"]

EPSILONS = (0.05, 0.1, 1.0, 3.0, 5.0)
DRAWN = (0.05, 0.1, 1.0)
"""Epsilons of all figures but the second."""

METHODS = ("OutP", "ObjP", "ObjT")
ROUNDS, TRIALS = 20_000, 10

TABLE1: Mapping[Data, tuple[float, ...]] = {
    "MNIST": (60_000.0, 784.0, 10.0, 10.0, 6000.0, 0.0),
    "FEMNIST": (36_708.0, 784.0, 62.0, 195.0, 188.25, 87.99),
}
"""I, J, K, P, mean and standard deviation of an agent's records, from the paper."""

_SIZES = {"mnist": (60_000, 784, 10, 10), "digits": (1500, 64, 10, 10)}
"""I, J, K, P of the data sets that are dealt evenly."""


@dataclass(frozen=True)
class Setting:
    """The records, and the scale of the runs on them.

    Attributes:
        chosen: images to use.
        size: I, J, K, P of the available data.
        records: number of training records, 0 for all.
        block: edge in pixels of the squares that are averaged over.
        rounds: number of rounds, in place of the paper's 20,000.
        trials: number of trials, in place of the paper's 10.
        stops: number of measurements in a run, evenly in the logarithm.
        data: description of the records.
        instead: difference from the paper's records, in words; empty if there is none.
        shortened: omissions of a fast run, in words.
    """

    chosen: Chosen
    size: tuple[int, int, int, int]
    records: int
    block: int
    rounds: int
    trials: int
    stops: int
    data: str
    instead: str
    shortened: str

    @property
    def images(self) -> str:
        """A word for the images in figures and tables, with the share of a sample."""
        name = {"mnist": "MNIST", "digits": "Digits", "femnist": "FEMNIST"}[self.chosen.source]
        part = self.chosen.source == "femnist" and self.instead
        return f"{name} ({_share(self.size[0])})" if part else name

    @property
    def exact(self) -> bool:
        """Whether the setting is the paper's, so that its numbers can be compared."""
        return not self.instead and not self.shortened

    def parameters(self, **further: str) -> dict[str, str]:
        """The parameters that every figure of the paper shares."""
        c1, c2, every = schedule(self.chosen)
        femnist = self.chosen.source == "femnist"
        return {
            "data": self.data,
            "agents": "one a writer" if femnist else "10, in the file's order",
            **({"pixels": "inverted, so that ink is 1 (not in the paper)"} if femnist else {}),
            "iterations": f"{self.rounds:,}",
            "trials": f"{self.trials}; only the noise differs (seed 0)",
            "penalty": f"min(1e9, {c1:g} 1.2^floor(t/{every}) + {c2:g}/epsilon), called hat rho",
            "regulariser": f"{BETA:g} times the squared norm, a share at each agent",
            "start": "all copies and multipliers 0 (not in the paper)",
            "ObjT": "trust region in the infinity norm, delta = a as coded",
            "OutP": f"as coded, gradients divided by an agent's own records, delta {STEP_DELTA:g} "
            "of an iteration",
            "answer": "w of the last iteration, as coded",
            "precision": "float32",
        } | further


def schedule(chosen: Chosen) -> tuple[float, float, int]:
    """c1, c2 and Tc of the penalty; the digits are too few for a schedule of their own."""
    return SCHEDULES.get(chosen.source, SCHEDULES["mnist"])


def mnist(scale: Scale) -> Setting:
    """MNIST, or scikit-learn's digits if it is not available.

    Raises:
        ConfigError: no images are available.
        ProblemError: a file that cannot be read.
    """
    chosen = images.chosen()
    size = _SIZES[chosen.source]
    if chosen.source == "digits":
        data = "scikit-learn's digits (1,500 records with 64 features) in place of MNIST"
        instead = "on digits in place of MNIST"
        if scale is Scale.FULL:
            return Setting(chosen, size, 0, 1, ROUNDS, TRIALS, 24, data, instead, "")
        short = "1,000 of 20,000 iterations and 3 of 10 trials"
        return Setting(chosen, size, 0, 1, 1000, 3, 8, data, instead, short)
    if scale is Scale.FULL:
        return Setting(chosen, size, 0, 1, ROUNDS, TRIALS, 24, "MNIST", "", "")
    short = (
        "12,000 of 60,000 records, means of 2 x 2 pixels (196 of 784 features), 200 of 20,000 "
        "iterations and 3 of 10 trials"
    )
    return Setting(chosen, size, 12_000, 2, 200, 3, 8, "MNIST", "", short)


def femnist(scale: Scale) -> Setting:
    """FEMNIST, or the available part of the authors' sample.

    Raises:
        ConfigError: FEMNIST is not available.
        ProblemError: a file that cannot be read.
    """
    chosen = images.chosen_femnist()
    size = table_of(chosen)[:4]
    records, writers = TABLE1["FEMNIST"][0], TABLE1["FEMNIST"][3]
    data, part = "FEMNIST, the paper's sample", ""
    if (size[0], size[3]) != (records, writers):
        data = (
            f"FEMNIST, a part of the paper's sample: {size[3]} of {writers:g} writers with "
            f"{size[0]:,} of {records:,.0f} records; tested on "
            f"{len(images.read(chosen).test_classes):,}"
        )
        part = f"on {_share(size[0])} of the sample"
    if scale is Scale.FULL:
        return Setting(chosen, size, 0, 1, ROUNDS, TRIALS, 24, data, part, "")
    short = "means of 4 x 4 pixels (49 of 784 features), 20 of 20,000 iterations and 3 of 10 trials"
    return Setting(chosen, size, 0, 4, 20, 3, 7, data, part, short)


def _share(records: int) -> str:
    """The share of a number of records in the paper's sample, in words."""
    return f"{100 * records / TABLE1['FEMNIST'][0]:.0f} %"


@functools.cache
def table_of(chosen: Chosen) -> tuple[Any, ...]:
    """The row of table 1 for these images."""
    read = images.read(chosen)
    counts = [len(own) for own in read.classes]
    return (
        read.records,
        read.side**2,
        read.kinds,
        len(counts),
        float(np.mean(counts)),
        float(np.std(counts)),
    )


def found(data: Data, scale: Scale) -> Setting | str:
    """The setting of a data set, or the reason why there is none."""
    try:
        return mnist(scale) if data == "MNIST" else femnist(scale)
    except (ConfigError, ProblemError) as error:
        return f"{str(error)[0].upper()}{str(error)[1:]}."


def run(
    at: Setting,
    method: str,
    epsilon: float | None,
    rho: float | str = "1 hat",
    proximity: float = 1.0,
    **changed: Any,
) -> Piece:
    """A run as a piece of work.

    Args:
        at: records and scale of the run.
        method: name of the method, as in `runs.path`.
        epsilon: epsilon per iteration; `None` without privacy.
        rho: penalty, as in `runs.path`.
        proximity: proximity `a`.
        changed: arguments of `path` that replace those of the setting.
    """
    arguments: dict[str, Any] = {
        "source": at.chosen.source,
        "digest": at.chosen.digest,
        "records": at.records,
        "block": at.block,
        "method": method,
        "epsilon": epsilon,
        "rho": rho,
        "proximity": proximity,
        "rounds": at.rounds,
        "stops": looks(at),
        "trials": at.trials,
        "seed": 0,
    } | changed
    return Piece(path, arguments, seconds(at, arguments["trials"]), resumes=True)


def looks(at: Setting) -> list[int]:
    """The rounds after which a run is measured."""
    times = np.geomspace(1, at.rounds, at.stops).round().astype(int)
    return [int(stop) for stop in np.unique(times)]


def seconds(at: Setting, trials: int) -> float:
    """Processor seconds of a run: for multiplying records by parameters, and for drawing noise.

    With all of MNIST, a round took about .04, .1 and .2 seconds for 1, 3 and 10 trials.
    """
    records, features, kinds, agents = at.size
    records, parameters = at.records or records, features * kinds / at.block**2
    multiplying = 8e-11 * records * parameters * (1.0 + 0.45 * (trials - 1))
    drawing = 2.2e-8 * agents * parameters * trials
    return round(3.0 + at.rounds * (multiplying + drawing), 1)
