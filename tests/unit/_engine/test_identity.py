"""What a fingerprint sees, and what it says that it cannot see."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import problem
from tacit._engine.environment import source_digest
from tacit._engine.identity import fingerprint, opaque
from tacit.privacy.sensitivity import ClippedGradient
from tacit.problem import Logistic
from tests.conformance.table import Row, plain_rows, task
from tests.laid_out import lay_out


def test_the_fingerprint_sees_every_setting() -> None:
    prints = {
        fingerprint(method)
        for method in (
            tacit.DGD(step=0.1),
            tacit.DGD(step=0.2),
            tacit.DGD(step=0.1, decay=0.5),
            tacit.GradientDescent(step=0.1),
        )
    }
    assert len(prints) == 4
    assert fingerprint(tacit.DGD(step=0.1)) in prints


def test_the_fingerprint_sees_every_entry_of_a_long_array() -> None:
    """Where NumPy prints an array of 5,000 entries it leaves most of them out."""
    one = np.zeros(5000)
    other = one.copy()
    other[2500] = 1.0
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint((1.0, "a")) != fingerprint((1.0, "b"))
    assert fingerprint(("ab", "c")) != fingerprint(("a", "bc"))
    assert fingerprint(jax.random.key(1)) != fingerprint(jax.random.key(2))


def test_the_fingerprint_sees_the_source_of_tacit(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(1)
    monkeypatch.setattr("tacit._engine.identity.source_digest", lambda: "of an edited checkout")
    assert fingerprint(1) != before
    assert len(source_digest()) == 64


@plain_rows
def test_runs_of_tacits_own_parts_are_seen_whole(row: Row) -> None:
    with jax.enable_x64(True):
        plan = lay_out(task(0), row.network, row.method, 3, 1)[0]
    assert not opaque(plan)


def test_the_fingerprint_sees_what_code_of_others_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_helper.py").write_text("SCALE = 1.0")
    text = "import own_helper\nfrom tacit.problem import Logistic\nclass Mine(Logistic): pass"
    (tmp_path / "own_loss.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    mine = importlib.import_module("own_loss").Mine()
    before, plain = fingerprint(mine), fingerprint(Logistic())
    assert fingerprint(mine) == before
    (tmp_path / "own_helper.py").write_text("SCALE = 2.0")
    assert fingerprint(mine) != before and fingerprint(Logistic()) == plain


class Own(Logistic):
    smooth: ClassVar[bool] = True


class Counter:
    """An object whose attributes say nothing of what it does."""

    def __call__(self, x: Any) -> Any:
        return x


class Holder(eqx.Module):
    inner: Any

    def ask(self) -> None:
        """A method, found through an instance."""


def _local() -> Callable[[float], float]:
    return lambda x: x


@pytest.mark.parametrize(
    "part",
    [
        Own(),
        Counter(),
        _local(),
        math.sqrt,
        jnp.tanh,
        np.random.default_rng(0),
        Holder(Logistic()),
        Holder(Logistic()).ask,
        functools.partial(_local),
        problem.JaxLoss(lambda x, row, target: jnp.sum(row * x) - target, 3),
        type("Inbox", (), {"__module__": "tacit.types"})(),
    ],
    ids=lambda part: type(part).__name__,
)
def test_code_of_others_is_named_as_unseen_wherever_it_stands(part: Any) -> None:
    assert opaque(part)
    assert opaque({"deep": [(Logistic(), part)]})
    objects = np.empty(1, dtype=object)
    objects[0] = part
    assert opaque(objects)


def test_a_value_that_contains_itself_ends() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    assert not opaque(loop) and fingerprint(loop) == fingerprint(loop)


def test_a_method_of_tacit_that_was_replaced_is_no_longer_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not opaque(problem.Logistic())
    usual = problem.Logistic.derivative
    monkeypatch.setattr(problem.Logistic, "derivative", lambda self, s, t: -usual(self, s, t))
    assert opaque(problem.Logistic())


def test_a_call_of_tacit_that_was_replaced_is_no_longer_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = ClippedGradient(lambda state: state, 1.0)
    assert not opaque(type(query))
    usual = ClippedGradient.__call__
    monkeypatch.setattr(ClippedGradient, "__call__", lambda self, *asked: -usual(self, *asked))
    assert opaque(type(query))
