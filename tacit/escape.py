"""Text of others made harmless: for a terminal, and for a spreadsheet."""

from __future__ import annotations

import unicodedata
from typing import Any

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Categories of what is not seen, but acted on: control, direction of writing, ends of lines."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def visible(text: str, kept: str = "") -> str:
    r"""Text in which every character can be seen: what steers a terminal is spelt out.

    A title or a column may come from another site, and must not clear the screen, or write over
    what stands there, in the moment in which somebody decides whether to sign.

    Args:
        text: any.
        kept: characters that stay as they are, such as the ends of one's own lines.

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
    """A value of a table in a file that a spreadsheet may open: a text is never a formula.

    Args:
        value: a text that begins like a formula gets an apostrophe before it; numbers stay.

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
