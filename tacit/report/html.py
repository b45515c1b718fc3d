"""From `ReportData` to one self-contained HTML page.

The page forbids itself every request (Content-Security-Policy `default-src 'none'`) and runs only
the two scripts whose hashes it names: Plotly and the few lines that draw the figures. Plotly is
stored compressed, which makes the page less than half as large; the browser unpacks it.
"""

from __future__ import annotations

import os
from pathlib import Path

from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.report import words
from tacit.report.assets import page, write_page
from tacit.report.data import ReportData, released_only
from tacit.report.sections import owners, sections


@checked(ConfigError)
def write_report(path: str | os.PathLike[str], data: ReportData) -> Path:
    """Write the page of a run; an older file at `path` is replaced whole or not at all.

    Args:
        path: path of the HTML file; its directory must exist.
        data: contents of the page.

    Returns:
        The path written.

    Raises:
        RuntimeFailure: the file could not be written.
    """
    return write_page(path, render(data))


@checked(ConfigError)
def render(data: ReportData) -> str:
    """The page of a run as HTML.

    Args:
        data: contents; with `public` set, everything for simulations only is left out first.

    Returns:
        The whole page, about 2 MB, most of it Plotly; without figures if that is not installed.
    """
    if data.public:
        data = released_only(data)
    parts = sections(data)
    figures = {
        block.anchor: block.figure for part in parts for block in part.blocks if block.anchor
    }
    return page(
        "template.html",
        figures,
        data=data,
        environment=data.environment,
        banner=words.banner(data),
        status=words.STATUSES[data.guarantee_status],
        facts=words.facts(data),
        ending=words.ending(data.status),
        condition=words.CONDITIONS.get(data.guarantee_status, ""),
        explanation=words.explanation(data),
        owners=owners(data),
        before=[part for part in parts if part.anchor == "answer"],
        after=[part for part in parts if part.anchor != "answer"],
    )
