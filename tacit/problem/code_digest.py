"""What a function computes with, as bytes: its code, what it refers to, and its constants.

Of installed packages and of Python's own modules the names and versions count. What code reads
while it runs, such as files, is not seen.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import pickle
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import (
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

_INSTALLED = (*(str(Path(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib")),)

_PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)


def digest(*values: object) -> bytes:
    """A digest of functions and values, equal for equal code and values.

    Raises:
        Exception: a value that cannot be pickled.
    """
    found = hashlib.sha256()
    for part in _parts(values, {}):
        found.update(len(part).to_bytes(8, "little") + part)
    return found.digest()


def of_command(command: Sequence[str], folder: Path | None = None) -> bytes:
    """A digest of a command and of the files that it names.

    Args:
        command: program and arguments.
        folder: where it is started; the working directory by default.
    """
    files = [Path(folder or "", each) for each in command]
    return digest([*command], [each.read_bytes() for each in files if each.is_file()])


def _parts(value: Any, seen: dict[int, tuple[int, Any]]) -> Iterator[bytes]:
    kind = type(value)
    if kind in _PLAIN or (kind is np.ndarray and not value.dtype.hasobject):
        yield pickle.dumps(value, protocol=5)
        return
    if kind in (tuple, list, dict, set, frozenset):
        yield f"{kind.__name__} {len(value)}".encode()
        if kind in (set, frozenset):
            # their order differs between processes
            yield from sorted(digest(each) for each in value)
            return
        for each in value.items() if kind is dict else value:
            yield from _parts(each, seen)
        return
    if id(value) in seen:
        yield f"again {seen[id(value)][0]}".encode()
        return
    # kept, so that no other value gets its id
    seen[id(value)] = len(seen), value
    if isinstance(value, FunctionType):
        yield f"function {value.__module__}.{value.__qualname__}".encode()
        if _installed(value.__code__.co_filename):
            yield _version(value.__module__)
            return
        yield from _parts(value.__code__, seen)
        cells = [each.cell_contents for each in value.__closure__ or ()]
        yield from _parts([value.__defaults__, value.__kwdefaults__, *cells], seen)
        names = sorted(_names(value.__code__) & set(value.__globals__))
        yield from _parts([(name, value.__globals__[name]) for name in names], seen)
    elif isinstance(value, CodeType):
        # where it stands does not matter
        yield value.co_code + repr((value.co_names, value.co_varnames)).encode()
        yield from _parts(value.co_consts, seen)
    elif isinstance(value, MethodType):
        yield from _parts((value.__func__, value.__self__), seen)
    elif isinstance(value, ModuleType):
        file = getattr(value, "__file__", None)
        yield f"module {value.__name__}".encode()
        own = file is not None and not _installed(file) and Path(file).is_file()
        yield Path(str(file)).read_bytes() if own else _version(value.__name__)
    elif isinstance(value, type):
        yield f"class {value.__module__}.{value.__qualname__}".encode()
        module = sys.modules.get(value.__module__)
        if value.__module__ == "builtins" or _installed(getattr(module, "__file__", "") or ""):
            yield _version(value.__module__)
            return
        yield from _parts((value.__bases__, list(_members(value))), seen)
    else:
        yield from _parts((kind, *_state(value)), seen)


def _state(value: Any) -> Iterator[Any]:
    """What pickle would keep of an object: not all of it need be among its attributes."""
    reduce = copyreg.dispatch_table.get(type(value))
    reduced: Any = value.__reduce_ex__(4) if reduce is None else reduce(value)
    if isinstance(reduced, str):  # something with a name, and perhaps with a function that it wraps
        yield reduced, getattr(value, "__module__", None), getattr(value, "__wrapped__", None)
        return
    make, arguments, *rest = reduced
    state, items, pairs = (*rest, None, None, None)[:3]
    if type(state) is dict:
        state = sorted(state.items())
    yield make, arguments, state, list(items or ()), list(pairs or ())


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """Methods and constants of a class, as its methods find them."""
    for name, each in sorted(vars(value).items()):
        if isinstance(each, property):
            yield name, (each.fget, each.fset, each.fdel)
        elif isinstance(each, staticmethod | classmethod):
            yield name, each.__func__
        elif isinstance(each, functools.cached_property):
            yield name, each.func
        elif isinstance(each, FunctionType) or not (name.startswith("_") or _slot(each)):
            yield name, each


def _slot(value: Any) -> bool:
    return isinstance(value, MemberDescriptorType | GetSetDescriptorType)


def _names(code: CodeType) -> set[str]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _installed(file: str) -> bool:
    parts = Path(file).parts
    away = "site-packages" in parts or "dist-packages" in parts
    return not file or away or file.startswith((*_INSTALLED, "<frozen"))


def _version(module: str) -> bytes:
    root = sys.modules.get(module.partition(".")[0])
    return str(getattr(root, "__version__", sys.version_info[:2])).encode()
