"""Sections of a study as text, for commands that write one from a table and options."""

from __future__ import annotations

import json as codec
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.data.feature import Boolean, Categorical, Date, Feature, Numeric
from tacit.errors import ConfigError
from tacit.study.reading import key_of


def feature_keys(feature: Feature) -> dict[str, Any]:
    """A declaration as keys of a study."""
    rule = getattr(feature, "missing", None)
    more: dict[str, Any] = {} if rule is None else {"missing": rule}
    if isinstance(feature, Categorical | Boolean) and feature.map is not None:
        more["map"] = dict(feature.map)
    if isinstance(feature, Numeric):
        return {"lower": feature.lower, "upper": feature.upper, **more}
    if isinstance(feature, Categorical):
        return {"levels": list(feature.levels or ()), **more}
    if isinstance(feature, Date):
        written = {} if feature.format is None else {"format": feature.format}
        return {
            "kind": "date",
            "lower": feature.lower,
            "upper": feature.upper,
            **written,
            **more,
        }
    return {"kind": "boolean", **more}


def assumed_lines(assumptions: Sequence[str]) -> str:
    """What must be public, as lines of [data]."""
    if not assumptions:
        return ""
    return "assumed = [\n" + "".join(f"    {value_text(each)},\n" for each in assumptions) + "]\n"


def partition_text(
    site: str | None, sites: Sequence[str], names: Mapping[str, str] | None = None
) -> str:
    """The section [partition]: by a column of sites, or over four simulated ones.

    Args:
        site: column that holds each record's site; `None` for simulated sites.
        sites: names of all sites; none for those in the data.
        names: other ways in which sites are written, and what they mean.
    """
    if site is None:
        return section_text("partition", {"by": "even", "sites": 4})
    given: dict[str, Any] = {"by": "column", "column": site}
    if sites:
        given["sites"] = list(sites)
    if names:
        given["map"] = dict(names)
    return section_text("partition", given)


def section_text(name: str, values: Mapping[str, Any]) -> str:
    """A section with its keys.

    Raises:
        ConfigError: a number that TOML or a study does not have: nan or infinity.
    """
    for key, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, float) and not math.isfinite(each):
                raise ConfigError(f"{key}={each!r} must be a finite number")
    return f"[{name}]\n" + "".join(
        f"{key} = {value_text(value)}\n" for key, value in values.items()
    )


def value_text(value: object) -> str:
    """A value in TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key_of(k)} = {value_text(v)}" for k, v in value.items()) + " }"
    return codec.dumps(value, ensure_ascii=False)
