"""Runs of a row of the conformance table that keep what was released."""

from __future__ import annotations

import jax
import numpy as np

from tacit.runtime.exact import ExactEngine, Transcript
from tests.conformance.table import Row
from tests.laid_out import lay_out


def transcript(
    row: Row, seed: int, replay: Transcript | None = None, order: list[int] | None = None
) -> tuple[Transcript, np.ndarray]:
    """Releases and all final states of an exact run, in one vector."""
    kept: Transcript = {}
    with jax.enable_x64(True):
        plan, roots, _ = lay_out(row.task(seed), row.network, row.method, row.rounds, seed=1)
        engine = ExactEngine(plan, roots, transcript=kept, replay=replay, order=order)
        states, _ = engine.advance(engine.start(), np.array([[0, row.rounds]]))
    return kept, np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(states)])
