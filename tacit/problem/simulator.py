"""Losses that give values only: the user's own simulator, called record by record."""

from __future__ import annotations

import abc
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from tacit import checks
from tacit.errors import OracleError
from tacit.problem.answers import difference
from tacit.problem.boxes import CostBox, RecordBox
from tacit.problem.host import Host
from tacit.problem.losses import AbstractLoss, Where
from tacit.problem.processes import Unanswered
from tacit.ranges import numeric


class AbstractBlackBox(AbstractLoss):
    """The loss of one record, computed by any Python code; only methods that use values can run.

    Your own package can add one to studies: docs/extend.md. Where each agent has one record,
    the record is its whole cost. The code receives one record at a time, so that the result for a
    record depends on that record only.
    """

    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = False

    @abc.abstractmethod
    def value(self, x: np.ndarray, row: np.ndarray, target: float) -> float:
        """The loss of one record: deterministic; NaN where undefined, which counts as 0.

        Args:
            x: parameters, float64, shape `(p,)`.
            row: features of the record, float64, shape `(d,)`; read-only.
            target: target of the record.

        Raises:
            Exception: any exception ends a simulation. At a site in a run between sites the record
                counts as 0 instead, because the exception must not be visible.
        """

    def dimension(self, features: int) -> int:
        """One parameter per feature, unless a subclass overrides it."""
        return features

    def encode(self, targets: np.ndarray, where: Where) -> np.ndarray:
        """Any finite number, unless a subclass overrides it."""
        return targets


class LossBox(RecordBox):
    """`f(x) = sum_j value(x, record_j) / normaliser` over one agent's records, for a black box.

    Attributes:
        loss: loss of one record.
    """

    loss: AbstractBlackBox = eqx.field(static=True)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the code must keep to."""
        how = self.host.evaluation
        limited = how.timeout is not None or how.attempts > 1
        return (
            f"the loss {type(self.loss).__name__}, with code that is not tacit's, is deterministic "
            "and computes the loss of each record from that record and public values only, in a "
            "time that tells nothing of it",
            *((how.unseen("records"),) if limited else ()),
        )


_TRIED = 20
"""Most records at which a simulator is tried."""


def tried(box: LossBox, x: np.ndarray) -> str:
    """Where a simulator raises on its owner's records: private, only for the owner.

    Args:
        box: one agent's records.
        x: point, shape `(p,)`.

    Returns:
        How many of the first records it raises for, and what for the first of them; empty if it
        raises for none.
    """
    rows, targets = (each[:_TRIED] for each in box.host.own(int(np.asarray(box.agent))))
    errors = list[Exception]()
    for row, target in zip(rows, targets, strict=True):
        try:
            _number(box.loss, box.loss.value(x.copy(), row, float(target)))
        except Exception as error:
            errors.append(error)
    if not errors:
        return ""
    first = f"{type(errors[0]).__name__}: {errors[0]}"
    return (
        f"it raises at the start for {len(errors)} of the {len(rows)} records that were tried; "
        f"between sites they count 0, and nobody is told. The first: {first}"
    )


def tried_cost(box: CostBox, x: np.ndarray) -> str:
    """Why a cost has no value at a point: private, only for its owner; empty if it has one.

    Args:
        box: one agent's cost.
        x: point, shape `(p,)`.
    """
    host = box.host.evaluated(replace(box.host.evaluation, on_failure="stop", cache=None))
    agent = int(np.asarray(box.agent))
    values = host.twice(np.asarray(x), (agent,))
    try:
        host.raise_pending()
    except OracleError as error:
        return f"{error}. Between sites its answer is then 0 in that round, and nobody is told"
    told = difference(*values[agent])
    if not told or host.evaluation.stochastic:
        return ""
    return f"it {told} at the start, and the study says that no chance is in it: stochastic = true"


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
        loss: loss of one record.
        tables: features of each agent, shape `(N_k, d)`.
        targets: targets of each agent, shape `(N_k,)`.
        normaliser: divisor of each agent's sum.
        size: number of records to which smaller agents are padded.
        quiet: whether a record for which the code raises counts as 0 instead of ending the run.
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
        return _number(loss, loss.value(x.copy(), row, y))
    except Exception:
        if quiet:
            return np.nan
        raise


def _number(loss: AbstractBlackBox, answer: Any) -> float:
    """The loss of a record, as it was given.

    Raises:
        Unanswered: something other than one number.
    """
    if np.size(answer) != 1 or not numeric(answer):
        raise Unanswered(
            f"returned {checks.shown(answer)} from {type(loss).__name__}.value",
            "Return the loss of the record, one number, such as float(loss)",
            chance=False,
        )
    return float(np.asarray(answer, dtype=np.float64).reshape(()))
