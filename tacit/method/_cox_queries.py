"""The sums of a private Cox regression, and how each is shared among what it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.method import _cox_rows as rows
from tacit.method._times import ends_of
from tacit.privacy.statistics import BlockSum, Clipped, Counts, Gram, Parts
from tacit.types import Relation

if TYPE_CHECKING:
    from tacit.method.cox import PrivateCox

_SCORE, _EFFECTS, _CROSSED, _HAZARDS = 0.6, 0.23, 0.12, 0.05
"""Shares of a sum: score, and information on effects, between both and on log hazards."""


def queries_of(method: PrivateCox) -> tuple[BlockSum, ...]:
    """Events and exposures by cell; then score and information in every sum."""
    budget, layout, edges = method.privacy, method.layout, np.array(method.edges)
    relation = Relation.REPLACE_ONE if budget is None else budget.relation
    centre, typical, length = rows.extent(method.design)
    read = rows.Reader(
        method.design,
        centre,
        method.time,
        method.event,
        method.strata,
        ends_of(method.time, method.edges),
        tuple(((edges[1:] - edges[0]) / (edges[-1] - edges[0])).tolist()),
        layout.places,
        # nothing has to be bounded without a budget, and nobody loses weight
        length if budget is None else typical,
    )
    at = (read, method.followed, length)
    score, roots, crossings = rows.Scores(*at), rows.Roots(*at), rows.Crossings(*at)
    d, cells = layout.columns, layout.cells
    first = (
        Counts(rows.Events(read), cells, share=0.5),
        Parts(rows.Exposures(read), cells, share=0.5),
    )
    other = (
        Clipped(score, method.points, score.bound, share=_SCORE),
        Gram(roots, layout.effects, roots.bound, share=_EFFECTS),
        Clipped(crossings, d * cells, crossings.bound, share=_CROSSED),
        Parts(rows.Expected(*at), cells, share=_HAZARDS),
    )
    later = BlockSum(other, _point, relation=relation)
    rest = len(method.shares) - 1
    return (BlockSum(first, _point, relation=relation), *[later] * rest)


def _point(state: Any) -> Any:
    return state.point
