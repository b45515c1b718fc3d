"""What to cite for a method: the papers that its docstring names, as BibTeX."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import tacit
from tacit.method.phase import AbstractMethod

_SOURCE = re.compile(r"(?<![\w'\"`])Sources?: (.*?)\.(?=\s+[A-Z`*]|\s*$)")
"""As `docs/citations.py` reads a docstring."""

_CAPITALS = re.compile(r"\w*[A-Z]{2}\w*")
"""What small letters would spoil."""

MASKS = "Bonawitz et al. (2017)"
"""What uniform masks follow."""

_ITSELF = """\
@misc{{tacit,
  author = {{{{The tacit maintainers}}}},
  title = {{tacit: differentially private distributed optimisation}},
  year = {{2026}},
  note = {{version {version}}},
}}
"""


def papers_of(method: AbstractMethod) -> tuple[str, ...]:
    """Names of the papers that describe a method, the methods inside it and its masks.

    Args:
        method: a method.

    Example:
        >>> from tacit.method import DGD
        >>> papers_of(DGD(step=0.1))
        ('Nedic, Ozdaglar (2009)',)
    """
    found = [name for kind in _kinds(method) for name in papers_of_kind(kind)]
    budget = getattr(method, "privacy", None)  # the parameters of a model have none
    if budget is not None and budget.hides.together:
        found.append(MASKS)
    return tuple(dict.fromkeys(found))


def papers_of_kind(kind: type[AbstractMethod]) -> tuple[str, ...]:
    """Names of the papers that describe methods of a class, in the order of its docstring.

    Args:
        kind: class of a method.
    """
    said = " ".join(_SOURCE.findall(" ".join((kind.__doc__ or "").split())))
    places = {said.find(name): name for name in _papers() if name in said}
    return tuple(places[at] for at in sorted(places))


def bibtex(papers: Sequence[str]) -> str:
    """Entries for BibTeX of papers, and of tacit itself.

    Args:
        papers: names of papers, as `papers_of` gives them.

    Raises:
        KeyError: a paper that tacit does not know.
    """
    entries = [_entry(name, _papers()[name]) for name in papers]
    return "\n".join([*entries, _ITSELF.format(version=tacit.__version__)])


def _kinds(method: AbstractMethod) -> Iterator[type[AbstractMethod]]:
    """The class of a method, and those of methods inside it."""
    yield type(method)
    for field in fields(method) if is_dataclass(method) else ():
        inner = getattr(method, field.name, None)
        if isinstance(inner, AbstractMethod):
            yield from _kinds(inner)


@cache
def _papers() -> dict[str, dict[str, Any]]:
    """What is listed of every paper, by its name in docstrings."""
    text = (files("tacit") / "papers" / "papers.toml").read_text(encoding="utf-8")
    return {each["cite"]: each for each in tomllib.loads(text)["paper"]}


def _entry(name: str, paper: dict[str, Any]) -> str:
    """The entry of one paper; what `bibtex` lists of it goes before what its name says."""
    listed: dict[str, str] = dict(paper.get("bibtex", {}))
    kind = listed.pop("kind", "misc")
    said = {
        "author": listed.pop("author"),
        "title": _title(paper["title"]),
        "year": re.findall(r"\((\d{4})", name)[0],
    }
    key = re.sub(r"[^a-z0-9]", "", name.lower())
    lines = [f"  {field} = {{{text}}},\n" for field, text in (said | listed).items()]
    return f"@{kind}{{{key},\n{''.join(lines)}}}\n"


def _title(text: str) -> str:
    """A title, in which styles that take small letters leave DP-ADMM as it is."""
    return _CAPITALS.sub(r"{\g<0>}", text)
