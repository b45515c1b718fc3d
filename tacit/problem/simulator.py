"""Losses of which only values can be had: a simulator of one's own, asked record by record."""

from __future__ import annotations

import abc
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from tacit.problem.blackbox import RecordBox
from tacit.problem.host import Host
from tacit.problem.losses import AbstractLoss, Where


class AbstractBlackBox(AbstractLoss):
    """The loss of one record, as any Python code finds it; only methods that ask for values run.

    A package of your own can add one to studies: docs/add_a_method.md. Where each agent has one
    record, the record is its whole cost. It is given one record at a time, so that what is computed
    of a record depends on that record only.
    """

    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = False

    @abc.abstractmethod
    def value(self, x: np.ndarray, row: np.ndarray, target: float) -> float:
        """The loss of one record: deterministic; NaN where it has none, and it counts 0.

        Args:
            x: parameters, float64, shape `(p,)`.
            row: features of the record, float64, shape `(d,)`; not to be written to.
            target: of the record.

        Raises:
            Exception: any ends a simulation. Of a site that takes part in a run the record counts 0
                then: that it raised must not be seen.
        """

    def dimension(self, features: int) -> int:
        """One parameter a feature, unless a class says otherwise."""
        return features

    def encode(self, targets: np.ndarray, where: Where) -> np.ndarray:
        """Any finite number, unless a class says otherwise."""
        return targets


class LossBox(RecordBox):
    """`f(x) = sum_j value(x, record_j) / normaliser` over one agent's records, for a black box.

    Attributes:
        loss: of one record.
    """

    loss: AbstractBlackBox = eqx.field(static=True)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the code has to keep to."""
        return (
            f"the loss {type(self.loss).__name__}, with code that is not tacit's, is deterministic "
            "and computes the loss of each record from that record and public values only, in a "
            "time that tells nothing of it",
        )


def boxed(
    loss: AbstractBlackBox,
    tables: list[np.ndarray],
    targets: list[np.ndarray],
    normaliser: np.ndarray,
    size: int,
    *,
    quiet: bool = False,
) -> LossBox:
    """The objectives of all agents, with a leading agent axis.

    Args:
        loss: of one record.
        tables: of each agent, shape `(N_k, d)`.
        targets: of each agent, shape `(N_k,)`.
        normaliser: of each agent's sum.
        size: up to which agents with fewer records are filled up.
        quiet: whether a record of which the code raises counts 0, instead of ending the run.
    """
    counts = tuple(map(len, tables))
    for array in (*tables, *targets):
        array.setflags(write=False)
    return LossBox(
        normaliser=normaliser,
        agent=np.arange(len(tables)),
        mask=np.arange(size) < np.array(counts)[:, None],
        host=Host(
            partial(_each, loss, quiet),
            tuple(zip(tables, targets, strict=True)),
            counts,
            batched=False,
            width=size,
        ),
        loss=loss,
    )


def _each(loss: AbstractBlackBox, quiet: bool, x: np.ndarray, records: Any) -> np.ndarray:
    rows, targets = records
    return np.array(
        [_one(loss, quiet, x, row, float(y)) for row, y in zip(rows, targets, strict=True)]
    )


def _one(loss: AbstractBlackBox, quiet: bool, x: np.ndarray, row: np.ndarray, y: float) -> float:
    try:
        return float(loss.value(x.copy(), row, y))
    except Exception:
        if quiet:
            return np.nan
        raise
