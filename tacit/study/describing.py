"""The study of a table 1, of survival curves or of a Cox regression, from a table.

What is not declared is read off the table, and the study says so: its guarantee then holds only if
that is public.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import ConfigError
from tacit.study.declaring import (
    asked_for,
    column_of_sites,
    declared_by,
    mapped,
    rewrite,
    sites_in,
)
from tacit.study.fitting import Fit
from tacit.study.reading import Reading, key_of, relative
from tacit.study.section_text import (
    assumed_lines,
    feature_keys,
    partition_text,
    section_text,
    value_text,
)


@dataclass(frozen=True)
class Described(Fit):
    """A study that asks for columns of a table.

    Attributes:
        left_out: columns that were not named and are not asked for.
        chosen: whether the records decided on that.
    """

    left_out: tuple[str, ...] = ()
    chosen: bool = False


def describe_study(
    data: Path,
    names: Sequence[str],
    keys: Callable[[Sequence[str]], Mapping[str, Any]],
    *,
    title: str,
    missing: str,
    by: str | None = None,
    site: str | None = None,
    sites: Sequence[str] = (),
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    maps: Mapping[str, Mapping[str, str]] | None = None,
    missing_values: Sequence[str] = (),
    privacy: Mapping[str, Any] | None = None,
    run: Mapping[str, Any] | None = None,
    size: int | None = None,
    folder: Path = Path(),
    reading: Reading,
) -> Described:
    """The study of a method that asks for columns of a table.

    Args:
        data: path of the table; with `*` in its name all matching files, each a site.
        names: columns to ask for; none for all that can be described.
        keys: keys of [method], its name among them, from the columns that are asked for.
        title: title of the study.
        missing: rule for missing values.
        by: column by whose levels records are grouped; `None` for no groups.
        site: column that holds each record's site; `None` for four simulated sites.
        sites: names of all sites; by default those in the data, which are then assumed public.
        bounds: declared bounds of numbers, by column.
        levels: declared levels, by column.
        maps: what values are rewritten to, by column with levels, or for the column of sites.
        missing_values: values that mean a missing one in every column.
        privacy: keys of [privacy]; `None` for no privacy.
        run: keys of [run].
        size: declared number near that of a site's records, where it is private.
        folder: folder of the study file; its path to the data is relative where possible.
        reading: options for reading the file.

    Raises:
        ConfigError: a declaration that is not valid.
        ProblemError: a table that cannot be read, or a column that cannot be described.
    """
    from tacit.data.describable import describable
    from tacit.data.guessing import several_of_one
    from tacit.data.loaders import FILE, load
    from tacit.data.oddities import copies, odd
    from tacit.data.table import check_any

    frame = load(data, **reading.options(data))
    check_any(frame, data)
    site, maps = column_of_sites(data, site), dict(maps or {})
    asked = dict.fromkeys(map(str, frame.columns), "the table has")
    asked |= {} if site is None else {site: "--site is"}
    rewrite(frame, asked, maps, missing_values, site)
    reading, told = reading.settled(frame)
    all_columns = {*map(str, frame.columns)} - {site}
    used = {*(names or all_columns), *([] if by is None else [by])}
    bounds = asked_for("--bounds", bounds or {}, frame, used)
    levels = asked_for("--levels", levels or {}, frame, used)
    for name, ends in bounds.items():
        if not all(isinstance(end, int | float) for end in ends):
            raise ConfigError(f"bounds of {name!r} must be numbers; dates are not described")
    declared, _ = declared_by(frame, bounds, levels)
    decimal = reading.decimal or "."
    chosen = describable(frame, names or None, by, site, declared, decimal, sites)
    rewritten = [name for name in maps if name != site and name in chosen.found.features]
    kinds = mapped(chosen.found.features, maps, rewritten)
    codes = {"missing_values": list(missing_values)} if missing_values else {}
    parts = [
        f"title = {value_text(title)}",
        section_text("data", {"path": relative(data, folder), "missing": missing} | codes)
        + reading.lines()
        + assumed_lines([*told, *chosen.found.assumptions]),
        *(
            section_text(f"data.features.{key_of(name)}", feature_keys(feature))
            for name, feature in kinds.items()
        ),
        partition_text(site, sites, None if site is None else maps.get(site)),
        *([] if size is None else [section_text("problem", {"size": size})]),
        section_text("network", {"graph": "coordinator"}),
        section_text("method", keys(chosen.names)),
        *([] if privacy is None else [section_text("privacy", privacy)]),
        *([section_text("run", run)] if run else []),
    ]
    text = "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
    repeated = [name for name in several_of_one(frame) if name not in (*kinds, site)]
    present = {} if site is None or sites else sites_in(frame, site)
    taken = chosen.found.taken
    far, alike = odd(frame, kinds, decimal, taken)
    return Described(
        text,
        taken,
        told,
        tuple(repeated),
        present,
        far,
        alike,
        copies=copies(frame, FILE),
        left_out=chosen.left_out,
        chosen=bool(chosen.found.told),
    )
