"""The picture of the packages shows the contract of imports."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = re.compile(r'<text [^>]*\by="(\d+)"[^>]*><tspan class="name">(\w+)</tspan>')


def test_the_picture_shows_every_layer_in_its_place() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(c["layers"] for c in contracts["contracts"] if c["type"] == "layers")
    picture = (ROOT / "docs" / "images" / "layers.svg").read_text()
    drawn: dict[int, set[str]] = {}
    for height, name in NAME.findall(picture):
        drawn.setdefault(int(height), set()).add(name)
    rows = [set(row.split(" | ")) for row in layers if row != "__main__"]
    assert [drawn[height] for height in sorted(drawn)] == rows
    said = re.search(r'<desc id="d">From top to bottom: (.*?)\.', picture)
    assert said is not None
    words = said[1].replace(" beside each other", "").split("; ")
    assert [set(re.split(r", | and ", row)) for row in words] == rows
