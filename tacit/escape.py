"""Making untrusted text harmless, for a terminal, for a spreadsheet and for LaTeX."""

from __future__ import annotations

import unicodedata
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
