"""Calls are held to their annotations, and every public call says what is wrong with it."""

from __future__ import annotations

import copy
import importlib
import inspect
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import jax
import networkx
import numpy as np
import pytest
import scipy.sparse
from jaxtyping import Float, Int

import tacit
from tacit import DPSG, DZOA, Privacy, deploy, network, privacy, problem
from tacit.advise import Setting
from tacit.arguments import check, checked, is_checked, remedy, wanted
from tacit.errors import ConfigError, NetworkError, ProblemError, TacitError
from tacit.ranges import Count, NotNegative, Number, Numbers, One, Positive, Range, Table, Unset
from tacit.types import Unit
from tests.bad_calls import public_names
from tests.public_calls import every_call

OPEN = Annotated[float, Range(above=0.0, below=1.0)]


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (3, int),
        (np.int64(3), int),
        (3, float),
        (np.float32(3.0), float),
        (np.array(3.0), float),
        (np.bool_(True), bool),
        ([1.0, 2], Positive),
        (np.array([1.0, 2.0]), Positive),
        (0.0, NotNegative),
        (float("inf"), Number),
        (float("nan"), Unset),
        (np.eye(2), Table),
        (0.5, OPEN),
        (None, int | None),
        ("a", Literal["a", "b"]),
        (("a", "b"), Sequence[str]),
        (np.array([1, 2]), Sequence[int]),
        ({"a": 1}, Mapping[str, int]),
        ((1, 2.0), tuple[int, float]),
        (iter([1]), Iterable[int]),
        (len, Callable[..., Any]),
        (np.zeros((2, 3)), Float[np.ndarray, "n d"]),
        ([[1.0, 2.0]], Float[np.ndarray, "n d"]),
        (np.zeros(3), Float[np.ndarray, "runs ..."]),
        (Unit.RECORD, Unit),
        (object(), Any),
    ],
)
def test_what_is_asked_for_is_taken(value: Any, hint: Any) -> None:
    assert wanted(value, hint) is None


@pytest.mark.parametrize(
    ("value", "hint", "asked"),
    [
        (True, int, "a whole number"),
        (1.5, int, "a whole number"),
        ("1", float, "a number"),
        (float("nan"), float, "a number"),
        (10**400, float, "a number"),
        (1, bool, "True or False"),
        (b"", str, "text"),
        (0.0, Positive, "a positive finite number"),
        ([1.0, -1.0], Positive, "a positive finite number"),
        (float("inf"), Positive, "a positive finite number"),
        ("x", Number, "a number"),
        (-1.0, NotNegative, "at least 0 and finite"),
        ([1.0], One, "one number"),
        (np.zeros((2, 2, 2)), Table, "a number"),
        (0, Count, "at least 1"),
        (1.0, OPEN, "in (0, 1)"),
        ("c", Literal["a", "b"] | None, "'a' or 'b'"),
        ("ab", Sequence[str], "a list"),
        ([1], Sequence[str], "a list of which each is text"),
        ({}, Sequence[str], "a list"),
        ((1,), tuple[int, float], "2 values"),
        ({"a": "b"}, Mapping[str, int], "a list of which each is a whole number"),
        (int, Callable[..., Any], "give a function"),
        (np.zeros(3), Float[np.ndarray, "n d"], "an array of numbers, shape (n, d)"),
        (np.zeros(3), Int[np.ndarray, " n"], "an array of whole numbers, shape (n)"),
        ("record", Unit, "one of record, person, agent"),
        (Path, Path, "a pathlib.Path"),
        ([], int | float | None, "a number"),
        ("all", int | Range, "a whole number or Range(...)"),
    ],
)
def test_what_is_not_asked_for_is_said(value: Any, hint: Any, asked: str) -> None:
    assert wanted(value, hint) == asked


def test_what_is_known_only_while_jax_runs_is_taken() -> None:
    assert jax.jit(lambda x: x if wanted(x, Positive) is None else -x)(0.0) == 0.0


@checked(ConfigError, own="rest")
def _asked(step: Positive, rounds: Count = 1, rest: int = 0) -> tuple[Any, ...]:
    return step, rounds, rest


_several: Any = _asked
"""Of no type, as it is called with what it does not ask for."""


@checked(ConfigError)
class _Base:
    """With a subclass that is checked, too."""


class _Child(_Base):
    def __init__(self, size: int) -> None:
        self.size = size


_made: Any = _Child


def test_numbers_are_arrays_and_floats_and_nothing_else() -> None:
    seen: list[bool] = []
    jax.make_jaxpr(lambda x: seen.append(isinstance(x, Numbers)))(1.0)
    held = [isinstance(x, Numbers) for x in (1, 0.5, np.float32(1), np.ones(2), jax.numpy.ones(2))]
    assert all(held + seen) and len(seen) == 1
    assert not any(isinstance(x, Numbers) for x in (None, True, "1", np.array(["a"]), object()))


def test_a_function_is_held_to_its_annotations() -> None:
    assert _several(0.5, rounds=5.0) == (0.5, 5, 0)
    assert _several(0.5, 1, "its own check")[2] == "its own check"
    with pytest.raises(ConfigError, match="step='x' must be a number"):
        _several("x")
    with pytest.raises(ConfigError, match="rounds=0 must be at least 1"):
        _several(1.0, 0)
    with pytest.raises(ConfigError, match=r"_asked needs step; give step=... \(a number\)$"):
        _several()
    with pytest.raises(ConfigError, match="_asked has no argument 'stepp'; did you mean 'step'"):
        _several(stepp=1.0)


def test_what_a_class_does_not_define_is_told() -> None:
    class Cauchy(problem.AbstractScalarLoss):
        smooth: ClassVar[bool] = True

    with pytest.raises(ProblemError) as error:
        Cauchy()
    assert str(error.value) == (
        "Cauchy does not define the attributes convex (bool), curvature (float) and the methods "
        "derivative, encode, value; docs/extend.md has an example in full"
    )


def test_an_attribute_without_its_annotation_is_told() -> None:
    own = problem.Squared

    class Cauchy(problem.AbstractScalarLoss):
        smooth = True
        curvature = 2.0
        convex: ClassVar[bool] = False
        encode, value, derivative = own.encode, own.value, own.derivative

    with pytest.raises(ProblemError) as error:
        Cauchy()
    assert str(error.value) == (
        "Cauchy defines smooth, curvature without an annotation; write "
        "smooth: ClassVar[bool] = ..., curvature: ClassVar[float] = ..."
    )


def test_a_missing_argument_of_anything_public_is_told() -> None:
    told, raw = 0, set[type]()
    for target in {call.target for call in every_call() if is_checked(call.target)}:
        try:
            target()
        except TacitError as error:
            told += " needs " in str(error)
        except TypeError:
            raw.add(target)
    # events are made by the runtime, and their classes derive from the one that is checked
    assert told > 170 and all(issubclass(each, privacy.Event) for each in raw)


@pytest.mark.parametrize(
    ("target", "given", "said"),
    [
        (DZOA, {}, r"DZOA needs privacy; give privacy=Privacy\(...\)$"),
        (
            Privacy,
            {},
            r"Privacy needs clip; write for example Privacy\(clip=1.0, epsilon=1.0, .*\)$",
        ),
        (Privacy, {"clip": 1.0, "epsilonn": 1.0}, "argument 'epsilonn'; did you mean 'epsilon'"),
        (DPSG, {"step": 0.1, "of": 3}, "DPSG has no argument 'of'; there are step, decay"),
        (tacit.run, {"trials": 3}, r"'trials'; give runtime=Simulation\(trials=...\)"),
        (tacit.run, {"privacy": None}, "'privacy'; there are problem"),
        (privacy.GaussianRelease, {"noise": 1.0}, "GaussianRelease has no argument 'noise'"),
        (network.Graph.from_edges, {"agents": 3, "links": []}, "'links'; there are agents, edges"),
        (
            problem.Polyhedron,
            {"matrix": [[1.0]]},
            r"needs bound; write for example Polyhedron\(\[\[1.0, 1.0\], .*\[1.0, 0.0\]\)$",
        ),
        (network.ring, {}, r"ring needs agents; write for example ring\(5\)$"),
    ],
)
def test_names_of_arguments_are_told(target: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(TacitError, match=said):
        target(**given)


def test_copies_need_no_arguments() -> None:
    method = DPSG(step=0.1, privacy=Privacy(clip=1.0, epsilon=1.0))
    for one in (method, method.privacy, problem.L1(0.1), privacy.GaussianRelease(1.0)):
        copies = (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one))
        assert all(type(each) is type(one) for each in copies)


def test_a_part_in_a_wrong_place_is_told_the_right_one() -> None:
    made: Any = DPSG
    with pytest.raises(ConfigError, match=r"decay=a Privacy must be a number; it fits privacy=$"):
        made(0.3, Privacy(clip=1.0, epsilon=1.0, delta=1e-6))
    with pytest.raises(ConfigError, match=r"decay='often' must be a number$"):
        made(0.3, "often")


def test_a_subclass_is_held_to_its_own_annotations() -> None:
    assert _made(3).size == 3
    with pytest.raises(ConfigError, match="size='3' must be a whole number"):
        _made("3")


@pytest.mark.parametrize(
    ("value", "hint", "message"),
    [
        (["a", 1], Sequence[str], r"x\[1\]=1 must be text"),
        ([1.0, "b"], Positive, r"x\[1\]='b' must be a number"),
        ([1.0, -1.0], Positive | None, r"x\[1\]=-1.0 must be a positive finite number"),
        ([[1.0, 2.0], [1.0, None]], Table, r"x\[1\]\[1\]=None must be a number"),
        ([[1.0], [1.0, 2.0]], Table, "x=a list must be a number"),
        ({"a": [1], "b": "ring"}, Mapping[str, Sequence[Any]], r"x\['b'\]='ring' must be a list"),
        ((1, "b"), tuple[int, float], r"x\[1\]='b' must be a number"),
        ((1,), tuple[int, float], "x=a tuple must be 2 values"),
        ([1.5], int | Sequence[int], r"x\[0\]=1.5 must be a whole number"),
        (np.array([1.0, -1.0]), Positive, r"x=an array of shape \(2,\) must be a positive"),
    ],
)
def test_the_element_that_does_not_fit_is_named(value: Any, hint: Any, message: str) -> None:
    def asked(x: Any) -> None:
        return None

    asked.__annotations__["x"] = hint
    with pytest.raises(ConfigError, match=message):
        check(asked, [value], {}, ConfigError)


def test_of_a_class_that_a_call_makes_the_call_is_named() -> None:
    @remedy("give the result of made(...)")
    class Made:
        pass

    def asked(x: Any) -> None:
        return None

    asked.__annotations__["x"] = Made
    for value, shown in (("made", "'made'"), (Made, "the class Made")):
        with pytest.raises(ConfigError, match=rf"x is {shown}; give the result of made\("):
            check(asked, [value], {}, ConfigError)


UNCHECKED = {
    "calibration_figure": "loads the class of its argument, and JAX, when it is called",
    "roc_figure": "as calibration_figure",
    "gaussian": "the mechanism that it makes is checked",
    "laplace": "as gaussian",
    "l2_laplace": "as gaussian",
    "discrete_gaussian": "called for each release, and checks them itself",
    "discrete_laplace": "as discrete_gaussian",
    "on_grid": "called with what a mechanism was checked for",
    "check": "makes the check",
    "checked": "as check",
    "is_checked": "as check",
    "remedy": "as check",
    "wanted": "as check",
}
"""Public functions whose arguments are not held to their annotations, and why."""


def test_every_public_function_is_held_to_its_annotations() -> None:
    found: set[str] = set()
    for page in (Path(__file__).parents[2] / "docs" / "api").glob("*.md"):
        for name in re.findall(r"automodule:: (\S+)", page.read_text()):
            module = importlib.import_module(name)
            parts = {each: getattr(module, each) for each in getattr(module, "__all__", ())}
            functions = {key: each for key, each in parts.items() if inspect.isfunction(each)}
            found |= {
                key
                for key, each in functions.items()
                if inspect.signature(each).parameters and not is_checked(each)
            }
    assert found == set(UNCHECKED)


@pytest.mark.parametrize("values", ["few", pytest.param("all", marks=pytest.mark.slow)])
def test_every_public_call_says_what_is_wrong_with_it(values: str) -> None:
    """In a process without the types that the tests check at run time."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.bad_calls", values],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert ran.returncode == 0, ran.stderr
    *said, counts = map(json.loads, ran.stdout.splitlines())
    assert not said
    assert counts["clear"] > 10 * counts["taken"]


def test_every_public_name_is_called_by_the_test_above() -> None:
    called = {call.target.__name__ for call in every_call()}
    assert public_names() <= called


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("./plant {x}", r"must be a list of texts: \['./plant', '\{x\}'\]"),
        ("./plant 'x", "give a list of texts"),
        (["echo", 3], "command holds 3, which is no text; write '3'"),
        ({"echo": 3}, "command is a dict; give a list of texts"),
    ],
)
def test_a_command_is_shown_as_it_must_be_written(command: Any, message: str) -> None:
    # here, because where shapes are checked these types are refused by the checker
    with pytest.raises(ProblemError, match=message):
        problem.black_box(agents=3, command=command)


def test_a_sparse_matrix_is_made_dense_by_its_owner() -> None:
    table = scipy.sparse.csr_array(np.eye(2))
    with pytest.raises(ProblemError, match="are a sparse matrix; give its toarray"):
        problem.empirical_risk([table] * 2, [np.ones(2)] * 2, problem.Squared())


def test_what_is_made_elsewhere_is_asked_for_by_what_makes_it() -> None:
    path: Any = "run.toml"
    rows: Any = [1, 2]
    with pytest.raises(ConfigError, match="read_manifest"):
        deploy.review(path)
    with pytest.raises(ProblemError, match="empirical_risk"):
        problem.solve(rows)


@checked(ConfigError)
def placed(one: int, two: int = 2, *, three: str = "", four: int = 4) -> None:
    """Two places, and two names."""


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: tacit.DGD(0.1, 0.5, Privacy(clip=1.0, epsilon=1.0)),  # type: ignore[call-arg]
            r"DGD takes \(step, decay\) without names, and argument 3 is a Privacy; leave it out",
        ),
        (
            lambda: placed(1, 2, "a"),
            r"placed takes \(one, two\).* 3 is 'a'; give by name three=...$",
        ),
        (lambda: placed(1, 2, 0), r"argument 3 is 0; give by name four=...$"),
        (lambda: placed(1, 2, 0.5), r"0.5; give by name three=..., four=...$"),
    ],
)
def test_an_argument_without_a_place_is_named(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        call()


def test_a_function_of_any_number_of_arguments_takes_them() -> None:
    @checked(ConfigError)
    def several(one: int, *more: int) -> int:
        return len(more)

    assert several(1, 2, 3) == 2


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (network.weight_matrix, NetworkError),
        (lambda graph: Setting(100, 10, graph, Privacy(clip=1.0, epsilon=1.0)), ConfigError),
        (network.ExactSum, NetworkError),
    ],
)
def test_an_object_of_another_package_is_asked_for_converted(
    call: Callable[[Any], Any], error: type[TacitError]
) -> None:
    told = r"is a Graph; give network.Graph.from_networkx\(graph\): this one is NetworkX's"
    with pytest.raises(error, match=told):
        call(networkx.path_graph(3))
