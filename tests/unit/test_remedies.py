"""What a message tells a user to write exists: options, commands, keywords, classes, extras."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import BaseModel

import tacit
from tacit.cli import app
from tacit.data.feature import FEATURES
from tacit.data.target import TARGETS
from tacit.study._sections import data

pytestmark = pytest.mark.not_quick

ROOT = Path(tacit.__file__).parents[1]
_BLANK = "\N{WHITE SQUARE}"
"""In the place of a value that a message fills in."""


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or _BLANK for part in node.values)
    return None


class _Texts(ast.NodeVisitor):
    """All texts of a module but its docstrings."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        self._take(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._take(node)

    def _take(self, node: ast.expr) -> None:
        text = _text(node)
        if text and " " in text:
            self.found.append((node.lineno, text))


@cache
def _trees() -> tuple[tuple[str, ast.Module], ...]:
    paths = sorted((ROOT / "tacit").rglob("*.py"))
    return tuple((str(path.relative_to(ROOT)), ast.parse(path.read_bytes())) for path in paths)


def _texts() -> Iterator[tuple[str, str]]:
    for path, tree in _trees():
        visitor = _Texts()
        visitor.visit(tree)
        for line, text in visitor.found:
            yield f"{path}:{line}", text


def _named() -> tuple[dict[str, set[str]], set[str]]:
    """Classes and functions with their parameters, and all names of parameters and fields."""
    callables: dict[str, set[str]] = {}
    bases: dict[str, list[str]] = {}
    for _, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                callables.setdefault(node.name, set()).update(_parameters(node))
            elif isinstance(node, ast.ClassDef):
                own = callables.setdefault(node.name, set())
                bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
                for part in node.body:
                    if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                        own.add(part.target.id)
                    if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                        own.update(_parameters(part))
    for name in bases:
        callables[name] |= _inherited(name, bases, callables)
    return callables, set().union(*callables.values())


def _inherited(name: str, bases: Any, callables: Any) -> set[str]:
    found = set(callables.get(name, ()))
    for base in bases.get(name, ()):
        found |= _inherited(base, bases, callables)
    return found


def _parameters(node: ast.FunctionDef) -> set[str]:
    given = node.args
    return {arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from _commands(command, (*path, name))


COMMANDS = dict(_commands(typer.main.get_command(app)))


def test_options_exist() -> None:
    known = {"--help"}
    for command in COMMANDS.values():
        for parameter in command.params:
            known.update(parameter.opts, parameter.secondary_opts)
    wrong = [
        (where, option)
        for where, text in _texts()
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)
        if option not in known and not option.startswith(("--xla", "--n", "--worker"))
    ]
    assert not wrong


def test_commands_exist_and_take_the_options_that_they_are_given() -> None:
    wrong = []
    for where, text in _texts():
        for quoted in re.findall(r"`?tacit ((?:[a-z-]+ ?)+[^`.;:]*)", text):
            words = quoted.split()
            path: tuple[str, ...] = ()
            for word in words:
                if (*path, word) not in COMMANDS:
                    break
                path = (*path, word)
            marked = f"`tacit {words[0]}" in text
            if marked and not path:
                wrong.append((where, quoted))
            elif marked and f"`tacit {quoted}`" in text:
                options = {opt for each in COMMANDS[path].params for opt in each.opts} | {"--help"}
                given = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", quoted))
                if given - options or (
                    hasattr(COMMANDS[path], "commands") and len(words) > len(path)
                ):
                    wrong.append((where, quoted))
    assert not wrong


def test_keywords_and_classes_exist() -> None:
    callables, names = _named()
    wrong = []
    for where, text in _texts():
        for called, inside in re.findall(r"\b([A-Z][a-z]+[A-Za-z]*)\(([a-z_]+=[^)]*)\)?", text):
            given = set(re.findall(r"\b([a-z_]+)=", inside))
            if called not in callables or given - callables[called]:
                wrong.append((where, called, given))
        wrong += [(where, name) for name in _keywords(text) if name not in names]
        wrong += [
            (where, name)
            for name in re.findall(r"\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+\b", text)
            if name not in callables and name not in _FOREIGN
        ]
    assert not wrong


_FOREIGN = {
    *(
        "ClassVar",
        "DataFrame",
        "NaN",
        "NetworkX",
        "RandomState",
        "ReadWritePaths",
        "SciPy",
        "ObjT",
        "ObjP",
    ),
}


def _keywords(text: str) -> list[str]:
    """What a message asks for: "set decimal=','"."""
    verbs = "give|set|use|declare|with|choose|add|raise|lower|pass"
    return re.findall(rf"\b(?:{verbs})\s+([a-z][a-z_]+) ?=", text)


def test_what_is_asked_for_about_a_table_is_a_key_of_a_study() -> None:
    known = {name for model in _models(data) for name in model.model_fields}
    kinds = [*FEATURES.values(), *TARGETS.values()]
    known |= {name for kind in kinds for name in inspect.signature(kind).parameters}
    files = ("columns", "csv_files", "dates", "excel", "feature", "loaders", "rewriting", "rules")
    files += ("missing", "schema", "table", "target")
    asked = [
        (where, name)
        for where, text in _texts()
        if where.startswith(tuple(f"tacit/data/{file}.py" for file in files))
        for name in _keywords(text)
    ]
    assert {"decimal", "encoding", "separator"} <= known
    assert {"decimal", "separator", "missing"} <= {name for _, name in asked}
    assert not [(where, name) for where, name in asked if name not in known]


def _models(module: Any) -> list[type[BaseModel]]:
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type)]
    return [kind for kind in kinds if issubclass(kind, BaseModel)]


def test_extras_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    found = [(where, e) for where, text in _texts() for e in re.findall(r"tacit\[(\w+)\]", text)]
    assert found and all(extra in extras for _, extra in found), found
