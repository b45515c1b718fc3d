"""The study of one regression, from a table and a formula.

What is not declared is read off the table, and the study says so: its guarantee then holds only if
that is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from tacit.data.formula import named_in
from tacit.errors import ConfigError
from tacit.study.declaring import (
    asked_for,
    column_of_sites,
    declared_by,
    mapped,
    rewrite,
    sites_in,
)
from tacit.study.reading import Reading, key_of, relative
from tacit.study.section_text import (
    assumed_lines,
    feature_keys,
    partition_text,
    section_text,
    value_text,
)


@dataclass(frozen=True)
class Fit:
    """A study that was written from a table.

    Attributes:
        text: text of the study file, TOML.
        taken: what was read off the table and not declared, by column: bounds or levels.
        told: what else was read off the table, in sentences.
        repeated: columns that say who a record is about, in which several records have the same
            value. Private.
        sites: sites that were read off the table, and the number of records of each. Private.
        far: by column of numbers, those far outside all others, which may be codes. Private.
        spellings: by column of levels, those that differ from a more frequent one only in case or
            blanks, and that one. Private.
        fractions: number of targets that are counts and no whole numbers. Private.
        constant: the value that all records have in the target, with its column; empty if they
            differ. Private.
        copies: pairs of files with the same records. Private.
    """

    text: str
    taken: Mapping[str, str] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    sites: Mapping[str, int] = field(default_factory=dict)
    far: Mapping[str, Sequence[str]] = field(default_factory=dict)
    spellings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    fractions: int = 0
    constant: str = ""
    copies: Sequence[str] = ()


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
        bounds: declared bounds of numbers or dates, by column; of columns that the formula does not
            name they are not used, and so for levels.
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
        ConfigError: a declaration that is not valid.
        ProblemError: a table or formula that cannot be read, or a column that cannot be used.
    """
    from tacit.data.columns import column_of
    from tacit.data.guessing import several_of_one
    from tacit.data.loaders import FILE, load
    from tacit.data.oddities import COUNTS, copies, fractions, odd, only_value
    from tacit.data.table import check_any
    from tacit.data.undeclared import filled

    frame = load(data, **reading.options(data))
    check_any(frame, data)
    site = column_of_sites(data, site)
    named, maps = named_in(formula), dict(maps or {})
    asked = dict.fromkeys(named, "the model names") | {
        name: who
        for name, who in ((weights, "--weights names"), (site, "--site is"))
        if name is not None
    }
    rewrite(frame, asked, maps, missing_values, site)
    reading, told = reading.settled(frame)
    if site is not None and site == next(iter(named)):
        raise ConfigError(
            f"site={site!r} is the target of {formula!r}; name the column that says where each "
            "record is"
        )
    used = {*named, weights} - {None}
    bounds = asked_for("--bounds", bounds or {}, frame, used)
    levels = asked_for("--levels", levels or {}, frame, used)
    declared, formats = declared_by(frame, bounds, levels)
    rewritten = [name for name in maps if name in used and name != site]
    decimal = reading.decimal or "."
    found = filled(frame, declared, named, family, decimal, weights)
    found = replace(found, taken={**found.taken, **formats})
    kinds = mapped(found.features, maps, rewritten)
    model = {"formula": formula, "family": family}
    model |= {} if weights is None else {"weights": weights}
    codes = {"missing_values": list(missing_values)} if missing_values else {}
    parts = [
        f"title = {value_text(formula)}",
        section_text("data", {"path": relative(data, folder), "missing": missing} | codes)
        + reading.lines()
        + assumed_lines([*told, *found.assumptions]),
        *(
            section_text(f"data.features.{key_of(name)}", feature_keys(feature))
            for name, feature in kinds.items()
        ),
        partition_text(site, sites, None if site is None else maps.get(site)),
        section_text("model", model),
        section_text("method", {"name": "glm", **(method or {})}),
        *([] if privacy is None else [section_text("privacy", privacy)]),
        *([section_text("run", run)] if run else []),
    ]
    text = "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
    repeated = [name for name in several_of_one(frame) if name not in (*found.features, site)]
    present = {} if site is None or sites else sites_in(frame, site)
    far, alike = odd(frame, kinds, decimal, found.taken)
    target = next(iter(named))
    uneven = (
        fractions(column_of(frame, target), decimal) if family in COUNTS and target in frame else 0
    )
    return Fit(
        text,
        found.taken,
        told,
        tuple(repeated),
        present,
        far,
        alike,
        uneven,
        only_value(column_of(frame, target)) if target in frame else "",
        copies(frame, FILE),
    )
