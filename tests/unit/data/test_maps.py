"""Public maps: declared, of one record at a time, and refused where they cannot be."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit import data, problem
from tacit.data import maps
from tacit.data.total import prepare_total
from tacit.errors import ProblemError

ILL = data.BinaryTarget("ill", positive="yes")
COLUMNS: dict[str, Any] = {
    "age": data.Numeric(0, 100),
    "sex": data.Categorical(["f", "m"]),
    "smoker": data.Boolean(),
}
FRAME = pd.DataFrame(
    {
        "age": [0.0, 20.0, 50.0, 80.0, 100.0],
        "sex": ["f", "m", "f", "m", "m"],
        "smoker": [0, 1, 1, 0, 1],
        "ill": ["no", "yes", "no", "yes", "yes"],
    }
)


def schema(terms: str, **others: Any) -> data.Schema:
    return data.Schema(others.pop("columns", COLUMNS), ILL, map=data.Terms(terms), **others)


def images(height: int, width: int) -> data.Schema:
    """The pixels of an image, as `load_idx` calls them."""
    names = [f"pixel_{i}_{j}" for i in range(height) for j in range(width)]
    return data.Schema({name: data.Numeric(0, 1) for name in names}, None)


def test_terms_are_the_columns_that_a_regression_has() -> None:
    found = data.prepare(FRAME, schema("bs(age, df=4) + C(sex) * smoker"))
    plain = data.prepare(FRAME, data.Schema(COLUMNS, None, intercept=False))
    columns = data.columns_of(data.Schema(COLUMNS, None, intercept=False))
    design = data.parse_terms("bs(age, df=4) + C(sex) * smoker", columns)
    assert found.feature_names == (*design.names[:-1], "intercept")
    rows = [np.asarray(design.values(row)) for row in plain.features]
    np.testing.assert_allclose(found.features, rows, atol=1e-7)
    assert np.abs(found.features).max() <= 1.0


def test_each_record_is_mapped_by_itself() -> None:
    pixels = np.random.default_rng(0).uniform(-1, 1, (2050, 63))
    gradients = data.OrientedGradients(7, 9, every=2)
    none = images(7, 9)
    whole = gradients.rows(none, pixels)
    for at in (0, 1023, 1024, 2049):
        np.testing.assert_array_equal(whole[at], gradients.rows(none, pixels[at : at + 1])[0])
    np.testing.assert_allclose(np.linalg.norm(whole, axis=1), 1.0)
    np.testing.assert_allclose(whole.mean(axis=1), 0.0, atol=1e-12)


def test_a_ramp_has_one_direction_and_a_turned_image_turned_ones() -> None:
    gradients = data.OrientedGradients(8, 8, directions=4, every=4)
    none = images(8, 8)

    def of(image: np.ndarray) -> np.ndarray:
        return gradients.rows(none, image.reshape(1, -1)).reshape(4, 2, 2)

    ramp = np.outer(np.ones(8), np.linspace(-1, 1, 8))
    found = of(ramp)
    assert (found[0] > 0).all() and (found[1:] < 0).all(), "other directions are below the mean"
    np.testing.assert_allclose(found[1:], found[1, 0, 0])
    np.testing.assert_allclose(of(ramp.T)[1].sum(), found[0].sum())
    np.testing.assert_allclose(of(-ramp)[2].sum(), found[0].sum())
    # between two directions, in equal parts
    slanted = of(ramp + ramp.T)
    np.testing.assert_allclose(slanted[0], slanted[1].T)
    assert not of(np.full((8, 8), 0.3)).any(), "an image without gradients"


def test_the_sums_are_those_of_a_loop() -> None:
    rng = np.random.default_rng(3)
    image = rng.uniform(-1, 1, (6, 5))
    gradients = data.OrientedGradients(6, 5, directions=3, every=2, smooth=0.5, pool=1.2)

    def window(i: int, size: int, deviation: float) -> np.ndarray:
        found = np.array([np.exp(-((i - j) ** 2) / 2 / deviation**2) for j in range(size)])
        return found / found.sum()

    smooth = np.zeros((6, 5))
    for i in range(6):
        for j in range(5):
            smooth[i, j] = window(i, 6, 0.5) @ image @ window(j, 5, 0.5)
    down, across = np.gradient(smooth)
    sums = np.zeros((3, 3, 2))
    for a, i in enumerate((1, 3, 5)):
        for b, j in enumerate((1, 3)):
            for y in range(6):
                for x in range(5):
                    share = window(i, 6, 1.2)[y] * window(j, 5, 1.2)[x]
                    share *= np.hypot(down[y, x], across[y, x])
                    turn = (np.arctan2(down[y, x], across[y, x]) / 2 / np.pi * 3) % 3
                    sums[int(turn) % 3, a, b] += share * (1 - turn % 1)
                    sums[(int(turn) + 1) % 3, a, b] += share * (turn % 1)
    expected = np.sqrt(sums) - np.sqrt(sums).mean()
    none = images(6, 5)
    found = gradients.rows(none, image.reshape(1, -1))[0]
    np.testing.assert_allclose(found, (expected / np.linalg.norm(expected)).ravel())


def test_a_record_that_is_not_valid_is_still_empty() -> None:
    frame = FRAME.assign(age=["0", "old", "50", "80", "100"])
    total = prepare_total(frame, schema("age + sex"))
    assert total.unfit.tolist() == [False, True, False, False, False]
    assert not total.prepared.features[1].any()
    assert total.prepared.features[2].tolist() == [0.0, 0.0, 1.0]


def test_a_level_that_is_not_declared_has_no_term() -> None:
    columns = COLUMNS | {"sex": data.Categorical(["f", "m"], other="zero")}
    frame = FRAME.assign(sex=["f", "x", "f", "m", "m"])
    found = data.prepare(frame, schema("age * C(sex)", columns=columns)).features
    assert found[1].tolist() == [-0.6, 0.0, 0.0, 1.0]


def test_rows_are_bounded_after_the_map() -> None:
    found = data.prepare(FRAME, schema("age * smoker", row_norm=1.0)).features
    assert np.linalg.norm(found, axis=1).max() <= 1.0


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: data.Terms("ill ~ age"), "terms alone"),
        (lambda: data.prepare(FRAME, schema("age + offset(age)")), "offset"),
        (lambda: data.prepare(FRAME, schema("agee")), "'agee' is not declared"),
        (lambda: data.prepare(FRAME, schema("age:smoker")), "stands without"),
        (
            lambda: data.prepare(FRAME, schema("age", missing="indicator")),
            "'age'.*missing = 'drop'",
        ),
        (lambda: data.Terms(" "), "terms alone"),
        (lambda: data.parse_terms(" ", data.columns_of(schema("age"))), "Terms maps"),
        (lambda: data.OrientedGradients(2, 28), "at least 3"),
        (lambda: data.OrientedGradients(28, 28, pixels="p"), "name every pixel"),
        (lambda: data.OrientedGradients(28, 28, pixels="p{other}"), "name every pixel"),
        (lambda: data.OrientedGradients(28, 28, directions=1), "directions=1"),
        (lambda: data.OrientedGradients(28, 28, pool=0.0), r"pool=0\.0"),
        (
            lambda: data.prepare(
                FRAME, data.Schema(COLUMNS, ILL, map=data.OrientedGradients(28, 28))
            ),
            "'age' is declared, and none of its pixels",
        ),
        (lambda: data.Schema(COLUMNS, ILL, map="age"), "map is 'age'"),
        (lambda: data.columns_of(schema("age")), "Terms maps whole records"),
        (
            lambda: problem.record_tables(
                [np.zeros((2, 4))] * 2, replace(schema("age"), target=None)
            ),
            "Terms maps whole records",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: Any, told: str) -> None:
    with pytest.raises(ProblemError, match=told):
        make()


class Logs(data.AbstractMap):
    """Logarithms of one more than each number, which the smallest does not have."""

    def names(self, schema: data.Schema, columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"log {name}" for name in columns)

    def row(self, schema: data.Schema, row: np.ndarray) -> list[float]:
        if row[0] == 1.0:
            raise ValueError("too old")
        return [math.log(1.0 + value) if value > -1.0 else -math.inf for value in row]


class Steep(data.Terms):
    """Terms, and another opinion on the old."""

    def row(self, schema: data.Schema, row: np.ndarray) -> list[float]:
        if row[0] == 1.0:
            raise ValueError("too old")
        return [10.0 * value for value in super().row(schema, row)]


def test_a_class_below_tacits_own_is_called_record_by_record_too() -> None:
    declared = data.Schema(COLUMNS, ILL, map=Steep("age + sex"))
    total = prepare_total(FRAME, declared)
    assert total.unfit.tolist() == [False, False, False, False, True]
    own = data.prepare(FRAME, schema("age + sex")).features
    np.testing.assert_array_equal(total.prepared.features[:4, :-1], 10.0 * own[:4, :-1])
    assert any("Steep, with code" in each for each in total.prepared.assumptions)


class Nameless(Logs):
    """A map without names."""

    def names(self, schema: data.Schema, columns: tuple[str, ...]) -> tuple[str, ...]:
        return ()


def test_a_map_of_another_package_is_an_assumption() -> None:
    found = data.prepare(FRAME[1:4], data.Schema(COLUMNS, ILL, map=Logs()))
    assert found.feature_names[0] == "log age"
    assert any("Logs, with code that is not tacit's" in each for each in found.assumptions)
    assert not data.prepare(FRAME, schema("age")).assumptions
    with pytest.raises(ProblemError, match=r"Nameless\.names gives a tuple"):
        data.prepare(FRAME, data.Schema(COLUMNS, ILL, map=Nameless()))


def test_a_record_that_it_does_not_take_stops_no_site() -> None:
    declared = data.Schema(COLUMNS, ILL, map=Logs())
    with pytest.raises(ProblemError, match=r"row 0: Logs does not take it .*finite numbers"):
        data.prepare(FRAME, declared)
    with pytest.raises(ProblemError, match=r"row 4: Logs does not take it .*too old"):
        data.prepare(FRAME[1:], declared)
    total = prepare_total(FRAME, declared)
    assert total.unfit.tolist() == [True, False, False, False, True]
    assert not total.prepared.features[[0, 4]].any()
    assert total.prepared.targets.tolist() == [0.0, 1.0, 0.0, 1.0, 0.0]
    np.testing.assert_array_equal(
        total.prepared.features[1:4], data.prepare(FRAME[1:4], declared).features
    )


def test_what_others_hold_does_not_even_change_the_rounding() -> None:
    declared = schema("bs(age, df=5) * sex")
    rng = np.random.default_rng(0)
    ages = rng.uniform(0, 100, 1500)
    frame = pd.DataFrame({"age": ages, "sex": "f", "smoker": 1, "ill": "no"}).astype(object)
    whole = prepare_total(frame, declared).prepared.features
    for count in (1, 2, 37, 1025):
        part = frame.assign(age=[*ages[:count], *["old"] * (1500 - count)])
        found = prepare_total(part, declared).prepared.features
        np.testing.assert_array_equal(found[:count], whole[:count])


def test_pixels_are_found_by_their_names() -> None:
    rng = np.random.default_rng(1)
    values = rng.uniform(0, 255, (3, 16)).round()
    names = [f"p{i}" for i in range(16)]
    frame = pd.DataFrame(values, columns=names)
    gradients = data.OrientedGradients(4, 4, pixels="p{number}")

    def of(columns: list[str]) -> np.ndarray:
        declared = data.Schema({n: data.Numeric(0, 255) for n in columns}, None, map=gradients)
        return data.prepare(frame[columns], declared).features

    np.testing.assert_array_equal(of(names), of(sorted(names)))
    with pytest.raises(ProblemError, match="'p10' is one of its pixels, and not declared"):
        of(names[:9])


def test_a_picture_that_is_the_same_in_all_directions_gives_nothing() -> None:
    at = np.arange(9.0) - 4.0
    ring = np.exp(-(at[:, None] ** 2 + at**2) / 6.0)
    gradients = data.OrientedGradients(9, 9, directions=4, every=9)
    for size in (1.0, 0.9):
        assert not gradients.rows(images(9, 9), size * ring.reshape(1, -1)).any()


def test_a_spline_has_a_value_at_its_bounds() -> None:
    columns = {"age": data.Numeric(0.4, 6.7)}
    frame = pd.DataFrame({"age": [0.4, 6.7, 70.0], "ill": "yes"})
    found = data.prepare(frame, schema("bs(age, df=4)", columns=columns)).features
    assert found[:, :-1].tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]]


def test_every_map_of_a_study_is_public() -> None:
    assert {kind.__name__ for kind in maps.MAPS.values()} <= set(data.__all__)
