"""Memory of a member of a run between sites, however many records the others declare.

Starts one member of a ring with `--dry-run` for each row, or, with `--real`, three members that
run. Prints the peak of its resident memory in MB; of that, what is its own (anonymous pages), as
the rest is pages of libraries that members on one machine share and the system may drop.

    python benchmarks/site_memory.py [--real]        Linux
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tacit.deploy.files import write_text
from tacit.deploy.identity.keys import load
from tacit.deploy.operate.rehearse import Rehearsal, prepare
from tacit.study.read import parse_study

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.sites
from tests.sites import STUDY

CASES = ((3, 1, 20), (64, 1, 100_000), (64, 1, 20_000_000), (64, 63, 1_000_000_000))
"""Sites, how many others declare many records, and how many."""


def prepared(folder: Path, sites: int, many: int, records: int) -> Rehearsal:
    """A ring whose last members declare many records; the first has 20."""
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(100)},{rng.choice(['yes', 'no'])}" for _ in range(20 * sites)]
    (folder / "records.csv").write_text("\n".join(["age,ill", *rows]) + "\n")
    study = STUDY.replace('by = "column"\ncolumn = "site"', f'by = "even"\nsites = {sites}')
    study = study.replace("delta = 1e-6", "delta = 1e-12").replace("rounds = 5", "rounds = 50")
    source = parse_study(study, "study.toml", folder)
    made = prepare(source, folder / "run")
    if records == 20:
        return made
    declared = tuple(
        each.model_copy(update={"records": records}) if number >= sites - many else each
        for number, each in enumerate(made.manifest.agents)
    )
    manifest = made.manifest.model_copy(update={"agents": declared, "signatures": {}})
    for number in range(sites):
        manifest = manifest.signed_by(load(folder / "run" / f"member-{number}" / "keys"))
    write_text(folder / "run" / "manifest.toml", manifest.toml())
    return Rehearsal(made.folder, manifest)


def peak(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Peaks of resident and of anonymous memory until a process ends, in MB."""
    resident = own = 0.0
    while process.poll() is None:
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        except OSError:
            break
        found = {name: rest for name, _, rest in (line.partition(":") for line in lines)}
        for name in ("VmHWM", "RssAnon"):
            size = float(found.get(name, "0 kB").split()[0]) / 1024.0
            resident, own = (
                (max(resident, size), own) if name == "VmHWM" else (resident, max(own, size))
            )
        time.sleep(0.02)
    return resident, own


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--real", action="store_true", help="three members that run")
    real = parser.parse_args().real
    print(f"{'sites':>6}{'others':>8}{'records':>16}{'resident':>10}{'own':>6}  MB")
    for sites, many, records in CASES[:1] if real else CASES:
        with tempfile.TemporaryDirectory() as folder:
            made = prepared(Path(folder), sites, many, records)
            others = [made.start(number) for number in range(1, sites)] if real else []
            process = made.start(0, *([] if real else ["--dry-run"]))
            resident, own = peak(process)
            if process.wait() or any(each.wait() for each in others):
                sys.exit((made.folder / "member-0" / "log.txt").read_text())
        print(f"{sites:6d}{many:8d}{records:16,d}{resident:10.0f}{own:6.0f}", flush=True)


if __name__ == "__main__":
    main()
