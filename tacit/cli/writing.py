"""Files that a command writes where it is told to."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from tacit.errors import ConfigError


def check_free(option: str, path: Path, *, force: bool, read: Mapping[str, Path]) -> None:
    """Refuse a file that exists, without --force, and always one that the command reads.

    Args:
        option: name of the option that names the file, without hyphens.
        path: path of the file.
        force: whether the file may be replaced.
        read: files that the command reads, by what they are.

    Raises:
        ConfigError: it exists.
    """
    for what, other in read.items():
        if path.exists() and other.exists() and path.samefile(other):
            raise ConfigError(f"{option}={str(path)!r} is {what} that is read; choose another name")
    if path.exists() and not force:
        raise ConfigError(
            f"{option}={str(path)!r} exists; give --force to replace it, or another name"
        )


def check_study(option: str, path: Path) -> None:
    """Refuse to write a study where it would not be one, or would replace another kind of file.

    Raises:
        ConfigError: a name that does not end in .toml, or a file that is not TOML.
    """
    if path.suffix.lower() != ".toml":
        raise ConfigError(
            f"{option}={str(path)!r} is not the name of a study; choose one that ends in .toml"
        )
    if not path.is_file():
        return
    try:
        tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{option}={str(path)!r} holds something other than a study, which --force does not "
            "replace; choose another name"
        ) from error


def write_text(option: str, path: Path, text: str) -> None:
    """Write a file.

    Args:
        option: name of the option that names the file, without hyphens.
        path: path of the file.
        text: contents of the file.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{option}={str(path)!r} cannot be written ({error.strerror}); choose another place"
        ) from error
