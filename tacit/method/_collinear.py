"""Columns that say nothing of their own in these records, named where no noise hides them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from tacit.method._glm_steps import ROUNDING
from tacit.method.answer import Refused

_PART = 0.05
"""Least part in the direction without information, over the largest one, of a column in it."""


def least_of(matrix: Float[np.ndarray, "d d"], size: float) -> float:
    """Smallest eigenvalue of an information; 0 where it is no more than rounding.

    Args:
        matrix: the information.
        size: size of the numbers that it was computed from.
    """
    least = float(np.linalg.eigvalsh(matrix)[0])
    return least if least > ROUNDING * max(size, 1.0) else 0.0


def collinear(matrix: Float[np.ndarray, "d d"], names: Sequence[str], outputs: int = 1) -> Refused:
    """Which columns the records do not tell apart, where the information is singular.

    Args:
        matrix: the information, without noise, by scaled columns and outputs.
        names: names of the columns, that of an intercept `Intercept`.
        outputs: number of outputs.
    """
    direction = np.linalg.eigh(matrix)[1][:, 0]
    parts = np.linalg.norm(direction.reshape(len(names), outputs), axis=1)
    named = [
        name
        for name, part in zip(names, parts, strict=True)
        if part > _PART * parts.max() and name != "Intercept"
    ]
    rare = ", or hardly any record has some level" if outputs > 1 else ""
    if len(named) == 1:
        return Refused(f"column {named[0]} is constant in these records{rare}", "leave it out")
    return Refused(
        f"columns {', '.join(named)} are constant or collinear in these records{rare}",
        "leave out those that follow from the others",
    )
