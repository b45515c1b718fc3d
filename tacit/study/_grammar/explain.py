"""The mistakes in a study file, in words: value, position, remedy."""

from __future__ import annotations

import functools
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tacit import checks
from tacit.study._described.catalogue import REFUSED
from tacit.study._grammar.locate import Path

_LIMITS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text in quotes",
    "tuple": "a list",
    "dict": "a table",
    "model": "a table",
    "model_attributes": "a table",
    "dataclass": "a table",
    "finite_number": "a finite number",
}


_MOST = 50
"""Maximum number of mistakes reported at once."""


def explain(
    error: ValidationError, document: Mapping[str, Any], model: type[BaseModel]
) -> list[tuple[Path, str]]:
    """Every mistake as the path of a key and a sentence, in the order of the sections."""
    found: dict[Path, list[str]] = {}
    mistakes = error.errors(include_url=False)
    for number, one in enumerate(mistakes):
        if len(found) == _MOST:
            found[()] = [f"{len(mistakes) - number} more mistakes; correct these first"]
            break
        path = _path(one["loc"], document, missing=one["type"] == "missing")
        if one["type"] == "union_tag_invalid":
            path = _chooser(path, str(one.get("ctx", {})["discriminator"]).strip("'"), document)
        text = _text(one, path, document, model)
        if text not in found.setdefault(path, []):
            found[path].append(text)
    return [(path, ", or ".join(texts)) for path, texts in found.items()]


def _text(
    one: ErrorDetails, path: Path, document: Mapping[str, Any], model: type[BaseModel]
) -> str:
    kind, context = one["type"], one.get("ctx", {})
    key, value = str(path[-1]) if path else "", one["input"]
    if kind == "missing" and len(path) == 1 and _is_section(model, key):
        meaning = model.model_fields[key].description
        return f"is missing; add a section [{key}]" + (f" ({meaning})" if meaning else "")
    if kind == "missing":
        meaning = _meaning(model, one["loc"])
        return f"is missing; add {key} = ..." + (f" ({meaning})" if meaning else "")
    if kind == "extra_forbidden":
        return f"unknown key{_close(key, _siblings(one, path, document, model))}"
    if kind in _LIMITS:
        bound, word = _LIMITS[kind]
        return f"{value!r} must be {word} {_number(context[bound])}"
    if kind == "literal_error":
        allowed = str(context["expected"])
        return f"{value!r} must be {allowed}{_close(str(value), _quoted(allowed), '')}"
    if kind == "union_tag_invalid":
        allowed = str(context["expected_tags"])
        tag = str(context["tag"])
        if tag in REFUSED and path[:1] == ("method",):
            return f"{tag!r} {REFUSED[tag]}"
        return f"{tag!r} must be one of {allowed}{_close(tag, _quoted(allowed), '')}"
    if kind == "union_tag_not_found":
        return f"needs the key {str(context['discriminator']).strip(chr(39))}, which says its kind"
    if kind == "value_error":
        return str(context.get("error", one["msg"]))
    name = kind.removesuffix("_type").removesuffix("_parsing")
    if _TYPES.get(name) == "a table" and isinstance(value, list):
        return f"a list must be a table; write [{key}] in single brackets, once"
    if name in _TYPES:
        return f"{_shown(value)} must be {_TYPES[name]}"
    if kind in ("too_short", "too_long"):
        bound, word = ("min_length", "least") if kind == "too_short" else ("max_length", "most")
        entries = f"{context[bound]} " + ("entry" if context[bound] == 1 else "entries")
        return f"{_shown(value)} must have at {word} {entries}"
    message = one["msg"]
    return message if isinstance(value, Mapping) else f"{_shown(value)} {message}"


def _is_section(model: type[BaseModel], key: str) -> bool:
    field = model.model_fields.get(key)
    return field is not None and any(_models([field.annotation, *field.metadata]))


def _number(value: float) -> str:
    """A limit as people write it: 0.5, 64, 2,592,000."""
    text = f"{value:g}"
    return f"{value:,.0f}" if "e+" in text else text


def _chooser(path: Path, key: str, document: Any) -> Path:
    """The key that selects a kind, where it is written out."""
    if key.endswith("()"):  # a function chose, because the key is optional
        key = "kind"
    for part in path:
        document = document[part]
    return (*path, key) if isinstance(document, Mapping) and key in document else path


def _siblings(
    one: ErrorDetails, path: Path, document: Mapping[str, Any], model: type[BaseModel]
) -> list[str]:
    """Possible intended keys: all of the section's keys that are not present."""
    # without it a study is taken for one of another kind, which has no such section
    hidden = {"model": ""} if "method" in model.model_fields else {}
    section: Mapping[str, Any] = {**hidden, **model.model_fields}
    if len(path) > 1:
        section = _allowed([model], path[:-1], one["loc"])
    there: Any = document
    for part in path[:-1]:
        there = there[part]
    return [name for name in section if name not in there]


def _allowed(kinds: Sequence[Any], path: Path, loc: Sequence[Any]) -> dict[str, Any]:
    """The keys of the table at a path, of the kind that a location names, if there are several."""
    found = list(members(kinds))
    found = [each for each in found if _tags(each) & set(loc)] or found
    if not path:
        return {key: field for each in found for key, field in each.model_fields.items()}
    fields = [each.model_fields[str(path[0])] for each in found if path[0] in each.model_fields]
    inside = [kind for field in fields for kind in (field.annotation, *field.metadata)]
    # an entry by a name of the user's, such as a column, is no field
    return _allowed(inside or kinds, path[1:], loc)


def _tags(model: type[BaseModel]) -> set[Any]:
    """The names of the kind that a model is for."""
    fields = [
        model.model_fields[key]
        for key in ("kind", "by", "name", "graph")
        if key in model.model_fields
    ]
    return {tag for field in fields for tag in typing.get_args(field.annotation)}


@functools.cache
def descriptions(model: type[BaseModel]) -> dict[str, dict[str, str]]:
    """For each section, the keys allowed in it or in its tables, with their meaning."""
    found: dict[str, dict[str, str]] = {}
    for name, field in model.model_fields.items():
        keys = found.setdefault(name, {})
        for part in _models([field.annotation, *field.metadata]):
            for key, inner in part.model_fields.items():
                keys.setdefault(key, inner.description or "")
    return found


def _meaning(model: type[BaseModel], loc: Sequence[str | int]) -> str:
    """The meaning of a key in the section at hand: another method's key of that name is another."""
    there = [model]
    for part in loc[:-1]:
        fields = [each.model_fields[part] for each in there if part in each.model_fields]
        if fields:
            there = list(members([kind for f in fields for kind in (f.annotation, *f.metadata)]))
        elif isinstance(part, str):  # which of them was chosen
            there = [each for each in there if part in _names(each)] or there
    key = str(loc[-1])
    texts = (each.model_fields[key].description for each in there if key in each.model_fields)
    return next((text for text in texts if text), "")


def _names(model: type[BaseModel]) -> set[Any]:
    """The names by which a kind of section is chosen."""
    kinds = (field.annotation for field in model.model_fields.values())
    return {
        name
        for kind in kinds
        if typing.get_origin(kind) is typing.Literal
        for name in typing.get_args(kind)
    }


def _models(kinds: Sequence[Any]) -> Iterator[type[BaseModel]]:
    """The sections that types are made of, with those inside them."""
    for part in members(kinds):
        yield part
        yield from _models([field.annotation for field in part.model_fields.values()])


def members(kinds: Sequence[Any]) -> Iterator[type[BaseModel]]:
    """The sections that types are made of, without those inside them."""
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield kind
        else:
            yield from members(typing.get_args(kind))


def _path(loc: Sequence[str | int], document: Any, missing: bool) -> Path:
    """The keys of the file within a location, which also names kinds of sections."""
    best = _walk(tuple(loc), document, missing)
    return best[1] if best else ()


def _walk(loc: Path, value: Any, missing: bool) -> tuple[tuple[bool, int], Path]:
    if not loc:
        return (True, 0), ()
    if missing and len(loc) == 1:
        return (isinstance(value, Mapping), 1), loc
    skipped_rank, skipped = _walk(loc[1:], value, missing)
    # the last part counts only if it is present
    candidates = [((skipped_rank[0] and len(loc) > 1, skipped_rank[1]), skipped)]
    head, found = loc[:1], _inside(value, *loc[:1])
    if found is not None:
        rank, rest = _walk(loc[1:], found, missing)
        candidates.append(((rank[0], rank[1] + 1), (*head, *rest)))
    return max(candidates, key=lambda candidate: candidate[0])


def _inside(value: Any, part: str | int) -> Any:
    """An entry of a table or list, `None` where there is none (TOML has no null)."""
    if isinstance(value, Mapping):
        return value.get(part)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return None


def _quoted(text: str) -> list[str]:
    return text.replace(" or ", ", ").replace("'", "").split(", ")


def _close(name: str, candidates: Sequence[str], otherwise: str = "list") -> str:
    close = checks.close(name, candidates)
    if close:
        return f"; did you mean {close[0]!r}?"
    if otherwise and candidates:
        return f"; possible here: {', '.join(candidates[:12])}"
    return "; remove it" if otherwise else ""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
