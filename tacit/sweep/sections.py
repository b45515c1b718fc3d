"""Whole sections of a study as the values of a sweep, so that each value has its own arguments."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.errors import ConfigError

SECTIONS: Mapping[str, str] = {"network": "graph", "partition": "by", "problem": "loss"}
"""The sections that a sweep replaces as a whole, and the key that names what each of them is."""

_NAMING = (*SECTIONS.values(), "kind")


def section_of(section: str, value: Any) -> dict[str, Any]:
    """The section that a value stands for; a name stands for a table without arguments.

    Example:
        >>> section_of("network", "ring")
        {'graph': 'ring'}
    """
    return {SECTIONS[section]: value} if isinstance(value, str) else copy.deepcopy(dict(value))


def check_sections(settings: Mapping[str, Sequence[Any]]) -> None:
    """Refuse values that are no section, and single keys that a section's values give as well.

    Raises:
        ConfigError: such a value or key.
    """
    for section, naming in SECTIONS.items():
        given: set[str] = set()
        seen: list[dict[str, Any]] = []
        for value in settings.get(section, ()):
            if not isinstance(value, str | Mapping):
                raise ConfigError(
                    f"{section}={value!r} must be a name or a table with its arguments, such as "
                    f"{{ {naming} = ..., ... }}"
                )
            whole = section_of(section, value)
            if whole in seen:
                raise ConfigError(f"{section} has {shown(value)!r} twice; give every value once")
            seen.append(whole)
            given |= set(whole)
        for key in settings:
            head = key.partition(".")[2].split(".")[0]
            if key.startswith(f"{section}.") and head in given:
                raise ConfigError(
                    f"{key} is varied, and a value of {section} gives {head} as well; give it in "
                    "one of the two places"
                )


def shown(value: Any) -> Any:
    """A value as tables and figures show it: a table by its name, with its arguments.

    Example:
        >>> shown({"graph": "grid", "rows": 4}), shown({"graph": "ring"}), shown([1, 2]), shown(0.5)
        ('grid (rows 4)', 'ring', '[1, 2]', 0.5)
    """
    if not isinstance(value, Mapping):
        return str(value) if isinstance(value, list) else value
    name = next((key for key in _NAMING if key in value), None)
    rest = ", ".join(f"{key} {shown(each)}" for key, each in value.items() if key != name)
    if name is None:
        return rest
    # a loss, too, may be a table
    first = str(shown(value[name]))
    return f"{first} ({rest})" if rest else first
