"""Public maps of a record to the features that a model sees.

A map uses one record and what is declared, and nothing else, so it costs no privacy: what a record
may do to an answer is bounded after it, by the clip.
"""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from tacit import checks
from tacit.arguments import checked
from tacit.arguments.fields import Fields
from tacit.errors import ProblemError
from tacit.ranges import Count, Range

if TYPE_CHECKING:
    from tacit.data.design import Design
    from tacit.data.schema import Schema

_RECORDS = 1024
"""Records that a formula maps at a time: always as many, so that rounding does not tell how many
there are."""

_NUMBERS = 2**22
"""Numbers of all directions that are held at a time."""

_FAINT = 1e-9
"""Gradients below this share of the largest pixel, and features of that length, are taken for 0."""


class AbstractMap(metaclass=Fields):
    """A map of your own. A package can add one to studies: docs/extend.md.

    It receives one record at a time, so that the features of a record depend on that record only.
    """

    @abc.abstractmethod
    def names(self, schema: Schema, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the features that it makes, at least one.

        Args:
            schema: declarations of the columns.
            columns: names of the numbers that they become.

        Raises:
            ProblemError: columns that it cannot map.
        """

    @abc.abstractmethod
    def row(self, schema: Schema, row: Float[np.ndarray, " m"]) -> Sequence[float]:
        """The features of a record: finite, one per name.

        Args:
            schema: declarations of the columns.
            row: numbers that the columns of the record become, shape `(m,)`.

        Raises:
            Exception: any exception, if the record cannot be mapped. `prepare` reports it with its
                row; at a site in a run, the record counts and contributes nothing.
        """


def mapped(
    of: AbstractMap, schema: Schema, columns: tuple[str, ...], rows: Float[np.ndarray, "n m"]
) -> tuple[tuple[str, ...], Float[np.ndarray, "n k"]]:
    """Names and features of records; not numbers where another package's map has none.

    Raises:
        ProblemError: columns that the map cannot take, or names that are not texts.
    """
    names = of.names(schema, columns)
    # not a class below one of these, which may have changed any of it
    if isinstance(of, Terms | OrientedGradients) and type(of) in MAPS.values():
        return names, of.rows(schema, rows)
    if not isinstance(names, tuple) or not names or not all(type(each) is str for each in names):
        raise ProblemError(
            f"{type(of).__name__}.names gives {checks.shown(names)}, and must give a tuple of at "
            "least one name"
        )
    found = np.full((len(rows), len(names)), np.nan)
    for i, row in enumerate(rows):
        with suppress(Exception):
            found[i] = _made(of, schema, names, row)
    return names, found


def why_not(
    of: AbstractMap, schema: Schema, names: tuple[str, ...], row: Float[np.ndarray, " m"]
) -> str:
    """What is wrong with a record that another package's map does not take."""
    try:
        _made(of, schema, names, row)
    except Exception as error:
        return f"{type(of).__name__} does not take it ({type(error).__name__}: {error})"
    # it gave no answer before
    return f"{type(of).__name__} gives a different answer when called again"


def _made(
    of: AbstractMap, schema: Schema, names: tuple[str, ...], row: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " k"]:
    made = np.asarray(of.row(schema, row.copy()), dtype=float)
    if made.shape != (len(names),) or not np.isfinite(made).all():
        raise ValueError(f"{len(names)} finite numbers are wanted, one per name, not {made}")
    return made


def trusted_map(of: AbstractMap) -> tuple[str, ...]:
    """What a guarantee assumes about a map that another package adds."""
    if type(of) in MAPS.values():
        return ()
    return (
        f"{type(of).__name__}, with code that is not tacit's, makes of each record the same "
        "features whatever the others are",
    )


@checked(ProblemError)
@dataclass(frozen=True)
class Terms(AbstractMap):
    """Terms of a formula: splines, levels and interactions of the declared columns.

    Each feature lies within [-1, 1]: a number is moved there by its declared bounds, whatever its
    `to`. A column that is not named in it is left out. Needs `pip install 'tacit[formula]'`.

    Args:
        formula: terms with `+`, `:`, `*` and factors that are a column, `C(column)` or
            `bs(column, df=..., knots=[...], degree=3)`, as in `tacit.glm`; without a left side.

    Raises:
        ProblemError: when records are prepared, a formula that cannot be read, or a column without
            declared levels or bounds.

    Example:
        >>> import pandas as pd
        >>> from tacit.data import BinaryTarget, Categorical, Numeric, Schema, prepare
        >>> columns = {"age": Numeric(0, 100), "sex": Categorical(["f", "m"])}
        >>> ill = BinaryTarget("ill", positive="yes")
        >>> schema = Schema(columns, ill, map=Terms("age * sex"))
        >>> frame = pd.DataFrame({"age": [25, 75], "sex": ["f", "m"], "ill": ["no", "yes"]})
        >>> found = prepare(frame, schema)
        >>> found.feature_names
        ('age', 'sex[T.m]', 'age:sex[T.m]', 'intercept')
        >>> found.features.tolist()
        [[-0.5, 0.0, -0.0, 1.0], [0.5, 1.0, 0.5, 1.0]]
    """

    formula: str

    def __post_init__(self) -> None:
        if not isinstance(self.formula, str) or not self.formula.strip() or "~" in self.formula:
            raise ProblemError(
                f"formula={checks.shown(self.formula)} must be the terms alone, such as "
                "'age * C(sex)': what is predicted is the target of the schema"
            )

    def names(self, schema: Schema, columns: tuple[str, ...]) -> tuple[str, ...]:
        return self._design(schema).names[:-1]

    def row(self, schema: Schema, row: Float[np.ndarray, " m"]) -> Sequence[float]:
        return self.rows(schema, row[None])[0].tolist()

    def rows(self, schema: Schema, rows: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n k"]:
        """The features of each record, shape `(n, k)`."""
        design = self._design(schema)
        found = np.empty((len(rows), design.width - 1))
        with jax.enable_x64(True):
            for start in range(0, len(rows), _RECORDS):
                part = rows[start : start + _RECORDS]
                block = np.zeros((_RECORDS, rows.shape[1]))
                block[: len(part)] = part
                values = np.asarray(jax.vmap(design.values)(jnp.asarray(block)))
                # the last column is the intercept
                found[start : start + len(part)] = values[: len(part), :-1]
        # a level that is not declared has no term
        return np.nan_to_num(found, nan=0.0)

    def _design(self, schema: Schema) -> Design:
        from tacit.data.cells import columns_of
        from tacit.data.formula import parse_terms

        columns = columns_of(replace(schema, map=None, row_norm=None))
        design = parse_terms(self.formula, columns)
        hidden = next((c.name for c in design.columns if c.scale and c.missing is not None), None)
        if hidden is not None:
            raise ProblemError(
                f"column {hidden!r}: a number that is missing has no place in a formula's terms; "
                "declare missing = 'drop', 'middle' or a number for it"
            )
        return design


@checked(ProblemError)
@dataclass(frozen=True)
class OrientedGradients(AbstractMap):
    """Histograms of oriented gradients of an image, whose pixels are the declared columns.

    The image is smoothed, its gradients by central differences are shared out among directions by
    linear interpolation, and each direction's picture is smoothed and sampled on a grid. The
    features are square roots of these sums, minus their mean, which all images have in common and
    would spend most of a clip, scaled to length 1. An image without gradients gives zeros.

    Args:
        height: rows of pixels.
        width: columns of pixels.
        pixels: name of a pixel's column, with its `{row}` and `{column}`, or its `{number}`, row by
            row; all are counted from 0. The default is what `load_idx` calls them.
        directions: number of directions around the full circle.
        every: pixels between two points of the grid, in both directions.
        smooth: standard deviation of the first smoothing, in pixels.
        pool: standard deviation of the second smoothing, in pixels.

    Raises:
        ProblemError: an image that is too small, or, when records are prepared, other columns than
            its pixels.

    Example:
        >>> import numpy as np
        >>> from tacit.data import Numeric, Schema
        >>> found = OrientedGradients(8, 8, pixels="p{number}", directions=4)
        >>> schema = Schema({f"p{i}": Numeric(0, 255) for i in range(64)}, None)
        >>> len(found.names(schema, tuple(schema.features)))
        16
        >>> image = np.outer(np.ones(8), np.linspace(-1, 1, 8)).reshape(1, -1)
        >>> float(np.linalg.norm(found.rows(schema, image)).round(12))
        1.0

    The name is that of Dalal and Triggs (2005); their cells and blocks are Gaussian windows here.
    """

    height: Count
    width: Count
    pixels: str = "pixel_{row}_{column}"
    directions: Annotated[int, Range(least=2.0)] = 8
    every: Count = 4
    smooth: Annotated[float, Range(above=0.0)] = 0.7
    pool: Annotated[float, Range(above=0.0)] = 2.0

    def __post_init__(self) -> None:
        if min(self.height, self.width) < max(3, self.every):
            raise ProblemError(
                f"height={self.height!r} and width={self.width!r} must both be at least 3, and at "
                f"least every={self.every!r}"
            )
        if len(set(self._columns)) != self.height * self.width:
            raise ProblemError(
                f"pixels={checks.shown(self.pixels)} must name every pixel by its place, such as "
                "'pixel_{row}_{column}' or 'p{number}'"
            )

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        """Names of the pixels, row by row."""
        places = enumerate(itertools.product(range(self.height), range(self.width)))
        try:
            return tuple(self.pixels.format(row=i, column=j, number=n) for n, (i, j) in places)
        except (AttributeError, IndexError, KeyError, ValueError):
            return ()

    def names(self, schema: Schema, columns: tuple[str, ...]) -> tuple[str, ...]:
        wrong = sorted(set(self._columns) ^ set(columns))
        if wrong or len(columns) != len(self._columns):
            what = f"column {wrong[0]!r} is " + (
                "one of its pixels, and not declared"
                if wrong and wrong[0] in self._columns
                else "declared, and none of its pixels"
            )
            raise ProblemError(
                f"an image of {self.height} by {self.width} pixels {self.pixels!r}: {what}; "
                "declare its pixels as numbers and no other column, or correct pixels"
            )
        down, across = self._grid
        return tuple(
            f"gradient{direction}[{i},{j}]"
            for direction in range(self.directions)
            for i in range(len(down))
            for j in range(len(across))
        )

    def row(self, schema: Schema, row: Float[np.ndarray, " m"]) -> Sequence[float]:
        return self.rows(schema, row[None])[0].tolist()

    def rows(self, schema: Schema, rows: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n k"]:
        """The features of each record, shape `(n, k)`."""
        place = {name: j for j, name in enumerate(schema.features)}
        order = [place[name] for name in self._columns]
        down, across = self._grid
        found = np.empty((len(rows), self.directions * len(down) * len(across)))
        at_once = max(1, _NUMBERS // (self.directions * self.height * self.width))
        for start in range(0, len(rows), at_once):
            part = slice(start, start + at_once)
            images = rows[part][:, order].reshape(-1, self.height, self.width)
            found[part] = self._mapped(images)
        return found

    def _mapped(self, images: Float[np.ndarray, "n h w"]) -> Float[np.ndarray, "n k"]:
        down, across = self._grid
        images = _window(self.height, self.smooth) @ images @ _window(self.width, self.smooth).T
        along_rows, along_columns = np.gradient(images, axis=(1, 2))
        size = np.hypot(along_rows, along_columns)
        # differences of equal pixels leave rounding errors, which have a direction, too
        size[size < _FAINT * np.abs(images).max(axis=(1, 2), keepdims=True)] = 0.0
        turn = np.arctan2(along_rows, along_columns) / (2.0 * math.pi) * self.directions
        below = np.floor(turn)
        to_above = size * (turn - below)
        at = below.astype(int)[:, None] % self.directions
        shared = np.zeros((len(images), self.directions, self.height, self.width))
        np.put_along_axis(shared, at, (size - to_above)[:, None], axis=1)
        np.put_along_axis(shared, (at + 1) % self.directions, to_above[:, None], axis=1)
        found = np.sqrt(down @ shared @ across.T).reshape(len(images), -1)
        whole = np.linalg.norm(found, axis=1, keepdims=True)
        found -= found.mean(axis=1, keepdims=True)
        length = np.linalg.norm(found, axis=1, keepdims=True)
        found[(length <= _FAINT * whole)[:, 0]] = 0.0
        return found / np.where(length > 0.0, length, 1.0)

    @cached_property
    def _grid(self) -> tuple[Float[np.ndarray, "a h"], Float[np.ndarray, "b w"]]:
        """The second smoothing at the points of the grid, by rows and by columns of pixels."""
        first = self.every // 2
        return (
            _window(self.height, self.pool)[first :: self.every],
            _window(self.width, self.pool)[first :: self.every],
        )


def _window(size: int, deviation: float) -> Float[np.ndarray, "size size"]:
    """A Gaussian window around each pixel, of sum 1 within the image."""
    at = np.arange(size)
    found = np.exp(-((at[:, None] - at) ** 2) / (2.0 * deviation**2))
    return found / found.sum(axis=1, keepdims=True)


MAPS: Mapping[str, type[Terms] | type[OrientedGradients]] = {
    "terms": Terms,
    "oriented_gradients": OrientedGradients,
}
"""The maps that a study file can name."""
