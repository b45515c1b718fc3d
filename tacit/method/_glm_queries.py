"""What each sum of a private regression asks of the records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tacit.method import _glm_rows as rows
from tacit.privacy.class_score import ClassScore
from tacit.privacy.score import Score
from tacit.privacy.statistics import Block, BlockSum, Clipped, Gram
from tacit.types import Relation

if TYPE_CHECKING:
    from tacit.method.glm import PrivateGLM

_RIDER = 0.03
"""Share of a sum for the mean square of residuals, and for the excess of clipped ones."""


_WEIGHTS = (
    "the weight of a record follows from that record and public numbers alone: it is not "
    "normalised, raked or trimmed on the sample"
)
"""Otherwise one record moves what all others add."""


def queries_of(method: PrivateGLM) -> tuple[BlockSum, ...]:
    """The query of each sum: a linear regression, and then the score of the model at a point.

    With several classes all sums ask the score, the first one at 0.
    """
    relation = Relation.REPLACE_ONE if method.privacy is None else method.privacy.relation
    design, reader, family = method.design, method.reader, method.family
    parts = (design, method.target, family, method.weights)
    bounds = {"size": design.width, "radius": design.typical, "norm": design.longest}
    weighted = method.weights is not None
    kept: dict[str, Any] = {"weighted": weighted, "relation": relation}

    def query(score: Block, riders: list[Block]) -> BlockSum:
        score = replace(score, share=1.0 - _RIDER * len(riders))
        assumed = (_WEIGHTS,) if weighted else ()
        return BlockSum((score, *riders), _point, relation=relation, assumed=assumed)

    if family.classes:
        whole = ClassScore(rows.Classes(*parts), classes=method.outputs + 1, **bounds, **kept)
        return (query(whole, []),) * method.sums

    def square(asked: Any) -> list[Block]:
        return [Gram(asked, 1, 1.0, share=_RIDER)] if family.measured else []

    start = Score(
        rows.Scaled(*parts),
        design.width + method.offset,
        reader.radius,
        reader.norm,
        weighted=weighted or method.offset > 0,
        relation=relation,
    )
    score = Score(rows.Model(*parts), logistic=family.logistic, **bounds, **kept)
    riders = square(rows.ModelRoot(*parts))
    if family.clips:
        riders.append(Clipped(rows.Excess(*parts), 1, 1.0, share=_RIDER))
    if family.signed:
        riders[0] = Clipped(rows.Moment(*parts), 1, 1.0, share=_RIDER)
    first, other = query(start, square(rows.ScaledRoot(*parts))), query(score, riders)
    return (first, *[other] * (method.sums - 1))


def _point(state: Any) -> Any:
    return state.point
