"""Nozari, Tallapragada, Cortes (2016): noise on costs instead of messages."""

from __future__ import annotations

from tacit.papers.nozari2016.fig1 import FIG1
from tacit.papers.nozari2016.fig2 import FIG2
from tacit.papers.target import Paper

PAPER = Paper(
    name="nozari2016",
    citation=(
        "E. Nozari, P. Tallapragada, J. Cortés: Differentially Private Distributed Convex "
        "Optimization via Functional Perturbation. IEEE Transactions on Control of Network "
        "Systems 5 (1), 395-408, 2018 (2016 as a preprint)."
    ),
    targets=(FIG1, FIG2),
)
