"""Packages of others, laid out as `pip install` would, for tests of parts."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

ACME = Path(__file__).parents[1] / "examples" / "acme-parts"


def installed(folder: Path, package: Path = ACME, name: str | None = None) -> Path:
    """Lay a package out in a folder that can stand on `PYTHONPATH`.

    Args:
        folder: made where there is none.
        package: with a `pyproject.toml`.
        name: of the distribution, in the place of its own.
    """
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    name = project["name"] if name is None else name
    module = project["name"].replace("-", "_")
    shutil.copytree(package / module, folder / module, dirs_exist_ok=True)
    about = folder / f"{name.replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {project['version']}\n"
    )
    rows: list[str] = []
    for group, entries in project["entry-points"].items():
        rows += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (about / "entry_points.txt").write_text("\n".join(rows) + "\n")
    return folder
