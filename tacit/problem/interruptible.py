"""Calls that Ctrl-C can end, because they run beside the thread that hears it.

Python handles a signal in the main thread, between two steps of Python code. Compiled code that
waits for a callback makes no such step; and an interrupt that arrives within the callback ends as
an error of the compiler, or leaves a lock behind.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

import jax

Value = TypeVar("Value")

_PATIENCE = 5.0
"""Seconds that an interrupted call is waited for; nothing can end a Python function in it."""

_COMPILING = 60.0
"""Seconds more for compiled code, and for compiling it: both end by themselves, and Python aborts
where it ends while they are in a thread.
"""

_PAUSE = 0.1
"""Seconds between looks at signals, where waiting cannot be interrupted."""

_SETTINGS = (
    "enable_x64",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "threefry_partitionable",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "debug_nans",
    "debug_infs",
    "disable_jit",
)
"""Settings of JAX that a `with` statement changes for its own thread only."""


def interruptible(
    call: Callable[[], Value], end: Callable[[], bool], settle: Callable[[], None]
) -> Value:
    """The result of a call, made in a thread of its own with the settings of this one.

    Args:
        call: what to call.
        end: makes `call` return early, from another thread. After an interrupt it is called until
            that has happened, so that what `call` is just starting is ended, too.
        settle: called once `call` is over and `end` is not called any more; its error counts if
            both raise one.

    Raises:
        BaseException: what `call` or `settle` raised.
        KeyboardInterrupt: Ctrl-C; `call` is over, or still busy after some seconds.
    """
    answers: list[Value] = []
    errors: list[BaseException] = []
    over, gate = False, threading.Lock()
    # not by `join`, which forgets a thread when it is interrupted (CPython 3.11)
    done = threading.Event()
    settings = {name: _setting(name) for name in _SETTINGS}

    def work() -> None:
        nonlocal over
        try:
            with ExitStack() as stack:
                for name, value in settings.items():
                    if _setting(name) != value:
                        stack.enter_context(getattr(jax, name)(value))
                answers.append(call())
        except BaseException as error:
            errors.append(error)
        with gate:
            over = True
        try:
            settle()
        except BaseException as error:
            errors.insert(0, error)
        done.set()

    # a daemon, because Python would wait for others before it ends
    thread = threading.Thread(
        target=contextvars.copy_context().run, args=(work,), name="tacit run", daemon=True
    )
    try:
        thread.start()
        while not done.wait(_PAUSE):
            pass
    except KeyboardInterrupt:
        began, soon = time.monotonic(), True
        while not done.is_set():
            if time.monotonic() - began > _PATIENCE + _COMPILING * soon:
                break
            with gate:
                soon = over or end()
            done.wait(_PAUSE)
        raise
    if errors:
        raise errors[0]
    return answers[0]


def _setting(name: str) -> object:
    return getattr(jax.config, f"jax_{name}")
