"""Answers of functions that users write are held to what is asked of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.arguments.answers import answer, array_of, naming_progress, number, numbers_only
from tacit.errors import ConfigError, PrivacyError


def ask(function: Callable[..., Any], **how: Any) -> Any:
    return answer(function, 1, 2, named="f", takes="one, two", **how)


def test_an_answer_that_fits_is_given_back() -> None:
    assert ask(lambda one, two: one + two) == 3
    assert ask(max) == 2


@pytest.mark.parametrize(
    ("function", "taken"), [(lambda: 1, r"\(\)"), (lambda a, b, c: 1, r"\(a, b, c\)")]
)
def test_a_function_of_other_arguments_is_told_them(
    function: Callable[..., Any], taken: str
) -> None:
    with pytest.raises(PrivacyError, match=rf"^f takes {taken}, and is called with \(one, two\);"):
        ask(function, error=PrivacyError)


def test_an_error_of_its_own_passes() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        ask(lambda one, two: one + None)


FITTING = [
    (array_of([2]), np.zeros(2)),
    (array_of([2]), [1.0, 2]),
    (array_of([None, 2]), jnp.zeros((3, 2))),
    (array_of([]), 1),
    (numbers_only("a state"), None),
    (numbers_only("a state", "give one"), {"x": (1.0, np.zeros(2, bool), jax.random.key(0))}),
    (number("give one"), np.float32(0.5)),
    (number("give one"), float("inf")),
    (number("give one", zero=True), 0),
    (number("give one", whole=True), 3.0),
]
WRONG = [
    (array_of([2]), None, r"gives None; give numbers, shape \(2,\)$"),
    (array_of([2]), np.zeros((2, 1)), r"an array of shape \(2, 1\); give"),
    (array_of([2], ": as x0"), [1.0, [2.0]], r"a list; give numbers, shape \(2,\): as x0$"),
    (array_of([None]), np.zeros(2, complex), r"shape \(2,\); give numbers, shape \(n,\)"),
    (array_of([]), "0.5", r"text; give a number, shape \(\)"),
    (array_of([2]), 0.25, "gives a number; give numbers"),
    (numbers_only("a state", "give one"), None, "None; give one"),
    (numbers_only("a state"), {"x": "y"}, "a dict; it holds text, and a state consists of arrays"),
    (numbers_only("a state"), np.array(["y"]), "a state consists of arrays and numbers"),
    (number("give one"), 0.0, "gives 0.0; give one"),
    (number("give one", zero=True), -1.0, "gives -1.0; give one"),
    (number("give one", zero=True), float("nan"), "gives nan; give one"),
    (number("give one"), True, "gives True; give one"),
    (number("give one"), np.ones(2), "give one"),
    (number("give one", whole=True), 2.5, "gives 2.5; give one"),
]


@pytest.mark.parametrize(("fits", "value"), FITTING)
def test_what_fits(fits: Callable[[Any], str], value: Any) -> None:
    assert ask(lambda one, two: value, fits=fits) is value


@pytest.mark.parametrize(("fits", "value", "told"), WRONG)
def test_what_does_not_fit(fits: Callable[[Any], str], value: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        ask(lambda one, two: value, fits=fits, public=fits.__qualname__.startswith("number."))


def test_a_traced_number_is_not_known() -> None:
    def traced(x: Any) -> Any:
        return ask(lambda one, two: x, fits=number("give one"))

    with pytest.raises(ConfigError, match="give one"):
        jax.eval_shape(traced, 1.0)
    assert jax.eval_shape(lambda x: ask(lambda one, two: x, fits=array_of([2])), np.ones(2))


def test_progress_that_fails_is_named_with_its_arguments() -> None:
    seen: list[Any] = []
    naming_progress(lambda *each: seen.append(each), "task, steps", ConfigError)("a", 1)
    assert seen == [("a", 1)]
    told = r"told raised TypeError.*called with \(task, steps\), here \('a', 1\)"
    with pytest.raises(ConfigError, match=told):
        naming_progress(lambda: None, "task, steps", ConfigError, "told")("a", 1)
