"""A run as the package lays it out, for tests that go below `tacit.run`."""

from __future__ import annotations

from typing import Any

from tacit._engine import compiled
from tacit._engine.contract import Contract, contract
from tacit._engine.plan import Plan


def lay_out(
    problem: Any, network: Any, method: Any, rounds: int, seed: int = 0, trials: int = 1
) -> tuple[Plan, Any, Contract]:
    """The plan, one key a trial, and the contract that they were made from."""
    agreed = contract(problem, network, method, rounds=rounds, seed=seed, trials=trials)
    return *compiled.lay_out(agreed, problem), agreed
