"""What becomes of missing values, by a schema's rules."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.data.columns import Frame, where
from tacit.data.feature import AbstractFeature, Categorical, Feature
from tacit.data.rules import Missing
from tacit.data.schema import Schema
from tacit.errors import ProblemError


def rule_of(feature: Feature, schema: Schema) -> Missing:
    """The rule for a missing value of a column."""
    if isinstance(feature, AbstractFeature):
        asked = schema.missing if feature.missing is None else feature.missing
        return "drop" if asked == "drop" else "error"
    if feature.missing is not None:
        return feature.missing
    if isinstance(feature, Categorical) and schema.missing not in ("error", "drop", "indicator"):
        return "error"
    return schema.missing


def missing_rules(schema: Schema) -> dict[str, Missing]:
    """The rule for a missing value of each column."""
    rules: dict[str, Missing] = {name: rule_of(f, schema) for name, f in schema.features.items()}
    if schema.target is not None:
        rules[schema.target.name] = schema.target.missing
    if schema.site is not None and rules.get(schema.site) != "drop":
        rules[schema.site] = "error"
    return rules


def of_dropping(rules: Mapping[str, Missing]) -> list[str]:
    """The assumption where records that lack a value are dropped: from the rules alone."""
    dropping = [name for name, rule in rules.items() if rule == "drop"]
    if not dropping:
        return []
    columns = "column" if len(dropping) == 1 else "any of the columns"
    return [
        f"records without a value in {columns} {', '.join(dropping)} were left out; where a "
        "record is replaced, it is by one that has them"
    ]


def drop_missing(frame: Frame, schema: Schema, assumptions: list[str]) -> Frame:
    """Refuse or drop records with missing values where the rules say so.

    The assumptions follow from the rules alone: they must not reveal whether a record lacked a
    value.
    """
    rules = missing_rules(schema)
    assumptions += of_dropping(rules)
    absent = frame[list(rules)].isna().to_numpy()
    drop = np.zeros(len(frame), dtype=bool)
    for column in np.flatnonzero(absent.any(axis=0)):
        name = list(rules)[column]
        rows = np.flatnonzero(absent[:, column])
        if rules[name] == "error":
            raise ProblemError(
                f"column {name!r} has {len(rows)} missing value(s), the first in "
                f"{where(frame, rows[0])}: {_remedy(name, schema)}"
            )
        if rules[name] == "drop":
            drop |= absent[:, column]
    if drop.all():
        empty = [name for index, name in enumerate(rules) if absent[:, index].all()]
        what = (
            f"column {empty[0]!r} has no value in any record"
            if empty
            else "every record lacks a value in one of the columns"
        )
        fullest = list(rules)[int(np.argmax(absent.sum(axis=0)))]
        raise ProblemError(
            f"{what}, and such records are dropped (missing='drop'): none is left; correct column "
            f"{fullest!r}, leave it out, or choose another rule for it"
        )
    return frame.iloc[np.flatnonzero(~drop)] if drop.any() else frame


def _remedy(name: str, schema: Schema) -> str:
    if name == schema.site:
        return "every record needs a site; fill it in or leave the record out of the data"
    if name in schema.features:
        if isinstance(schema.features[name], Categorical):
            return "declare missing='drop' or 'indicator' for it"
        if isinstance(schema.features[name], AbstractFeature):
            return "declare missing='drop' for it or for all features, or fill it in"
        return "declare missing='drop', 'middle', 'indicator' or a number within its bounds for it"
    return "declare missing='drop' for the target, or fill it in"
