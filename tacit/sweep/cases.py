"""Cases of a sweep: values that go together, such as a method with the network that it needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tacit import checks
from tacit.errors import ConfigError
from tacit.study.model import Study
from tacit.sweep.sections import SECTIONS, shown

_KINDS = ("kind", "name", *SECTIONS.values())
"""Keys that make a table a value of its own, which stands for all that was there."""

NAME = "case"
"""The key of a case's name among the settings of a cell."""


def flat(case: object) -> dict[str, Any]:
    """A case by key: its name as "case", its method as "method", all else as in `Grid.settings`.

    Raises:
        ConfigError: not a table, or an empty one.

    Example:
        >>> flat({"name": "Star", "method": {"name": "dpsg", "step": 1}, "privacy": {"clip": 2}})
        {'case': 'Star', 'method': 'dpsg', 'method.step': 1, 'privacy.clip': 2}
        >>> flat({"network": {"graph": "grid", "rows": 3}, "partition.sites": 9})
        {'network': {'graph': 'grid', 'rows': 3}, 'partition.sites': 9}
    """
    if not isinstance(case, Mapping) or not case:
        raise ConfigError(
            f"a case is {case!r}; give a table of settings that go together, such as "
            "{ method = 'dpsg', network = 'ring' }"
        )
    found: dict[str, Any] = {}
    if "name" in case:
        found[NAME] = case["name"]
    for key, value in _flat({key: value for key, value in case.items() if key != "name"}):
        if key == "method" and isinstance(value, Mapping):
            found[key] = value.get("name")
            rest = {each: value[each] for each in value if each != "name"}
            found |= dict(_flat(rest, "method."))
        else:
            found["method" if key == "method.name" else key] = value
    return found


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for part, value in table.items():
        inside = isinstance(value, Mapping) and not any(kind in value for kind in _KINDS)
        if inside and value:
            yield from _flat(value, f"{above}{part}.")
        else:
            yield f"{above}{part}", value


def check_cases(
    cases: Sequence[Mapping[str, Any]],
    settings: Collection[str],
    fixed: Mapping[str, str],
) -> None:
    """Refuse cases that are no settings, that are given twice, or that settings vary as well.

    Args:
        cases: the cases by key.
        settings: keys that all cases vary.
        fixed: keys that a sweep does not vary, and why.

    Raises:
        ConfigError: such a case.
    """
    for number, case in enumerate(cases):
        if case in cases[:number]:
            raise ConfigError(f"cases has {dict(case)!r} twice; give every case once")
        for key, value in case.items():
            where = f"{key}={value!r} of a case"
            if key in (NAME, "method"):
                if not isinstance(value, str) or not value:
                    raise ConfigError(f"{where} must be a name in quotes")
                continue
            section = key.partition(".")[0]
            if key in fixed:
                raise ConfigError(f"{where} cannot be varied: {fixed[key]}; leave it out")
            if section not in Study.model_fields:
                hint = checks.hint(
                    section, [*Study.model_fields, "name"], "write it as section.key"
                )
                raise ConfigError(f"{where}: a study has no section {section!r}; {hint}")
            if key == section and section not in SECTIONS:
                raise ConfigError(f"{where} must be a table of keys of [{section}]")
            if clash := [each for each in settings if each == key or each.startswith(f"{key}.")]:
                raise ConfigError(
                    f"{clash[0]} is varied, and a case gives {key} as well; give it in one of the "
                    "two places"
                )


def covered(cases: Sequence[Mapping[str, Any]], name: object) -> frozenset[str]:
    """The keys that the name of a case stands for, so that a line need not repeat them.

    Cases of one name are one line: over the numbers in which they differ, which are its axis. Where
    they differ in no number, as in their networks alone, they are lines apart.
    """
    named = [case for case in cases if name is not None and case.get(NAME) == name]
    keys = {key for case in named for key in case if key != NAME}
    values = {key: [case.get(key) for case in named] for key in keys}
    same = {key for key in keys if len(set(map(str, map(shown, values[key])))) == 1}
    numbers = {key for key in keys if all(map(_number, values[key]))}
    axis = numbers - same
    return frozenset(keys - axis if axis else same)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
