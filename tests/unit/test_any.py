"""Public parameters say what they take: at most 2 % of them are annotated `Any`.

Counted are the parameters of public functions and methods and the annotated fields of public
classes. An alias of `Any` counts as `Any`, and so do `Annotated[Any, ...]`, a union with `Any`, a
`PyTree` of jaxtyping (`Any` to type checkers) and a parameter without an annotation.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.not_quick

ROOT = Path(__file__).parents[2]
MOST = 0.02
WRAPPERS = {"Annotated", "ClassVar", "Final", "Optional", "AbstractVar", "AbstractClassVar"}


class Parameter(NamedTuple):
    """A public parameter or field."""

    place: str
    name: str
    unknown: bool


def test_at_most_two_percent_of_public_parameters_are_any() -> None:
    found = parameters(tacit())
    loose = [f"{each.place} {each.name}" for each in found if each.unknown]
    assert len(loose) <= MOST * len(found), "\n".join(loose)


def test_an_alias_is_what_it_stands_for() -> None:
    sources = {
        "house.kinds": "State: TypeAlias = Any\nNumber = Annotated[Any, 1]\nReal = float | int\n",
        "house.more": "from house.kinds import State as Held, Real\nMany = Held | None\n",
        "house.doors": "from house.more import Many, Real\n"
        "def door(a: Many, b: Real, c, *args: Any, d: list[Any] = ()): ...\n"
        "def _own(e: Any): ...\n"
        "class Room:\n"
        "    size: 'Annotated[Many, 2]'\n"
        "    _own: Any\n"
        "    def enter(self, key: Real, name: Any | None): ...\n"
        "    @staticmethod\n"
        "    def leave(by: Many): ...\n",
        "house._own": "def door(a: Any): ...\n",
    }
    found = {each.name: each.unknown for each in parameters(sources)}
    loose = {"a", "c", "args", "size", "name", "by"}
    assert found == {name: name in loose for name in [*"abcd", "args", "size", "key", "name", "by"]}


def tacit() -> dict[str, str]:
    """The text of every module by name."""
    files = sorted((ROOT / "tacit").rglob("*.py"))
    names = (".".join(each.relative_to(ROOT).with_suffix("").parts) for each in files)
    return {
        name.removesuffix(".__init__"): each.read_text()
        for name, each in zip(names, files, strict=True)
    }


def parameters(sources: Mapping[str, str]) -> list[Parameter]:
    """The public parameters of modules."""
    trees = {name: ast.parse(text) for name, text in sources.items()}
    aliases = aliases_of_any(trees)
    return [
        Parameter(f"{module}:{line}", name, unknown(note, aliases[module]))
        for module, tree in trees.items()
        if all(map(public, module.split(".")))
        for line, name, note in annotated(tree.body)
    ]


def public(name: str) -> bool:
    """Whether a name is meant for everybody."""
    return not name.startswith("_") or name.endswith("__")


def annotated(
    body: list[ast.stmt], within: bool = False
) -> Iterator[tuple[int, str, ast.expr | None]]:
    """Line, name and annotation of what public functions and classes take."""
    for each in body:
        match each:
            case ast.ClassDef(name=name, body=inner) if public(name):
                yield from annotated(inner, within=True)
            case ast.FunctionDef(name=name) if public(name):
                bound = within and "staticmethod" not in map(ast.unparse, each.decorator_list)
                given = each.args
                places = [*given.posonlyargs, *given.args][int(bound) :]
                for one in [*places, given.vararg, *given.kwonlyargs, given.kwarg]:
                    if one is not None:
                        yield one.lineno, one.arg, one.annotation
            case ast.AnnAssign(target=ast.Name(id=name)) if within and public(name):
                yield each.lineno, name, each.annotation
            case ast.If():
                yield from annotated([*each.body, *each.orelse], within)


def unknown(note: ast.expr | None, aliases: set[str]) -> bool:
    """Whether an annotation is `Any` to a type checker."""
    match note:
        case None:
            return True
        case ast.Constant(value=str(text)):
            return unknown(ast.parse(text, mode="eval").body, aliases)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in aliases
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return unknown(left, aliases) or unknown(right, aliases)
        case ast.Subscript(value=kind, slice=inner):
            name = ast.unparse(kind).rpartition(".")[2]
            first = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
            return name in aliases or (name in WRAPPERS and unknown(first, aliases))
    return False


def aliases_of_any(trees: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """The names that mean `Any` in every module: one alias may stand on another."""
    known = {module: {"Any", "PyTree"} for module in trees}
    size = 0
    while size != sum(map(len, known.values())):
        size = sum(map(len, known.values()))
        for module, tree in trees.items():
            for each in ast.walk(tree):
                match each:
                    case ast.ImportFrom(module=str(home), names=names) if home in known:
                        known[module] |= {
                            one.asname or one.name for one in names if one.name in known[home]
                        }
                    case (
                        ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value)
                        | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                    ) if not isinstance(value, ast.Constant) and unknown(value, known[module]):
                        known[module].add(name)
    return known
