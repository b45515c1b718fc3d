"""The other end of a pipe: a Python process that calls a user's function.

It loads nothing of tacit, and nothing else but what the function needs. What the function prints
goes to standard error, because standard output is the pipe.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import IO, Any

_LENGTH = 8


def write(pipe: IO[bytes], data: bytes) -> None:
    """Send one message.

    Args:
        pipe: binary stream.
        data: the message.
    """
    pipe.write(len(data).to_bytes(_LENGTH, "little") + data)
    pipe.flush()


def read(pipe: IO[bytes]) -> bytes | None:
    """The next message, or `None` at the end of the stream."""
    head = pipe.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    size = int.from_bytes(head, "little")
    data = pipe.read(size)
    return data if len(data) == size else None


def main() -> None:
    """Answer until the pipe is closed."""
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    first = read(asked)
    if first is None:
        return
    places, code = pickle.loads(first)
    sys.path[:] = places
    own: dict[int, Any] = {}
    function, broken = _loaded(code)  # at once, while the other process compiles
    while (message := read(asked)) is not None:
        try:
            if broken is not None:
                raise broken
            agent, belongings, argument = pickle.loads(message)
            own |= {number: _read_only(each) for number, each in belongings.items()}
            reply: tuple[Any, ...] = (True, function(argument, own[agent]))
            data = pickle.dumps(reply)
        except Exception as error:
            data = _failure(error)
        write(answers, data)


def _read_only(own: Any) -> Any:
    """Records whose arrays cannot be written to, as in the process that they come from."""
    if isinstance(own, dict):
        return {key: _read_only(each) for key, each in own.items()}
    if type(own) in (list, tuple):
        return type(own)(map(_read_only, own))
    flags: Any = getattr(own, "flags", None)
    if hasattr(flags, "writeable"):  # an array; the worker itself imports no library
        flags.writeable = False
    return own


def _loaded(code: bytes) -> tuple[Any, Exception | None]:
    """The function, or why it cannot be loaded, which is the answer to every question."""
    try:
        return pickle.loads(code), None
    except Exception as error:
        return None, error


def _failure(error: Exception) -> bytes:
    text = f"{type(error).__name__}: {error}"
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    if where is not None and where.tb_frame.f_code.co_filename != __file__:
        # the error travels without its traceback
        text += f" (line {where.tb_lineno}, in {where.tb_frame.f_code.co_name})"
    try:
        pickle.loads(data := pickle.dumps((False, text, error)))
    except Exception:
        return pickle.dumps((False, text, None))
    return data


if __name__ == "__main__":
    main()
