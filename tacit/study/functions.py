"""Functions of a user's own that a study names as `module:function`."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tacit.errors import ConfigError


def function(name: str, folder: Path) -> Callable[..., Any]:
    """The function that a study names. This runs its module.

    Args:
        name: `module:function`; the module is installed, or in the folder.
        folder: folder that has modules of the user's own.

    Raises:
        ConfigError: another form of name, a module that cannot be imported, or no such function.
    """
    module, colon, attribute = name.partition(":")
    if not (colon and module and attribute.isidentifier()):
        raise ConfigError(
            f"{name!r} names no function; write module:function, such as 'plants:cost' for the "
            f"function cost of plants.py in {folder.resolve()}"
        )
    here = str(folder.resolve())
    beside = Path(here, *module.split(".")).with_suffix(".py")
    try:
        found = _imported(module, beside, here)
    except (Exception, SystemExit) as error:  # anything that a user's code raises
        raise ConfigError(f"{name!r}: {_failure(module, beside, here, error)}") from error
    if beside.is_file() and not _is(found, beside):
        raise ConfigError(
            f"{name!r}: an installed module {module!r} was found first, in {found.__file__}; "
            f"rename {beside.name}"
        )
    called = getattr(found, attribute, None)
    if not callable(called):
        known = [each for each, value in vars(found).items() if callable(value)]
        raise ConfigError(
            f"{name!r}: {beside.name if beside.is_file() else module} has no function "
            f"{attribute!r}; it has {', '.join(known[:12]) or 'none'}"
        )
    return called


def _failure(module: str, beside: Path, folder: str, error: BaseException) -> str:
    """Why a module cannot be imported, and what to do."""
    if isinstance(error, ModuleNotFoundError) and error.name in _packages(module):
        return f"{error.msg}; the module must be installed, or stand in {folder}"
    told = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, SyntaxError):
        told = f"{type(error).__name__}: {error.msg}"
        at = (error.filename, error.lineno, (error.text or "").strip())
    else:
        # where it went wrong in the user's file, not in what that calls
        frames = traceback.extract_tb(error.__traceback__)
        own = [each for each in frames if Path(each.filename) == beside] or frames
        at = (own[-1].filename, own[-1].lineno, own[-1].line or "")
    file, line, text = at
    shown = f", in {text!r}" if text else ""
    return (
        f"the module {module!r} cannot be imported: {file}, line {line}: {told}{shown}; correct it"
    )


def _packages(module: str) -> list[str]:
    """A module's name, and those of the packages that it is in."""
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


_folders: list[str] = []
"""Folders of studies on the path of modules."""


def _imported(module: str, beside: Path, here: str) -> ModuleType:
    """A module, anew if the one of that name is another study's."""
    if here in _folders:
        _folders.remove(here)
        sys.path.remove(here)
    # behind all packages, so that no file stands in for one, and before other studies
    sys.path.insert(min((sys.path.index(each) for each in _folders), default=len(sys.path)), here)
    _folders.append(here)
    known = sys.modules.get(module)
    of_a_study = known is not None and str(Path(known.__file__ or "").parent) in _folders
    if known is not None and of_a_study and beside.is_file() and not _is(known, beside):
        del sys.modules[module]
    importlib.invalidate_caches()
    return importlib.import_module(module)


def _is(module: ModuleType, file: Path) -> bool:
    own = getattr(module, "__file__", None)
    return own is not None and Path(own).is_file() and file.samefile(own)
