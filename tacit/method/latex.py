"""Tables in LaTeX, for the booktabs package."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.escape import latex

if TYPE_CHECKING:
    import pandas as pd


_END = "\\bottomrule\n\\end{tabular}\n"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], below: str = "") -> str:
    """A table; the first column is text, the others are numbers.

    Args:
        heads: headings, in LaTeX.
        rows: cells of each row; of the first column as text, indented where it begins with two
            spaces, of the others in LaTeX.
        below: a line below them, as text.
    """
    lines = [" & ".join(heads) + r" \\", r"\midrule"]
    for name, *cells in rows:
        cells = [f"${cell}$" if cell[:1] in ("-", "<") else cell for cell in cells]
        indent = r"\quad " if name.startswith("  ") else ""
        lines.append(" & ".join([indent + latex(name.lstrip()), *cells]) + r" \\")
    columns = "l" + "r" * (len(heads) - 1)
    body = "\n".join(lines)
    whole = f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{body}\n{_END}"
    return noted(whole, below)


def noted(tabular: str, below: str) -> str:
    """A table with another line below it.

    Args:
        tabular: a table for the booktabs package.
        below: the line, as text; a comment above the table where the table ends in another way.
            Nothing is added if it is empty.
    """
    if not below:
        return tabular
    columns = re.search(r"\\begin{tabular}{(\w+)}", tabular)
    if columns is None or not tabular.endswith(_END):
        return f"% {below}\n{tabular}"
    line = rf"\multicolumn{{{len(columns[1])}}}{{l}}{{{latex(below)}}} \\"
    return f"{tabular.removesuffix(_END)}\\midrule\n{line}\n{_END}"


def tabular(frame: pd.DataFrame) -> str:
    """A frame as a table, numbers with four digits.

    Args:
        frame: a frame whose first column is text.
    """
    heads = [latex(str(name).replace("_", " ").capitalize()) for name in frame.columns]
    rows = [[str(first), *map(_cell, others)] for first, *others in frame.itertuples(index=False)]
    return table(heads, rows)


def _cell(value: Any) -> str:
    """A value in LaTeX."""
    if isinstance(value, str) or not hasattr(value, "__float__"):
        return latex(str(value))
    if isinstance(value, bool | int | np.integer | np.bool_):
        return str(value)
    return "" if math.isnan(value) else f"{float(value):#.4g}"
