"""Arrays as scikit-learn takes them, refused in words that tell what to do and show no record."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Shaped
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from tacit import checks
from tacit.errors import ConfigError

_REMEDIES = {
    "Expected 2D array": "Reshape your data to one row per record: X.reshape(-1, 1) of one column",
    "Complex data": "give real numbers",
    "contains NaN": "fill in or leave out records that lack a value before",
    "contains infinity": "put finite numbers there, or leave such records out before",
    "could not convert": "X and y must be numbers; encode text and categories as numbers before",
    "inconsistent numbers": "X and y need one entry for each record",
    "minimum of": "give more records",
}
"""What to do, by what scikit-learn says; some of its words are asked for by its own checks."""


def validated(estimator: BaseEstimator, X: Any, *y: Any, **options: Any) -> Any:
    """`X` as numbers, or `X` and `y`, by the rules of scikit-learn.

    Args:
        estimator: estimator whose arguments they are.
        X: records, shape `(n, n_features)`.
        y: target of each record, shape `(n,)`, or nothing.
        options: options of `validate_data`.

    Raises:
        ValueError: what scikit-learn refuses.
    """
    try:
        return validate_data(estimator, X, *y, dtype=np.float64, **options)
    except ValueError as error:
        said = str(error).partition("\n")[0].rstrip(":.")
        for words, remedy in _REMEDIES.items():
            if words in said:
                # which text could not be converted is a record's
                text = remedy if words == "could not convert" else f"{said}: {remedy}"
                raise ValueError(text) from None
        raise


def numbers_of(y: Shaped[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The target of each record as numbers.

    Args:
        y: target of each record, as `validated` returns it.

    Raises:
        ValueError: text.
    """
    try:
        return y.astype(float)
    except ValueError:
        raise ValueError(_REMEDIES["could not convert"]) from None


def sites_of(groups: Any, records: int) -> Shaped[np.ndarray, " n"]:
    """The site of each record.

    Args:
        groups: what was given for them.
        records: number of records.

    Raises:
        ConfigError: anything but one site for each record.
    """
    found = np.asarray(groups)
    if found.ndim != 1:
        raise ConfigError(
            f"groups is {checks.shown(groups)}; give the site of each of the {records} records, as "
            "one list"
        )
    if found.dtype.kind == "f" and (np.isfinite(found) & (found != np.floor(found))).any():
        raise ConfigError(
            "groups holds numbers that are not whole, as weights of samples are, which are not "
            "taken; give the name or the number of the site of each record"
        )
    if len(found) != records:
        raise ConfigError(
            f"groups has {len(found)} entries and X {records} records; give the site of each record"
        )
    return found
