"""Numbers that are too large to square."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import problem
from tacit.errors import ProblemError


def test_features_that_are_too_large_to_square_are_told() -> None:
    rng = np.random.default_rng(0)
    features = [1e200 * rng.normal(size=(5, 2)) for _ in range(3)]
    task = problem.empirical_risk(features, [rng.normal(size=5)] * 3, problem.Squared())
    with pytest.raises(ProblemError, match="too large to square"):
        problem.solve(task)
