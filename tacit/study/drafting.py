"""A first, commented study file for a table.

Only names and kinds of columns are used. Bounds and levels are left open, because numbers taken
from private data leak; the file is valid TOML and lists on its first run what is still to declare.
"""

from __future__ import annotations

import json as codec
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import ConfigError

_MANY = 40
"""A text column with more values than this is unlikely to be a category."""


@dataclass(frozen=True)
class Reading:
    """How a CSV file is read, if not in the default way.

    Attributes:
        separator: column separator, one character; `None` for the one implied by the suffix.
        encoding: character encoding; `None` for UTF-8.
        decimal: decimal mark, a point or a comma.
    """

    separator: str | None = None
    encoding: str | None = None
    decimal: str = "."

    def options(self, data: Path) -> dict[str, str]:
        """Arguments of the loader.

        Raises:
            ConfigError: another decimal mark, or a file of another kind.
        """
        if self.decimal not in (".", ","):
            raise ConfigError(f"decimal={self.decimal!r} must be . or ,")
        found = {"separator": self.separator, "encoding": self.encoding}
        given = {key: value for key, value in found.items() if value is not None}
        if given and not data.name.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
            raise ConfigError(f"{next(iter(given))} is for CSV files, not {data}; leave it out")
        return given

    def lines(self) -> str:
        """These options as lines of a study file."""
        return "".join(
            f"{key} = {codec.dumps(value)}\n"
            for key, value in vars(self).items()
            if value is not None and value != "."
        )


@dataclass(frozen=True)
class Draft:
    """A study file that is still to be completed.

    Attributes:
        text: text of the file, TOML.
        columns: number of columns of the table.
        target: name of the column to predict.
        site: name of the column that holds each record's site, `None` for simulated sites.
        to_declare: number of lines left open.
        decimal_commas: columns that would be numbers if commas were decimal marks.
    """

    text: str
    columns: int
    target: str
    site: str | None
    to_declare: int
    decimal_commas: tuple[str, ...]


def draft(
    data: Path,
    *,
    folder: Path = Path(),
    target: str | None = None,
    site: str | None = None,
    bounds_from_data: bool = False,
    reading: Reading = Reading(),
) -> Draft:
    """A study file for a table.

    Args:
        data: path of the table.
        folder: folder of the study file; its path to the data is relative where possible.
        target: name of the column to predict; the last one by default.
        site: name of the column that holds each record's site; by default sites are simulated.
        bounds_from_data: whether to declare the data's own bounds and levels public; leaks
            information.
        reading: options for reading the file.

    Raises:
        ConfigError: a column that the table does not have, or too few columns.
        DataError: a table that cannot be read.
    """
    from tacit.data.loaders import guess_kinds, load

    table = load(data, **reading.options(data))
    frame = guess_kinds(table, reading.decimal)
    chosen = _column(target, frame, "target", data) or _default_target(frame, site, data)
    place = _column(site, frame, "site", data)
    text = study_text(
        frame,
        relative(data, folder),
        target=chosen,
        site=place,
        public=bounds_from_data,
        reading=reading,
    )
    commas = _with_commas(table, frame, reading.decimal)
    return Draft(text, len(frame.columns), chosen, place, text.count(OPEN), tuple(commas))


def _with_commas(table: Any, frame: Any, decimal: str) -> list[str]:
    """Columns that are text as read and would be numbers if commas were decimal marks."""
    from tacit.data.loaders import guess_kinds

    if decimal == ",":
        return []
    other = guess_kinds(table, ",")
    return [
        str(name)
        for name in frame
        if _kind(frame[name]) == "categorical" and _kind(other[name]) == "numeric"
    ]


OPEN = "# declare: "
"""Beginning of a line that is still to be completed."""


def study_text(
    frame: Any,
    path: str,
    *,
    target: str,
    site: str | None,
    public: bool,
    reading: Reading = Reading(),
) -> str:
    """A study file for a table.

    Args:
        frame: table; only its column names and kinds are used, unless `public`.
        path: path of the data, as written in the study file.
        target: name of the column to predict.
        site: name of the column that holds each record's site, if there is one.
        public: whether to declare the data's own bounds and levels public.
        reading: options for reading the file.
    """
    features = [name for name in frame.columns if name not in (target, site)]
    skipped = [name for name in features if public and _useless(frame[name])]
    parts = [
        _HEAD.format(
            path=codec.dumps(path, ensure_ascii=False),
            reading=reading.lines() + (_assumed(target, frame[target]) if public else ""),
        ),
        *(_feature(str(name), frame[name], public) for name in features if name not in skipped),
        *(
            f"# {codec.dumps(str(name))} is left out: too many values for a category, or only one\n"
            for name in skipped
        ),
        _target(target, frame[target], public),
        _BY_COLUMN.format(site=codec.dumps(site)) if site is not None else _EVEN,
        _TAIL.format(loss=_loss(frame[target], public)),
    ]
    return "\n".join(parts)


def _feature(name: str, column: Any, public: bool) -> str:
    lines = [f"[data.features.{key_of(name)}]"]
    kind = _kind(column)
    if kind == "boolean":
        lines.append('kind = "boolean"')
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
    return "\n".join(lines) + "\n"


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
        yes = '"> 0"   ' if _kind(column) == "numeric" else '["yes"] '
        lines += [
            f"{OPEN}positive = {yes} # a yes/no question: threshold, or the value(s) of yes",
            '#   or: levels = ["a", "b", "c"]   several classes, with loss = "softmax"',
            '#   or: lower = 0, upper = 10      a number, with loss = "squared"',
        ]
    lines.append('missing = "drop"')
    return "\n".join(lines) + "\n"


def _assumed(name: str, column: Any) -> str:
    """What the lines of the target hold of the records, as an assumption of every guarantee."""
    what = "the bounds" if _target_kind(column) == "numeric" else "the values"
    said = f"{what} of column {name} were read off the records: assumed public"
    return f"assumed = [{codec.dumps(said, ensure_ascii=False)}]\n"


def _loss(target: Any, public: bool) -> str:
    kind = _target_kind(target) if public else "binary"
    return {"binary": "logistic", "class": "softmax", "numeric": "squared"}[kind]


def _kind(column: Any) -> str:
    import pandas as pd

    if pd.api.types.is_bool_dtype(column.dtype):
        return "boolean"
    return "numeric" if pd.api.types.is_numeric_dtype(column.dtype) else "categorical"


def _target_kind(column: Any) -> str:
    distinct = column.dropna().nunique()
    if distinct == 2:
        return "binary"
    return "numeric" if _kind(column) == "numeric" else "class"


def key_of(name: str) -> str:
    """A TOML key: bare where it can be."""
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", name)
    return name if bare else codec.dumps(name, ensure_ascii=False)


def _useless(column: Any) -> bool:
    distinct = column.dropna().nunique()
    return distinct < 2 or (_kind(column) == "categorical" and distinct > _MANY)


def _toml(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"the target holds {value}, which is not a value; correct the data")
    return codec.dumps(value, ensure_ascii=False)


def _column(name: str | None, frame: Any, option: str, data: Path) -> str | None:
    import difflib

    if name is None or name in frame.columns:
        return name
    present = [str(column) for column in frame.columns]
    close = difflib.get_close_matches(name, present, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(present[:12])}"
    raise ConfigError(f"{option}={name!r} is not a column of {data}; {hint}")


def _default_target(frame: Any, site: str | None, data: Path) -> str:
    others = [str(name) for name in frame.columns if name != site]
    if len(others) < 2:
        raise ConfigError(f"{data} has {len(others)} column besides the site; two are needed")
    return others[-1]


def relative(data: Path, folder: Path) -> str:
    """The data's path as seen from the study file's folder, if it lies below it."""
    try:
        return data.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return str(data.resolve())


_HEAD = """\
# A study for `tacit run`. Lines that begin with "# declare:" are for you: remove the mark and put
# what is public there, known without looking at the data (the ends of a scale, a legal limit).
title = "A study"

[data]
path = {path}
{reading}\
missing = "drop"          # a record with a missing feature: "drop", "error", "middle", "indicator"
# row_norm = 1.0          # largest l2 norm of a record; a good clip is then the same number

# One table a column that the model may use; delete those that it may not.
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
seed = 0
hold_out = 0.2            # share of records kept back for scores (simulation only)
output = "results"
"""
