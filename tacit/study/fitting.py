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

from tacit.data.feature import Categorical, Date, Feature, Numeric
from tacit.data.formula import named_in
from tacit.errors import ConfigError
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
class Fit:
    """A study that was written from a table.

    Attributes:
        text: text of the study file, TOML.
        taken: what was read off the table and not declared, by column: bounds or levels.
        told: what else was read off the table, in sentences.
    """

    text: str
    taken: Mapping[str, str] = field(default_factory=dict)
    told: tuple[str, ...] = ()


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
    missing: str = "drop",
    method: Mapping[str, Any] | None = None,
    privacy: Mapping[str, Any] | None = None,
    run: Mapping[str, Any] | None = None,
    folder: Path = Path(),
    reading: Reading,
) -> Fit:
    """The study of a regression.

    Args:
        data: path of the table.
        formula: model, such as "visits ~ age + C(sex)".
        family: distribution of the target.
        site: column that holds each record's site; `None` for four simulated sites.
        sites: names of all sites; by default those in the data, which are then assumed public.
        weights: column of the records' weights; `None` where all count alike.
        bounds: declared bounds of numbers or dates, by column.
        levels: declared levels, by column.
        missing: rule for records with a missing value.
        method: keys of [method].
        privacy: keys of [privacy]; `None` for no privacy.
        run: keys of [run].
        folder: folder of the study file; its path to the data is relative where possible.
        reading: options for reading the file.

    Raises:
        ConfigError: a declaration that is not valid, or of a column that the formula does not name.
        ProblemError: a table or formula that cannot be read, or a column that cannot be used.
    """
    from tacit.data.loaders import load
    from tacit.data.undeclared import column_named, filled, format_of

    frame = load(data, **reading.options(data))
    reading, told = reading.settled(frame)
    named = named_in(formula)
    declared: dict[str, Feature] = {}
    formats: dict[str, str] = {}
    with of_options():
        for name, (low, high) in (bounds or {}).items():
            if isinstance(low, int | float) and isinstance(high, int | float):
                declared[name] = Numeric(low, high)
            elif isinstance(low, date) and isinstance(high, date):
                written = format_of(name, column_named(frame, name))
                declared[name] = Date(low, high, written)
                formats |= {} if written is None else {name: f"format {written}"}
        declared |= {name: Categorical(each) for name, each in (levels or {}).items()}
    unused = [name for name in declared if name not in named and name != weights]
    if unused:
        raise ConfigError(
            f"{unused[0]!r} is declared, and the formula {formula!r} does not name it; leave it out"
        )
    found = filled(frame, declared, named, family, reading.decimal or ".", weights)
    found = replace(found, taken={**found.taken, **formats})
    model = {"formula": formula, "family": family}
    model |= {} if weights is None else {"weights": weights}
    parts = [
        f"title = {value_text(formula)}",
        section_text("data", {"path": relative(data, folder), "missing": missing})
        + reading.lines()
        + assumed_lines([*told, *found.assumptions]),
        *(
            section_text(f"data.features.{key_of(name)}", feature_keys(feature))
            for name, feature in found.features.items()
        ),
        partition_text(site, sites),
        section_text("model", model),
        section_text("method", {"name": "glm", **(method or {})}),
        *([] if privacy is None else [section_text("privacy", privacy)]),
        *([section_text("run", run)] if run else []),
    ]
    return Fit("\n\n".join(part.rstrip("\n") for part in parts) + "\n", found.taken, told)
