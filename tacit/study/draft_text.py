"""The text of a first study file for a table."""

from __future__ import annotations

import json as codec
import math
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tacit.data.guessing import MANY, kind_of
from tacit.errors import ConfigError
from tacit.study.draft_maps import check_maps, map_line
from tacit.study.reading import AS_USUAL, Reading, key_of

if TYPE_CHECKING:
    import pandas as pd

_EPOCH = date(1970, 1, 1)

OPEN = "# declare: "
"""Beginning of a line that is still to be completed."""


def study_text(
    frame: pd.DataFrame,
    path: str,
    *,
    target: str,
    site: str | None,
    public: bool,
    reading: Reading = AS_USUAL,
    identifiers: Mapping[str, bool] = MappingProxyType({}),
    codes: Mapping[str, Sequence[str]] = MappingProxyType({}),
    told: Sequence[str] = (),
    model: str = "",
    names: Sequence[str] = (),
    missing_values: Sequence[str] = (),
    maps: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> str:
    """A study file for a table.

    Args:
        frame: table; only its column names and kinds are used, unless `public`.
        path: path of the data, as written in the study file.
        target: name of the column to predict.
        site: name of the column that holds each record's site, if there is one.
        public: whether to declare the data's own bounds and levels public.
        reading: options for reading the file.
        identifiers: columns that say who a record is about, and whether their values told so.
        codes: by column of numbers, the texts that stand in it.
        told: what else was read off the records, in sentences.
        model: the sections from [model] on, for a regression, whose target is a column as others.
        names: columns that a regression names; by default all are features.
        missing_values: values that mean a missing one in every column.
        maps: by column, other ways in which its values are written, and what they mean.

    Raises:
        ConfigError: a map of a column that is no site and has no levels.
    """
    features = features_of(frame, target, site, identifiers, names)
    check_maps(maps, frame, site)
    skipped = [name for name in features if public and _useless(frame[name])]
    assumed = [*told, "the kinds of the columns were read off the records: assumed public"]
    assumed += [
        f"that no two records have the same {name} was read off the records: assumed public"
        for name, by_values in identifiers.items()
        if by_values
    ]
    assumed += [
        f"the format of the dates in column {name} was read off the records: assumed public"
        for name in features
        if name not in skipped and any(_formats(frame[name]))
    ]
    if public:
        assumed += [] if model else [_of_target(target, frame[target])]
        assumed += [
            f"the missing_values of column {name} were read off the records: assumed public"
            for name in codes
        ]
        assumed += [
            f"the bounds of column {name} were read off the records: assumed public"
            for name in features
            if name not in skipped and len(_formats(frame[name])) == 1
        ]
    parts = [
        (_HEAD.replace(_ROW_NORM, "") if model else _HEAD).format(
            path=codec.dumps(path, ensure_ascii=False),
            reading=reading.lines()
            + (f"missing_values = {_toml(list(missing_values))}\n" if missing_values else ""),
            assumed="".join(f"    {codec.dumps(each, ensure_ascii=False)},\n" for each in assumed),
        ),
        *(
            f"# {codec.dumps(str(name), ensure_ascii=False)} is left out: it says who a record is "
            "about\n"
            for name in identifiers
        ),
        *(
            _feature(str(name), frame[name], public, codes.get(str(name), ()))
            + map_line(maps.get(str(name)))
            for name in features
            if name not in skipped
        ),
        *(
            f"# {codec.dumps(str(name), ensure_ascii=False)} is left out: too many values for a "
            "category, or only one\n"
            for name in skipped
        ),
        *([] if model else [_target(target, frame[target], public) + map_line(maps.get(target))]),
        _BY_COLUMN.format(site=codec.dumps(site, ensure_ascii=False)) + map_line(maps.get(site))
        if site is not None
        else _EVEN,
        model or _TAIL.format(loss=_loss(frame[target], public)),
    ]
    return "\n".join(parts)


def features_of(
    frame: pd.DataFrame,
    target: str,
    site: str | None,
    identifiers: Mapping[str, bool],
    names: Sequence[str] = (),
) -> list[str]:
    """Columns that are features; the arguments are those of `study_text`."""
    return list(names) or [
        name for name in frame.columns if name not in (target, site) and name not in identifiers
    ]


def _feature(name: str, column: Any, public: bool, codes: Sequence[str]) -> str:
    lines = [f"[data.features.{key_of(name)}]"]
    kind = kind_of(column)
    if kind == "boolean":
        lines.append('kind = "boolean"')
    elif kind == "date":
        lines += _date(column, public)
    elif kind == "numeric" and public:
        low, high = column.min(), column.max()
        lines.append(f'statistics = "public"     # WARNING: bounds {low:g} to {high:g} leak')
    elif kind == "numeric":
        lines.append(f"{OPEN}lower = 0       # public, known without looking at the data")
        lines.append(f"{OPEN}upper = 100")
    elif public:
        lines += ['kind = "categorical"', 'statistics = "public"     # WARNING: the levels leak']
    else:
        lines += ['kind = "categorical"', f'{OPEN}levels = ["a", "b"]']
    if codes and public:
        lines.append(f"missing_values = {_toml(list(codes))}   # WARNING: read off the records")
    elif codes:
        lines.append(f'{OPEN}missing_values = ["n/a"]   # texts among the numbers: which codes?')
    return "\n".join(lines) + "\n"


def _formats(column: Any) -> list[str | None]:
    """The formats that all dates of a column have, `None` for ISO 8601; none for other columns."""
    from tacit.data.dates import formats_of

    return formats_of(column) if kind_of(column) == "date" else []


def _date(column: Any, public: bool) -> list[str]:
    from tacit.data.dates import read_dates

    lines = ['kind = "date"']
    formats = _formats(column)
    first = formats[0]
    if len(formats) > 1:
        others = " or ".join(f'"{each}"' for each in formats[1:])
        lines.append(f'{OPEN}format = "{first}"   # or {others}: the records fit each')
    elif first is not None:
        lines.append(f'format = "{first}"')
    if public and len(formats) == 1:
        days = read_dates(column.dropna(), first)[0]
        low, high = (_EPOCH + timedelta(int(day)) for day in (days.min(), days.max() + 1))
        leak = "# WARNING: the bounds leak"
        return [*lines, f'lower = "{low}"     {leak}', f'upper = "{high}"']
    lines.append(f'{OPEN}lower = "2020-01-01"   # public, known without looking at the data')
    lines.append(f'{OPEN}upper = "2025-12-31"')
    return lines


def _target(name: str, column: Any, public: bool) -> str:
    lines = ["[data.target]", f"column = {codec.dumps(name, ensure_ascii=False)}"]
    kind = _target_kind(column) if public else ""
    values = column.dropna()
    if kind == "binary":
        lines.append(f"positive = {_toml(sorted(values.unique().tolist(), key=str)[-1])}")
    elif kind == "class":
        levels = ", ".join(_toml(v) for v in sorted(values.unique().tolist(), key=str))
        lines.append(f"levels = [{levels}]")
    elif kind == "numeric":
        lines += [f"lower = {float(values.min())}", f"upper = {float(values.max())}"]
    else:
        yes = {"numeric": '"> 0"   ', "boolean": "true    "}.get(kind_of(column), '["yes"] ')
        lines += [
            f"{OPEN}positive = {yes} # a yes/no question: threshold, or the value(s) of yes",
            '#   or: levels = ["a", "b", "c"]   several classes, with loss = "softmax"',
            '#   or: lower = 0, upper = 10      a number, with loss = "squared"',
        ]
    lines.append('missing = "drop"')
    return "\n".join(lines) + "\n"


def _of_target(name: str, column: Any) -> str:
    """What the lines of the target hold of the records, as an assumption of every guarantee."""
    what = "the bounds" if _target_kind(column) == "numeric" else "the values"
    return f"{what} of column {name} were read off the records: assumed public"


def _loss(target: Any, public: bool) -> str:
    kind = _target_kind(target) if public else "binary"
    return {"binary": "logistic", "class": "softmax", "numeric": "squared"}[kind]


def _target_kind(column: Any) -> str:
    distinct = column.dropna().nunique()
    if distinct == 2:
        return "binary"
    return "numeric" if kind_of(column) == "numeric" else "class"


def _useless(column: Any) -> bool:
    distinct = column.dropna().nunique()
    return distinct < 2 or (kind_of(column) == "categorical" and distinct > MANY)


def _toml(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"the target holds {value}, which is not a value; correct the data")
    return codec.dumps(value, ensure_ascii=False)


_HEAD = """\
# A study for `tacit run`. Lines that begin with "# declare:" are for you: remove the mark and put
# what is public there, known without looking at the data (the ends of a scale, a legal limit).
title = "A study"

[data]
path = {path}
{reading}\
# Read off the records for this file, and repeated by the guarantee. Delete what you know otherwise,
# from a codebook or the form on which the data were collected.
assumed = [
{assumed}]
missing = "drop"          # a record with a missing feature: "drop", "error", "middle", "indicator"
# row_norm = 1.0          # largest l2 norm of a record; a good clip is then the same number

# One table a column that the model may use; delete those that it may not. In a column with levels,
# map = {{ Ja = "yes", J = "yes" }} rewrites values before they are compared with the levels.
"""

_ROW_NORM = """\
# row_norm = 1.0          # largest l2 norm of a record; a good clip is then the same number
"""

_BY_COLUMN = """\
[partition]
by = "column"
column = {site}
# sites = ["a", "b"]       # all of them: names that are read off the data are assumed public
"""

_EVEN = """\
[partition]               # no site column was named: records are dealt at random to simulated sites
by = "even"
sites = 4
"""

_TAIL = """\
[problem]
# logistic or hinge (yes/no), softmax (classes), squared, huber, quantile, poisson (numbers)
loss = "{loss}"
regulariser = {{ kind = "l2", strength = 1e-3 }}

[network]
graph = "complete"        # or ring, path, star, grid, tree, ...; coordinator for gradient-descent

[method]
# Another: its name from `tacit methods`, its keys from `tacit describe NAME`. dgd and d-zoa-solver
# take no section [privacy]; gradient-descent needs graph = "coordinator" above.
name = "dpsg"
step = 1.0

[privacy]                 # leave the section out, and nothing is protected
epsilon = 1.0             # of the whole run; smaller is more private
delta = 1e-6              # far below one over the number of records
clip = 1.0                # largest influence of one record
# masks = {{ coalition = 1 }}  # with a coordinator: sites hide each other, and less noise will do
# sites_per_person = 1    # raise it if one person's records may stand at several sites
# records_per_person = 1  # or several at one site

[run]
rounds = 100
# seed = 1              # the same noise every time, which no guarantee then covers
hold_out = 0.2            # share of records kept back for scores (simulation only)
output = "results"
"""
