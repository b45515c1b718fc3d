"""Pieces of work that end at once, for tests of what runs and stores them."""

import os
import time
from pathlib import Path
from typing import Any

from tacit._jobs import Piece


def square(number: float) -> dict[str, Any]:
    return {"squared": number * number, "when": time.monotonic_ns()}


def fail(number: float) -> dict[str, Any]:
    raise ValueError(f"{number} is not to be squared")


def die(number: float) -> dict[str, Any]:
    os._exit(9)


def die_once(number: float, log: str) -> dict[str, Any]:
    """Dies the first time, after a while in which others may answer."""
    if not Path(log).exists():
        Path(log).write_text("x")
        os._exit(9)
    return {"squared": number * number}


def whose(number: int, seconds: float = 0.0) -> dict[str, Any]:
    time.sleep(seconds)
    return {"number": number, "process": os.getpid()}


def square_of(file: str) -> dict[str, Any]:
    return {"squared": float(Path(file).read_text()) ** 2}


def resume(number: float, checkpoint: str) -> dict[str, Any]:
    """Fails the first time, and answers with what it has kept the next."""
    kept = Path(checkpoint)
    if not kept.exists():
        kept.write_text(f"{number * number}")
        raise ValueError(f"{number} is half squared")
    return {"squared": float(kept.read_text())}


def squares(count: int, first: int = 0) -> list[Piece]:
    return [Piece(square, {"number": float(n)}, 1.0) for n in range(first, first + count)]
