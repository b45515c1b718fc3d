"""The public number that an agent's sum of losses is divided by."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax.core import Tracer

from tacit.errors import ProblemError

MOST = 2.0**53
"""Whole numbers above it are no longer distinguishable, and nobody has that many records."""


def check_normaliser(normaliser: Any) -> None:
    """Refuse a number that cannot divide a sum: sensitivities are derived from it.

    Raises:
        ProblemError: a number that is not positive or is above `MOST`.
    """
    if isinstance(normaliser, Tracer):
        return
    given = np.asarray(normaliser, dtype=np.float64)
    if not np.all((given > 0.0) & (given <= MOST)):
        wrong = given.flat[int(np.argmin((given > 0.0) & (given <= MOST)))]
        raise ProblemError(
            f"normaliser={wrong:g} must be positive and at most {MOST:.0e}: a number near that of "
            "an agent's records"
        )
