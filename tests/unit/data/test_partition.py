"""Every record stands at exactly one site."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.partition import (
    Sites,
    by_column,
    dirichlet,
    drawn,
    even,
    sorted_by_label,
    train_test_split,
)
from tacit.data.schema import Numeric, Prepared, Schema
from tacit.data.table import prepare
from tacit.errors import ProblemError
from tacit.types import Division


def table(targets: list[int], sites: list[str] | None = None) -> Prepared:
    n = len(targets)
    return Prepared(
        features=np.column_stack([np.arange(n, dtype=float), np.ones(n)]),
        targets=np.array(targets, dtype=float),
        feature_names=("number", "intercept"),
        sites=None if sites is None else np.array(sites),
        assumptions=("something is public",),
    )


def check_whole(sites: Sites, prepared: Prepared) -> None:
    assert sorted(np.concatenate(sites.rows).tolist()) == list(range(len(prepared.targets)))
    for features, targets, rows in zip(sites.features, sites.targets, sites.rows, strict=True):
        assert len(rows) > 0
        assert np.all(np.diff(rows) > 0)
        np.testing.assert_array_equal(features, prepared.features[rows])
        np.testing.assert_array_equal(targets, prepared.targets[rows])
    assert sites.feature_names == prepared.feature_names
    assert sites.assumptions[:1] == prepared.assumptions


PARTITIONS: dict[str, Callable[[Prepared, int, int], Sites]] = {
    "even": even,
    "drawn": drawn,
    "sorted": lambda prepared, agents, seed: sorted_by_label(prepared, agents),
    "dirichlet": lambda prepared, agents, seed: dirichlet(prepared, agents, 50.0, seed),
}


@pytest.mark.parametrize("name", PARTITIONS)
@settings(deadline=None, max_examples=50)
@given(
    targets=st.lists(st.integers(0, 3), min_size=24, max_size=60),
    agents=st.integers(2, 4),
    seed=st.integers(0, 2**32),
)
def test_no_record_is_lost_or_doubled(
    name: str, targets: list[int], agents: int, seed: int
) -> None:
    prepared = table(targets)
    sites = PARTITIONS[name](prepared, agents, seed)
    assert len(sites.names) == agents
    check_whole(sites, prepared)
    again = PARTITIONS[name](prepared, agents, seed)
    assert all(np.array_equal(a, b) for a, b in zip(sites.rows, again.rows, strict=True))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=40).filter(lambda s: len(set(s)) > 1))
def test_by_column_follows_the_column(column: list[str]) -> None:
    prepared = table([0] * len(column), column)
    sites = by_column(prepared)
    check_whole(sites, prepared)
    assert sites.names == tuple(sorted(set(column)))
    assert sites.counts == tuple(column.count(name) for name in sites.names)


def test_names_of_sites_that_are_read_off_the_data_are_assumed_public() -> None:
    prepared = table([0, 1, 2], ["b", "a", "b"])
    assert "names of the sites were taken from the data" in by_column(prepared).assumptions[-1]
    assert by_column(prepared, ["a", "b"]).assumptions == prepared.assumptions


def test_by_column_in_a_declared_order() -> None:
    prepared = table([0, 1, 2], ["b", "a", "b"])
    sites = by_column(prepared, sites=["b", "a"])
    assert [rows.tolist() for rows in sites.rows] == [[0, 2], [1]]
    with pytest.raises(ProblemError, match="site 'c' has no records"):
        by_column(prepared, sites=["a", "b", "c"])
    with pytest.raises(ProblemError, match="records belong to site 'b', which is not among"):
        by_column(prepared, sites=["a"])
    with pytest.raises(ProblemError, match="site 'a' is named twice"):
        by_column(prepared, sites=["a", "b", "a"])


def test_one_site_or_none_is_refused() -> None:
    with pytest.raises(ProblemError, match="one site, 'a'"):
        by_column(table([0, 1], ["a", "a"]))
    with pytest.raises(ProblemError, match="has no sites"):
        by_column(table([0, 1]))


def test_even_is_even_and_sorted_is_sorted() -> None:
    prepared = table([1, 0] * 5)
    assert even(prepared, 3).counts == (4, 3, 3)
    sites = sorted_by_label(prepared, 2)
    assert sites.targets[0].tolist() == [0.0] * 5
    different = even(prepared, 3, seed=1).rows
    assert any(
        not np.array_equal(a, b) for a, b in zip(even(prepared, 3).rows, different, strict=True)
    )


@pytest.mark.parametrize("partition", PARTITIONS.values())
@pytest.mark.parametrize(("agents", "message"), [(1, "at least 2"), (0, "at least 2"), (9, "only")])
def test_impossible_numbers_of_agents(
    partition: Callable[[Prepared, int, int], Sites], agents: int, message: str
) -> None:
    with pytest.raises(ProblemError, match=message):
        partition(table([0] * 8), agents, 0)


def test_dirichlet_concentration_sets_how_alike_sites_are() -> None:
    prepared = table([0, 1, 2, 3] * 250)

    def spread(concentration: float) -> float:
        sites = dirichlet(prepared, 4, concentration, seed=3)
        shares = [np.bincount(y.astype(int), minlength=4) / len(y) for y in sites.targets]
        return float(np.std(shares, axis=0).mean())

    assert spread(0.3) > 0.15 > 0.03 > spread(1000.0)


def test_dirichlet_refuses_what_it_cannot_do() -> None:
    prepared = table([0, 1] * 10)
    assert min(dirichlet(prepared, 4, 1.0, minimum=3).counts) >= 3
    for concentration in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ProblemError, match=r"concentration=.* must be positive and finite"):
            dirichlet(prepared, 2, concentration)
    for minimum in (0, 6):
        with pytest.raises(
            ProblemError, match=f"minimum={minimum} must be at least 1 and at most 5"
        ):
            dirichlet(prepared, 4, 1.0, minimum=minimum)
    with pytest.raises(ProblemError, match="no draw out of 1000"):
        dirichlet(prepared, 10, 1e-3)
    with pytest.raises(ProblemError, match="takes 1001 values"):
        dirichlet(table(list(range(1001))), 2, 1.0)
    with pytest.raises(ProblemError, match="seed=-1"):
        even(prepared, 2, seed=-1)


@settings(deadline=None, max_examples=50)
@given(
    targets=st.lists(st.integers(0, 2), min_size=4, max_size=50),
    fraction=st.floats(0.2, 0.8),
    stratify=st.booleans(),
)
def test_held_out_records(targets: list[int], fraction: float, stratify: bool) -> None:
    prepared = table(targets, ["a"] * len(targets))
    train, test = train_test_split(prepared, fraction, stratify=stratify)
    numbers = np.concatenate([train.features[:, 0], test.features[:, 0]])
    assert sorted(numbers.tolist()) == list(range(len(targets)))
    assert len(test.targets) == round(fraction * len(targets))
    assert train.sites is not None
    assert len(train.sites) == len(train.targets)
    if stratify:
        for label in set(targets):
            share = len(test.targets) / len(targets) * targets.count(label)
            assert abs(np.sum(test.targets == label) - share) <= 1 + 1e-9


def rows_of(sites: Sites) -> list[list[float]]:
    return [sorted(table[:, 0].tolist()) for table in sites.features]


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32), gone=st.integers(0, 59))
def test_a_drawn_record_moves_no_other(seed: int, gone: int) -> None:
    prepared = table([i % 3 for i in range(60)])
    fewer = Prepared(
        np.delete(prepared.features, gone, axis=0),
        np.delete(prepared.targets, gone),
        prepared.feature_names,
    )
    whole, _ = train_test_split(prepared, 0.25, seed, by="record")
    rest, _ = train_test_split(fewer, 0.25, seed, by="record")
    for before, after in ((prepared, fewer), (whole, rest)):
        old, new = rows_of(drawn(before, 3, seed)), rows_of(drawn(after, 3, seed))
        assert [[r for r in site if r != gone] for site in old] == new


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32), changed=st.integers(0, 59))
def test_a_replaced_record_leaves_the_others_at_their_places(seed: int, changed: int) -> None:
    prepared = table([i % 3 for i in range(60)])
    features, targets = prepared.features.copy(), prepared.targets.copy()
    features[changed], targets[changed] = -1.0, 9.0
    other = Prepared(features, targets, prepared.feature_names)
    for before, after in zip(
        (train_test_split(prepared, 0.25, seed)), train_test_split(other, 0.25, seed), strict=True
    ):
        assert np.sum(before.features[:, 0] != after.features[:, 0]) <= 1
        old, new = even(before, 3, seed), even(after, 3, seed)
        assert [len(rows) for rows in old.rows] == [len(rows) for rows in new.rows]
        moved = [
            np.sum(a[:, 0] != b[:, 0]) for a, b in zip(old.features, new.features, strict=True)
        ]
        assert sum(moved) <= 1


def test_records_are_drawn_evenly_in_the_mean_and_alike_together() -> None:
    prepared = table([0] * 3000)
    assert all(900 < count < 1100 for count in drawn(prepared, 3).counts)
    train, test = train_test_split(prepared, 0.25, by="record")
    assert 650 < len(test.targets) < 850
    # the draw of the site does not know that of who is held out
    assert all(650 < count < 850 for count in drawn(train, 3).counts)
    minus = Prepared(-0.0 * prepared.features, prepared.targets, prepared.feature_names)
    plus = Prepared(0.0 * prepared.features, prepared.targets, prepared.feature_names)
    for alike in (minus, plus):
        with pytest.raises(ProblemError, match="has no records"):
            drawn(alike, 2)


def test_a_split_says_what_decided() -> None:
    prepared = table([0, 1] * 20)
    decided = {
        Division.PLACE: train_test_split(prepared),
        Division.RECORD: train_test_split(prepared, by="record"),
        Division.TABLE: train_test_split(prepared, stratify=True),
    }
    for by, parts in decided.items():
        assert all(part.divided == {by} for part in parts)
        assert drawn(parts[0], 2).divided == {by, Division.RECORD, Division.DEALT}
    with pytest.raises(ProblemError, match="none but one"):
        train_test_split(prepared, stratify=True, by="record")
    with pytest.raises(ProblemError, match="'labels' must be 'place' or 'record'"):
        train_test_split(prepared, by="labels")
    with pytest.raises(ProblemError, match="leaves one part empty"):
        train_test_split(prepared, 1e-9, by="record")


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5, 0.01, 0.99, float("nan")])
def test_a_split_leaves_no_part_empty(fraction: float) -> None:
    with pytest.raises(ProblemError, match="leaves one part empty"):
        train_test_split(table([0, 1, 0, 1]), fraction)


def test_without_a_target_no_labels_divide_the_records() -> None:
    table = pd.DataFrame({"age": np.arange(30.0)})
    plain = prepare(table, Schema({"age": Numeric(0, 40)}, target=None))
    for divide in (
        lambda: sorted_by_label(plain, 3),
        lambda: dirichlet(plain, 3, concentration=1.0),
        lambda: train_test_split(plain, 0.2, stratify=True),
    ):
        with pytest.raises(ProblemError, match="the schema has no target"):
            divide()
