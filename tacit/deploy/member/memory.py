"""Memory of a member that waits for most of its run."""

from __future__ import annotations

import ctypes
import gc
import sys

import jax


def forget_compiling() -> None:
    """Give back what JAX keeps of what it traced and compiled, a third of a member's memory.

    Programs that are held as such stay; any other is compiled again when it is called again.
    """
    jax.clear_caches()
    gc.collect()
    if sys.platform == "linux":  # the C library keeps what was freed, unless it is GNU's and asked
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
