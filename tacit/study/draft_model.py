"""The text of a first study file for a regression: the columns of a formula, and its model."""

from __future__ import annotations

import json as codec
from typing import TYPE_CHECKING, Any

from tacit import checks
from tacit.data.formula import named_in
from tacit.data.guessing import kind_of
from tacit.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd


def columns_of(formula: str, frame: pd.DataFrame, site: str | None, data: Any) -> list[str]:
    """The columns that a formula names, the target first.

    Args:
        formula: model, such as "visits ~ age + C(sex)".
        frame: the table.
        site: name of the column of sites, if there is one.
        data: path of the table, for messages.

    Raises:
        ConfigError: a column that the table does not have, or the column of sites as the target.
        ProblemError: a formula that cannot be read.
    """
    names = list(named_in(formula))
    for name in names:
        if name not in frame.columns:
            present = [str(each) for each in frame.columns]
            told = checks.hint(name, present, f"it has {', '.join(present[:12])}", 0.5)
            raise ConfigError(
                f"formula={formula!r} names {name!r}, which is not a column of {data}; {told}"
            )
    if names[0] == site:
        raise ConfigError(
            f"formula={formula!r} predicts the column of sites; name another target or site"
        )
    return names


def family_of(target: Any) -> str:
    """The distribution that the kind of a target suggests; values decide nothing."""
    return {"numeric": "gaussian", "boolean": "binomial"}.get(kind_of(target), "binomial")


def model_text(formula: str, family: str) -> str:
    """The sections from [model] on."""
    return _MODEL.format(formula=codec.dumps(formula, ensure_ascii=False), family=family)


_MODEL = """\
[model]
formula = {formula}
# gaussian (a number with bounds), binomial (yes or no), multinomial (one of several levels),
# poisson (counts), negative_binomial (counts that vary more), gamma (positive numbers)
family = "{family}"

[privacy]                 # leave the section out, and nothing is protected
epsilon = 1.0             # of the whole run; smaller is more private
delta = 1e-6              # far below one over the number of records
masks = true              # sites hide each other: the coordinator sees sums only
# records_per_person = 1  # raise it if one person may have several records at a site

[run]
# seed = 1              # the same noise every time, which no guarantee then covers
output = "results"
"""
