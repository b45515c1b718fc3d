"""From [data] and [partition] to records at sites, and held-out records."""

from __future__ import annotations

import fnmatch
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float, Shaped

from tacit.data.feature import FEATURES
from tacit.data.formula import named_in
from tacit.data.maps import MAPS, AbstractMap
from tacit.data.partition import Sites, train_test_split
from tacit.data.partitions import PARTITIONS, AbstractPartition
from tacit.data.schema import Feature, Prepared, Schema, Target
from tacit.data.target import TARGETS, BinaryTarget
from tacit.errors import ConfigError, ProblemError
from tacit.study._sections.common import plain
from tacit.study._sections.data import site_column
from tacit.study._sections.statistics import ColumnSection
from tacit.study.read import Source
from tacit.study.reading import OPTIONS, options_of

if TYPE_CHECKING:
    import pandas as pd

    from tacit.data.total import Total


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Records that no site has: for scores, in simulations only.

    Attributes:
        features: feature table, shape `(n, d)`.
        targets: targets, shape `(n,)`.
    """

    features: Float[np.ndarray, "n d"] = field(repr=False)
    targets: Shaped[np.ndarray, " n"] = field(repr=False)


def divide(source: Source) -> tuple[Sites, Prepared, HeldOut | None]:
    """Read the records, hold some out, and divide the rest over the sites.

    Args:
        source: study file.

    Returns:
        The sites, the records that they hold together, and the held-out records.

    Raises:
        ConfigError: wrong data or declarations, with the line of the study file.
    """
    from tacit.data.table import prepare

    study = source.study
    frame = _with_sites(source, table(source))
    with source.section("data"):
        declared = schema(source, [str(name) for name in frame.columns])
        prepared = prepare(frame, declared)
    with source.section("data", "target"):
        _check_both(declared.target, prepared)
    held, everything = None, prepared
    if study.run.hold_out:
        with source.section("run", "hold_out"):
            prepared, out = train_test_split(
                prepared,
                fraction=study.run.hold_out,
                seed=study.run.split_seed,
                by=held_out_by(source),
            )
        held = HeldOut(out.features, out.targets)
    try:
        with source.section("partition"), _blaming_dropped(prepared):
            return _partition(source, prepared), prepared, held
    except ConfigError:
        if held is None:
            raise
        with source.section("partition"):
            _partition(source, everything)  # what is wrong without it is told first
        with source.section("run", "hold_out"):
            raise ProblemError(
                f"hold_out={study.run.hold_out} leaves too few of the "
                f"{len(everything.features):,} records to some site; hold out fewer"
            ) from None


@contextmanager
def _blaming_dropped(prepared: Prepared) -> Generator[None]:
    """Say of records that cannot be divided that most were left out, if they were."""
    altered = prepared.altered
    try:
        yield
    except ProblemError as error:
        if altered is None or altered.dropped <= altered.records:
            raise
        raise ProblemError(
            f"{altered.dropped:,} of {altered.dropped + altered.records:,} records lack a value "
            f"and were left out, and of the others {error}"
        ) from error


def _check_both(target: Target | None, prepared: Prepared) -> None:
    """Refuse a threshold that all records, or none, are beyond: one answer fits them all."""
    if not isinstance(target, BinaryTarget) or target.threshold is None:
        return
    share = float(np.mean(prepared.targets))
    if share in (0.0, 1.0):
        which = "every" if share else "no"
        raise ProblemError(
            f"positive={target.positive!r} holds for {which} record of {target.name!r}, and a "
            "model needs both; choose another threshold"
        )


def divide_total(source: Source) -> tuple[Sites, Total, pd.DataFrame]:
    """Read the records and divide them, as independent sites would read them.

    An invalid record is empty, as for `prepare_total`, and belongs to its site as well. Nothing is
    held out.

    Args:
        source: study file.

    Returns:
        The sites, the records, and the corresponding rows of the table, unchanged.

    Raises:
        ConfigError: wrong columns or declarations, or a record without a site.
    """
    from tacit.data.columns import column_of
    from tacit.data.table import check_columns, sites_of
    from tacit.data.total import prepare_total

    frame = table(source)
    with source.section("data"):
        declared = schema(source, [str(name) for name in frame.columns])
        total = prepare_total(frame, replace(declared, site=None))
    frame, prepared = frame.iloc[total.rows], total.prepared
    with source.section("partition"):
        if declared.site is not None:
            check_columns(frame, declared)
            column = column_of(_with_sites(source, frame), declared.site)
            if absent := int(column.isna().sum()):
                raise ProblemError(
                    f"{absent} records have no value in {declared.site!r}, so no site has them; "
                    "fill it in or leave them out of the data"
                )
            prepared = replace(prepared, sites=sites_of(column))
        return _partition(source, prepared), total, frame


def held_out_by(source: Source) -> Literal["place", "record"]:
    """The basis for choosing held-out records, as the study's guarantee requires.

    Where records may be added or removed, the places of the others are not public.
    """
    privacy = source.study.privacy
    added = privacy is not None and privacy.relation == "add_remove"
    return "record" if added else "place"


def randhie() -> Path:
    """The file of the RAND Health Insurance Experiment that comes with the package statsmodels.

    Only the file is used: importing the package would take seconds.

    Raises:
        ConfigError: statsmodels is not installed.
    """
    package = find_spec("statsmodels")
    folders = [] if package is None else package.submodule_search_locations or []
    for folder in folders:
        path = Path(folder) / "datasets" / "randhie" / "randhie.csv"
        if path.exists():
            return path
    raise ConfigError(
        "source='randhie' needs the records that the package statsmodels brings; "
        "install it with: pip install 'tacit[demo]'"
    )


def table(source: Source) -> pd.DataFrame:
    """The records that a study names, unchanged."""
    from tacit.data.loaders import load

    data = source.study.data
    if data.source is not None or data.path is None:
        with source.section("data", "source"):
            frame = load(randhie())
            # a regression's target is a column
            return frame.assign(any_visit=frame["mdvis"].astype(float) > 0)
    options = options_of(data, data.path)
    kind = Path(data.path).name.lower().removesuffix(".gz")
    with source.section("data"):
        for name, of in OPTIONS.items():
            if name not in options and (value := getattr(data, name)) is not None:
                raise ConfigError(f"{name}={value!r} is for {of[0]}, not {data.path}; leave it out")
        if data.labels is not None and data.target is None:
            raise ConfigError(f"labels={data.labels!r} is a target, and nothing is predicted here")
        if data.labels is not None:
            if not kind.endswith(("ubyte", ".idx")):
                raise ConfigError(f"labels={data.labels!r} is for idx images; leave it out")
            return load(
                source.folder / data.path,
                labels=source.folder / data.labels,
                target=data.target.column,
            )
    with source.section("data", "path"):
        return load(source.folder / data.path, **options)


def _with_sites(source: Source, frame: pd.DataFrame) -> pd.DataFrame:
    """The table with the column of sites as [partition] rewrites it."""
    from tacit.data.columns import column_of
    from tacit.data.rewriting import recoded

    name = site_column(source.study.partition)
    if name is None or name not in frame.columns or source.study.partition.map is None:
        return frame
    return frame.assign(**{name: recoded(column_of(frame, name), source.study.partition.map)})


def schema(source: Source, columns: list[str] | None = None, *, patterns: bool = False) -> Schema:
    """What each column of a table becomes, according to a study file.

    Args:
        source: study file.
        columns: names of the table's columns, for patterns with `*`; none in a study of statistics.
        patterns: whether a pattern stays, as if it were the name of a column: what follows from
            declarations alone needs no table.
    """
    data = source.study.data
    return Schema(
        features=_features(source, columns, patterns),
        target=_target(source),
        site=site_column(source.study.partition),
        intercept=data.intercept and not source.statistics,
        missing=data.missing,
        row_norm=data.row_norm,
        decimal=data.decimal,
        assumptions=data.assumed,
        map=_map(source),
    )


def _features(source: Source, columns: list[str] | None, patterns: bool) -> dict[str, Feature]:
    data = source.study.data
    target = None if data.target is None else data.target.column
    reserved = {target, site_column(source.study.partition)}
    found: dict[str, Feature] = {}
    for name, declared in data.features.items():
        with source.section("data", "features", name):
            built = source.build("feature", declared.kind, FEATURES)(
                **_with_codes(plain(declared), declared.kind, data.missing_values)
            )
            if patterns or "*" not in name:
                found[name] = built
                continue
            if columns is None or source.statistics:
                raise ConfigError(
                    f"{name!r} stands for columns that only the table names, and what is asked of "
                    "records follows from declarations alone; declare each column by its name"
                )
            matching = [c for c in fnmatch.filter(columns, name) if c not in reserved]
            if not matching:
                raise ConfigError(
                    f"no column matches {name!r}; the table has {', '.join(columns[:12])}"
                )
            found |= {column: built for column in matching if column not in data.features}
    used = _used(source)
    if not used or (not patterns and not used <= found.keys()):
        return found  # who reads the formula says which is missing, and which there are
    # a record that lacks another column is not left out
    return {name: feature for name, feature in found.items() if name in used}


def _used(source: Source) -> set[str]:
    """The columns that a regression or a statistic asks for; none where all are features."""
    model = getattr(source.study, "model", None)
    if model is not None:
        with source.section("model", "formula"):
            return {*named_in(model.formula), *([] if model.weights is None else [model.weights])}
    if not source.statistics:
        return set()
    given = (
        each
        for _, value in source.study.method
        for each in (value if isinstance(value, tuple) else (value,))
    )
    return {each.column for each in given if isinstance(each, ColumnSection)}


def _with_codes(values: dict[str, Any], kind: str, codes: Sequence[Any]) -> dict[str, Any]:
    """The arguments of a column, with the codes for missing values that all columns have."""
    if kind not in FEATURES or not codes:
        return values
    return {**values, "missing_values": (*codes, *values.get("missing_values", ()))}


def _map(source: Source) -> AbstractMap | None:
    declared = source.study.data.map
    if declared is None:
        return None
    with source.section("data", "map"):
        return source.build("map", declared.kind, MAPS)(**plain(declared))


def _target(source: Source) -> Target | None:
    declared = source.study.data.target
    if declared is None:
        return None
    values = plain(declared)
    codes = source.study.data.missing_values
    if declared.kind == "numeric":
        values = _with_codes(values, "numeric", codes)
    elif declared.kind in TARGETS and codes:
        values["map"] = {str(code): "" for code in codes} | dict(values.get("map") or {})
    with source.section("data", "target"):
        return source.build("target", declared.kind, TARGETS)(values.pop("column"), **values)


def _partition(source: Source, prepared: Prepared) -> Sites:
    values = dict(source.study.partition)
    rule = source.build("partition", values.pop("by"), PARTITIONS)
    values.pop("column", None)
    values.pop("map", None)
    if rule in PARTITIONS.values():
        return rule(prepared, **values)
    own: AbstractPartition = rule(**values)
    return own.divide(prepared)
