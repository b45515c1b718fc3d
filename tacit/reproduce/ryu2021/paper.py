"""Ryu, Kim (2021): federated learning by inexact ADMM with objective perturbation."""

from __future__ import annotations

from tacit.reproduce.ryu2021.errors import fig1, fig1_runs, fig2, fig2_runs
from tacit.reproduce.ryu2021.further import femnist, fig3, fig3_runs, remark3, remark3_runs
from tacit.reproduce.ryu2021.setting import figure
from tacit.reproduce.ryu2021.table import table, table_runs
from tacit.reproduce.ryu2021.tuning import fig4, fig4_runs, fig5, fig5_runs, fig6, fig6_runs
from tacit.reproduce.target import Paper

PAPER = Paper(
    name="ryu2021",
    citation=(
        "M. Ryu, K. Kim: Differentially Private Federated Learning via Inexact ADMM. "
        "arXiv 2106.06127, 2021."
    ),
    targets=(
        figure("table", "test errors on MNIST after the last iteration", table_runs, table),
        figure("fig1", "the penalty of ObjT", fig1_runs, fig1),
        figure("fig2", "test errors along the iterations", fig2_runs, fig2),
        figure("fig3", "test errors on FEMNIST", fig3_runs, fig3, femnist),
        figure("fig4", "the penalty of the baseline OutP", fig4_runs, fig4),
        figure("fig5", "consensus violation", fig5_runs, fig5),
        figure("fig6", "the proximity of OutP+", fig6_runs, fig6),
        figure("remark3", "a million iterations at epsilon 0.01, shortened", remark3_runs, remark3),
    ),
)
