"""One self-contained HTML page about a run, readable offline, on a phone and on paper.

`ReportData` says everything the page shows; `render` turns it into HTML and `write_report` into a
file. Nothing else in tacit draws.
"""

from tacit.report.data import NetworkPicture, ReportData, released_only
from tacit.report.html import render, write_report

__all__ = ["NetworkPicture", "ReportData", "released_only", "render", "write_report"]
