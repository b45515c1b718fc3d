"""A fitted model with all that is needed to predict by it: kept in a file, and read again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import jax
import numpy as np
from jaxtyping import Float

from tacit.arguments import checked
from tacit.data.schema import Schema
from tacit.data.target import TARGETS, BinaryTarget, ClassTarget, NumericTarget
from tacit.errors import ProblemError
from tacit.method._new_records import complete, moved, prepared, tell_moved, values_moved
from tacit.method._saved import (
    SavedFit,
    declarations,
    reading,
    saved_text,
    today,
    write_saved,
)
from tacit.problem.losses import LOSSES, AbstractLinearLoss, Softmax

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "tacit-fitted-model-1"

Saved: TypeAlias = BinaryTarget | NumericTarget | ClassTarget

_MEAN: Mapping[str, Callable[[Any], Any]] = {
    "logistic": lambda score: 1.0 / (1.0 + np.exp(-score)),
    "poisson": np.exp,
}
"""What is predicted from the linear predictor; the predictor itself for other losses."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted linear model: its parameters, and the declarations by which it predicts.

    Attributes:
        title: title of the study.
        loss: kind of loss that was minimised, as studies name it.
        names: names of the parameters.
        values: parameters, in the units that the declared bounds give the columns, shape `(p,)`.
        schema: declarations of the columns, with their bounds, and no site.
        target: declaration of the target.
        protection: guarantee of the fit, in words.
        study: SHA-256 of the study file; empty where it could tell the seed of the noise.
        date: day of the fit, as YYYY-MM-DD.
    """

    title: str
    loss: str
    names: tuple[str, ...]
    values: Float[np.ndarray, " p"]
    schema: Schema
    target: Saved
    protection: str
    study: str = ""
    date: str = field(default_factory=today)

    def __repr__(self) -> str:
        count = len(self.values)
        return f"<FittedModel of {self.target.name}: {self.loss} loss, {count} parameters>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p><p>{escape(self.protection)}</p>"

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the classes; empty unless the target is one of several."""
        return tuple(self.target.levels) if isinstance(self.target, ClassTarget) else ()

    @property
    def built(self) -> AbstractLinearLoss:
        """The loss."""
        if self.loss == "softmax":
            return Softmax(len(self.levels))
        kind: Any = LOSSES[self.loss]
        return kind()

    def predict(self, data: pd.DataFrame) -> pd.DataFrame:
        """What the model predicts of new records.

        Without intervals: noise in the parameters and sampling are not taken into account.

        Args:
            data: table with the declared columns; values beyond declared bounds are moved to them,
                as in the fit, with a warning. The target and the site need not be there.

        Returns:
            Column `mean`: the probability of yes, or the target in its own unit; for hinge loss
            `score`, whose sign decides; for several classes the probability of each, by its name:
            `"often mean"`. Not numbers where the fit would have left the record out for a missing
            value.

        Raises:
            ProblemError: a column that is absent or not of its declared kind.
        """
        import pandas as pd

        known = complete(data, self.schema)
        loss = self.built
        scores = np.full((len(data), *((len(self.levels),) if self.levels else ())), np.nan)
        if known.any():
            records = prepared(data.iloc[np.flatnonzero(known)], self.schema)
            tell_moved(moved(records))
            rows = records.features
            with jax.enable_x64(True):
                weights = np.asarray(loss.weights(np.asarray(self.values), rows.shape[1]))
            scores[known] = rows @ weights
        return pd.DataFrame(self._means(scores), index=data.index)

    def moved(self, data: pd.DataFrame) -> Mapping[str, int]:
        """How many values `predict` moves to a declared bound, by column.

        Args:
            data: table with the declared columns.

        Raises:
            ProblemError: as for `predict`.
        """
        return values_moved(data, self.schema)

    def _means(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        if self.levels:
            odds = np.exp(scores - scores.max(axis=1, keepdims=True))
            shares = odds / odds.sum(axis=1, keepdims=True)
            return {f"{name} mean": shares[:, i] for i, name in enumerate(self.levels)}
        if self.loss == "hinge":
            return {"score": scores}
        mean = _MEAN.get(self.loss, lambda score: score)(scores)
        target = self.target
        if isinstance(target, NumericTarget) and target.to is not None:
            low, high = target.to
            mean = target.lower + (mean - low) * (target.upper - target.lower) / (high - low)
        return {"mean": mean}

    def save(self, path: str | Path) -> None:
        """Write it to a file, JSON. It holds what was released and declared, and nothing else.

        Raises:
            RuntimeFailure: a file that cannot be written.
        """
        write_saved(path, self.to_json())

    def to_json(self) -> str:
        """The contents of that file.

        Raises:
            ProblemError: a column of another package's kind.
        """
        kind = next(name for name, each in TARGETS.items() if isinstance(self.target, each))
        document = {
            "format": FORMAT,
            "title": self.title,
            "date": self.date,
            "guarantee": self.protection,
            "study_sha256": self.study,
            "loss": self.loss,
            "columns": declarations(self.schema),
            "intercept": self.schema.intercept,
            "missing": self.schema.missing,
            "row_norm": self.schema.row_norm,
            "decimal": self.schema.decimal,
            "target": {"kind": kind, **self._target()},
            "names": self.names,
            "values": self.values.tolist(),
        }
        return json.dumps(document, indent=2, ensure_ascii=False)

    def _target(self) -> dict[str, Any]:
        """The declaration of the target, as in files of earlier versions where it says no more."""
        return {k: v for k, v in asdict(self.target).items() if (k, v) != ("missing_values", ())}


class _File(SavedFit):
    """The contents of the file."""

    format: Literal["tacit-fitted-model-1"]
    title: str
    study_sha256: str
    loss: Literal["squared", "logistic", "softmax", "huber", "hinge", "quantile", "poisson"]
    intercept: bool
    row_norm: float | None
    target: dict[str, Any]
    names: tuple[str, ...]
    values: list[float]


@checked(ProblemError)
def load_model(path: str | Path) -> FittedModel:
    """Read a model that was saved.

    Args:
        path: path of the file, as written by `save`, `tacit run` or a member of a run between
            sites.

    Raises:
        ProblemError: a file that cannot be read, is cut off, or holds something else.

    Example:
        >>> from tacit.method import load_model
        >>> load_model("model")
        Traceback (most recent call last):
            ...
        tacit.errors.ProblemError: model: cannot be read (No such file or directory); check the path
    """
    text = saved_text(path, FORMAT)
    with reading(path, "a model", "model.json"):
        found = _File.model_validate_json(text)
        given = dict(found.target)
        kind: Any = TARGETS[given.pop("kind")]
        plain = {key: tuple(v) if isinstance(v, list) else v for key, v in given.items()}
        loaded = FittedModel(
            title=found.title,
            loss=found.loss,
            names=found.names,
            values=np.array(found.values),
            schema=found.as_schema(intercept=found.intercept, row_norm=found.row_norm),
            target=kind(**plain),
            protection=found.guarantee,
            study=found.study_sha256,
            date=found.date,
        )
        fits = bool(loaded.levels) == (found.loss == "softmax")
        _ = loaded.built  # refuses what is no loss
    if not fits or len(loaded.names) != len(loaded.values) or not np.isfinite(loaded.values).all():
        raise ProblemError(
            f"{path}: its parameters are not those of a model of {loaded.target.name!r}; it was "
            "changed, or is of another version"
        )
    return loaded
