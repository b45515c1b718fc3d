"""What looks odd in a table, in words for the owner of its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

KEPT = (
    "Notes on values are computed from the private records, and are yours to keep. What is written "
    "into a study is read by all members: a code or spelling that is not known without the records "
    "is better corrected in the table, or in a file of your own about it (docs/your_data.md)."
)
"""Follows notes on what looks odd in a table."""


def of_codes(name: str, numbers: Sequence[str]) -> str:
    """That numbers of a column may be codes; the remedy follows."""
    told = f"{' and '.join(numbers)} of {name} {'is' if len(numbers) == 1 else 'are'}"
    what = "a code" if len(numbers) == 1 else "codes"
    return f"{told} far outside its other values; if that means a missing one, it is {what}"


def of_spellings(name: str, alike: Mapping[str, str]) -> str:
    """That levels of a column are probably the same; the remedy follows."""
    first = "; ".join(
        f"{', '.join(repr(old) for old, new in alike.items() if new == level)} like {level!r}"
        for level in dict.fromkeys(alike.values())
    )
    return f"levels of {name} differ only in case or blanks ({first}); if they are the same"
