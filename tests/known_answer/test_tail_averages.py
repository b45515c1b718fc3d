"""The answer of every private star method can be the mean of the second half of its iterates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import GradientDescent, Privacy, network, problem
from tacit.method import DPADMM, DPIADMMProx, DPIADMMTrust, OutP
from tests.quick import only

NOISE = Privacy(clip=1.0, noise_multiplier=1.0)
METHODS: dict[str, Any] = {
    "gradient-descent": GradientDescent(step=0.3, privacy=NOISE),
    "dp-admm": DPADMM(privacy=NOISE),
    "dp-iadmm-prox": DPIADMMProx(privacy=NOISE),
    "dp-iadmm-trust": DPIADMMTrust(penalty=4.0, privacy=NOISE),
    "outp": OutP(privacy=NOISE),
}


def noisy() -> Any:
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(30, 3)) for _ in range(4)]
    return problem.empirical_risk(rows, [x @ [1.0, -1.0, 0.5] for x in rows], problem.Squared())


@pytest.mark.long
@pytest.mark.parametrize("name", only(("gradient-descent", "dp-admm"), METHODS))
def test_the_average_is_that_of_the_second_half(name: str) -> None:
    method, task, star = METHODS[name], noisy(), network.Coordinator(4)
    rounds = 6

    def answer(asked: Any, length: int) -> Any:
        return tacit.run(task, star, asked, rounds=length, seed=0, record=[]).solution

    iterates = [answer(method, length) for length in range(rounds // 2 + 1, rounds + 1)]
    averaged = answer(replace(method, average=True), rounds)
    np.testing.assert_allclose(averaged, np.mean(iterates, axis=0), rtol=1e-12)
    assert np.linalg.norm(averaged - iterates[-1]) > 1e-3
