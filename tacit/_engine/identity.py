"""The identity of a run: a digest of its data, its settings and the code that computes it.

Two runs with the same digest draw the same noise and are charged once, so the digest may only be
used where it sees everything. It sees arrays by their bytes, settings by their values, and tacit's
code by its source. It cannot see everything that a user's function or class computes with (globals,
files, what a notebook defined), so `opaque` says whether there is one.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import json
import os
import sys
from collections.abc import Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tacit._engine.environment import HOME, environment, processor, source_digest
from tacit._engine.source_code import code_now

_SETTINGS = (
    "jax_threefry_partitionable",
    "jax_default_prng_impl",
    "jax_default_matmul_precision",
    "jax_disable_most_optimizations",
)
"""Settings of JAX under which the same seed gives different bits."""

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range)

Part: TypeAlias = bytes | memoryview
"""Bytes that a digest includes."""


def fingerprint(*trees: object) -> str:
    """A digest of every array and setting of a run, and of the code that computes it.

    Of user code it sees the compiled functions and classes in the trees and the source that these
    import, but nothing else that they read: see `opaque`.
    """
    computes = {**environment(), **{name: str(jax.config.values.get(name)) for name in _SETTINGS}}
    computes |= {
        "processor": processor(),
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", ""),
        "source": source_digest(),
    }
    digest = hashlib.sha256(json.dumps(computes, sort_keys=True).encode())
    for part, _ in _parts(trees, set()):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def opaque(tree: object) -> bool:
    """Whether anything in the tree computes with code or data that a fingerprint cannot see."""
    return any(unseen for _, unseen in _parts(tree, set()))


def _parts(value: Any, inside: Set[int]) -> Iterator[tuple[Part, bool]]:
    """What a digest includes, in order, and whether it stands for something that it cannot see.

    Arrays may be large, so they are not copied.

    Args:
        value: value to digest.
        inside: identities of the values that contain it.
    """
    kind = type(value)
    if id(value) in inside:
        yield b"again", False
        return
    inside = {*inside, id(value)}
    if kind in _PLAIN:
        yield f"{kind.__name__} {value!r}".encode(), False
    elif isinstance(value, jax.Array | np.ndarray | np.generic):
        yield from _array(value)
    elif isinstance(value, np.dtype | Path):
        yield f"{kind.__name__} {value}".encode(), False
    elif isinstance(value, type):
        yield from _code(value, value.__dict__)
    elif isinstance(value, Enum):
        yield _name(kind) + value.name.encode(), not _own(kind)
    elif kind in (tuple, list, set, frozenset):
        # the order of a set differs between processes
        items = list(value) if kind in (tuple, list) else sorted(value, key=repr)
        yield f"{kind.__name__} {len(items)}".encode(), False
        for item in items:
            yield from _parts(item, inside)
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}".encode(), False
        for key, item in value.items():
            yield from _parts((key, item), inside)
    elif isinstance(value, functools.partial):
        yield b"partial", False
        yield from _parts((value.func, value.args, value.keywords), inside)
    elif isinstance(value, MethodType | _BOUND):
        yield b"method", False
        yield from _parts((value.__func__, value.__self__), inside)
    elif isinstance(value, FunctionType | BuiltinFunctionType):
        yield from _code(value, {"": value})
    else:
        yield from _code(kind, kind.__dict__)
        seen = is_dataclass(value)
        yield b"fields" if seen else b"unseen", not seen
        names = [each.name for each in fields(value)] if seen else []
        yield from _parts({each: getattr(value, each, None) for each in names}, inside)


def _array(value: Any) -> Iterator[tuple[Part, bool]]:
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    array = np.asarray(value)
    if array.dtype == object:
        yield f"objects {array.shape}".encode(), False
        for item in array.ravel().tolist():
            yield from _parts(item, set())
        return
    yield f"{array.dtype}{array.shape}".encode(), False
    yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, False


def _code(named: Any, holds: Mapping[str, Any]) -> Iterator[tuple[bytes, bool]]:
    """A class or a function by its name, and by source and compiled code if it is not tacit's."""
    yield _name(named), not _own(named)
    if not _own(named):
        yield code_now(str(getattr(named, "__module__", ""))).encode(), True
        for key, value in holds.items():
            inner = inspect.unwrap(value) if callable(value) else value
            code = getattr(getattr(inner, "__func__", inner), "__code__", None)
            if isinstance(code, CodeType):
                yield key.encode() + _compiled(code), True


def _compiled(code: CodeType) -> bytes:
    constants = [_compiled(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return repr((code.co_code, code.co_names, code.co_varnames, constants)).encode()


def _name(named: Any) -> bytes:
    return f"{named.__module__}.{named.__qualname__} ".encode()


def _own(named: Any) -> bool:
    """Whether it is a class or function of tacit, unchanged from its source, by name and code."""
    module = str(getattr(named, "__module__", ""))
    if module.partition(".")[0] != "tacit":
        return False
    found: Any = sys.modules.get(module)
    for name in named.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not named:
        return False
    kinds = named.__mro__ if inspect.isclass(named) else ()
    ours = [kind for kind in kinds if kind.__module__.partition(".")[0] == "tacit"]
    held = [(key, value) for kind in ours for key, value in vars(kind).items()]
    return all(_unchanged(key, value) for key, value in held or [(named.__name__, named)])


_MAKERS = (
    *(Path(str(inspect.getfile(maker))) for maker in (dataclasses, enum)),
    Path(str(eqx.__file__)).parent,
)
"""Modules from which class decorators and metaclasses add methods."""

_GENERATED = frozenset(
    f"__{name}__" for name in ("init", "repr", "eq", "hash", "setattr", "delattr", "replace")
)
"""Methods that dataclasses compile from text."""


def _unchanged(name: str, held: Any) -> bool:
    """Whether part of a tacit class was written in tacit, or added by what creates classes."""
    inner = getattr(held, "fget", None) or getattr(held, "__func__", held)
    inner = inspect.unwrap(inner) if callable(inner) else inner
    code = getattr(inner, "__code__", None)
    if not isinstance(code, CodeType):
        return True
    if name in _GENERATED and code.co_filename == "<string>":
        return True
    return _made_here(code.co_filename)


@functools.lru_cache(4096)  # asked for every function of every part, again and again
def _made_here(file: str) -> bool:
    return any(Path(file).is_relative_to(place) for place in (HOME, *_MAKERS))


class _Bound(eqx.Module):
    def method(self) -> None:
        """Method looked up on an instance, for its type."""


_BOUND = type(_Bound().method)
