"""One self-contained HTML page about a run, readable offline, on a phone and on paper.

`ReportData` holds everything that the page shows; `render` turns it into HTML and `write_report`
into a
file. `AuditData` and `write_audit` do the same for an audit. `calibration_figure` and `roc_figure`
draw a regression beside records. Nothing else in tacit draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.checks import absent
from tacit.report.audit import AuditData, TradeOff, write_audit
from tacit.report.comparing import calibration_figure, roc_figure
from tacit.report.data import NetworkPicture, ReportData, released_only
from tacit.report.html import render, write_report

__all__ = [
    "AuditData",
    "NetworkPicture",
    "ReportData",
    "TradeOff",
    "calibration_figure",
    "released_only",
    "render",
    "roc_figure",
    "write_audit",
    "write_report",
]


if not TYPE_CHECKING:  # type checkers read the names above; this would let any name pass

    def __getattr__(name: str) -> Any:
        raise absent(__name__, name, __all__)
