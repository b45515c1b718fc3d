"""A private regression between real processes of this machine: rounds, bytes and seconds.

    python benchmarks/regression_sites.py [--sites 8] [--runs 3]

Deals the records of RAND HIE (statsmodels) to sites, and rehearses `any_visit ~ ...` with masks:
every site and the coordinator are processes with mutual TLS, signatures, journal and noise of their
own. Seconds are from the moment when the coordinator has heard of every site until the last site
has written its table; bytes are those of the numbers in all messages, as `tacit run` counts them.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

STUDY = """
title = "Any visit to a doctor"

[data]
path = "records.csv"

[data.features]
lncoins = {{ lower = 0, upper = 5 }}
idp = {{ kind = "boolean" }}
disea = {{ lower = 0, upper = 60 }}
physlm = {{ lower = 0, upper = 1 }}
any_visit = {{ kind = "boolean" }}

[partition]
by = "column"
column = "site"
sites = [{sites}]

[model]
formula = "any_visit ~ lncoins + idp + disea + physlm"
family = "binomial"

[privacy]
epsilon = 4.0
masks = true
"""

HEARD = re.compile(r"^(\S+ \S+) INFO .* is there", re.MULTILINE)


def command(folder: Path, *words: str) -> None:
    """Run `tacit` there."""
    subprocess.run(
        [sys.executable, "-m", "tacit", *words], cwd=folder, check=True, capture_output=True
    )


def seconds(folder: Path, sites: int) -> float:
    """Seconds from when all were there to when the last has written its table."""
    log = (folder / f"member-{sites}" / "log.txt").read_text(encoding="utf-8")
    there = [datetime.strptime(each, "%Y-%m-%d %H:%M:%S,%f") for each in HEARD.findall(log)]
    tables = [folder / f"member-{i}" / "state" / "coefficients.csv" for i in range(sites)]
    written = max(each.stat().st_mtime for each in tables)
    return written - max(there).timestamp()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    from statsmodels.datasets import randhie

    records = randhie.load_pandas().data
    names = [f"s{i}" for i in range(given.sites)]
    records["any_visit"] = records["mdvis"] > 0
    records["idp"] = records["idp"] > 0
    records["site"] = np.array(names)[np.arange(len(records)) % given.sites]
    with TemporaryDirectory() as name:
        folder = Path(name)
        columns = ["lncoins", "idp", "disea", "physlm", "any_visit", "site"]
        records[columns].to_csv(folder / "records.csv", index=False)
        listed = ", ".join(f'"{each}"' for each in names)
        (folder / "study.toml").write_text(STUDY.format(sites=listed), encoding="utf-8")
        command(folder, "run", "study.toml", "--output", "alone")
        alone = json.loads((folder / "alone" / "result.json").read_text(encoding="utf-8"))
        print(f"bytes of numbers in all messages: {alone['traffic']['bytes']}")
        for run in range(given.runs):
            where = f"rehearsal-{run}"
            command(folder, "rehearse", "study.toml", "--output", where)
            result = json.loads((folder / where / "member-0/state/result.json").read_text())
            print(
                f"{given.sites} sites, {result['rounds']} rounds: "
                f"{seconds(folder / where, given.sites):.1f} s after all were there",
                flush=True,
            )


if __name__ == "__main__":
    main()
