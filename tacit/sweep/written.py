"""Grids as they are written: in the options of a command, and in a file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacit import checks
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.study._grammar import toml
from tacit.sweep.grid import Grid

_KEYS = ("seeds", "methods", "settings", "cases", "names")


@checked(ConfigError)
def read_grid(path: str | Path) -> Grid:
    """Read a grid from a file.

    Args:
        path: path of a TOML file with the keys `seeds` (a whole number), `methods` (a list of
            names), a table `settings`, in which every key of a study has a list of values,
            `[[cases]]`, tables of keys with one value each, and a table `names`, of what to call
            values. All may be left out.

    Raises:
        ConfigError: unreadable, not TOML, an unknown key, or not a `Grid`.
    """
    path = Path(path)
    try:
        document = toml.parse(toml.read_bytes(path), path.name)
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file of a grid; check the path") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check the file") from error
    for key in document:
        if key not in _KEYS:
            hint = checks.hint(key, _KEYS, f"there are {', '.join(_KEYS)}")
            raise ConfigError(f"{path.name}: a grid has no key {key!r}; {hint}")
    seeds, methods = document.get("seeds"), document.get("methods", [])
    if not isinstance(seeds, int | None) or isinstance(seeds, bool):
        raise ConfigError(f"{path.name}: seeds={seeds!r} must be a whole number")
    if not isinstance(methods, list) or not all(isinstance(name, str) for name in methods):
        raise ConfigError(f"{path.name}: methods={methods!r} must be a list of names")
    settings = document.get("settings", {})
    if not isinstance(settings, Mapping):
        raise ConfigError(f"{path.name}: settings={settings!r} must be a table")
    cases = document.get("cases", [])
    if not isinstance(cases, list):
        raise ConfigError(f"{path.name}: cases={cases!r} must be tables, each below [[cases]]")
    names = document.get("names", {})
    if not isinstance(names, Mapping):
        raise ConfigError(f"{path.name}: names={names!r} must be a table")
    try:
        return Grid(seeds, tuple(methods), dict(_lists(settings)), tuple(cases), names)
    except ConfigError as error:
        raise ConfigError(f"{path.name}: {error}") from error


def _lists(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Keys with dots, and their values."""
    for part, value in table.items():
        key = f"{above}{part}"
        if isinstance(value, Mapping):
            yield from _lists(value, f"{key}.")
        elif isinstance(value, list):
            yield key, tuple(value)
        else:
            raise ConfigError(f"{key}={value!r} must be a list of values, such as [{value!r}]")


def parse_setting(text: str) -> tuple[str, tuple[Any, ...]]:
    """The key and the values of a text such as `method.step=0.1,0.2`.

    Values are written as in a study file; words need no quotes.

    Raises:
        ConfigError: no equals sign, or nothing on one of its sides.

    Example:
        >>> parse_setting("network.graph=ring, complete")
        ('network.graph', ('ring', 'complete'))
        >>> parse_setting("problem.constraint.lower=[-1,-1],0")
        ('problem.constraint.lower', ([-1, -1], 0))
    """
    key, mark, values = text.partition("=")
    if not (mark and key.strip() and values.strip()):
        raise ConfigError(
            f"--set {text!r} must be a key, an equals sign and values with commas between, such as "
            "--set method.step=0.1,0.2"
        )
    return key.strip(), tuple(parse_value(value) for value in split(values))


def parse_value(text: str) -> Any:
    """A value as TOML reads it, or the text itself.

    Example:
        >>> parse_value("2"), parse_value("1e-3"), parse_value("true"), parse_value("ring")
        (2, 0.001, True, 'ring')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def split(text: str) -> list[str]:
    """The parts of a text between its commas, except for commas in brackets or quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in "[{") - (letter in "]}")
            if letter == "," and depth == 0:
                parts.append("")
                continue
        parts[-1] += letter
    return [part.strip() for part in parts]
