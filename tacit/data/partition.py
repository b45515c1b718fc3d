"""Who holds which records: by a site column, drawn, evenly, by label, or unevenly by Dirichlet.

All but `by_column` are for simulation, because otherwise nobody has all records. Every record
belongs to exactly one site. What decided this is kept, because a guarantee rests on it: a record
that changes must not move others. Proof: docs/proofs/division.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from tacit import checks
from tacit.arguments import checked
from tacit.data.rules import Names, level_key
from tacit.data.schema import Prepared
from tacit.errors import ProblemError
from tacit.ranges import Real
from tacit.types import Division

_MOST_LABELS = 1000
_ATTEMPTS = 1000


class Tables(list[Any]):
    """One array per site, with the facts on which a guarantee about them rests.

    A list like any other, which passes the facts in `Sites` on to `empirical_risk`, so that they
    are not forgotten. Arrays made from these are the caller's own: pass `assumptions` and
    `divided` on.

    Args:
        arrays: arrays, one per site.
        assumptions: as in `Sites`.
        divided: as in `Sites`.
    """

    def __init__(
        self,
        arrays: Iterable[Any],
        assumptions: tuple[str, ...] = (),
        divided: frozenset[Division] = frozenset(),
    ) -> None:
        super().__init__(arrays)
        self.assumptions, self.divided = assumptions, divided


@dataclass(frozen=True, eq=False)
class Sites:
    """Records by site.

    Attributes:
        features: feature tables, one array of shape `(N_k, d)` per site.
        targets: targets, one array of shape `(N_k,)` per site.
        names: names of the sites.
        feature_names: names of the columns.
        rows: indices of each site's records in the prepared table, in increasing order.
        assumptions: assumptions of the prepared table.
        notes: notes of the prepared table.
        divided: what decided which record belongs to which site, and which were held out.
    """

    features: list[Float[np.ndarray, "_ d"]]
    targets: list[Shaped[np.ndarray, " _"]]
    names: tuple[str, ...]
    feature_names: tuple[str, ...]
    rows: list[Int[np.ndarray, " _"]]
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    divided: frozenset[Division] = frozenset()

    def __post_init__(self) -> None:
        for name in ("features", "targets"):
            carrying = Tables(getattr(self, name), self.assumptions, self.divided)
            object.__setattr__(self, name, carrying)

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of records of each site."""
        return tuple(len(rows) for rows in self.rows)


@checked(ProblemError)
def by_column(prepared: Prepared, sites: Names | None = None) -> Sites:
    """Each record at the site named in its site column.

    Args:
        prepared: records with sites.
        sites: names of the participating sites, in this order; all, sorted by name, when `None`. A
            guarantee states the assumption that such names are public.

    Raises:
        ProblemError: no site column, a single site, a site without records, or a record at a site
            that is not among `sites`.
    """
    if prepared.sites is None:
        raise ProblemError(
            "the table has no sites: name the column in Schema(site=...), or use another partition"
        )
    present, codes = np.unique(prepared.sites, return_inverse=True)
    if sites is None:
        # the last record of a site would otherwise remove its name
        taken = "the names of the sites were taken from the data: assumed public"
        named = replace(prepared, assumptions=(*prepared.assumptions, taken))
        return at_sites(named, codes, [str(name) for name in present])
    chosen = [level_key(name) for name in sites]
    for name in chosen:
        if chosen.count(name) > 1:
            raise ProblemError(f"site {name!r} is named twice in sites={chosen}; name each once")
    unknown = [str(name) for name in present if name not in chosen]
    if unknown:
        close = checks.close(unknown[0], chosen)
        hint = f" (is it {close[0]!r}? In a study: map in [partition])" if close else ""
        raise ProblemError(
            f"records belong to site {unknown[0]!r}, which is not among sites={chosen}{hint}: add "
            "it, or leave its records out of the data"
        )
    order = np.array([chosen.index(name) for name in present])
    return at_sites(prepared, order[codes], chosen)


@checked(ProblemError)
def drawn(prepared: Prepared, sites: int, seed: int = 0) -> Sites:
    """Each record at a site drawn by a keyed hash of its own features and target.

    The site of a record depends on that record alone, so adding or removing one moves no other: a
    guarantee under add-remove adjacency holds as it is. Sizes are even in the mean only, and equal
    records belong to the same site.

    Args:
        prepared: prepared records.
        sites: number of sites, at least 2 and at most the number of records.
        seed: key of the hash, at least 0.

    Raises:
        ProblemError: fewer than two sites, or a site to which no record was drawn.

    Example:
        >>> import numpy as np
        >>> from tacit.data.partition import drawn
        >>> from tacit.data.schema import Prepared
        >>> drawn(Prepared(np.eye(5), np.zeros(5), tuple("abcde")), sites=2).counts
        (2, 3)
    """
    check_sites(prepared, sites)
    owner = (_hashed(prepared, "site", seed) * sites).astype(int)
    return at_sites(prepared, owner, numbered(sites), Division.RECORD)


@checked(ProblemError)
def even(prepared: Prepared, sites: int, seed: int = 0) -> Sites:
    """Records split at random over sites of equal size (up to one record).

    The site of a record depends on its place in the table and the number of places. That is public
    where a record is replaced; where one is added or removed the others may move, which the
    guarantee states as an assumption. `drawn` needs none there.

    Args:
        prepared: prepared records.
        sites: number of sites, at least 2 and at most the number of records.
        seed: seed of the random order, at least 0.

    Raises:
        ProblemError: fewer than two sites, or more sites than records.

    Example:
        >>> import numpy as np
        >>> from tacit.data.partition import even
        >>> from tacit.data.schema import Prepared
        >>> even(Prepared(np.eye(5), np.zeros(5), tuple("abcde")), sites=2).counts
        (3, 2)
    """
    check_sites(prepared, sites)
    order = _generator(seed).permutation(len(prepared.targets))
    return _deal(prepared, order, sites, Division.PLACE)


def _check_labels(prepared: Prepared) -> None:
    if not prepared.labelled:
        raise ProblemError(
            "records are to be divided by their labels, and the schema has no target; declare one, "
            "or divide them evenly (even)"
        )


@checked(ProblemError)
def sorted_by_label(prepared: Prepared, sites: int) -> Sites:
    """Records sorted by target, cut into sites of equal size: the most dissimilar sites possible.

    A different label moves other records, too. A guarantee therefore assumes that the division is
    public and depends on no record.

    Args:
        prepared: prepared records.
        sites: number of sites, at least 2 and at most the number of records.

    Raises:
        ProblemError: fewer than two sites, more sites than records, or no target.
    """
    check_sites(prepared, sites)
    _check_labels(prepared)
    by_label = np.argsort(prepared.targets, kind="stable")
    return _deal(prepared, by_label, sites, Division.TABLE)


@checked(ProblemError)
def dirichlet(
    prepared: Prepared, sites: int, concentration: Real, seed: int = 0, minimum: int = 1
) -> Sites:
    """The records of each label split in proportions drawn from a Dirichlet distribution.

    Source: Hsu, Qi, Brown (2019), section 3. Here the proportions are drawn for each label over the
    sites, and drawn again until every site has `minimum` records. A different label moves other
    records, too: a guarantee assumes that the division is public and depends on no record.

    Args:
        prepared: prepared records whose target takes few values.
        sites: number of sites, at least 2.
        concentration: concentration of the distribution, positive; small is uneven, large is even.
        seed: seed of the random draws, at least 0.
        minimum: least number of records per site, at least 1.

    Raises:
        ProblemError: a value out of its range, no target or one with too many values, or no draw
            that gives every site its minimum.
    """
    check_sites(prepared, sites)
    if not (np.isfinite(concentration) and concentration > 0):
        raise ProblemError(f"concentration={concentration!r} must be positive and finite")
    records = len(prepared.targets)
    if not 1 <= minimum <= records // sites:
        raise ProblemError(
            f"minimum={minimum!r} must be at least 1 and at most {records // sites}, "
            f"the {records} records divided by {sites} sites"
        )
    _check_labels(prepared)
    labels, codes = np.unique(prepared.targets, return_inverse=True)
    if len(labels) > _MOST_LABELS:
        raise ProblemError(
            f"the target takes {len(labels)} values, too many to deal label by label; "
            "use even or sorted_by_label"
        )
    generator = _generator(seed)
    totals = np.bincount(codes)
    for _ in range(_ATTEMPTS):
        shares = generator.dirichlet(np.full(sites, concentration), len(labels))
        cuts = np.rint(np.cumsum(shares, axis=1) * totals[:, None]).astype(int)
        cuts[:, -1] = totals
        if np.diff(cuts, axis=1, prepend=0).sum(axis=0).min() >= minimum:
            break
    else:
        raise ProblemError(
            f"no draw out of {_ATTEMPTS} gave each of {sites} sites {minimum} record(s) at "
            f"concentration={concentration:g}: raise it, or take fewer sites"
        )
    owner = np.empty(records, dtype=int)
    for label, cut in enumerate(cuts):
        members = generator.permutation(np.flatnonzero(codes == label))
        owner[members] = np.searchsorted(cut, np.arange(len(members)), side="right")
    return at_sites(prepared, owner, numbered(sites), Division.TABLE)


@checked(ProblemError)
def train_test_split(
    prepared: Prepared,
    fraction: Real = 0.25,
    seed: int = 0,
    stratify: bool = False,
    by: str = "place",
) -> tuple[Prepared, Prepared]:
    """Records to fit on, and records held out.

    A guarantee about the records to fit on rests on what decided which these are, and names it:
    `by="place"` suits replacing a record, `by="record"` adding and removing one, and `stratify`,
    which looks at all labels, suits neither.

    Args:
        prepared: prepared records.
        fraction: fraction of records held out, in (0, 1).
        seed: seed of the random choice, at least 0.
        stratify: whether to hold out the same fraction of each label, up to one record.
        by: basis of the choice: "place", the record's place in the table and the number of places,
            so that the fraction is exact up to one record; or "record", a keyed hash of the record
            itself, so that the fraction holds in the mean.

    Raises:
        ProblemError: a fraction that leaves one of the two parts empty, or a choice by labels and
            by record at once.
    """
    if by not in ("place", "record"):
        raise ProblemError(f"by={by!r} must be 'place' or 'record'")
    if by == "record":
        if stratify:
            raise ProblemError("stratify=True looks at all labels, and by='record' at none but one")
        return _split_by_record(prepared, fraction, seed)
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
        _check_labels(prepared)
        # Evenly spaced in an order sorted by label, so each label gives its share up to one.
        order = order[np.argsort(prepared.targets[order], kind="stable")]
        out[order[((np.arange(held) + 0.5) * records / held).astype(int)]] = True
    else:
        out[order[:held]] = True
    return _parts(prepared, out, Division.TABLE if stratify else Division.PLACE)


def _split_by_record(prepared: Prepared, fraction: Real, seed: int) -> tuple[Prepared, Prepared]:
    out = _hashed(prepared, "held out", seed) < fraction
    if not 0 < fraction < 1 or out.all() or not out.any():
        raise ProblemError(
            f"fraction={fraction!r} of {len(out)} records leaves one part empty: choose it in "
            "(0, 1), large enough to hold out at least one record"
        )
    return _parts(prepared, out, Division.RECORD)


def _hashed(prepared: Prepared, purpose: str, seed: int) -> Float[np.ndarray, " n"]:
    """A number in [0, 1) for each record, drawn by a keyed hash of its own values alone."""
    _generator(seed)  # to check the seed
    key = hashlib.blake2b(f"{purpose} {seed}".encode(), digest_size=32).digest()
    # added to 0.0 because 0.0 and -0.0 are one value and two patterns of bits
    rows = np.column_stack([prepared.features, prepared.targets]).astype("<f8") + 0.0
    digests = b"".join(hashlib.blake2b(r.tobytes(), key=key, digest_size=8).digest() for r in rows)
    # 53 bits, so that the quotient is exact and below 1
    return (np.frombuffer(digests, dtype="<u8") >> np.uint64(11)) / 2.0**53


def _parts(
    prepared: Prepared, out: Shaped[np.ndarray, " n"], by: Division
) -> tuple[Prepared, Prepared]:
    divided = replace(prepared, divided=prepared.divided | {by})
    return _take(divided, np.flatnonzero(~out)), _take(divided, np.flatnonzero(out))


def _take(prepared: Prepared, rows: Int[np.ndarray, " n"]) -> Prepared:
    return replace(
        prepared,
        features=prepared.features[rows],
        targets=prepared.targets[rows],
        sites=None if prepared.sites is None else prepared.sites[rows],
    )


def check_sites(prepared: Prepared, sites: int) -> None:
    """Refuse a number of sites over which the records cannot be divided."""
    records = len(prepared.targets)
    if sites < 2:
        raise ProblemError(f"sites={sites!r} must be at least 2: agreement needs two sites")
    if sites > records:
        raise ProblemError(
            f"sites={sites} but only {records} records: a site would be empty; take fewer sites"
        )


def _generator(seed: int) -> np.random.Generator:
    if seed < 0:
        raise ProblemError(f"seed={seed!r} must be at least 0")
    return np.random.default_rng(seed)


def numbered(agents: int) -> list[str]:
    """Default names of sites."""
    return [f"site {k}" for k in range(agents)]


def _deal(prepared: Prepared, order: Int[np.ndarray, " n"], agents: int, by: Division) -> Sites:
    owner = np.empty(len(order), dtype=int)
    for k, part in enumerate(np.array_split(order, agents)):
        owner[part] = k
    return at_sites(prepared, owner, numbered(agents), by)


def at_sites(
    prepared: Prepared, owner: Int[np.ndarray, " n"], names: list[str], by: Division | None = None
) -> Sites:
    """The records by site.

    Args:
        prepared: prepared records.
        owner: number of each record's site.
        names: names of the sites.
        by: what decided which site owns which record.

    Raises:
        ProblemError: fewer than two sites, or a site without records.
    """
    counts = np.bincount(owner, minlength=len(names))
    for name, count in zip(names, counts, strict=True):
        if count == 0:
            raise ProblemError(f"site {name!r} has no records: leave it out, or give it some")
    if len(names) < 2:
        raise ProblemError(
            f"all records belong to one site, {names[0]!r}: there is no other to agree with; "
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
        divided=prepared.divided if by is None else prepared.divided | {by, Division.DEALT},
    )
