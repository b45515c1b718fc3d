"""The table of each page of the reference: every name of its package, with what it is.

Sphinx lists them from docstrings when the site is built; the tables are for who reads the pages in
a copy of the repository. What they say is the first sentence of each docstring.

    python docs/api_tables.py

writes them anew, after a public name or its docstring has changed.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]

_HEAD = "| name | what it is |\n|---|---|\n"
_MODULE = re.compile(
    r"(?:\| name \| what it is \|\n(?:\|.*\n)+\n)?"
    r"(```\{eval-rst\}\n\.\. automodule:: (tacit\.\w+)\n)"
)


def pages() -> dict[Path, str]:
    """Every page of a package as it has to be, by its path."""
    found: dict[Path, str] = {}
    for path in sorted((ROOT / "docs" / "api").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if block := _MODULE.search(text):
            table = _table(block[2], text)
            found[path] = text[: block.start()] + table + block[1] + text[block.end() :]
    return found


def names(module: ModuleType) -> list[str]:
    """The public names of a package; of a module without `__all__` the classes and functions."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__, key=str.casefold)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    ]


def _table(name: str, page: str) -> str:
    module = importlib.import_module(name)
    rows = [
        f"| `{each}` | {_said(getattr(module, each), each, page)} |\n" for each in names(module)
    ]
    return f"{_HEAD}{''.join(rows)}\n"


def _said(value: object, name: str, page: str) -> str:
    """The first sentence about a symbol: of its docstring, or of the page for a constant."""
    written = re.search(rf"^\.\. py:data:: {name}\n\n((?:   .+\n?)+)", page, re.MULTILINE)
    if written:
        text = written[1]
    elif inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value):
        text = inspect.getdoc(value) or ""
    else:
        text = ""
    words = " ".join(text.partition("\n\n")[0].split())
    first = re.match(r"(.*?[.:])(?= [A-Z`]|$)", words)
    return (first[1] if first else words).rstrip(".:").replace("|", "\\|")


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
