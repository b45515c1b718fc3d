"""Ryu, Kim (2021): federated learning by inexact ADMM with objective perturbation."""

from __future__ import annotations

from tacit.papers.ryu2021.consensus import FIG5, REMARK3
from tacit.papers.ryu2021.iterations import FIG1, FIG3
from tacit.papers.ryu2021.table1 import TABLE1
from tacit.papers.ryu2021.trade_off import FIG2
from tacit.papers.ryu2021.tuning import FIG4, FIG6
from tacit.papers.target import Paper

PAPER = Paper(
    name="ryu2021",
    citation=(
        "M. Ryu, K. Kim: Differentially Private Federated Learning via Inexact ADMM. "
        "arXiv:2106.06127, 2021."
    ),
    targets=(TABLE1, FIG1, FIG2, REMARK3, FIG3, FIG4, FIG5, FIG6),
)
