"""Classes of a target: declared, or read off the records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Shaped

from tacit import checks
from tacit.errors import ConfigError


def classes_of(
    labels: Shaped[np.ndarray, " n"], given: Sequence[object] | None, only_two: bool = False
) -> tuple[Shaped[np.ndarray, " c"], str]:
    """The classes, and what of them was read off the records, in words.

    Those of truth values are false and true, whatever the records hold.

    Args:
        labels: class of each record, shape `(n,)`.
        given: all classes, if they are declared.
        only_two: whether more than two are refused.

    Raises:
        ConfigError: declared classes that are no classes.
        ValueError: records with another class, or with one only.

    Example:
        >>> classes_of(np.array(["b", "a", "b"]), None)
        (array(['a', 'b'], dtype='<U1'), 'classes a, b')
    """
    found = np.unique(labels)
    if given is None and found.dtype == bool:
        return np.array([False, True]), ""
    if given is None:
        if len(found) < 2:
            raise ValueError(
                f"y holds one class only, {found.tolist()}; declare all, as in classes=[0, 1]"
            )
        return found, f"classes {', '.join(map(str, found))}"
    classes = np.asarray(given)
    distinct = len(np.unique(classes)) if classes.ndim == 1 else 0
    if distinct < max(2, len(classes) if classes.ndim else 0) or (only_two and distinct > 2):
        wanted = "two different" if only_two else "two or more different"
        raise ConfigError(f"classes={checks.shown(given)} must be {wanted} classes")
    if not np.isin(found, classes).all():
        raise ValueError(
            f"y holds {found.tolist()}, which are not all in classes={classes.tolist()}; declare "
            "every class"
        )
    return classes, ""
