"""A first, commented study file for a table.

Only names and kinds of columns are used. Bounds and levels are left open, because numbers taken
from private data leak; the file is valid TOML and lists on its first run what is still to declare.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tacit import checks
from tacit.arguments import checked
from tacit.data.rules import level_key
from tacit.errors import ConfigError
from tacit.method.glm import FamilyName
from tacit.study.declaring import column_of_sites
from tacit.study.draft_model import columns_of, family_of, model_text
from tacit.study.draft_text import OPEN, features_of, study_text
from tacit.study.reading import AS_USUAL, Reading, relative


@dataclass(frozen=True)
class Draft:
    """A study file that is still to be completed.

    Attributes:
        text: text of the file, TOML.
        columns: number of columns of the table.
        used: how many of them the study names.
        target: name of the column to predict.
        site: name of the column that holds each record's site, `None` for simulated sites.
        to_declare: number of lines left open.
        decimal_commas: columns that would be numbers if commas were decimal marks.
        left_out: columns that are left out, because they say who a record is about.
        repeated: columns that say who a record is about, in which several records have the same
            value. Private.
        zero_one: columns of numbers that are 0 and 1 only, and are taken for no and yes.
        reading: how the table is read.
        like_values: names of columns that look like values, if most do: the line of names may be
            missing.
        codes: by column of numbers, texts in it, which may be codes of missing values. Private.
        far: by column of numbers, those far outside all others, which may be such codes. Private.
        spellings: by column of levels, those that differ from a more frequent one only in case or
            blanks, and that one. Private.
    """

    text: str
    columns: int
    used: int
    target: str
    site: str | None
    to_declare: int
    decimal_commas: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    zero_one: tuple[str, ...] = ()
    reading: Reading = AS_USUAL
    like_values: tuple[str, ...] = ()
    codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    far: Mapping[str, Sequence[str]] = field(default_factory=dict)
    spellings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@checked(ConfigError)
def draft(
    data: str | Path,
    *,
    folder: str | Path = ".",
    target: str | None = None,
    site: str | None = None,
    formula: str | None = None,
    family: FamilyName | None = None,
    bounds_from_data: bool = False,
    reading: Reading = AS_USUAL,
    missing_values: Sequence[str] = (),
    maps: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> Draft:
    """A study file for a table.

    Args:
        data: path of the table.
        folder: folder of the study file; its path to the data is relative where possible.
        target: name of the column to predict; the last one by default.
        site: name of the column that holds each record's site; by default sites are simulated, or
            with `*` in the path each file is one.
        formula: model of a regression with intervals, such as "visits ~ age + C(sex)"; its target
            is the column to predict, and no other columns are used.
        family: distribution of its target; by default gaussian for numbers, else binomial, as for
            numbers that are 0 and 1 only.
        bounds_from_data: whether to declare the data's own bounds and levels public; leaks
            information.
        reading: options for reading the file.
        missing_values: values that mean a missing one in every column.
        maps: by column of levels or sites, other ways in which its values are written and what they
            mean, the empty text for a missing one.

    Raises:
        ConfigError: a column that the table does not have, one that is both target and site, or too
            few columns.
        ProblemError: a table that cannot be read, or has no records.
    """
    from tacit.data.columns import column_of, read_numbers
    from tacit.data.csv_dialect import with_commas
    from tacit.data.guessing import (
        codes_among_numbers,
        guess_kinds,
        identifiers,
        kind_of,
        names_like_values,
        of_zero_and_one,
        several_of_one,
    )
    from tacit.data.loaders import load
    from tacit.data.oddities import PRIVATE, far_codes, spellings, too_many_sites
    from tacit.data.table import check_any

    data = Path(data)
    table = load(data, **reading.options(data))
    check_any(table, data)
    for name in maps:
        _column(name, table, "map", data)
    table = _rewritten(table, missing_values, maps)
    found, told = reading.settled(table)
    frame = guess_kinds(table, found.decimal or ".")
    codes = codes_among_numbers(frame, found.decimal or ".")
    place = _column(column_of_sites(data, site), frame, "site", data)
    if family is not None and formula is None:
        raise ConfigError(f"family={family!r} belongs to a formula; give one, or leave it out")
    if formula is not None and target is not None:
        raise ConfigError(f"target={target!r} is named by the formula; leave it out")
    if place is not None:
        of = column_of(frame, place).dropna()
        if many := too_many_sites(place, of.nunique(), len(of)):
            warnings.warn(f"{many}. Name the column of sites by site=. {PRIVATE}", stacklevel=3)
    names = [] if formula is None else columns_of(formula, frame, place, data)
    target = names[0] if names else target
    people = {} if names else identifiers(frame)
    if place is not None and place == target:
        raise ConfigError(
            f"target={target!r} is the site as well; name another column to predict, or as the site"
        )
    chosen = _column(target, frame, "target", data) or _default_target(frame, place, people, data)
    people = {name: by for name, by in people.items() if name not in (chosen, place)}
    asked = names or [name for name in codes if name not in (chosen, place, *people)]
    codes = {name: of for name, of in codes.items() if name in asked}
    for name in codes:
        numbers = read_numbers(column_of(frame, name), decimal=found.decimal or ".")[0]
        frame = frame.assign(**{name: numbers})
    by_levels = family in ("binomial", "multinomial")
    numbers = {place} if family is None or by_levels else {place, chosen}
    truths = {name: of for name, of in of_zero_and_one(frame).items() if name not in numbers}
    frame = frame.assign(**truths)
    predicted = column_of(frame, chosen)
    if by_levels and kind_of(predicted) == "numeric":
        frame = frame.assign(**{chosen: predicted.map(level_key, "ignore").astype(object)})
    text = study_text(
        frame,
        relative(data, Path(folder)),
        target=chosen,
        site=place,
        public=bounds_from_data,
        reading=found,
        identifiers=people,
        codes=codes,
        told=told,
        model="" if formula is None else model_text(formula, family or family_of(frame[chosen])),
        names=names,
        missing_values=missing_values,
        maps=maps,
    )
    used = list(dict.fromkeys([*features_of(frame, chosen, place, people, names), chosen]))
    persons = [name for name in several_of_one(table) if name not in (*used, place)]
    return Draft(
        text,
        len(frame.columns),
        len({*used, place} - {None}),
        chosen,
        place,
        text.count(OPEN),
        tuple(with_commas(table)) if found.decimal == "." else (),
        tuple(people),
        tuple(persons),
        tuple(name for name in used if name in truths),
        found,
        tuple(names_like_values(table)),
        codes,
        {
            name: far
            for name in used
            if kind_of(column_of(frame, name)) == "numeric"
            and (far := far_codes(column_of(frame, name)))
        },
        {
            name: alike
            for name in [*used, *([] if place is None else [place])]
            if kind_of(column_of(frame, name)) == "categorical"
            and (alike := spellings(column_of(frame, name)))
        },
    )


def _rewritten(
    table: Any, missing_values: Sequence[str], maps: Mapping[str, Mapping[str, str]]
) -> Any:
    """The table as a study with these keys reads it."""
    from tacit.data.columns import column_of
    from tacit.data.rewriting import recoded, without_codes

    made: dict[str, Any] = {}
    for name in map(str, table.columns):
        column = column_of(table, name)
        if missing_values:
            made[name] = without_codes(column, missing_values)
        if name in maps:
            made[name] = recoded(made.get(name, column), maps[name]).astype(column.dtype)
    return table.assign(**made)


def _column(name: str | None, frame: Any, option: str, data: Path) -> str | None:
    if name is None or name in frame.columns:
        return name
    present = [str(column) for column in frame.columns]
    hint = checks.hint(name, present, f"it has {', '.join(present[:12])}")
    raise ConfigError(f"{option}={name!r} is not a column of {data}; {hint}")


def _default_target(frame: Any, site: str | None, identifiers: Any, data: Path) -> str:
    others = [str(name) for name in frame.columns if name != site and name not in identifiers]
    if len(others) < 2:
        but = f" and identifiers ({', '.join(identifiers)})" if identifiers else ""
        raise ConfigError(f"{data} has {len(others)} column besides the site{but}; two are needed")
    return others[-1]
