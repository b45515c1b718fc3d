"""The code of another package: what its digest covers, and that nothing else is imported from it.

A package is imported from its sources and not from Python's compiled cache, which no digest covers.
A file that was changed or added after the digest was taken is not imported.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from tacit.errors import ConfigError

_CACHE = "__pycache__"


@dataclass(frozen=True)
class Code:
    """The files of an import package at one moment.

    Attributes:
        files: digest of each file by its path, links followed.
        sha256: digest of all files, by path within the package and contents.
    """

    files: Mapping[Path, str]
    sha256: str


def digest_of(package: str, distribution: str) -> str:
    """Digest of the files of an import package: the code that would run, however installed.

    It covers every file of the package except Python's cache, by path and contents, and nothing
    that the package imports from elsewhere. Once `imported` has imported the package, it is the
    digest of the running code, even if the files change.

    Args:
        package: name of the import package or module, without dots.
        distribution: distribution that contains it, for messages.

    Raises:
        ConfigError: no such package, a package without files of its own, or a link that leads out
            of it.
    """
    held = _held.get(package)
    return (_read(package, distribution) if held is None else held).sha256


@contextmanager
def imported(package: str, distribution: str) -> Iterator[None]:
    """Import a package inside, and later its other modules, as covered by its digest.

    Args:
        package: as for `digest_of`.
        distribution: as for `digest_of`.

    Raises:
        ConfigError: as for `digest_of`.
    """
    if package not in _held:
        _held[package] = _read(package, distribution)
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
    try:
        yield
    except BaseException:
        if package not in sys.modules:  # it may be corrected and tried again
            del _held[package]
        raise


_held: dict[str, Code] = {}
"""The packages that were imported, with their files at that time."""


class _Sources(SourceFileLoader):
    """Compiles every module from source."""

    def path_stats(self, path: Any) -> Any:
        raise OSError("what is compiled already is not looked for")


class _Finder(MetaPathFinder):
    """Finds modules of these packages like the other finders, if their digest covers them."""

    def find_spec(
        self, fullname: str, path: Any, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        held = _held.get(fullname.partition(".")[0])
        if held is None:
            return None
        others = (
            finder.find_spec(fullname, path, target)
            for finder in sys.meta_path
            if finder is not self and hasattr(finder, "find_spec")
        )
        spec = next((each for each in others if each is not None), None)
        if spec is None or spec.origin is None:  # a folder without code
            return spec
        file = Path(spec.origin).resolve()
        if held.files.get(file) != _sha256(file):
            raise ImportError(
                f"{file} has changed since the digest of {fullname.partition('.')[0]} was taken, "
                "or is not part of it; start again",
                name=fullname,
            )
        if type(spec.loader) is SourceFileLoader:
            spec.loader = _Sources(spec.loader.name, spec.loader.path)
        return spec


_FINDER = _Finder()


def _read(package: str, distribution: str) -> Code:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None or not spec.has_location:
        raise ConfigError(
            f"{distribution} declares a part in {package!r}, which is not a package or module with "
            "files of its own; reinstall it, or ask its author for an __init__.py"
        )
    origin = Path(spec.origin)
    home, files = origin.parent, [origin]
    if spec.submodule_search_locations is not None:
        files = list(_files(home, distribution))
    named = sorted((path.relative_to(home).as_posix(), path) for path in files)
    whole, found = hashlib.sha256(), dict[Path, str]()
    for name, path in named:
        found[path.resolve()] = digest = _sha256(path)
        text = os.fsencode(name)
        whole.update(len(text).to_bytes(8, "big") + text + bytes.fromhex(digest))
    return Code(found, whole.hexdigest())


def _files(home: Path, distribution: str) -> Iterator[Path]:
    """All files of a folder, except Python's cache."""
    for folder, folders, names in os.walk(home, onerror=_raise):
        if _CACHE in folders:
            folders.remove(_CACHE)
        links = [path for each in folders if (path := Path(folder, each)).is_symlink()]
        if links:
            raise ConfigError(
                f"{links[0]} of {distribution} is a link to a folder, which "
                "a digest of the package does not cover; install it with its files in their place"
            )
        yield from (path for name in names if (path := Path(folder, name)).is_file())


def _raise(error: OSError) -> None:
    raise error


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); reinstall it") from error
