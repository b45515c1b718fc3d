"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]
Public = Annotated[
    bool, typer.Option("--public", help="Also write report_public.html, from releases only.")
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", show_default="the study's own", help="Directory for the results."
    ),
]
