"""What third-party parts of a problem state of themselves.

They are tried on made-up numbers where a problem is made (`foreign_loss`, `foreign_maps`): a wrong
answer would otherwise be found deep inside JAX or, as that of a loss which mixes records, never.
Nothing there sees a record, and tacit's own classes, which are tested, are not tried.
"""

from __future__ import annotations

import jax
import numpy as np
from jax.core import Tracer

from tacit import checks
from tacit.arguments.own import is_own
from tacit.errors import ProblemError
from tacit.ranges import numeric


def foreign(part: object) -> bool:
    """Whether the class of a part is not tacit's own."""
    return not is_own(type(part))


def check_flag(part: object, flag: str) -> None:
    """Refuse an attribute that is neither True nor False.

    Args:
        part: part of a problem.
        flag: name of the attribute.

    Raises:
        ProblemError: something else.
    """
    value = getattr(part, flag)
    if not isinstance(value, bool | np.bool_):
        raise ProblemError(
            f"{type(part).__name__}.{flag} is {checks.shown(value)}; it must be True or False"
        )


def check_bound(called: str, value: object) -> None:
    """Refuse a bound that is no number of at least 0; infinity is one.

    Args:
        called: class and attribute or method.
        value: what it states.

    Raises:
        ProblemError: something else.
    """
    number = np.asarray(value)
    if number.ndim or not numeric(value) or not number >= 0.0:
        raise ProblemError(
            f"{called} is {checks.shown(value)}; it must be one number of at least 0, math.inf "
            "where there is no bound"
        )


def is_traced(*parts: object) -> bool:
    """Whether JAX knows a number in the parts only while it traces."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(parts))
