"""The parts are held to what tacit's own are held to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from acme_parts.at_least import AtLeast
from acme_parts.cyclic import Cyclic
from acme_parts.log_cosh import LogCosh
from acme_parts.momentum import Momentum
from acme_parts.powers import Powers
from acme_parts.room import Room
from acme_parts.turns import Turns
from acme_parts.wheel import Wheel

from tacit import Privacy, data, network, problem
from tacit.testing import check_between_sites, check_claim, check_graph, check_loss, check_method

BUDGET = Privacy(clip=0.5, epsilon=2.0, delta=1e-5)
HALF = Privacy(clip=0.5, epsilon=2.0, delta=1e-5, relation="add_remove", sampling=0.5)


def task() -> problem.Problem:
    """Four sites with a few records each."""
    rng = np.random.default_rng(0)
    features = [rng.uniform(-1.0, 1.0, size=(count, 3)) for count in (9, 7, 9, 5)]
    targets = [rows @ [1.0, -1.0, 0.5] for rows in features]
    return problem.empirical_risk(features, targets, LogCosh(scale=2.0), normaliser=8.0)


@pytest.mark.parametrize("privacy", [BUDGET, HALF], ids=["all records", "sampled records"])
def test_momentum(privacy: Privacy) -> None:
    """Its messages, its query, its bits."""
    check_method(task(), network.ring(4), Momentum(step=0.3, privacy=privacy))


def test_the_claim_of_momentum() -> None:
    """It survives an audit."""
    check_claim(task(), network.ring(4), Momentum(step=0.3, privacy=BUDGET))


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_log_cosh(scale: float) -> None:
    """Value, derivative and what it states of them."""
    check_loss(LogCosh(scale), [-1.0, 0.0, 2.5])


@pytest.mark.parametrize("hub", [0, 2])
def test_wheel(hub: int) -> None:
    """Connected, and the same when drawn again."""
    check_graph(Wheel(hub))


@pytest.mark.parametrize(("hour", "point"), [("0", (1.0, 0.0)), ("6", (0.0, 1.0))])
def test_cyclic(hour: str, point: tuple[float, float]) -> None:
    """A day begins again."""
    assert Cyclic(24.0).numbers(hour) == pytest.approx(point)
    assert len(Cyclic(24.0).names("hour")) == len(point)


def test_powers() -> None:
    """Features of one record."""
    schema = data.Schema({"age": data.Numeric(0, 1), "dose": data.Numeric(0, 1)}, None)
    powers = Powers(3)
    assert powers.row(schema, np.array([2.0, -1.0])) == [2.0, -1.0, 4.0, 1.0, 8.0, -1.0]
    assert powers.names(schema, ("age", "dose"))[2:4] == ("age^2", "dose^2")


@pytest.mark.parametrize(("value", "answer"), [("4.9", 0.0), ("5", 1.0)])
def test_at_least(value: str, answer: float) -> None:
    """Yes or no."""
    assert AtLeast("load", threshold=5.0).number(value) == answer


def test_turns() -> None:
    """Nobody gets two more than another."""
    records = data.Prepared(np.eye(8), np.zeros(8), tuple("abcdefgh"))
    assert Turns(3, first=1).divide(records).counts == (2, 3, 3)


def test_room() -> None:
    """One number a record."""
    check_loss(Room())


STUDY = """
[data]
path = "records.csv"
intercept = false
[data.features]
start = { lower = 0, upper = 1, to = [0, 1] }
heat = { lower = 0, upper = 1, to = [0, 1] }
[data.target]
column = "measured"
lower = 0
upper = 1
[partition]
by = "acme-turns"
sites = 3
[problem]
loss = "acme-room"
constraint = { kind = "box", lower = 0, upper = 2 }
[network]
graph = "coordinator"
[method]
name = "or-zo"
step = 0.2
[privacy]
clip = 0.5
epsilon = 8.0
[run]
rounds = 3
compare = false
"""


def test_sites_simulate_rooms(tmp_path: Path) -> None:
    """Real processes, each with its own records and its own simulator."""
    rows = np.random.default_rng(0).uniform(size=(30, 3))
    lines = [",".join(map(str, row)) for row in rows.tolist()]
    (tmp_path / "records.csv").write_text("\n".join(["start,heat,measured", *lines]) + "\n")
    (tmp_path / "study.toml").write_text(STUDY)
    check_between_sites(tmp_path / "study.toml")
