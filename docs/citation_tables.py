"""The tables from equations to code, made of every `Source:` of the package."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from citations import (
    ROOT,
    Paper,
    citations,
    numbered,
    papers,
    sources,
    split,
    tests_of,
    used_in_tests,
)

TESTS_SHOWN = 2
"""Files of tests that a row names at most."""

Rows = dict[tuple[str, str], set[str]]
"""The symbols that cite a place, by its section and its number."""


def tables() -> str:
    """The tables of all papers in Markdown."""
    known = papers()
    cited: dict[str, Rows] = {name: {} for name in known}
    for source in sources():
        for citation in citations(source.text, known):
            for row in citation.rows():
                cited[citation.paper.cite].setdefault(row, set()).add(source.symbol)
    cells = _Cells()
    lines: list[str] = []
    for paper in known.values():
        if paper.contents:
            lines += _read(paper, cited[paper.cite], cells)
    lines += ["", "## Other papers", ""]
    lines += ["Their texts were not at hand: places stand as the code has them.", ""]
    lines += ["| place | code | tests |", "|---|---|---|"]
    for paper in sorted(known.values(), key=lambda each: each.cite):
        if not paper.contents:
            places = {row: ", ".join(filter(None, row)) for row in sorted(cited[paper.cite])}
            lines += cells.rows(f"{paper.cite}, *{paper.title}*", places, cited[paper.cite])
    return "\n".join(lines)


def _read(paper: Paper, rows: Rows, cells: _Cells) -> list[str]:
    """The part of a paper whose contents are known."""
    lines = ["", f"## {paper.cite}", "", f"**{paper.key}** {paper.authors}: {paper.title}.", ""]
    lines += ["| place | code | tests |", "|---|---|---|"]
    missing: list[str] = []
    for section, listed in paper.contents.items():
        here = [row for row in rows if row[0] == section]
        here.sort(key=lambda row: (listed.index(numbered(row[1])) if row[1] else -1, row[1]))
        short = section.removeprefix("section ")
        lines += cells.rows(short, {row: row[1] for row in here}, rows)
        found = {numbered(place) for _, place in here}
        left = [place for place in listed if place.startswith("eq") and place not in found]
        missing += [f"{section} {shortened(left)}"] * bool(left)
    return [*lines, "", f"Not in the code: {'; '.join(missing)}."] if missing else lines


def shortened(equations: list[str]) -> str:
    """`eq (7)`, `eq (8)`, `eq (9)` as `(7) to (9)`."""
    numbers = [int(place.strip("eq ()")) for place in equations]
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    ends = (" to ".join(f"({end})" for end in dict.fromkeys((run[0], run[-1]))) for run in runs)
    return ", ".join(ends)


class _Cells:
    """Rows of symbols, with links to the reference and the names of their tests."""

    def __init__(self) -> None:
        self.used = used_in_tests()
        stems = Counter(Path(file).stem for file in self.used)
        # by their names alone where no other file has it
        self.named = {
            file: Path(file).stem if stems[Path(file).stem] == 1 else file.removesuffix(".py")
            for file in self.used
        }
        pages = (page.read_text("utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
        self.documented = {name for page in pages for name in _AUTOMODULE.findall(page)}

    def rows(self, first: str, places: dict[tuple[str, str], str], symbols: Rows) -> Iterator[str]:
        """Rows of one section or paper; places with the same code share one."""
        for same, group in itertools.groupby(places, key=lambda row: sorted(symbols[row])):
            where = ", ".join(places[row] for row in group)
            lists = [tests_of(symbol, self.used)[:TESTS_SHOWN] for symbol in same]
            # the first of every symbol, then the seconds, ...
            turns = [
                each[turn] for turn in range(TESTS_SHOWN) for each in lists if turn < len(each)
            ]
            tests = list(dict.fromkeys(turns))[: max(TESTS_SHOWN, len(same))]
            code = ", ".join(self.linked(symbol) for symbol in same)
            shown = ", ".join(f"`{self.named[test]}`" for test in tests)
            place = ", ".join(filter(None, (first, where)))
            yield f"| {place} | {code} | {shown} |"

    def linked(self, symbol: str) -> str:
        """A symbol with a link to the reference, or its place where the reference lacks it."""
        module, names = split(symbol)
        package = module.rpartition(".")[0]
        name = ".".join(names)
        if names and module in self.documented:
            return f"{{py:obj}}`{name} <{module}.{name}>`"
        if names and package in self.documented and _exports(package, names[0]):
            return f"{{py:obj}}`{name} <{package}.{name}>`"
        return f"`{symbol.removeprefix('tacit.').removeprefix('method.')}`"


def _exports(package: str, name: str) -> bool:
    """Whether a package lists a name, seen from its text: to import all of them would take long."""
    return f'"{name}"' in ROOT.joinpath(*package.split("."), "__init__.py").read_text("utf-8")


_AUTOMODULE = re.compile(r"automodule:: ([\w.]+)")
