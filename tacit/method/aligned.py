"""Tables as text: columns of one width, between rules, with a sentence below."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence


def ruled(rows: Sequence[Sequence[str]], below: Sequence[str]) -> str:
    """A table as text.

    Args:
        rows: headings, then the cells of each row; the first of them is set on the left.
        below: paragraphs below the table.
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    rule = "=" * (sum(widths) + 2 * (len(widths) - 1))
    wrapped = [line for each in below for line in textwrap.wrap(each, max(80, len(rule)))]
    return "\n".join([rule, lines[0], rule.replace("=", "-"), *lines[1:], rule, *wrapped])
