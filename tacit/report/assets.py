"""The building blocks of every page of tacit: files, scripts and their hashes, safe embedding."""

from __future__ import annotations

import base64
import errno
import functools
import gzip
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import RuntimeFailure
from tacit.report.canvas import can_draw
from tacit.report.tables import number

if TYPE_CHECKING:
    import jinja2
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Library:
    """A script packed for the page, and the hash by which the page allows it to run."""

    packed: str
    hash: str


@functools.cache
def plotly() -> Library:
    """Plotly, compressed."""
    from plotly.offline import get_plotlyjs

    source = get_plotlyjs()
    # mtime=0: the same run gives the same page, byte for byte.
    packed = gzip.compress(source.encode(), compresslevel=6, mtime=0)
    return Library(base64.b64encode(packed).decode("ascii"), script_hash(source))


@functools.cache
def template(name: str) -> jinja2.Template:
    """A page's template, which may include others from this package."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(asset),
    )
    environment.filters["number"] = number
    return environment.get_template(name)


def page(name: str, figures: Mapping[str, go.Figure | None] | None = None, **given: object) -> str:
    """A page as HTML; with figures, the script that draws them and no other may run.

    Args:
        name: name of the template.
        figures: figures by anchor, `None` where Plotly is not installed; about 2 MB are added to a
            page that has any.
        given: values for the template.
    """
    drawing: dict[str, Any] = {"hashes": (), "undrawn": figures is not None}
    if figures is not None and can_draw():
        library, script = plotly(), asset("report.js")
        drawn = {
            anchor: json.loads(str(figure.to_json()))
            for anchor, figure in figures.items()
            if figure is not None
        }
        drawing = {
            "undrawn": False,
            "figures": embedded(drawn),
            "script": script,
            "library": library.packed,
            "hashes": (script_hash(script), library.hash),
        }
    return template(name).render(**drawing, **given, style=asset("report.css"))


def warm() -> None:
    """Read what all pages of runs are made of, so that forks of this process share it."""
    template("template.html")
    if can_draw():
        import plotly.graph_objects as go

        plotly()
        go.Figure(go.Scatter(x=[0.0], y=[0.0])).to_json()  # its validators load when first asked


def asset(name: str) -> str:
    """The text of a file of this package."""
    return resources.files("tacit.report").joinpath(name).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """The hash by which a page's security policy recognises a script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def embedded(value: object) -> str:
    """JSON that cannot close its enclosing element; refuses numbers that JSON does not have."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def write_page(path: str | os.PathLike[str], page: str) -> Path:
    """Write a page; an older file at `path` is replaced whole or not at all.

    Raises:
        RuntimeFailure: the file could not be written.
    """
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if target.exists() and not target.is_file():  # as root, `replace` would remove a device
            raise FileExistsError(errno.EEXIST, "it is not a regular file", str(target))
        draft.write_text(page, encoding="utf-8")
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
        raise RuntimeFailure(
            f"the report could not be written to {target}: {error.strerror}. "
            + (
                "Make room, or choose another disk."
                if full
                else "Choose a directory that exists and may be written to."
            )
        ) from error
    return target
