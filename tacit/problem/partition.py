"""Who holds which records: by a site column, evenly, sorted by label, or unevenly by Dirichlet.

All but `by_column` are for simulation: they look at all records at once. Every record stands at
exactly one site.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int, Shaped

from tacit.errors import ProblemError
from tacit.problem.rules import Number, level_key
from tacit.problem.schema import Prepared

_MOST_LABELS = 1000
_ATTEMPTS = 1000


@dataclass(frozen=True, eq=False)
class Sites:
    """Records by site.

    Attributes:
        features: one array of shape `(N_k, d)` a site.
        targets: one array of shape `(N_k,)` a site.
        names: of the sites.
        feature_names: of the columns.
        rows: which records of the prepared table each site holds, in increasing order.
        assumptions: of the prepared table.
        notes: of the prepared table.
    """

    features: list[Float[np.ndarray, "_ d"]]
    targets: list[Shaped[np.ndarray, " _"]]
    names: tuple[str, ...]
    feature_names: tuple[str, ...]
    rows: list[Int[np.ndarray, " _"]]
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of records of each site."""
        return tuple(len(rows) for rows in self.rows)


def by_column(prepared: Prepared, names: Sequence[str] | None = None) -> Sites:
    """Each record at the site that its site column names.

    Args:
        prepared: records with sites.
        names: the sites that take part, in this order; all, sorted by name, when `None`.

    Raises:
        ProblemError: no site column, a single site, one without records, or a record at a site
            that is not among `names`.
    """
    if prepared.sites is None:
        raise ProblemError(
            "the table has no sites: name the column in Schema(site=...), or use another partition"
        )
    present, codes = np.unique(prepared.sites, return_inverse=True)
    if names is None:
        return _divide(prepared, codes, [str(name) for name in present])
    chosen = [level_key(name) for name in names]
    for name in chosen:
        if chosen.count(name) > 1:
            raise ProblemError(f"site {name!r} is named twice in names={chosen}")
    unknown = [str(name) for name in present if name not in chosen]
    if unknown:
        raise ProblemError(
            f"records stand at site {unknown[0]!r}, which is not among names={chosen}: add it, or "
            "leave its records out of the data"
        )
    order = np.array([chosen.index(name) for name in present])
    return _divide(prepared, order[codes], chosen)


def even(prepared: Prepared, agents: int, seed: int = 0) -> Sites:
    """Records dealt at random to sites of equal size (up to one record).

    Args:
        prepared: records.
        agents: number of sites, at least 2 and at most the number of records.
        seed: of the random order, at least 0.

    Raises:
        ProblemError: fewer than two agents, or more than records.

    Example:
        >>> import numpy as np
        >>> from tacit.problem.partition import even
        >>> from tacit.problem.schema import Prepared
        >>> even(Prepared(np.eye(5), np.zeros(5), tuple("abcde")), agents=2).counts
        (3, 2)
    """
    _check_agents(prepared, agents)
    return _deal(prepared, _generator(seed).permutation(len(prepared.targets)), agents)


def sorted_by_label(prepared: Prepared, agents: int) -> Sites:
    """Records sorted by target, cut into sites of equal size: the least alike that sites can be.

    Args:
        prepared: records.
        agents: number of sites, at least 2 and at most the number of records.

    Raises:
        ProblemError: fewer than two agents, or more than records.
    """
    _check_agents(prepared, agents)
    by_label = np.argsort(prepared.targets, kind="stable")
    return _of_labels(_deal(prepared, by_label, agents))


def dirichlet(
    prepared: Prepared, agents: int, concentration: Number, seed: int = 0, minimum: int = 1
) -> Sites:
    """The records of each label dealt in proportions drawn from a Dirichlet distribution.

    Source: Hsu, Qi, Brown (2019), section 3; here the proportions are drawn for each label over the
    sites, and drawn again until every site has `minimum` records.

    Args:
        prepared: records whose target takes few values.
        agents: number of sites, at least 2.
        concentration: positive; small is uneven, large is even.
        seed: of the random draws, at least 0.
        minimum: least number of records of a site, at least 1.

    Raises:
        ProblemError: a value out of its range, a target of too many values, or no draw that gives
            every site its minimum.
    """
    _check_agents(prepared, agents)
    if not (np.isfinite(concentration) and concentration > 0):
        raise ProblemError(f"concentration={concentration!r} must be positive and finite")
    records = len(prepared.targets)
    if not 1 <= minimum <= records // agents:
        raise ProblemError(
            f"minimum={minimum!r} must be at least 1 and at most {records // agents}, "
            f"the {records} records divided by {agents} agents"
        )
    labels, codes = np.unique(prepared.targets, return_inverse=True)
    if len(labels) > _MOST_LABELS:
        raise ProblemError(
            f"the target takes {len(labels)} values, too many to deal label by label; "
            "use even or sorted_by_label"
        )
    generator = _generator(seed)
    totals = np.bincount(codes)
    for _ in range(_ATTEMPTS):
        shares = generator.dirichlet(np.full(agents, concentration), len(labels))
        cuts = np.rint(np.cumsum(shares, axis=1) * totals[:, None]).astype(int)
        cuts[:, -1] = totals
        if np.diff(cuts, axis=1, prepend=0).sum(axis=0).min() >= minimum:
            break
    else:
        raise ProblemError(
            f"no draw out of {_ATTEMPTS} gave each of {agents} sites {minimum} record(s) at "
            f"concentration={concentration:g}: raise it, or take fewer agents"
        )
    owner = np.empty(records, dtype=int)
    for label, cut in enumerate(cuts):
        members = generator.permutation(np.flatnonzero(codes == label))
        owner[members] = np.searchsorted(cut, np.arange(len(members)), side="right")
    return _of_labels(_divide(prepared, owner, _numbered(agents)))


def train_test_split(
    prepared: Prepared, fraction: Number = 0.25, seed: int = 0, stratify: bool = False
) -> tuple[Prepared, Prepared]:
    """Records to fit on, and records held out.

    Args:
        prepared: records.
        fraction: held out, in (0, 1).
        seed: of the random choice, at least 0.
        stratify: hold out the same fraction of each label, up to one record.

    Raises:
        ProblemError: a fraction that leaves one of the two parts empty.
    """
    records = len(prepared.targets)
    held = round(records * fraction) if 0 < fraction < 1 else 0
    if not 0 < held < records:
        raise ProblemError(
            f"fraction={fraction!r} of {records} records leaves one part empty: "
            "choose it in (0, 1), large enough to hold out at least one record"
        )
    order = _generator(seed).permutation(records)
    out = np.zeros(records, dtype=bool)
    if stratify:
        # Evenly spaced in an order sorted by label, so each label gives its share up to one.
        order = order[np.argsort(prepared.targets[order], kind="stable")]
        out[order[((np.arange(held) + 0.5) * records / held).astype(int)]] = True
    else:
        out[order[:held]] = True
    return _take(prepared, np.flatnonzero(~out)), _take(prepared, np.flatnonzero(out))


def _take(prepared: Prepared, rows: Int[np.ndarray, " n"]) -> Prepared:
    return replace(
        prepared,
        features=prepared.features[rows],
        targets=prepared.targets[rows],
        sites=None if prepared.sites is None else prepared.sites[rows],
    )


def _check_agents(prepared: Prepared, agents: int) -> None:
    records = len(prepared.targets)
    if agents < 2:
        raise ProblemError(f"agents={agents!r}: a network needs at least 2 sites")
    if agents > records:
        raise ProblemError(
            f"agents={agents} but only {records} records: a site would be empty; take fewer agents"
        )


def _generator(seed: int) -> np.random.Generator:
    if seed < 0:
        raise ProblemError(f"seed={seed!r} must be at least 0")
    return np.random.default_rng(seed)


def _numbered(agents: int) -> list[str]:
    return [f"site {k}" for k in range(agents)]


def _deal(prepared: Prepared, order: Int[np.ndarray, " n"], agents: int) -> Sites:
    owner = np.empty(len(order), dtype=int)
    for k, part in enumerate(np.array_split(order, agents)):
        owner[part] = k
    return _divide(prepared, owner, _numbered(agents))


def _of_labels(sites: Sites) -> Sites:
    """Sites that the labels decided upon: another label moves other records, too."""
    decided = "which site holds which record is public, and no change of a record alters it"
    return replace(sites, assumptions=(*sites.assumptions, decided))


def _divide(prepared: Prepared, owner: Int[np.ndarray, " n"], names: list[str]) -> Sites:
    counts = np.bincount(owner, minlength=len(names))
    for name, count in zip(names, counts, strict=True):
        if count == 0:
            raise ProblemError(f"site {name!r} has no records: leave it out, or give it some")
    if len(names) < 2:
        raise ProblemError(
            f"all records stand at one site, {names[0]!r}: there is nobody to agree with; "
            "give at least two sites, or partition the records another way"
        )
    rows = np.split(np.argsort(owner, kind="stable"), np.cumsum(counts)[:-1])
    return Sites(
        features=[prepared.features[r] for r in rows],
        targets=[prepared.targets[r] for r in rows],
        names=tuple(names),
        feature_names=prepared.feature_names,
        rows=rows,
        assumptions=prepared.assumptions,
        notes=prepared.notes,
    )
