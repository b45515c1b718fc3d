"""Which form of a formula is asked for, and numbers that formulas take."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.method.forms import as_printed, between, not_negative


def test_two_forms_and_no_other() -> None:
    assert as_printed("printed") and not as_printed("corrected")
    with pytest.raises(ConfigError, match="form='exact' must be 'printed' or 'corrected'"):
        as_printed("exact")


def test_numbers_that_are_negative_or_no_numbers() -> None:
    not_negative(a=0.0, b=np.array([0.0, 2.0]), c=[1.0])
    for bad in (-1.0, math.inf, math.nan, np.array([1.0, -1.0]), "1"):
        with pytest.raises(ConfigError, match="dose="):
            not_negative(dose=bad)


def test_the_ends_of_an_interval_are_excluded() -> None:
    between(0.0, 1.0, q=0.5)
    for bad in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(ConfigError, match=r"q=.* between 0 and 1"):
            between(0.0, 1.0, q=bad)
    with pytest.raises(ConfigError, match="q=inf"):
        between(0.0, math.inf, q=math.inf)
