"""What `tacit advise` says of several epsilons, and of numbers whose spread nobody has guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def enough(likely: Sequence[float], what: str) -> str:
    """Which of several epsilons would do.

    Args:
        likely: those that do, in ascending order.
        what: what is likely then, with its verb.
    """
    if not likely:
        return f"At none of these epsilons {what} likely."
    return f"The least of these epsilons at which {what} likely: {likely[0]:g}."


def together(documents: Sequence[dict[str, Any]], likely: Sequence[float]) -> dict[str, Any]:
    """One JSON document: that of the only epsilon, or those of several.

    Args:
        documents: one for each epsilon, in ascending order.
        likely: epsilons that would do, in ascending order.
    """
    if len(documents) == 1:
        return documents[0]
    least = likely[0] if likely else None
    return {"format": "tacit-epsilons-1", "least": least, "epsilons": list(documents)}


def narrower(assumed: Sequence[str] | None) -> str:
    """What follows from numbers that are taken for uniform; empty where there is none.

    Args:
        assumed: names of those numbers; `None` where columns have no names.
    """
    if assumed is None:
        return (
            "A column with half the standard deviation of a uniform one needs four times the "
            "records: a study takes guesses (--spread age=12)."
        )
    if not assumed:
        return ""
    return (
        f"Nothing is known of the spread of {', '.join(assumed)}: widths are for numbers that "
        "fill their bounds evenly, and likely is what is so even with half of that standard "
        "deviation. Where you may say it from public sources, give it: --spread "
        f"{assumed[0]}=NUMBER."
    )
