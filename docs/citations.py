"""From equations to code: every `Source:` of tacit's docstrings, checked and made into tables.

A source is one sentence, with a semicolon between citations and nothing else in it:

    Source: Gratton et al. (2021), section V-A, eq (26); Gratton et al. (2020), section V, eq (30).

Papers are those of `tacit/papers/papers.toml`. The title may follow the paper, and another section
of the same paper a semicolon. Where a paper's text was at hand, a citation names a section and what
is numbered there; of other papers it names at least one place. Everything else stands in other
sentences.

    python docs/citations.py

prints every source that is not like that, and every one whose symbol no test uses.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

_KINDS = (
    *("section", "appendix", "algorithm", "assumption", "condition", "corollary", "definition"),
    *("eq", "example", "figure", "lemma", "proposition", "remark", "table", "theorem"),
)
_PLURALS = {"corollaries": "corollary", "lemmata": "lemma"}
_LABEL = r"\(?[A-Z0-9][A-Za-z0-9.-]*\)?"
_PLACE = re.compile(rf"(?:({'|'.join(_KINDS)})s?\b ?)?({_LABEL})?(?: to \(?(\d+)\)?)?")
_SOURCE = re.compile(r"(?<![\w'\"`])Sources?: (.*?)\.(?=\s+[A-Z`*]|\s*$)")


class CitationError(ValueError):
    """A source that does not say where."""


@dataclass(frozen=True)
class Paper:
    """One that is cited.

    Attributes:
        cite: its name in citations.
        authors: all of them.
        title: as printed.
        key: its name on the page of errata, or nothing.
        contents: what is numbered in each section; empty where the text was not at hand.
    """

    cite: str
    authors: str
    title: str
    key: str
    contents: dict[str, list[str]]


@dataclass(frozen=True)
class Citation:
    """Sections of a paper, and what stands in them."""

    paper: Paper
    sections: list[str]
    places: list[str]

    def rows(self) -> Iterator[tuple[str, str]]:
        """Every section with every place of it."""
        if not self.paper.contents:
            for place in self.places or [""]:
                yield ", ".join(self.sections), place
        for section in self.sections if self.paper.contents else []:
            listed = self.paper.contents[section]
            yield from ((section, p) for p in self.places if numbered(p) in listed)
            if not self.places:
                yield section, ""


@dataclass(frozen=True)
class Source:
    """What a docstring cites."""

    symbol: str
    file: Path
    line: int
    text: str


def papers() -> dict[str, Paper]:
    """All papers by the name that citations give them."""
    listed = tomllib.loads((ROOT / "tacit" / "papers" / "papers.toml").read_text("utf-8"))["paper"]
    return {
        entry["cite"]: Paper(
            entry["cite"],
            entry["authors"],
            entry["title"],
            entry.get("key", ""),
            {name: places(text) for name, text in entry.get("contents", {}).items()},
        )
        for entry in listed
    }


def places(text: str) -> list[str]:
    """`eqs (7) to (9), algorithm 1` as `eq (7)`, `eq (8)`, `eq (9)`, `algorithm 1`.

    Raises:
        CitationError: something else than places.
    """
    found: list[str] = []
    kind = ""
    for piece in filter(None, text.split(", ")):
        for plural, singular in _PLURALS.items():
            piece = piece.replace(plural, singular)
        match = _PLACE.fullmatch(piece)
        kind = (match and match[1]) or kind
        if not match or not kind or not (match[2] or kind == "appendix"):
            raise CitationError(f"{piece!r} is not a place such as 'section IV-A' or 'eq (8)'")
        label = match[2] or ""
        first = label.strip("()")
        labels = [label]
        if match[3]:
            numbers = range(int(first), int(match[3]) + 1)
            labels = [label.replace(first, str(number)) for number in numbers]
        found += [f"{kind} {each}".strip() for each in labels]
    return found


def citations(text: str, known: dict[str, Paper]) -> list[Citation]:
    """The citations of a source.

    Raises:
        CitationError: naming what is wrong.
    """
    found: list[Citation] = []
    paper = None
    for part in text.split("; "):
        cited = next((known[name] for name in known if f"{part},".startswith(f"{name},")), None)
        rest = part
        if cited:
            rest = rest.removeprefix(cited.cite).removeprefix(", ").removeprefix(cited.title)
        paper = cited or paper
        if paper is None:
            raise CitationError(f"{part!r} begins with no paper of tacit/papers/papers.toml")
        named = places(rest.removeprefix(", "))
        if not named:
            raise CitationError(f"{paper.cite} without a place")
        found.append(_located(paper, named))
    return found


def _located(paper: Paper, named: list[str]) -> Citation:
    """The citation, if the paper has those places there."""
    sections = [place for place in named if place.startswith(("section", "appendix"))]
    rest = [place for place in named if place not in sections]
    if not paper.contents:
        return Citation(paper, sections, rest)
    if not sections:
        raise CitationError(f"{paper.cite}: {', '.join(rest)} of which section?")
    for section in sections:
        if section not in paper.contents:
            raise CitationError(f"{paper.cite} has no {section}")
    there = [place for section in sections for place in paper.contents[section]]
    for place in rest:
        if numbered(place) not in there:
            raise CitationError(f"{paper.cite}: {place} is not in {', '.join(sections)}")
    if not rest and any(not place.startswith(("figure", "table")) for place in there):
        raise CitationError(f"{paper.cite}, {sections[0]}: which equation or statement of it?")
    return Citation(paper, sections, rest)


def numbered(place: str) -> str:
    """What a place is listed under: eq (6b) is a part of eq (6)."""
    return re.sub(r"^(eq \(\d+)[a-z]\)$", r"\1)", place)


def sources(package: Path = ROOT / "tacit") -> list[Source]:
    """Every `Source:` of a package's docstrings."""
    return [
        Source(symbol, file, line, match[1])
        for file in sorted(package.rglob("*.py"))
        for symbol, line, docstring in _docstrings(file, package.parent)
        for paragraph in inspect.cleandoc(docstring).split("\n\n")
        for match in _SOURCE.finditer(" ".join(paragraph.split()))
    ]


def _docstrings(file: Path, root: Path) -> Iterator[tuple[str, int, str]]:
    """The docstrings of a file, with the symbols that they describe."""
    module = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")

    def inside(body: list[ast.stmt], name: str) -> Iterator[tuple[str, int, str]]:
        before = None
        for statement in body:
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield _described(before, name), statement.lineno, text
                case ast.ClassDef() | ast.FunctionDef():
                    yield from inside(statement.body, f"{name}.{statement.name}")
                case _:
                    pass
            before = statement

    yield from inside(ast.parse(file.read_text("utf-8")).body, module)


def _described(before: ast.stmt | None, parent: str) -> str:
    """The symbol that a docstring describes: the value before it, or what it stands in."""
    match before:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return f"{parent}.{name}"
        case _:
            return parent


def used_in_tests(tests: Path = ROOT / "tests") -> dict[str, dict[str, int]]:
    """How often each file of tests uses a name, by the file's path below `tests`.

    What is imported stands there by its full name as well: `tacit.method.DZOA`.
    """
    found: dict[str, dict[str, int]] = {}
    for file in sorted(tests.rglob("test_*.py")):
        names: list[str] = []
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    names.append(name)
                case ast.ImportFrom(module=str(module), names=imported):
                    names += [module, *(f"{module}.{each.name}" for each in imported)]
                case _:
                    pass
        found[str(file.relative_to(tests))] = Counter(names)
    return found


def tests_of(symbol: str, used: dict[str, dict[str, int]]) -> list[str]:
    """Files of tests that use a symbol: known answers first, then what uses it most."""
    module, names = split(symbol)
    counted: dict[str, int] = {}
    for file, counts in used.items():
        # imported from its module, from a package above, or with the module
        above = [module.rsplit(".", up)[0] for up in range(module.count(".") + 1)]
        known = [module, *(f"{place}.{name}" for name in names[:1] for place in above)]
        if any(counts.get(name, 0) for name in known) or not names[:1] or names[0][0].isupper():
            counted[file] = min(counts.get(name, 0) for name in names or [module])
    using = [file for file, count in counted.items() if count]
    return sorted(using, key=lambda f: (not f.startswith("known_answer"), -counted[f], f))


def split(symbol: str) -> tuple[str, list[str]]:
    """The module of a symbol, and its names inside."""
    module, names = symbol, list[str]()
    while not is_module(module):
        module, _, last = module.rpartition(".")
        names.insert(0, last)
    return module, names


def is_module(symbol: str) -> bool:
    """Whether a dotted name is a module or package here."""
    path = ROOT.joinpath(*symbol.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def problems(package: Path = ROOT / "tacit") -> list[str]:
    """What is wrong with the sources of a package, one line each."""
    known, used = papers(), used_in_tests()
    found: list[str] = []
    for source in sources(package):
        here = f"{source.file.relative_to(package.parent)}:{source.line}: {source.symbol}: "
        try:
            citations(source.text, known)
        except CitationError as error:
            found.append(f"{here}{error}")
        if not tests_of(source.symbol, used):
            found.append(f"{here}no test uses it")
    return found


if __name__ == "__main__":
    complaints = problems()
    print("\n".join(complaints) or f"{len(sources())} sources name their places and have tests")
    sys.exit(bool(complaints))
