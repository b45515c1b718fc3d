"""What a function computes with, as bytes: its code, what it refers to, and its constants.

Of installed packages and of Python's own modules the names and versions count. What code reads
while it runs, such as files, is not seen.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_INSTALLED = (*(str(Path(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib")),)


def digest(*values: object) -> bytes:
    """A digest of functions and values, equal for equal code and values.

    Raises:
        Exception: a value that cannot be pickled.
    """
    found = hashlib.sha256()
    for part in _parts(values, set()):
        found.update(len(part).to_bytes(8, "little") + part)
    return found.digest()


def of_command(command: Sequence[str]) -> bytes:
    """A digest of a command and of the files that it names.

    Args:
        command: program and arguments.
    """
    files = [Path(each) for each in command]
    return digest([*command], [each.read_bytes() for each in files if each.is_file()])


def _parts(value: Any, seen: set[int]) -> Iterator[bytes]:
    if isinstance(value, FunctionType | type | ModuleType):
        if id(value) in seen:
            yield b"again"
            return
        seen.add(id(value))
    if isinstance(value, tuple | list):
        yield f"{type(value).__name__} {len(value)}".encode()
        for each in value:
            yield from _parts(each, seen)
    elif isinstance(value, FunctionType):
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
    elif isinstance(value, functools.partial):
        yield from _parts((value.func, value.args, sorted(value.keywords.items())), seen)
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
        yield from _parts(value.__bases__, seen)
        yield from _parts([each for each in vars(value).values() if _coded(each)], seen)
    elif type(value).__module__ in ("__main__", "__mp_main__") or hasattr(value, "__dict__"):
        yield from _parts((type(value), sorted(vars(value).items())), seen)
    else:
        yield pickle.dumps(value, protocol=5)


def _coded(value: Any) -> bool:
    return isinstance(value, FunctionType)


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
