"""What a sweep varies, and the resulting cells."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tacit import checks
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.ranges import Count
from tacit.study._described.catalogue import METHODS, Entry, Protection
from tacit.study._grammar.explain import descriptions
from tacit.study.model import Study
from tacit.study.parts import METHOD, declared, method
from tacit.sweep.cases import NAME, check_cases, flat
from tacit.sweep.sections import SECTIONS, check_sections, section_of
from tacit.types import Oracle

_FIXED = {
    "run.trials": "the number of runs of a cell is the number of seeds",
    "run.output": "a sweep has one directory, which is given apart",
    "run.record": "a sweep measures at the end of a run",
    "method.name": "methods are given apart (methods = [...] at the top of a grid file, --method, "
    "or Grid(methods=...))",
    "method": "methods are given apart (methods = [...] at the top of a grid file, --method, or "
    "Grid(methods=...)), and the arguments of one as NAME.key, such as dpsg.step",
    "data.path": "all cells share the study's records",
    "data.labels": "all cells share the study's records",
    "title": "it changes no number",
    "notes": "it changes no number",
}
"""Keys that a sweep does not vary, and why."""


@checked(ConfigError)
@dataclass(frozen=True)
class Grid:
    """What a sweep varies around a study: every combination is a cell, run with every seed.

    Attributes:
        seeds: number of runs per cell, at least 1; they differ in their noise and in the method's
            other random draws. `None` takes `[run] trials` of the study.
        methods: names of methods, as `tacit methods` lists them; empty for the study's own. A
            method also takes those keys of the study's section [method] that it has.
        settings: values that each "section.key" takes in turn. "method.key" applies to every
            method that has the key, and "NAME.key" to the method of that name. Keys of [privacy]
            are left out for a method without noise. A whole section takes tables, which stand for
            all of it and so have their own arguments: "network" graphs, "partition" and "problem"
            likewise. The name alone stands for a table without arguments.
        cases: settings that go together, one table for each case: a method with the network, noise
            or number of rounds that it needs, or a number of sites with its graph. It has one value
            for each key, and may have a "name" for tables and figures; the cases of one name are
            one line. Every case is combined with all of `settings`.
        names: what to call methods and other values in tables and figures, by the words for them,
            such as `{"dpsg": "DPSG", "grid (rows 4)": "Grid"}`. They change no number, and files of
            comma-separated values keep the words.

    Raises:
        ConfigError: no seed, no value, a value given twice, a method that does not exist, or a key
            that a sweep does not vary or no study or method has.

    Example:
        >>> grid = Grid(seeds=10, methods=("dpsg", "dgd"), settings={"privacy.epsilon": (1.0, 2.0)})
        >>> study = {"method": {"name": "dpsg", "step": 0.5}, "privacy": {"clip": 1.0}}
        >>> [settings for settings, _ in grid.cells(study)]  # doctest: +NORMALIZE_WHITESPACE
        [{'method': 'dpsg', 'privacy.epsilon': 1.0}, {'method': 'dpsg', 'privacy.epsilon': 2.0},
         {'method': 'dgd'}]
        >>> graphs = ("ring", {"graph": "grid", "rows": 2, "columns": 2})
        >>> cells = Grid(settings={"network": graphs}).cells(study)
        >>> [document["network"] for _, document in cells]
        [{'graph': 'ring'}, {'graph': 'grid', 'rows': 2, 'columns': 2}]
        >>> star = {"name": "Star", "method": "gradient-descent", "network": "coordinator"}
        >>> [settings for settings, _ in Grid(cases=({"method": "dpsg"}, star)).cells(study)]
        ... # doctest: +NORMALIZE_WHITESPACE
        [{'method': 'dpsg'},
         {'case': 'Star', 'method': 'gradient-descent', 'network': 'coordinator'}]
    """

    seeds: Count | None = None
    methods: Sequence[str] = ()
    settings: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    cases: Sequence[Mapping[str, Any]] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings = {key: tuple(values) for key, values in self.settings.items()}
        object.__setattr__(self, "methods", tuple(self.methods))
        object.__setattr__(self, "settings", MappingProxyType(settings))
        for name in self.methods:
            method(name)
        _check_values("method", self.methods or ("any",))
        for key, values in settings.items():
            if not isinstance(key, str):
                raise ConfigError(
                    f"settings={{{key!r}: ...}}: a key must be text, such as 'method.step'"
                )
            if key in _FIXED:
                raise ConfigError(f"{key} cannot be varied: {_FIXED[key]}; leave it out")
            if "." not in key and key not in SECTIONS:
                raise ConfigError(
                    f"{key!r} must be a section and a key with a dot between, such as method.step "
                    f"or privacy.epsilon, or one of the sections {', '.join(SECTIONS)}"
                )
            _check_values(key, values)
            _check_key(key)
        check_sections(settings)
        if empty := [name for name, called in self.names.items() if not called]:
            raise ConfigError(f"names[{empty[0]!r}]='' is empty; give a name, or leave it out")
        object.__setattr__(self, "names", MappingProxyType(dict(self.names)))
        object.__setattr__(self, "cases", tuple(map(flat, self.cases)))
        check_cases(self.cases, settings, _FIXED)
        for case in self.cases:
            if "method" in case:
                method(case["method"])
            for key in case.keys() - {NAME, "method"}:
                _check_key(key)

    def cells(self, study: Mapping[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Every cell: its particular settings, and its study as a separate document.

        Args:
            study: a study file as TOML reads it, with a section [method].

        Raises:
            ConfigError: a key of [method] or of a method that no method of the sweep has.
        """
        own = str(study["method"]["name"])
        each = [
            (case, [method(name) for name in _of_case(case) or self.methods or (own,)])
            for case in self.cases or ({},)
        ]
        methods = list({entry.name: entry for _, some in each for entry in some}.values())
        if [entry.name for entry in methods] != [own]:
            for entry in (method(own), *methods):
                if entry.build.oracle is Oracle.ROWS:
                    raise ConfigError(
                        f"method={entry.name!r} answers another question than other methods, so "
                        "there is nothing to compare; sweep a study of it without other methods, "
                        "or leave it out"
                    )
        self._check_keys(methods)
        found: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for case, entry in ((case, entry) for case, some in each for entry in some):
            plan = self._of(entry)
            fixed = {key: value for key, value in case.items() if key not in (NAME, "method")}
            name = {key: case[key] for key in case if key == NAME}
            for values in itertools.product(*plan.values()):
                chosen = fixed | dict(zip(plan, values, strict=True))
                document = _with_method(study, entry)
                # a section first: single keys are changed in what it puts there
                for key, value in sorted(chosen.items(), key=lambda item: item[0] not in SECTIONS):
                    if key in SECTIONS:
                        document[key] = section_of(key, value)
                        continue
                    _put(document, key.split("."), value, key)
                found.append(({**name, "method": entry.name, **chosen}, document))
        return found

    def _of(self, entry: Entry) -> dict[str, Sequence[Any]]:
        """The settings that apply to a method, by their key in its study."""
        keys = {argument.name for argument in entry.parameters}
        known = {*METHODS, *self.methods, entry.name}
        found: dict[str, Sequence[Any]] = {}
        for key, values in self.settings.items():
            section, _, rest = key.partition(".")
            if section == "privacy" and entry.protection is Protection.NONE:
                continue
            if section == "method" and rest.split(".")[0] not in keys:
                continue
            if section in known:
                if section != entry.name:
                    continue
                key = f"method.{rest}"
            found[key] = values
        return found

    def _check_keys(self, methods: Sequence[Entry]) -> None:
        """Every key of a method must be one that some method of the sweep has."""
        for key in self.settings:
            section = key.partition(".")[0]
            asked = [entry for entry in methods if section in ("method", entry.name)]
            if asked:
                _check_argument(key, asked)
            elif section not in Study.model_fields:
                raise ConfigError(
                    f"{key} is for the method {section}, which is not in this sweep; add it to "
                    "the methods, or leave the key out"
                )


def _check_key(key: str) -> None:
    """Refuse a key that no study has; what [method] may have, the study's own method says."""
    section, _, rest = key.partition(".")
    if key in SECTIONS or section == "method":
        return
    if section in Study.model_fields:
        _check_known(key, rest, f"[{section}] has", descriptions(Study)[section])
        return
    names = {*METHODS, *declared(METHOD)}
    if section not in names:
        close = checks.hint(
            section, [*Study.model_fields, *names], f"there are {', '.join(Study.model_fields)}"
        )
        raise ConfigError(f"{key}: a study has no section {section!r}; {close}")
    _check_argument(key, [method(section)])


def _check_argument(key: str, asked: Sequence[Entry]) -> None:
    """Refuse a key that none of the methods has which it is for."""
    section, _, rest = key.partition(".")
    known = {argument.name for entry in asked for argument in entry.parameters}
    head = rest.split(".")[0]
    if head in Study.model_fields and head not in known:
        raise ConfigError(
            f"{key}: a method has no section [{head}] of its own; give it in a case: "
            f"[[cases]] with method = {section!r} and {rest} = ..."
        )
    have = "have" if len(asked) > 1 else "has"
    _check_known(key, rest, f"{', '.join(entry.name for entry in asked)} {have}", known)


def _check_known(key: str, rest: str, whose: str, known: Iterable[str]) -> None:
    head, names = rest.split(".")[0], sorted(known)
    if head not in names:
        close = checks.hint(head, names, f"there are {', '.join(names)}")
        raise ConfigError(f"{key}: {whose} no key {head!r}; {close}")


def _of_case(case: Mapping[str, Any]) -> tuple[str, ...]:
    return (case["method"],) if "method" in case else ()


def _check_values(key: str, values: Sequence[Any]) -> None:
    if not values or "" in values:
        raise ConfigError(f"{key} has no value, or an empty one; give one or more, commas between")
    # 1 and 1.0 give the same run twice, but 1 and true do not
    seen = [(isinstance(value, bool), value) for value in values]
    twice = [value for number, value in enumerate(values) if seen.index(seen[number]) < number]
    if twice:
        raise ConfigError(f"{key} has {twice[0]!r} twice; give every value once")


def _with_method(study: Mapping[str, Any], entry: Entry) -> dict[str, Any]:
    """A copy of a study with this method, and those of the study's keys for it that it has."""
    document = copy.deepcopy(dict(study))
    if document["method"].get("name") != entry.name:
        keys = {argument.name for argument in entry.parameters}
        kept = {key: value for key, value in document["method"].items() if key in keys}
        document["method"] = {"name": entry.name, **kept}
    if entry.protection is Protection.NONE:
        document.pop("privacy", None)
    return document


def _put(table: dict[str, Any], path: Sequence[str], value: Any, key: str) -> None:
    """Put a value into a document; missing tables are created."""
    for part in path[:-1]:
        inner = table.setdefault(part, {})
        if inner is True:  # stands for a table of defaults
            inner = table[part] = {}
        if not isinstance(inner, dict):
            raise ConfigError(
                f"{key} cannot be set, since the study has {part} = {inner!r}; write it as a table "
                f"there, such as {part} = {{ kind = {inner!r} }}"
            )
        table = inner
    table[path[-1]] = copy.deepcopy(value)
