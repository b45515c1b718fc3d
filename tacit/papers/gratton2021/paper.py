"""Gratton, Venkategowda, Arablouei, Werner (2021): D-ZOA, the journal version."""

from __future__ import annotations

from tacit.papers.gratton2021.baselines import FIG4, FIG5, FIG6, FIG7
from tacit.papers.gratton2021.fig1 import FIG1
from tacit.papers.gratton2021.gradients import FIG2, FIG3
from tacit.papers.target import Paper

PAPER = Paper(
    name="gratton2021",
    citation=(
        "C. Gratton, N. K. D. Venkategowda, R. Arablouei, S. Werner: Privacy-Preserved Distributed "
        "Learning with Zeroth-Order Optimization. IEEE Transactions on Information Forensics and "
        "Security 17, 265-279, 2022."
    ),
    targets=(FIG1, FIG2, FIG3, FIG4, FIG5, FIG6, FIG7),
)
