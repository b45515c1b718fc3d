"""The page of all keys of a study, made of what the grammar of studies says of them.

    python docs/study_keys.py

writes it anew, after a key or its description has changed.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tacit.study._grammar.explain import members
from tacit.study.model import CostsStudy, RegressionStudy, StatisticsStudy, Study

PAGE = Path(__file__).parent / "study_keys.md"

_HEAD = """# All keys of a study

What a [study file](study.md) may contain, by section. `title` and `notes` stand above the first
section. The keys of `[method]` are those of the method that it names: `tacit describe NAME` lists
them, as it lists those of every graph, loss and other part. Where a table is of several kinds, the
second column says which of them take a key; all do where it is empty. Some studies have other keys
beside those of the first tables: these are at the end.
"""

_MODELS: Mapping[str, type[Study]] = {
    "": Study,
    "in studies of counts, a table 1, survival or a regression": StatisticsStudy,
    "in studies of a regression": RegressionStudy,
    "in studies of whole costs": CostsStudy,
}
"""Kinds of studies, each with the words that follow the name of a section."""

_CHOOSERS = ("kind", "by", "graph")
"""Keys that choose the kind of a table."""

Table = dict[tuple[str, str, str], list[str]]
"""The kinds that have a key, by the key, its meaning and its default."""


def page() -> str:
    """The page as it has to be."""
    lines, known = [_HEAD], dict[str, Table]()
    for words, model in _MODELS.items():
        for name, field in model.model_fields.items():
            for path, kinds in _tables(name, field):
                table = _table(kinds)
                more = {row: of for row, of in table.items() if row not in known.get(path, {})}
                known.setdefault(path, {}).update(table)
                if more:
                    lines += [f"## `[{path}]` {words}".rstrip(), "", *_rows(more, kinds), ""]
    return "\n".join(lines).rstrip() + "\n"


def _tables(path: str, field: FieldInfo) -> Iterator[tuple[str, list[type[BaseModel]]]]:
    """The kinds of a table, and of the tables in it; methods have pages of their own."""
    kinds = list(dict.fromkeys(members([field.annotation, *field.metadata])))
    if path == "method" or not kinds:
        return
    yield path + (".NAME" if path in ("data.features", "problem.simulator.sites") else ""), kinds
    for kind in kinds:
        for key, each in kind.model_fields.items():
            yield from _tables(f"{path}.{key}", each)


def _table(kinds: Sequence[type[BaseModel]]) -> Table:
    found: Table = {}
    for kind in kinds:
        for key, field in kind.model_fields.items():
            if key not in _CHOOSERS:
                row = (key, _meaning(field), _default(field))
                found.setdefault(row, []).append(_name(kind))
    chooser = next((key for key in _CHOOSERS if key in kinds[0].model_fields), "")
    if not chooser:
        return found
    names = [_name(kind) for kind in kinds]
    if len(kinds) == 1:
        names = _choices(kinds[0].model_fields[chooser].annotation)
    default = _default(kinds[0].model_fields[chooser]) if len(kinds) == 1 else ""
    return {(chooser, _quoted(names), default): [_name(kind) for kind in kinds]} | found


def _rows(table: Table, kinds: Sequence[type[BaseModel]]) -> list[str]:
    several = len(kinds) > 1
    lines = ["| key | of | meaning | default |", "|---|---|---|---|"]
    if not several:
        lines = ["| key | meaning | default |", "|---|---|---|"]
    for (key, meaning, default), of in table.items():
        cells = [f"`{key}`", meaning, default]
        if several:
            others = [_name(kind) for kind in kinds if _name(kind) not in of]
            most = 0 < len(others) < len(of)
            cells.insert(1, ("all but " if most else "") + _quoted(others if most else of))
            if not others:
                cells[1] = ""
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _name(kind: type[BaseModel]) -> str:
    """The value of the key that chooses a kind; its own name where nothing is chosen."""
    fields = (kind.model_fields.get(key) for key in _CHOOSERS)
    values = (typing.get_args(field.annotation) for field in fields if field is not None)
    return next((str(each[0]) for each in values if each), kind.__name__)


def _meaning(field: FieldInfo) -> str:
    text = (field.description or "").removesuffix(".").replace("when `None`", "where left out")
    text = text.partition(" [default: ")[0].replace("|", r"\|")
    choices = _choices(field.annotation)
    told = len(choices) < 2 or any(f'"{each}"' in text for each in choices)
    return text if told else f"{text} ({_quoted(choices)})"


def _choices(hint: Any) -> list[str]:
    """The values that a key may have, where they are listed."""
    if typing.get_origin(hint) is typing.Literal:
        return [str(each) for each in typing.get_args(hint)]
    return [each for inner in typing.get_args(hint) for each in _choices(inner)]


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)


def _default(field: FieldInfo) -> str:
    _, _, told = (field.description or "").partition(" [default: ")
    if told:
        return told.removesuffix("]").replace("|", r"\|")
    if field.is_required():
        return "required"
    plain = isinstance(field.default, bool | int | float | str)
    return f"`{json.dumps(field.default)}`" if plain else ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
