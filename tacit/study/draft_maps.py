"""Other ways in which values are written, in a first study file for a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tacit.data.columns import as_map
from tacit.data.guessing import kind_of
from tacit.errors import ConfigError


def check_maps(maps: Iterable[str], frame: Any, site: str | None) -> None:
    """Refuse a map of a column whose values are not rewritten.

    Raises:
        ConfigError: a column that is no site and has no levels.
    """
    for name in maps:
        kind = kind_of(frame[name])
        if name != site and kind not in ("categorical", "boolean"):
            raise ConfigError(
                f"map={name!r} is for levels and sites, and {name!r} holds "
                f"{'dates' if kind == 'date' else 'numbers'}; leave it out"
            )


def map_line(recoding: Mapping[str, str] | None) -> str:
    """The line that rewrites values of a column, if any are."""
    return f"map = {as_map(recoding)}\n" if recoding else ""
