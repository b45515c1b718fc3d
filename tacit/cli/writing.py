"""Files that a command writes where it is told to."""

from __future__ import annotations

from pathlib import Path

from tacit.errors import ConfigError


def check_free(option: str, path: Path, *, force: bool) -> None:
    """Refuse a file that exists, without --force.

    Args:
        option: name of the option that names the file, without hyphens.
        path: path of the file.
        force: whether the file may be replaced.

    Raises:
        ConfigError: it exists.
    """
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
