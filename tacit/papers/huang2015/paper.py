"""Huang, Mitra, Vaidya (2015): a private rendezvous by PDOP."""

from __future__ import annotations

from tacit.papers.huang2015.fig1 import FIG1
from tacit.papers.target import Paper

PAPER = Paper(
    name="huang2015",
    citation=(
        "Z. Huang, S. Mitra, N. Vaidya: Differentially Private Distributed Optimization. "
        "16th International Conference on Distributed Computing and Networking, 2015."
    ),
    targets=(FIG1,),
)
