"""Which cases of a long test run in `make test`; `make test-all` runs all of them."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def only(quick: Collection[str], cases: Iterable[Any]) -> list[Any]:
    """Cases as parameters, all slow but the quick ones.

    Args:
        quick: how the quick cases read, each of which must be one of the cases.
        cases: the values of one parameter.
    """
    named = {str(case): case for case in cases}
    missing = set(quick) - set(named)
    assert not missing, f"no such case: {missing}"
    return [
        pytest.param(case, id=name, marks=() if name in quick else pytest.mark.slow)
        for name, case in named.items()
    ]
