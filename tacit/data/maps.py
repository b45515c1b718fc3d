"""Public maps of a record to the features that a model sees.

A map uses one record and what is declared, and nothing else, so it costs no privacy: what a record
may do to an answer is bounded after it, by the clip.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from tacit import checks
from tacit.arguments import checked
from tacit.errors import ProblemError
from tacit.ranges import Count, Range

if TYPE_CHECKING:
    from tacit.data.design import Design
    from tacit.data.schema import Schema

_AT_ONCE = 1024
"""Images that are mapped at a time, for the memory of their channels."""

_FAINT = 1e-9
"""Gradients below this share of the largest pixel are taken for 0."""


class AbstractMap(abc.ABC):
    """A map of your own. A package can add one to studies: docs/add_a_method.md."""

    @abc.abstractmethod
    def names(self, schema: Schema, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the features that it makes.

        Args:
            schema: declarations of the columns.
            columns: names of the numbers that they become.

        Raises:
            ProblemError: columns that it cannot map.
        """

    @abc.abstractmethod
    def rows(self, schema: Schema, rows: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n k"]:
        """The features of each record: finite, and the same whatever the others are.

        Args:
            schema: declarations of the columns.
            rows: numbers that the columns of each record become, shape `(n, m)`.
        """


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
    `to`. What is not declared in it is left out.

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
        if not isinstance(self.formula, str) or "~" in self.formula:
            raise ProblemError(
                f"formula={checks.shown(self.formula)} must be the terms alone, such as "
                "'age * C(sex)': what is predicted is the target of the schema"
            )

    def names(self, schema: Schema, columns: tuple[str, ...]) -> tuple[str, ...]:
        return self._design(schema).names[:-1]

    def rows(self, schema: Schema, rows: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n k"]:
        with jax.enable_x64(True):
            found = jax.vmap(self._design(schema).values)(jnp.asarray(rows, jnp.float64))
            # the last column is the intercept; a level that is not declared has no term
            return np.nan_to_num(np.asarray(found)[:, :-1], nan=0.0)

    def _design(self, schema: Schema) -> Design:
        from tacit.data.cells import columns_of
        from tacit.data.formula import parse_terms

        columns = columns_of(schema.unmapped)
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
    """Histograms of oriented gradients of an image, whose pixels are all declared columns.

    The image is smoothed, its gradients by central differences are shared out among directions by
    linear interpolation, and each direction's picture is smoothed and sampled on a grid. The
    features are square roots of these sums, minus their mean, which all images have in common and
    would spend most of a clip, scaled to length 1. An image without gradients gives zeros.

    Args:
        height: rows of pixels.
        width: columns of pixels; pixels are declared row by row.
        directions: number of directions around the full circle.
        every: pixels between two points of the grid, in both directions.
        smooth: standard deviation of the first smoothing, in pixels.
        pool: standard deviation of the second smoothing, in pixels.

    Raises:
        ProblemError: when records are prepared, another number of columns than `height * width`.

    Example:
        >>> import numpy as np
        >>> from tacit.data import Numeric, Schema
        >>> found = OrientedGradients(8, 8, directions=4)
        >>> schema = Schema({f"pixel{i}": Numeric(0, 255) for i in range(64)}, None)
        >>> len(found.names(schema, tuple(schema.features)))
        16
        >>> image = np.outer(np.ones(8), np.linspace(-1, 1, 8)).reshape(1, -1)
        >>> float(np.linalg.norm(found.rows(schema, image)).round(12))
        1.0

    The name is that of Dalal and Triggs (2005); their cells and blocks are Gaussian windows here.
    """

    height: Count
    width: Count
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

    def names(self, schema: Schema, columns: tuple[str, ...]) -> tuple[str, ...]:
        pixels = self.height * self.width
        if len(columns) != pixels:
            raise ProblemError(
                f"an image of {self.height} by {self.width} has {pixels:,} pixels, and "
                f"{len(columns):,} numbers are declared; declare its pixels and no other column"
            )
        down, across = self._grid
        return tuple(
            f"gradient{direction}[{i},{j}]"
            for direction in range(self.directions)
            for i in range(len(down))
            for j in range(len(across))
        )

    def rows(self, schema: Schema, rows: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n k"]:
        down, across = self._grid
        found = np.empty((len(rows), self.directions * len(down) * len(across)))
        for start in range(0, len(rows), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            found[part] = self._mapped(rows[part].reshape(-1, self.height, self.width))
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
        found -= found.mean(axis=1, keepdims=True)
        length = np.linalg.norm(found, axis=1, keepdims=True)
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
