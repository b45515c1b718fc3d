"""Softmax regression on images by certified methods, at a proved total epsilon.

An image becomes a row by constants alone: pixels in [0, 1] minus 1/8, the lowest frequencies of the
cosine transform in each direction, scaled to norm 1.

The length of the path, `step x clip x rounds`, is decisive: the final noise of a run depends on it
and hardly on its three factors. Each method is tuned over the same three lengths on
records held out of the training records, then fitted to all of these and scored once on the test
set. The choice by the validation records is not accounted for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

import tacit
from tacit import network, problem
from tacit.method import DPFedSGD, DPIADMMProx, DPIADMMTrust, FedAvg, GrowingPenalty, OutP
from tacit.papers.ryu2021 import images
from tacit.papers.ryu2021.dp_iadmm import DPIADMMPrinted
from tacit.papers.ryu2021.images import Chosen, Images, Source
from tacit.privacy.budget import Privacy
from tacit.problem.scores import scores

AGENTS, CLIP, LOCAL_STEPS, FREQUENCIES = 10, 0.5, 5, 14
SOFTMAX = problem.Softmax(10)

DELTA = 1e-6
"""Delta of every total: the one at which the totals of the paper's releases are stated."""

FACTORS = (0.5, 1.0, 2.0)
"""Lengths of the path tried, in units of `usual_path`."""

VALIDATION = 6
"""One record in `VALIDATION` is held out for tuning."""


@dataclass(frozen=True)
class Rows:
    """Rows of norm 1 and digits."""

    rows: Float[np.ndarray, "n d"]
    digits: Shaped[np.ndarray, " n"]

    def part(self, chosen: Any) -> Rows:
        """The chosen records."""
        return Rows(self.rows[chosen], self.digits[chosen])


def certified(
    source: Source,
    digest: str,
    records: int,
    method: str,
    epsilons: Sequence[float],
    printed: Sequence[float],
    printed_rounds: int,
    trials: int,
    seed: int,
) -> dict[str, Any]:
    """Test errors of a certified method, tuned in the same way at every total epsilon.

    Args:
        source: source of the images.
        digest: digest of their files.
        records: number of training records; 0 for all.
        method: name of a method in `METHODS`.
        epsilons: total epsilons.
        printed: the paper's epsilons per iteration; their true totals are added to `epsilons`.
        printed_rounds: number of iterations of those.
        trials: number of repetitions of the final fit.
        seed: seed of the noise.

    Returns:
        `epsilon`, and for each its `error`: percent, a list over trials, with `path`, the chosen
        length.
    """
    read = images.read(Chosen(source, digest))
    training, test = rows(read.first(records) if records else read)
    order = np.random.default_rng(0).permutation(len(training.digits))
    held = len(order) // VALIDATION
    held_out, tuning = training.part(order[:held]), task(training.part(order[held:]))
    whole = task(training)
    every = [*epsilons, *(total(epsilon, printed_rounds) for epsilon in printed)]
    found: dict[str, Any] = {"epsilon": every, "error": [], "path": []}
    for epsilon in every:
        usual = usual_path(epsilon, len(training.digits))
        paths = [factor * usual for factor in FACTORS]
        tried = [error(tuning, held_out, method, p, epsilon, DELTA, 1, seed).mean() for p in paths]
        path = paths[int(np.argmin(tried))]
        ended = error(whole, test, method, path, epsilon, DELTA, trials, seed)
        found["error"].append([float(value) for value in ended])
        found["path"].append(path)
    return found


def total(epsilon: float, rounds: int) -> float:
    """The total epsilon of `rounds` iterations at `DELTA` if their sensitivity were global.

    Args:
        epsilon: epsilon claimed per iteration.
        rounds: number of rounds.

    Example:
        >>> round(total(0.05, 10), 2)
        0.5
    """
    rng = np.random.default_rng(0)
    anything = problem.empirical_risk(
        [rng.uniform(size=(2, 1)) for _ in range(2)], [np.zeros(2)] * 2, problem.Softmax(2)
    )
    method = DPIADMMPrinted(DPIADMMTrust(penalty=GrowingPenalty(epsilon)), epsilon)
    clients = network.Coordinator(2)
    found = tacit.account(anything, clients, method, rounds=rounds).guarantee.worst
    assert found.total_epsilon is not None and found.delta <= DELTA
    return float(found.total_epsilon)


def totals(epsilons: Sequence[float], rounds: int) -> dict[str, Any]:
    """The true totals of the paper's epsilons."""
    return {"total": [total(epsilon, rounds) for epsilon in epsilons]}


def usual_path(epsilon: float, records: int = 60_000) -> float:
    """A length at which noise and remaining optimisation error are of the same size."""
    return float(8000.0 * min(epsilon, 4.0) * np.sqrt(records / 60_000))


def rounds_of(epsilon: float) -> int:
    """Number of gradients that each agent releases: long paths need many steps."""
    return 100 * int(np.clip(epsilon, 1.0, 4.0))


def rows(read: Images, frequencies: int = FREQUENCIES) -> tuple[Rows, Rows]:
    """Training and test records as cosine waves, at most as many as pixels."""
    training = np.concatenate(read.features), np.concatenate(read.classes)
    lowest = min(frequencies, read.side)

    def waves(pixels: np.ndarray, digits: np.ndarray) -> Rows:
        return Rows(_waves(pixels, read.side, lowest), digits)

    return waves(*training), waves(read.test_features, read.test_classes)


def _waves(
    pixels: Float[np.ndarray, "n d"], side: int, frequencies: int
) -> Float[np.ndarray, "n c"]:
    from scipy.fft import dctn

    square = pixels.reshape(-1, side, side) - 1.0 / 8.0
    waves = np.asarray(dctn(square, axes=(1, 2), norm="ortho"))
    found = waves[:, :frequencies, :frequencies].reshape(len(waves), -1)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def task(records: Rows) -> problem.Problem:
    """The records dealt to the agents in order."""
    return problem.empirical_risk(
        np.array_split(records.rows, AGENTS),
        np.array_split(records.digits, AGENTS),
        SOFTMAX,
        normaliser=len(records.digits) / AGENTS,
    )


def descent(path: float, rounds: int, privacy: Privacy) -> Any:
    """Noisy gradient steps of constant size."""
    return DPFedSGD(step=path / (CLIP * rounds), privacy=privacy)


def shrinking(build: Callable[..., Any], path: float, rounds: int, privacy: Privacy) -> Any:
    """ADMM with `eta = a / sqrt t`: steps that halve from the first round to the last."""
    shares = 1.0 / (1.0 + np.sqrt(np.arange(1, rounds + 1) / rounds))
    penalty = CLIP * shares.sum() / path
    return build(penalty=penalty, proximity=np.sqrt(rounds) / penalty, privacy=privacy)


def trust(path: float, rounds: int, privacy: Privacy) -> Any:
    """Steps of constant size, in a region that seldom binds."""
    step = path / (CLIP * rounds)
    return DPIADMMTrust(penalty=1.0 / step, radius=step * CLIP, privacy=privacy)


def averaging(path: float, rounds: int, privacy: Privacy) -> Any:
    """The same number of gradients as the others, with a fifth of the visits to the server."""
    return FedAvg(step=path / (CLIP * rounds), local_steps=LOCAL_STEPS, privacy=privacy)


def gossip(path: float, rounds: int, privacy: Privacy) -> Any:
    """No coordinator: every agent exchanges messages with four others."""
    return tacit.DPSG(step=path / (CLIP * rounds), privacy=privacy)


METHODS: dict[str, Callable[[float, int, Any], Any]] = {
    "dp-fedsgd": descent,
    "dp-iadmm-prox": partial(shrinking, DPIADMMProx),
    "dp-iadmm-trust": trust,
    "outp": partial(shrinking, OutP),
    "fedavg": averaging,
    "dpsg": gossip,
}


def error(
    fitted: problem.Problem,
    held_out: Rows,
    name: str,
    path: float,
    epsilon: float,
    delta: float,
    trials: int,
    seed: int,
) -> Float[np.ndarray, " trials"]:
    """Share of misclassified held-out digits, %, in every trial: the mean over agents."""
    privacy = tacit.Privacy(clip=CLIP, epsilon=epsilon, delta=delta, relation="add_remove")
    gradients = rounds_of(epsilon)
    rounds = gradients // LOCAL_STEPS if name == "fedavg" else gradients
    graph = network.random_regular(AGENTS, 4, seed=0)
    result = tacit.run(
        fitted,
        graph if name == "dpsg" else network.Coordinator(AGENTS),
        METHODS[name](path, gradients, privacy),
        rounds=rounds,
        seed=seed,
        record=rounds,
        runtime=tacit.Simulation(trials=trials, precision="float32"),
        require="proved",
    )
    wrong = [
        [scores(SOFTMAX, held_out.rows, held_out.digits, answer)["error"] for answer in answers]
        for answers in result.solutions
    ]
    return 100.0 * np.mean(wrong, axis=1)
