"""A study between three sites, for the tests of runs between sites."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.deploy.agreement.manifest import Manifest, Member, agreed
from tacit.deploy.identity import keys
from tacit.deploy.operate.rehearse import free_ports
from tacit.study.read import parse_study

STUDY = """
[data]
path = "records.csv"
[data.features]
age = { lower = 0, upper = 100 }
[data.target]
column = "ill"
positive = "yes"
[partition]
by = "column"
column = "site"
[problem]
loss = "logistic"
[network]
graph = "ring"
[method]
name = "dpsg"
step = 0.5
[privacy]
epsilon = 4.0
delta = 1e-6
clip = 1.0
[run]
rounds = 5
"""


def member(each: keys.Keys, address: str | None = None) -> Member:
    """A member with 20 records, at the address of its keys or another."""
    card = each.card
    return Member(
        name=card.name,
        address=card.address if address is None else address,
        signing_key=card.signing_key,
        authority=card.authority,
        records=20,
    )


def a_manifest(made: Sequence[keys.Keys], study: str = STUDY, **change: Any) -> Manifest:
    """A manifest of the first three, signed by nobody."""
    members = [member(each) for each in made[:3]]
    return agreed(parse_study(study), ["age", "intercept"], 0, members, **change)


def records(folder: Path, count: int = 20) -> Path:
    """A table of made-up records of one site."""
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(18, 99)},{rng.choice(['yes', 'no'])}" for _ in range(count)]
    path = folder / f"records-{count}.csv"
    path.write_text("age,ill\n" + "\n".join(rows) + "\n")
    return path


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    return free_ports(1)[0]
