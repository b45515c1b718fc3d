"""From `ReportData` to one HTML page that needs nothing else.

The page forbids itself every request (Content-Security-Policy `default-src 'none'`) and runs only
the two scripts whose hashes it names: Plotly and the few lines that draw the figures. Plotly is
stored compressed, which makes the page less than half as large; the browser unpacks it.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import RuntimeFailure
from tacit.report import words
from tacit.report.data import ReportData, released_only
from tacit.report.sections import owners, sections
from tacit.report.tables import number

if TYPE_CHECKING:
    import jinja2


def write_report(path: str | os.PathLike[str], data: ReportData) -> Path:
    """Write the page of a run; an older file at `path` is replaced whole or not at all.

    Args:
        path: of the HTML file; its directory must exist.
        data: what to show.

    Returns:
        The path written.

    Raises:
        RuntimeFailure: the file could not be written.
    """
    target = Path(path)
    page = render(data)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.write_text(page, encoding="utf-8")
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise RuntimeFailure(
            f"the report could not be written to {target}: {error.strerror}. "
            "Choose a directory that exists and may be written to."
        ) from error
    return target


def render(data: ReportData) -> str:
    """The page of a run as HTML.

    Args:
        data: what to show; with `public` set, what is for simulations only is left out first.

    Returns:
        The whole page, about 2 MB, most of it Plotly.
    """
    if data.public:
        data = released_only(data)
    parts = sections(data)
    drawn = {
        block.anchor: json.loads(str(block.figure.to_json()))
        for part in parts
        for block in part.blocks
        if block.figure is not None
    }
    library, script = _plotly(), _asset("report.js")
    return _template().render(
        data=data,
        banner=words.banner(data),
        status=words.STATUSES[data.guarantee_status],
        facts=words.facts(data),
        ending=words.ending(data.status),
        condition=words.CONDITIONS.get(data.guarantee_status, ""),
        explanation=words.explanation(data),
        owners=owners(data),
        sections=parts,
        figures=_embedded(drawn),
        style=_asset("report.css"),
        script=script,
        library=library.packed,
        hashes=(_hash(script), library.hash),
    )


@dataclass(frozen=True)
class _Library:
    """A script packed for the page, and the hash by which the page allows it to run."""

    packed: str
    hash: str


@functools.cache
def _plotly() -> _Library:
    from plotly.offline import get_plotlyjs

    source = get_plotlyjs()
    # mtime=0: the same run gives the same page, byte for byte.
    packed = gzip.compress(source.encode(), compresslevel=6, mtime=0)
    return _Library(base64.b64encode(packed).decode("ascii"), _hash(source))


@functools.cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = number
    return environment.from_string(_asset("template.html"))


def _asset(name: str) -> str:
    return resources.files("tacit.report").joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _embedded(value: Any) -> str:
    """JSON that cannot end the element it stands in; refuses numbers that JSON does not have."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
