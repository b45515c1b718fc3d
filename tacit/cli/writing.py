"""Files that a command writes where it is told to."""

from __future__ import annotations

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
