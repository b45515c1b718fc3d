"""The study of one table 1, from a table.

What is not declared is read off the table, and the study says so: its guarantee then holds only if
that is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.data.feature import Categorical, Feature, Numeric
from tacit.errors import ConfigError
from tacit.study.fitting import Fit
from tacit.study.reading import Reading, key_of, relative
from tacit.study.section_text import (
    assumed_lines,
    feature_keys,
    of_options,
    partition_text,
    section_text,
    value_text,
)


@dataclass(frozen=True)
class Described(Fit):
    """A study of a table 1.

    Attributes:
        left_out: columns that were not named and are not described.
    """

    left_out: tuple[str, ...] = ()


def describe_study(
    data: Path,
    names: Sequence[str],
    *,
    by: str | None = None,
    site: str | None = None,
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    method: Mapping[str, Any] | None = None,
    privacy: Mapping[str, Any] | None = None,
    run: Mapping[str, Any] | None = None,
    size: int | None = None,
    folder: Path = Path(),
    reading: Reading,
) -> Described:
    """The study of a table 1.

    Args:
        data: path of the table.
        names: columns to describe; none for all that can be.
        by: column by whose levels records are grouped; `None` for no groups.
        site: column that holds each record's site; `None` for four simulated sites.
        bounds: declared bounds of numbers, by column.
        levels: declared levels, by column.
        method: further keys of [method].
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
    from tacit.data.loaders import load

    frame = load(data, **reading.options(data))
    reading, told = reading.settled(frame)
    declared: dict[str, Feature] = {}
    with of_options():
        for name, (low, high) in (bounds or {}).items():
            if not isinstance(low, int | float) or not isinstance(high, int | float):
                raise ConfigError(f"bounds of {name!r} must be numbers; dates are not described")
            declared[name] = Numeric(low, high)
        declared |= {name: Categorical(each) for name, each in (levels or {}).items()}
    chosen = describable(frame, names or None, by, site, declared, reading.decimal or ".")
    groups = {} if by is None else {"by": by}
    asked = {"name": "table1", **groups, "columns": list(chosen.names), **(method or {})}
    title = "Table 1" if by is None else f"Table 1 by {by}"
    parts = [
        f"title = {value_text(title)}",
        section_text("data", {"path": relative(data, folder), "missing": "indicator"})
        + reading.lines()
        + assumed_lines([*told, *chosen.assumptions]),
        *(
            section_text(f"data.features.{key_of(name)}", feature_keys(feature))
            for name, feature in chosen.found.features.items()
        ),
        partition_text(site, ()),
        *([] if size is None else [section_text("problem", {"size": size})]),
        section_text("network", {"graph": "coordinator"}),
        section_text("method", asked),
        *([] if privacy is None else [section_text("privacy", privacy)]),
        *([section_text("run", run)] if run else []),
    ]
    text = "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
    return Described(text, chosen.found.taken, told, chosen.left_out)
