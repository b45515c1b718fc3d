"""A distributed support vector machine: clinics train one classifier, and no patient is exposed.

Clinic `k` has patients with features `u_kj` and a diagnosis `v_kj` in {-1, +1}. Over a ring of
neighbours they fit the linear classifier of

    min_x sum_k (1/N_k) sum_j max(0, 1 - v_kj u_kj' x) + K * strength ||x||^2.

The hinge has a kink, so DPSG takes subgradients: each patient's is clipped to the norm that the
bound on the features implies, and noised before anything leaves the clinic.

    python examples/support_vector_machine.py --epsilon 1
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

import tacit
from tacit import Privacy, network, problem
from tacit.method import DPSG

STRENGTH = 0.01
"""Of the penalty, for each clinic."""

ROW = 2.0
"""Largest l2 norm of a patient's features, the constant 1 of the intercept included."""

Clinics = tuple[list[Float[np.ndarray, "n d"]], list[Float[np.ndarray, " n"]]]
"""Features and diagnoses, one table a clinic."""


def patients(clinics: int, each: int, seed: int) -> Clinics:
    """Two clouds of patients in 4 dimensions that overlap a little, split over clinics.

    Args:
        clinics: how many.
        each: patients a clinic.
        seed: of the records.
    """
    rng = np.random.default_rng(seed)
    sides = [rng.choice([-1.0, 1.0], each) for _ in range(clinics)]
    clouds = [0.4 * rng.standard_normal((each, 4)) + 0.35 * side[:, None] for side in sides]
    return clouds, sides


def machine(data: Clinics) -> problem.Problem:
    """The problem of fitting one machine to all clinics' patients.

    Args:
        data: one table a clinic; a row beyond `ROW` is scaled down to it.
    """
    features, diagnoses = data
    return problem.empirical_risk(
        features,
        diagnoses,
        problem.Hinge(),
        problem.L2(STRENGTH * len(features)),
        intercept=True,
        bounds=problem.RecordBounds(row=ROW, beyond="clip"),
    )


def train(data: Clinics, epsilon: float, *, rounds: int = 100, seed: int = 0) -> tacit.Result:
    """Fit the machine over a ring of clinics.

    Args:
        data: one table a clinic.
        epsilon: of every patient, for the whole run at delta = 1e-6; positive.
        rounds: of the run.
        seed: of the simulated noise.
    """
    task = machine(data)
    method = DPSG(step=0.5, decay=0.5, privacy=Privacy(clip=np.inf, epsilon=epsilon, delta=1e-6))
    ring = network.ring(task.agents)
    return tacit.run(task, ring, method, rounds=rounds, seed=seed, require="proved")


def accuracy(x: Float[np.ndarray, " p"], data: Clinics) -> float:
    """Share of patients on the right side.

    Args:
        x: weights, the intercept last.
        data: one table a clinic.
    """
    features, diagnoses = (np.concatenate(part) for part in data)
    return float(np.mean((features @ x[:-1] + x[-1]) * diagnoses > 0))


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw patients, train, and print accuracies on new patients and what was promised."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--clinics", type=int, default=6)
    parser.add_argument("--patients", type=int, default=500)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    given: Any = parser.parse_args(arguments)
    data = patients(given.clinics, given.patients, given.seed)
    new = patients(given.clinics, 2000, given.seed + 1)
    result = train(data, given.epsilon, seed=given.seed)
    best = problem.solve(machine(data)).solution
    print(f"accuracy without privacy {accuracy(best, new):.3f}")
    print(f"accuracy with privacy    {accuracy(result.solution, new):.3f}")
    print(result.guarantee.sentence())


if __name__ == "__main__":
    main()
