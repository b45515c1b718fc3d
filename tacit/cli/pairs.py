"""Options of the form NAME=VALUE that are given several times."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.errors import ConfigError


def pairs(option: str, given: Sequence[str], form: str) -> dict[str, str]:
    """The values by name.

    Args:
        option: name of the option, without hyphens.
        given: what was given.
        form: what each has to be, in words.

    Raises:
        ConfigError: something else, or a name that is given twice.
    """
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not (name and equals and value):
            raise ConfigError(f"{option}={each!r} must be {form}")
        if name in found:
            raise ConfigError(
                f"--{option} is given twice for {name!r}, as {found[name]} and {value}; leave one "
                "of them out"
            )
        found[name] = value
    return found
