"""Records of sites from a table, the budget, and the run: what functions on a table share."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from tacit._engine.doubts import more_than_all
from tacit._engine.result import Result
from tacit._engine.runner import run
from tacit.data.columns import column_of
from tacit.data.describable import Describable, describable
from tacit.data.feature import Feature
from tacit.data.frames import Table, one_table
from tacit.data.oddities import PRIVATE, far_size, fractions, spellings, too_many_sites
from tacit.data.partition import Sites, by_column
from tacit.data.rules import MANY_MOVED, Missing
from tacit.data.schema import Prepared, Schema
from tacit.data.table import prepare
from tacit.data.undeclared import check_declared
from tacit.errors import PrivacyError
from tacit.method.phase import AbstractMethod
from tacit.network import Coordinator
from tacit.privacy.budget import Privacy
from tacit.privacy.ledger import Ledger
from tacit.privacy.masked import Masks
from tacit.problem.task import Records, record_tables

ONE_COLLUDER = Masks()
"""Secure aggregation against one colluding site."""


class Declared(NamedTuple):
    """Records of sites with declared columns.

    Attributes:
        chosen: columns that are asked for.
        schema: declaration of the columns.
        records: records of every site.
    """

    chosen: Describable
    schema: Schema
    records: Records


def declared_records(
    data: Table | str | Path | Mapping[str, Table | str | Path],
    names: Sequence[str] | None,
    by: str | None,
    columns: Mapping[str, Feature] | None,
    remedy: str,
    *,
    missing: Missing,
    decimal: Literal[".", ","],
    site: str,
    sites: Sequence[str] | None,
    size: int | Sequence[int] | None,
    time: str | None = None,
) -> Declared:
    """Records of sites from a table, with warnings for what is not declared or beyond its bounds.

    Call it from a checked public function: warnings name the line that called that function.

    Args:
        data: table with a column of sites, or one table per site by name.
        names: columns to read; `None` for all that can be described.
        by: column of groups, if any.
        columns: declarations of columns.
        remedy: example of a declaration.
        missing: rule for missing values.
        decimal: decimal mark of numbers that the table holds as text.
        site: column that holds each record's site.
        sites: names of the sites; by default those in the data.
        size: declared public number near the number of records of a site, if needed.
        time: column of times to an event, if there is one.

    Raises:
        ConfigError: an argument of another kind.
        ProblemError: a column or record that does not fit the declarations.
    """
    asked = None if names is None else [*names, *([] if by is None else [by])]
    frame, sites = one_table(data, site, sites, asked)
    check_declared(columns)
    chosen = describable(frame, names, by, site, columns or {}, decimal, sites)
    chosen.found.warn(f"columns={{{remedy}}}", stacklevel=4)
    schema = Schema(
        chosen.found.features,
        None,
        site=site,
        intercept=False,
        missing=missing,
        decimal=decimal,
        assumptions=chosen.found.assumptions,
    )
    prepared = prepare(frame, schema)
    warn_of_moved(prepared, time, stacklevel=4)
    divided = by_column(prepared, sites)
    warn_of_sites(divided, site, size, stacklevel=4)
    records = record_tables(divided.features, schema, names=divided.names, size=size)
    return Declared(chosen, schema, records)


def warn_of_moved(prepared: Prepared, time: str | None, stacklevel: int) -> None:
    """Say of which columns many values were beyond their bounds.

    It is counted in private records without noise, and is said where all of them are.

    Args:
        prepared: records of all sites.
        time: column of times to an event, if there is one.
        stacklevel: as for `warnings.warn`, counted from the caller.
    """
    altered = prepared.altered
    if altered is None:
        return
    if early := altered.early(time):
        warnings.warn(
            f"{early:,} of {altered.records:,} times in {time} are below the lower bound, at which "
            "everybody's time begins, and count as ended there: correct them, or leave them empty "
            f"as missing. {PRIVATE}",
            stacklevel=stacklevel + 1,
        )
    amiss = altered.amiss(time).items()
    shares = {name: count / altered.records for name, count in amiss if name != time}
    many = [f"{name} in {share:.0%}" for name, share in shares.items() if share >= MANY_MOVED]
    if many:
        warnings.warn(
            f"values beyond their declared bounds were moved to them: {', '.join(many)} of the "
            f"{altered.records:,} records. If that is not meant, correct the values, or the bounds "
            f"by what is known without the records. {PRIVATE}",
            stacklevel=stacklevel + 1,
        )
    late = altered.late(time)
    if late:
        warnings.warn(
            f"{late / altered.records:.0%} of the {altered.records:,} records are followed beyond "
            f"the upper bound of {time}, and count up to it without an event. If that is not "
            f"meant, declare a later bound by what is known without the records. {PRIVATE}",
            stacklevel=stacklevel + 1,
        )


def warn_of_fractions(frame: pd.DataFrame, target: str, decimal: str, stacklevel: int) -> None:
    """Say how many targets of a family of counts are no whole numbers.

    Args:
        frame: records of all sites.
        target: column of the target.
        decimal: decimal mark of numbers that are text.
        stacklevel: as for `warnings.warn`, counted from the caller.
    """
    found = fractions(column_of(frame, target), decimal)
    if found:
        warnings.warn(
            f"{found:,} values of {target} are no whole numbers, and the family is of counts: "
            f"check that it is meant. {PRIVATE}",
            stacklevel=stacklevel + 1,
        )


def warn_of_sites(
    divided: Sites, site: str, size: int | Sequence[int] | None, stacklevel: int
) -> None:
    """Say of sites what looks like a mistake: two spellings, an identifier, sizes far off.

    Args:
        divided: records by site.
        site: column of sites.
        size: declared numbers near those of the sites' records, if any.
        stacklevel: as for `warnings.warn`, counted from the caller.
    """
    names = list(divided.names)
    told = [
        f"the sites {other!r} and {first!r} differ only in blanks or case, and count as two: give "
        "them one name if they are one"
        for other, first in spellings(pd.Series(names, dtype=object)).items()
    ]
    if many := too_many_sites(site, len(names), sum(divided.counts)):
        told.append(f"{many}. Name the column of sites by site=. {PRIVATE}")
    if size is not None and (far := far_size(size, divided.counts)):
        told.append(f"{far}. {PRIVATE}")
    for each in told:
        warnings.warn(each, stacklevel=stacklevel + 1)


def budget(
    epsilon: float | None,
    delta: float,
    relation: Literal["replace_one", "add_remove"],
    masks: Masks | None,
    records_per_person: int,
    sites_per_person: int,
    large_delta: bool,
) -> Privacy | None:
    """The budget of a whole function, or `None` without an epsilon.

    Raises:
        PrivacyError: an infinite epsilon.
    """
    if epsilon is None:
        return None
    if epsilon == math.inf:
        raise PrivacyError(
            "epsilon=inf would add no noise; give a finite budget, or epsilon=None for no privacy"
        )
    return Privacy(
        clip=1.0,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        sites_per_person=sites_per_person,
        large_delta=large_delta,
        records_per_person=records_per_person,
        masks=masks,
    )


def run_on(
    records: Records,
    method: AbstractMethod,
    rounds: int,
    seed: int | None,
    ledger: Ledger | None,
    dataset: str,
) -> Result:
    """Run a method on records with a coordinator of their sites.

    Call it from a checked public function: warnings name the line that called that function.
    """
    if told := more_than_all(method.privacy, records.counts):
        warnings.warn(f"{told} {PRIVATE}", stacklevel=4)
    star = Coordinator(len(records.names))
    return run(records, star, method, rounds=rounds, seed=seed, ledger=ledger, dataset=dataset)
