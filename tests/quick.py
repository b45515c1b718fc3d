"""Which cases of a test run in `make test`; `make long` or `make test-all` runs the others."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def only(
    quick: Collection[str], cases: Iterable[Any], others: pytest.MarkDecorator = pytest.mark.slow
) -> list[Any]:
    """Cases as parameters, all marked but the quick ones.

    Args:
        quick: how the quick cases read, each of which must be one of the cases.
        cases: the values of one parameter.
        others: what the other cases are, slow or long.
    """
    named = {str(case): case for case in cases}
    missing = set(quick) - set(named)
    assert not missing, f"no such case: {missing}"
    return [
        pytest.param(case, id=name, marks=() if name in quick else others)
        for name, case in named.items()
    ]
