"""Making untrusted text harmless, for a terminal, a spreadsheet, LaTeX and a notebook."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html import escape
from typing import Any

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories of invisible but active characters: control, text direction, line ends."""

_LATEX = {c: f"\\{c}" for c in "_%&#${}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
"""What LaTeX reads otherwise than it stands there."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def visible(text: str, kept: str = "") -> str:
    r"""Return text in which every character is visible: terminal control characters are spelt out.

    A title or a column name may come from another site. It must not be able to clear the screen or
    overwrite what is shown while somebody decides whether to sign.

    Args:
        text: any text.
        kept: characters to leave unchanged, such as one's own line ends.

    Example:
        >>> print(visible("North\x1b[2K\u202eclinic"))
        North\x1b[2K\u202eclinic
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        if character in kept or unicodedata.category(character) not in _HIDDEN
        else character.encode("unicode_escape").decode()
        for character in text
    )


def one_line(text: str) -> str:
    r"""Return lines as one; those that an error quotes, indented, have bars between them.

    Args:
        text: any text.

    Example:
        >>> print(one_line("Standard error ends with:\n    busy\n    lost\nCorrect the program"))
        Standard error ends with: busy | lost. Correct the program
    """
    if "\n" not in text:
        return text

    def joined(quoted: re.Match[str]) -> str:
        return f" {' | '.join(map(str.strip, quoted[0].strip().splitlines()))}. "

    return re.sub(r"\s*\n\s*", " ", re.sub(r"(?:\n {4}[^\n]*)+\n?", joined, text)).rstrip()


def cell(value: object) -> Any:
    """Return a value for a file that a spreadsheet may open, so that text is never a formula.

    Args:
        value: text that begins like a formula gets a leading apostrophe; numbers are unchanged.

    Example:
        >>> cell("=HYPERLINK(1)"), cell("-0.5"), cell(-0.5), cell("age")
        ("'=HYPERLINK(1)", '-0.5', -0.5, 'age')
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def latex(text: str) -> str:
    r"""Return text for LaTeX, in which no character is a command.

    Example:
        >>> print(latex("objective_gap at 5%"))
        objective\_gap at 5\%
    """
    return "".join(_LATEX.get(character, character) for character in text)


def named(names: Sequence[object], most: int = 6) -> str:
    """How many there are, and the names of the first ones.

    Example:
        >>> named(["North", "South"]), named(range(100), most=3)
        ('2: North, South', '100: 0, 1, 2, ...')
    """
    more = ", ..." if len(names) > most else ""
    return f"{len(names):,}: {', '.join(map(str, names[:most]))}{more}"


def html_table(rows: Sequence[Sequence[object]], headings: Sequence[str] = ()) -> str:
    """Cells as a table for a notebook, in which no text is markup, in the style of a data frame.

    Args:
        rows: the cells; without headings the first one of a row is its heading.
        headings: column headings.

    Example:
        >>> html_table([("Agents", "<9>")]).splitlines()[2]
        '<tr><th>Agents</th><td>&lt;9&gt;</td></tr>'
    """
    lines = ['<table border="1" class="dataframe">']
    if headings:
        lines += ["<thead>", _cells(headings, "th", len(headings)), "</thead>"]
    first = 0 if headings else 1
    lines += ["<tbody>", *(_cells(row, "th", first) for row in rows), "</tbody>", "</table>"]
    return "\n".join(lines)


def _cells(row: Sequence[object], heading: str, first: int) -> str:
    """A row whose first cells are headings."""
    tags = [heading if place < first else "td" for place in range(len(row))]
    cells = (
        f"<{tag}>{escape(visible(str(cell)))}</{tag}>" for tag, cell in zip(tags, row, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"
