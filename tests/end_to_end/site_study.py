"""A study of three made-up sites, and what its members left behind."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np

import tacit
from tacit.deploy.operate.rehearse import Rehearsal
from tacit.study import assemble
from tacit.study.read import Source, parse_study

STUDY = """
title = "Three made-up sites"
[data]
path = "records.csv"
[data.features]
age = { lower = 0, upper = 100 }
dose = { lower = 0, upper = 1 }
[data.target]
column = "ill"
positive = "yes"
[partition]
by = "column"
column = "site"
[problem]
loss = "logistic"
regulariser = { kind = "l2", strength = 1e-2 }
NETWORK
[method]
METHOD
[privacy]
epsilon = 4.0
delta = 1e-6
clip = 1.0
BUDGET
[run]
rounds = ROUNDS
seed = 3
"""
PEERS = ('[network]\ngraph = "ring"', 'name = "dpsg"\nstep = 0.5')
STAR = ('[network]\ngraph = "coordinator"', 'name = "gradient-descent"\nstep = 0.5')


def a_study(
    folder: Path, parts: tuple[str, str] = PEERS, rounds: int = 12, budget: str = ""
) -> Source:
    """The study, with its records in a folder; `budget` is more of its section [privacy]."""
    rng = np.random.default_rng(0)
    rows = ["age,dose,ill,site"]
    for number in range(120):
        age, dose = rng.integers(18, 99), rng.random()
        ill = "yes" if rng.random() < age / 120 else "no"
        rows.append(f"{age},{dose},{ill},{('north', 'south', 'west')[number % 3]}")
    (folder / "records.csv").write_text("\n".join(rows) + "\n")
    text = STUDY.replace("NETWORK", parts[0]).replace("METHOD", parts[1])
    text = text.replace("ROUNDS", str(rounds)).replace("BUDGET", budget)
    return parse_study(text, "study.toml", folder)


def simulated(source: Source, seed: int) -> np.ndarray:
    """The answers of the bitwise simulation."""
    parts = assemble(source)
    exact = tacit.Simulation(exact=True)
    rounds = source.study.run.rounds
    result = tacit.run(
        parts.problem, parts.network, parts.method, rounds=rounds, seed=seed, runtime=exact
    )
    return result.solutions[0]


def log_of(rehearsal: Rehearsal, number: int) -> str:
    """What a member printed."""
    return (rehearsal.folder / f"member-{number}" / "log.txt").read_text(errors="replace")


def sent(rehearsal: Rehearsal, number: int) -> dict[str, set[str]]:
    """Digests under which each message of a member was ever sent."""
    found: dict[str, set[str]] = defaultdict(set)
    for key, digest in re.findall(r"sent (\S+) (\S+)", log_of(rehearsal, number)):
        found[key].add(digest)
    return found


def round_of(rehearsal: Rehearsal, number: int) -> int:
    """The round that a member says it is in; -1 before it says anything."""
    try:
        path = rehearsal.folder / f"member-{number}" / "state" / "status.json"
        return int(json.loads(path.read_text())["round"])
    except (OSError, ValueError):
        return -1
