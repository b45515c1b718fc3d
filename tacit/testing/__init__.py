"""Tests for your own parts: the requirements on tacit's own methods, losses and graphs.

Each function checks one part and raises `AssertionError` with a sentence that says what does not
hold. They work under pytest, or any other runner, without a plugin:

    def test_my_method():
        check_method(problem, network, MyMethod(step=0.1, privacy=budget))

`check_between_sites` checks a whole study, with real processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.checks import absent
from tacit.testing.claim import check_claim
from tacit.testing.method import check_method
from tacit.testing.parts import check_constraint, check_graph, check_loss, check_regulariser
from tacit.testing.sites import check_between_sites

__all__ = [
    "check_between_sites",
    "check_claim",
    "check_constraint",
    "check_graph",
    "check_loss",
    "check_method",
    "check_regulariser",
]


if not TYPE_CHECKING:  # type checkers read the names above; this would let any name pass

    def __getattr__(name: str) -> Any:
        raise absent(__name__, name, __all__)
