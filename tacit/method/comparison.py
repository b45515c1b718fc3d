"""A regression beside records: what it predicts of them and what was observed.

Computed from the records without noise. Nothing here is private: it may be published only if the
records may.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from tacit.arguments import checked
from tacit.data.cells import Column
from tacit.data.design import Design
from tacit.data.factors import number
from tacit.errors import ProblemError
from tacit.method.answer import NORMAL
from tacit.method.coefficients import CoefficientTable, in_words
from tacit.problem.scores import auc

if TYPE_CHECKING:
    import pandas as pd

GROUPS = 10
"""Number of groups of a calibration, by the size of the prediction."""

MEAN: Mapping[str, Any] = {
    "identity": lambda predictor: predictor,
    "logit": lambda predictor: 1.0 / (1.0 + np.exp(-predictor)),
    "log": np.exp,
}
"""Mean of the target from the linear predictor, by link."""


@checked(ProblemError)
@dataclass(frozen=True, eq=False)
class Comparison:
    """Predicted means beside observed targets. Not private: computed from records without noise.

    Every record counts once: a weight of sampling is not taken into account.

    Attributes:
        family: family of the model.
        predicted: predicted mean of each record, shape `(n,)`.
        observed: its target, in the units of the data; 1 or 0 for yes or no, shape `(n,)`.

    Raises:
        ProblemError: no records, not one prediction and one target for each, or a number that a
            mean or a target of a binomial model cannot be.
    """

    family: str
    predicted: Float[np.ndarray, " n"]
    observed: Float[np.ndarray, " n"]

    def __post_init__(self) -> None:
        shapes = np.shape(self.predicted), np.shape(self.observed)
        if shapes[0] != shapes[1] or len(shapes[0]) != 1 or 0 in shapes[0]:
            raise ProblemError(
                f"predicted and observed have the shapes {shapes[0]} and {shapes[1]}; give one "
                "number for each record in both, and at least one record"
            )
        if self.family != "binomial":
            return
        for name, values in (("predicted", self.predicted), ("observed", self.observed)):
            if not ((values >= 0.0) & (values <= 1.0)).all():
                raise ProblemError(
                    f"{name} holds numbers outside [0, 1], in which the means and targets of a "
                    "binomial model are; give probabilities, and 1 or 0 for yes or no"
                )

    @property
    def auc(self) -> float:
        """Area under the ROC curve, in [0, 1]; not a number for a target other than yes or no."""
        if self.family != "binomial":
            return float("nan")
        return auc(self.predicted, self.observed > 0.5)

    @property
    def both(self) -> bool:
        """Whether there is a ROC curve: a target that is yes or no, and both among the records."""
        return self.family == "binomial" and 0.0 < float(np.mean(self.observed)) < 1.0

    def roc(self) -> pd.DataFrame:
        """The ROC curve of a binomial model.

        Returns:
            Columns `false_positives` and `true_positives`, rates in [0, 1], from (0, 0) to (1, 1):
            one row per distinct prediction, the largest first.

        Raises:
            ProblemError: another family, or records with one kind of answer only.
        """
        import pandas as pd

        if self.family != "binomial":
            raise ProblemError(
                f"a {in_words(self.family)} model has no ROC curve, which is for yes or no; take "
                "its calibration"
            )
        order = np.argsort(-self.predicted, kind="stable")
        yes = self.observed[order] > 0.5
        if not self.both:
            raise ProblemError("all records have the same answer; a ROC curve needs both")
        last = np.append(np.diff(self.predicted[order]) != 0.0, True)
        found = {
            "false_positives": np.append(0.0, np.cumsum(~yes)[last] / np.sum(~yes)),
            "true_positives": np.append(0.0, np.cumsum(yes)[last] / np.sum(yes)),
        }
        return pd.DataFrame(found)

    def calibration(self) -> pd.DataFrame:
        """Observed means beside predicted ones, by tenths of the prediction.

        Records with equal predictions are in one group, so there may be fewer than ten.

        Returns:
            Columns `records`, `predicted`, `observed`, and a 95 % interval of the observed mean,
            `lower` and `upper`: Wilson's for yes or no, Student's otherwise, which is not a number
            for a single record.
        """
        import pandas as pd

        edges = np.unique(np.quantile(self.predicted, np.arange(1, GROUPS) / GROUPS))
        group = np.searchsorted(edges, self.predicted)
        rows = [self._group(group == each) for each in np.unique(group)]
        return pd.DataFrame(rows, columns=["records", "predicted", "observed", "lower", "upper"])

    def _group(self, chosen: np.ndarray) -> tuple[int, float, float, float, float]:
        from scipy.stats import t

        y, count = self.observed[chosen], int(np.sum(chosen))
        mean = float(np.mean(y))
        if self.family == "binomial":
            centre, reach = _wilson(mean, count)
        else:
            spread = float(np.std(y, ddof=1)) if count > 1 else float("nan")
            centre, reach = mean, float(t.ppf(0.975, max(count - 1, 1))) * spread / count**0.5
        predicted = float(np.mean(self.predicted[chosen]))
        return count, predicted, mean, centre - reach, centre + reach


def compared(
    table: CoefficientTable, design: Design, target: Column, records: Float[ArrayLike, "n m"]
) -> Comparison:
    """The comparison on prepared records.

    Args:
        table: table of the regression.
        design: its columns, as they stand in the records.
        target: its target, as it stands there.
        records: records by `prepare`, shape `(n, m)`; those without a target are left out.

    Raises:
        ProblemError: no record with a target, or a model of several levels.
    """
    if table.levels:
        raise ProblemError(
            f"a {in_words(table.family)} model predicts a probability for each of "
            f"{len(table.levels)} levels, and a comparison is of one mean; take predict()"
        )
    rows, added = natural(design, records)
    predicted = MEAN[table.link](rows @ table.values[behind(design)] + added)
    found = _targets(target, table.family == "binomial", records)
    known = ~(np.isnan(found) | np.isnan(predicted))
    if not known.any():
        raise ProblemError(f"no record has a value of {target.name!r} to compare with")
    return Comparison(table.family, predicted[known], found[known])


def behind(design: Design) -> np.ndarray:
    """Places in a table of the columns of a design: the intercept is first there, and last here."""
    return np.roll(np.arange(design.width), -1)


def natural(
    design: Design, records: Float[ArrayLike, "n m"]
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
    """Rows of the design in the units of the data, and offsets, in double precision."""
    with jax.enable_x64(True):
        found = jnp.asarray(records)
        rows, added = jax.vmap(design.values)(found), jax.vmap(design.added)(found)
        return np.asarray(rows) @ np.linalg.inv(design.unscaled), np.asarray(added)


def _targets(target: Column, logistic: bool, records: Any) -> Float[np.ndarray, " n"]:
    """Targets in the units of the data; not a number where one is missing."""
    with jax.enable_x64(True):
        rows = jnp.asarray(records)
        if not logistic:
            return np.asarray(jax.vmap(lambda row: number(target, row))(rows))
        cells = np.asarray(jax.vmap(target.cell)(rows))
    return np.where((cells == 0) | (cells == 1), cells, np.nan)


def _wilson(share: float, count: int) -> tuple[float, float]:
    """Centre and reach of Wilson's 95 % interval of a share (Wilson 1927)."""
    z2 = NORMAL**2
    width = 1.0 + z2 / count
    reach = (z2 * (share * (1.0 - share) + z2 / (4.0 * count)) / count) ** 0.5
    return (share + z2 / (2.0 * count)) / width, reach / width
