"""The source that a piece of code runs: its own file, and the files that it imports.

For installed packages only the version counts, except for the package that contains the code, whose
source counts; Python's own modules do not count. Anything else that code reads, such as files and
the globals of a notebook, is not seen.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from tacit._engine.environment import HOME, computing, versions

_INSTALLED = frozenset({"site-packages", "dist-packages"})


@functools.cache
def code_of(module: str) -> str:
    """The result of `code_now` when this process first asked."""
    return code_now(module)


def code_now(module: str) -> str:
    """A digest of the source that a loaded module runs, as it is on disk."""
    file = getattr(sys.modules.get(module), "__file__", None)
    files, packages = (set[Path](), set[str]()) if file is None else reached(Path(file))
    said = [f"{each.name} {_digest(each, *_state(each))}" for each in files | computing()]
    said += [f"{name} {_version(name)}" for name in packages]
    return hashlib.sha256("\n".join(sorted(said)).encode()).hexdigest()


def reached(file: Path) -> tuple[set[Path], set[str]]:
    """A file with all files it imports, directly or not, and the installed packages it imports.

    Imports of tacit's own files are followed only within tacit: the versions of the libraries that
    it computes with are known (`tacit._engine.environment.versions`). Those libraries are not
    followed; of another installed package that the file belongs to, the package's own files are.
    """
    found, packages, waiting = set[Path](), set[str](), [file]
    home = _installed(file)
    if home is not None and home.stem in versions():
        home = None
    while waiting:
        file = waiting.pop()
        if file in found or not file.is_file():
            continue
        own = file.is_relative_to(HOME)
        there = _installed(file)
        if there is not None and not own:
            packages.add(there.stem)
            if there != home:
                continue
        found.add(file)
        if not own:
            waiting.append(file.with_name("__init__.py"))
        for level, name in _imported(file, *_state(file)):
            root = name.partition(".")[0]
            if level:
                waiting += _modules(file.parents[level - 1], name)
            elif root == "tacit":
                # its packages re-export names, and code that imports them names the modules
                waiting.append(HOME.parent / f"{name.replace('.', '/')}.py")
            elif home is not None and root == home.stem:
                waiting += _modules(home.parent, name)
            elif not own and root not in sys.stdlib_module_names:
                places = [Path(place) for place in sys.path]
                here = [place for place in places if not _INSTALLED & set(place.parts)]
                beside = [each for place in here for each in _modules(place, name)]
                waiting += beside
                packages |= set() if beside else {root}
    return found, packages


def _installed(file: Path) -> Path | None:
    """The folder, or the only file, of the installed package that a file belongs to."""
    at = next((at for at, part in enumerate(file.parts) if part in _INSTALLED), None)
    return None if at is None else Path(*file.parts[: at + 2])


def _modules(folder: Path, name: str) -> list[Path]:
    """The files that are run, or may be run, by importing a name from a folder."""
    found: list[Path] = []
    for part in filter(None, name.split(".")):
        folder = folder / part
        found += [folder.with_name(f"{part}.py"), folder / "__init__.py"]
    return [each for each in found if each.is_file()]


def _state(file: Path) -> tuple[int, int]:
    state = file.stat()
    return state.st_mtime_ns, state.st_size


@functools.lru_cache(maxsize=4096)
def _digest(file: Path, changed: int, size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@functools.lru_cache(maxsize=4096)
def _imported(file: Path, changed: int, size: int) -> tuple[tuple[int, str], ...]:
    """Levels and names of what a file imports, including names that are not modules."""
    found: list[tuple[int, str]] = []
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # an extension module
        return ()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
            found += [(node.level, name) for name in names if name]
    return tuple(found)


@functools.cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return " ".join(sorted(map(version, packages_distributions().get(package, ()))))
