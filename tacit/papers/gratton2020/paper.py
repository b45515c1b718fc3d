"""Gratton, Venkategowda, Arablouei, Werner (2020): D-ZOA, the earlier version."""

from __future__ import annotations

from tacit.papers.gratton2020.figures import FIG2, FIG3
from tacit.papers.target import Paper

PAPER = Paper(
    name="gratton2020",
    citation=(
        "C. Gratton, N. K. D. Venkategowda, R. Arablouei, S. Werner: Privacy-Preserving "
        "Distributed Zeroth-Order Optimization. arXiv:2008.13468, 2020."
    ),
    targets=(FIG2, FIG3),
)
