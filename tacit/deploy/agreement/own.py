"""An owner's records, compared with what the manifest says of them."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from tacit.data.schema import Prepared
from tacit.data.total import Total
from tacit.deploy.agreement.manifest import Manifest
from tacit.deploy.agreement.records import (
    Table,
    counts_are_public,
    read_records,
    read_table,
    unfit_records,
)
from tacit.errors import ProblemError
from tacit.study.costs import OwnCost, declared_costs, own_cost, read_owner
from tacit.study.read import Source

log = logging.getLogger("tacit.site")


def own_records(
    manifest: Manifest, agent: int, data: Path, table: Table | None = None
) -> Prepared | OwnCost:
    """Read an owner's records, and compare their number with what it declared; or its simulator.

    The content of a record decides nothing here: one that does not fit the study is empty, and only
    `misfits` tells its owner.

    Args:
        manifest: the agreed manifest.
        agent: number of the agent that owns the records.
        data: file of the records.
        table: what `read_table` made of it; read if `None`.

    Raises:
        ConfigError: columns that do not fit the study.
        ProblemError: a file that cannot be read, or more or fewer records than declared.
    """
    source, member = manifest.source(data.parent), manifest.agents[agent]
    if source.costs:
        own = read_owner(data)
        own_cost(source, agent, own)  # what cannot be started is said before the run
        return own
    total = (table or read_table(source, data)).total
    prepared = total.prepared
    _tell_outside(total, data)
    if (prepared.feature_names, len(prepared.levels)) != (manifest.features, manifest.classes):
        raise ProblemError(
            f"{data} becomes the features {', '.join(prepared.feature_names)}, and the manifest "
            f"has {', '.join(manifest.features)}; both follow from the study, so the columns of "
            "this table differ from those of the table that the manifest was made with"
        )
    found = len(prepared.targets)
    if not counts_are_public(source, manifest.names):
        if found > member.records:  # their number is private: nobody else learns it
            raise ProblemError(
                f"{data} has more records than the {member.records} that {member.name!r} declared "
                "never to exceed; agree on a manifest with a larger number"
            )
    elif found != member.records:
        raise ProblemError(
            f"{data} has {found} records, and the manifest says {member.records} of "
            f"{member.name!r}; is it the table of this member? If so, agree on a manifest with the "
            "right number"
        )
    if found == 0:  # an empty record, because shapes require one
        width, kind = prepared.features.shape[1], prepared.targets.dtype
        empty = np.full((1, width), np.nan if source.statistics else 0.0)
        prepared = replace(prepared, features=empty, targets=np.zeros(1, dtype=kind))
    return prepared


def _tell_outside(total: Total, data: Path) -> None:
    """Warn an owner, in its own log, of bounds that hold none of its values.

    Nothing is refused: whether this member takes part would tell the others.
    """
    many = len(total.rows)
    outside = [name for name, count in total.moved.items() if 0 < many <= count]
    if outside:
        log.warning(
            "in %(data)s no value of %(names)s lies between the declared bounds: all are moved to "
            "them, so nothing of it is left. If that is not meant, stop, correct the unit of the "
            "values, or agree on other bounds. Keep this to yourself",
            {"data": str(data), "names": ", ".join(outside)},
        )


def misfits(manifest: Manifest, data: Path) -> str:
    """Which records of an owner do not fit the study: private, only for the owner, before a run.

    Args:
        manifest: the agreed manifest.
        data: file of the owner's records.

    Returns:
        The number of such records, and what is wrong with the first; empty if all fit.
    """
    source = manifest.source(data.parent)
    return "" if source.costs else unfit_records(read_table(source, data))


def features(source: Source, data: Path) -> tuple[tuple[str, ...], int]:
    """Names of the features that a table's columns become, and the number of classes.

    Raises:
        ConfigError: a table that does not fit the study.
    """
    if source.costs:
        names = source.study.partition.names
        return declared_costs(source, names).parameter_names, 0
    prepared = read_records(source, data)[0].prepared
    return prepared.feature_names, len(prepared.levels)
