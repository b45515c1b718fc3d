"""The study of one regression, from a table and a formula.

What is not declared is read off the table, and the study says so: its guarantee then holds only if
that is public.
"""

from __future__ import annotations

import json as codec
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from tacit.data.feature import Boolean, Categorical, Date, Feature, Numeric
from tacit.data.formula import named_in
from tacit.data.rules import level_key
from tacit.errors import ConfigError, ProblemError
from tacit.study.reading import Reading, key_of, relative


@dataclass(frozen=True)
class Fit:
    """A study that fits one regression.

    Attributes:
        text: text of the study file, TOML.
        taken: what was read off the table and not declared, by column: bounds or levels.
        told: what else was read off the table, in sentences.
        repeated: columns that say who a record is about, in which several records have the same
            value. Private.
        sites: sites that were read off the table, and the number of records of each. Private.
    """

    text: str
    taken: Mapping[str, str] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    sites: Mapping[str, int] = field(default_factory=dict)


def fit_study(
    data: Path,
    formula: str,
    *,
    family: str,
    site: str | None = None,
    sites: Sequence[str] = (),
    weights: str | None = None,
    bounds: Mapping[str, tuple[float, float] | tuple[date, date]] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    maps: Mapping[str, Mapping[str, str]] | None = None,
    missing: str = "drop",
    missing_values: Sequence[str] = (),
    method: Mapping[str, Any] | None = None,
    privacy: Mapping[str, Any] | None = None,
    run: Mapping[str, Any] | None = None,
    folder: Path = Path(),
    reading: Reading,
) -> Fit:
    """The study of a regression.

    Args:
        data: path of the table; with `*` in its name all matching files, each a site.
        formula: model, such as "visits ~ age + C(sex)".
        family: distribution of the target.
        site: column that holds each record's site; `None` for four simulated sites.
        sites: names of all sites; by default those in the data, which are then assumed public.
        weights: column of the records' weights; `None` where all count alike.
        bounds: declared bounds of numbers or dates, by column.
        levels: declared levels, by column.
        maps: what values are rewritten to, by column with levels, or for the column of sites.
        missing: rule for records with a missing value.
        missing_values: values that mean a missing one in every column.
        method: keys of [method].
        privacy: keys of [privacy]; `None` for no privacy.
        run: keys of [run].
        folder: folder of the study file; its path to the data is relative where possible.
        reading: options for reading the file.

    Raises:
        ConfigError: a declaration that is not valid, or of a column that the formula does not name.
        ProblemError: a table or formula that cannot be read, or a column that cannot be used.
    """
    from tacit.data.guessing import several_of_one
    from tacit.data.loaders import FILE, load, several
    from tacit.data.rewriting import recoded, without_codes
    from tacit.data.undeclared import column_named, filled, format_of

    frame = load(data, **reading.options(data))
    site = FILE if site is None and several(data) else site
    named, maps = named_in(formula), dict(maps or {})
    asked = dict.fromkeys(named, "the model names") | {
        name: who
        for name, who in ((weights, "weights name"), (site, "site is"))
        if name is not None
    }
    for name, who in (dict.fromkeys(maps, "map names") | asked).items():
        column = column_named(frame, name, who)
        if missing_values and name != site:
            column = without_codes(column, missing_values)
        frame[name] = recoded(column, maps[name]) if name in maps else column
    reading, told = reading.settled(frame)
    if site is not None and site == next(iter(named)):
        raise ConfigError(
            f"site={site!r} is the target of {formula!r}; name the column that says where each "
            "record is"
        )
    declared: dict[str, Feature] = {}
    formats: dict[str, str] = {}
    for name, (low, high) in (bounds or {}).items():
        with _of_option("bounds", name):
            if isinstance(low, int | float) and isinstance(high, int | float):
                declared[name] = Numeric(low, high)
            elif isinstance(low, date) and isinstance(high, date):
                written = format_of(name, column_named(frame, name))
                declared[name] = Date(low, high, written)
                formats |= {} if written is None else {name: f"format {written}"}
    for name, each in (levels or {}).items():
        with _of_option("levels", name):
            if name in declared:
                raise ConfigError(f"{name!r} has bounds as well; leave one of the two out")
            declared[name] = Categorical(each)
    rewritten = [name for name in maps if name != site]
    unused = [n for n in (*declared, *rewritten) if n not in named and n != weights]
    if unused:
        raise ConfigError(
            f"{unused[0]!r} is declared, and the formula {formula!r} does not name it; leave it out"
        )
    found = filled(frame, declared, named, family, reading.decimal or ".", weights)
    found = replace(found, taken={**found.taken, **formats})
    kinds = dict(found.features)
    for name in rewritten:
        kind = kinds[name]
        if not isinstance(kind, Categorical | Boolean):
            raise ConfigError(
                f"map of {name!r}: the column holds numbers or dates, of which only codes of "
                "missing values are rewritten: --missing-values"
            )
        with _of_option("map", name):
            kinds[name] = replace(kind, map=maps[name])
    model = {"formula": formula, "family": family}
    model |= {} if weights is None else {"weights": weights}
    codes = {"missing_values": list(missing_values)} if missing_values else {}
    parts = [
        f"title = {_text(formula)}",
        _table("data", {"path": relative(data, folder), "missing": missing} | codes)
        + reading.lines()
        + _assumed([*told, *found.assumptions]),
        *(
            _table(f"data.features.{key_of(name)}", _keys(feature))
            for name, feature in kinds.items()
        ),
        _partition(site, sites, None if site is None else maps.get(site)),
        _table("model", model),
        _table("method", {"name": "glm", **(method or {})}),
        *([] if privacy is None else [_table("privacy", privacy)]),
        *([_table("run", run)] if run else []),
    ]
    text = "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
    repeated = [name for name in several_of_one(frame) if name not in (*found.features, site)]
    present = {} if site is None or sites else _sites(column_named(frame, site))
    return Fit(text, found.taken, told, tuple(repeated), present)


def _sites(column: Any) -> dict[str, int]:
    """The sites in a column, and the number of records of each."""
    counts = column.dropna().map(level_key).value_counts()
    return {str(name): int(counts[name]) for name in sorted(counts.index)}


@contextmanager
def _of_option(option: str, column: str) -> Generator[None, None, None]:
    """Declarations come from options here, so that errors about them are about options."""
    try:
        yield
    except (ProblemError, ConfigError) as error:
        raise ConfigError(f"{option} of {column!r}: {error}") from error


def _keys(feature: Feature) -> dict[str, Any]:
    """A declaration as keys of a study."""
    if isinstance(feature, Numeric):
        return {"lower": feature.lower, "upper": feature.upper}
    if isinstance(feature, Categorical):
        return {"levels": list(feature.levels or ()), **_map(feature)}
    if isinstance(feature, Date):
        written = {} if feature.format is None else {"format": feature.format}
        return {"kind": "date", "lower": feature.lower, "upper": feature.upper, **written}
    return {"kind": "boolean", **(_map(feature) if isinstance(feature, Boolean) else {})}


def _map(feature: Categorical | Boolean) -> dict[str, Any]:
    return {} if feature.map is None else {"map": dict(feature.map)}


def _assumed(assumptions: Sequence[str]) -> str:
    if not assumptions:
        return ""
    return "assumed = [\n" + "".join(f"    {_text(each)},\n" for each in assumptions) + "]\n"


def _partition(
    site: str | None, sites: Sequence[str], names: Mapping[str, str] | None = None
) -> str:
    if site is None:
        return _table("partition", {"by": "even", "sites": 4})
    given: dict[str, Any] = {"by": "column", "column": site}
    if sites:
        given["sites"] = list(sites)
    if names:
        given["map"] = dict(names)
    return _table("partition", given)


def _table(name: str, values: Mapping[str, Any]) -> str:
    return f"[{name}]\n" + "".join(f"{key} = {_text(value)}\n" for key, value in values.items())


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_text(k)} = {_text(v)}" for k, v in value.items()) + " }"
    return codec.dumps(value, ensure_ascii=False)
