"""Public maps: declared, of one record at a time, and refused where they cannot be."""

from __future__ import annotations

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
    none = data.Schema({f"p{i}": data.Numeric(0, 1) for i in range(63)}, None)
    whole = gradients.rows(none, pixels)
    for at in (0, 1023, 1024, 2049):
        np.testing.assert_array_equal(whole[at], gradients.rows(none, pixels[at : at + 1])[0])
    np.testing.assert_allclose(np.linalg.norm(whole, axis=1), 1.0)
    np.testing.assert_allclose(whole.mean(axis=1), 0.0, atol=1e-12)


def test_a_ramp_has_one_direction_and_a_turned_image_turned_ones() -> None:
    gradients = data.OrientedGradients(8, 8, directions=4, every=4)
    none = data.Schema({"p": data.Numeric(0, 1)}, None)

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
    none = data.Schema({"p": data.Numeric(0, 1)}, None)
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
        (lambda: data.OrientedGradients(2, 28), "at least 3"),
        (lambda: data.OrientedGradients(28, 28, directions=1), "directions=1"),
        (lambda: data.OrientedGradients(28, 28, pool=0.0), r"pool=0\.0"),
        (
            lambda: data.prepare(
                FRAME, data.Schema(COLUMNS, ILL, map=data.OrientedGradients(28, 28))
            ),
            "784 pixels, and 4 numbers",
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


class Halved(data.AbstractMap):
    """Half of the numbers."""

    def names(self, schema: data.Schema, columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"half {name}" for name in columns)

    def rows(self, schema: data.Schema, rows: np.ndarray) -> np.ndarray:
        return rows / 2.0


class Short(Halved):
    """One number too few."""

    def rows(self, schema: data.Schema, rows: np.ndarray) -> np.ndarray:
        return rows[:, 1:]


def test_a_map_of_another_package_is_an_assumption() -> None:
    found = data.prepare(FRAME, data.Schema(COLUMNS, ILL, map=Halved()))
    assert found.feature_names[0] == "half age"
    assert any("Halved, with code that is not tacit's" in each for each in found.assumptions)
    assert not data.prepare(FRAME, schema("age")).assumptions
    with pytest.raises(ProblemError, match=r"Short\.rows must give"):
        data.prepare(FRAME, data.Schema(COLUMNS, ILL, map=Short()))


def test_every_map_of_a_study_is_public() -> None:
    assert {kind.__name__ for kind in maps.MAPS.values()} <= set(data.__all__)
