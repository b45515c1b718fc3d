"""Functions of a user's own that a study names as `module:function`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
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
    if here not in sys.path:
        sys.path.append(here)  # last, so that no file of a study stands in for a package
    try:
        found = importlib.import_module(module)
    except Exception as error:  # any exception of a user's code
        raise ConfigError(
            f"{name!r}: the module {module!r} cannot be imported ({type(error).__name__}: "
            f"{error}); it must be installed, or stand in {here}"
        ) from error
    beside = Path(here, *module.split(".")).with_suffix(".py")
    if beside.is_file() and not beside.samefile(found.__file__ or ""):
        raise ConfigError(
            f"{name!r}: another module {module!r} was found first, in {found.__file__}; rename "
            f"{beside.name}"
        )
    called = getattr(found, attribute, None)
    if not callable(called):
        known = [each for each, value in vars(found).items() if callable(value)]
        raise ConfigError(
            f"{name!r}: {beside.name if beside.is_file() else module} has no function "
            f"{attribute!r}; it has {', '.join(known[:12]) or 'none'}"
        )
    return called
