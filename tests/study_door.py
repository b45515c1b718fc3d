"""The front-door matrix of study files: every method that a study can name, on all that it accepts.

As in tests/front_door.py, a cell is a method with a loss, a penalty, a set, a network and a budget,
here as the text of a study that `tacit run` and `tacit rehearse` are given.

    python -m tests.study_door FOLDER             runs all cells with `tacit run` (long)
    python -m tests.study_door FOLDER rehearse    rehearses those that run between sites (longer)
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

import jax
import numpy as np
import pandas as pd

from tacit._engine.compiled import lay_out
from tacit._engine.contract import contract
from tacit._engine.inputs import check_arguments
from tacit.errors import TacitError
from tacit.method.stated import prepared
from tacit.study import assemble, read_study
from tacit.study._described.catalogue import METHODS, Protection
from tests.matrix import FITTING, cells, choices, forget_programs

SITES = ("north", "south", "east", "west")
RECORDS = 160
ROUNDS = 3

_TARGETS = {
    "binary": 'target = { column = "answer", positive = "> 0" }',
    "number": 'target = { column = "answer", lower = -3, upper = 3 }',
    "count": 'target = { column = "count", lower = 0, upper = 6 }',
    "class": 'target = { column = "class", levels = ["a", "b", "c"] }',
}
LOSSES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "logistic": ("binary", '"logistic"'),
        "squared": ("number", '"squared"'),
        "softmax": ("class", '"softmax"'),
        "hinge": ("binary", '"hinge"'),
        "huber": ("number", '{ kind = "huber", threshold = 0.5 }'),
        "quantile": ("number", '{ kind = "quantile", level = 0.9 }'),
        "poisson": ("count", '"poisson"'),
    }
)
"""Kind of the target, and what a study says."""

PENALTIES = {
    "none": '"none"',
    "l2": '{ kind = "l2", strength = 0.01 }',
    "l1": '{ kind = "l1", strength = 0.01 }',
    "elastic net": '{ kind = "elastic_net", l1 = 0.01, l2 = 0.01 }',
    "groups": '{ kind = "group_l1", strength = 0.01, groups = GROUPS }',
}
SETS = {
    "free": '"free"',
    "box": '{ kind = "box", lower = -1, upper = 1 }',
    "ball": '{ kind = "ball", radius = 1.0 }',
    "simplex": '"simplex"',
    "affine": '{ kind = "affine", matrix = [ONES], target = [0.0] }',
    "polyhedron": '{ kind = "polyhedron", matrix = [ONES], bound = [1.0] }',
}
NETWORKS = {
    "ring": 'graph = "ring"',
    "complete": 'graph = "complete"\nweights = "max_degree"',
    "directed": "edges = [[0, 1], [1, 2], [2, 3], [3, 0]]\ndirected = true",
    "links fail": 'graph = "complete"\nvarying = { kind = "link_failure", probability = 0.3 }',
    "agents sleep": 'graph = "star"\nvarying = { kind = "random_activation", probability = 0.6 }',
    "sequence": 'graph = "sequence"\ngraphs = [[[0, 1], [2, 3]], [[1, 2], [3, 0]]]\nconnected = 2',
    "coordinator": 'graph = "coordinator"',
    "coordinator, sites drawn": 'graph = "coordinator"\nprobability = 0.5',
    "exact sums": 'graph = "ring"\nexact_sum = "tree"',
}
BUDGETS = {
    "gaussian": "clip = 1.0\nepsilon = 4.0",
    "laplace": 'clip = 1.0\nepsilon = 4.0\nnoise = "laplace"\ndelta = 0.0',
    "l2 laplace": 'clip = 1.0\nepsilon = 4.0\nnoise = "l2_laplace"\ndelta = 0.0',
    "sampled": 'clip = 1.0\nepsilon = 4.0\nrelation = "add_remove"\nsampling = 0.5',
    "masks": "clip = 1.0\nepsilon = 4.0\nmasks = true",
    "none": "",
}
VALUES = MappingProxyType(
    {
        "loss": tuple(LOSSES),
        "penalty": tuple(PENALTIES),
        "set": tuple(SETS),
        "network": tuple(NETWORKS),
        "budget": tuple(BUDGETS),
    }
)
_FUNCTIONAL = """\
inner = { name = "extra", step = 0.1 }
bounds = { strong_convexity = 0.0, smoothness = 4.0 }
basis = { kind = "quadratic", lower = LOW, upper = HIGH }
"""


@dataclass(frozen=True)
class Cell:
    """A study, by the names of its parts."""

    method: str
    loss: str = "logistic"
    penalty: str = "none"
    set: str = "free"
    network: str = "ring"
    budget: str = "gaussian"

    def __str__(self) -> str:
        parts = (self.method, self.loss, self.penalty, self.set, self.network, self.budget)
        return " | ".join(parts)

    @property
    def text(self) -> str:
        """The study file."""
        kind, loss = LOSSES[self.loss]
        size = 3 * (3 if kind == "class" else 1)
        public = f"regulariser = {PENALTIES[self.penalty]}\nconstraint = {SETS[self.set]}"
        public = public.replace("ONES", str([1.0] * size))
        public = public.replace("GROUPS", str([i % 2 for i in range(size)]))
        example = "".join(
            f"{key} = {value!r}\n" for key, value in METHODS[self.method].build.example.items()
        )
        if self.method == "functional-perturbation":
            example = _FUNCTIONAL.replace("LOW", str([-2.0] * size))
            example = example.replace("HIGH", str([2.0] * size))
        budget = BUDGETS[self.budget]
        # a declared normaliser, where records come and go
        divisor = "normaliser = 40\n" if "add_remove" in budget else ""
        return (
            f'[data]\npath = "records.csv"\n{_TARGETS[kind]}\n'
            "features.age = { lower = 0, upper = 100 }\nfeatures.dose = { lower = 0, upper = 1 }\n"
            f'[partition]\nby = "column"\ncolumn = "site"\nsites = {json.dumps(SITES)}\n'
            f"[problem]\nloss = {loss}\n{public}\n{divisor}"
            f"[network]\n{NETWORKS[self.network]}\n"
            f'[method]\nname = "{self.method}"\n{example}'
            + (f"[privacy]\n{budget}\n" if budget else "")
            + f"[run]\nrounds = {ROUNDS}\nseed = 3\n"
        )


def records(folder: Path) -> None:
    """The table that all studies read."""
    rng = np.random.default_rng(0)
    pd.DataFrame(
        {
            "age": rng.integers(18, 90, RECORDS),
            "dose": rng.uniform(0, 1, RECORDS).round(3),
            "answer": rng.normal(size=RECORDS).round(3),
            "count": rng.poisson(1.5, RECORDS),
            "class": rng.choice(["a", "b", "c"], RECORDS),
            "site": [SITES[i % len(SITES)] for i in range(RECORDS)],
        }
    ).to_csv(folder / "records.csv", index=False)


def written(cell: Cell, folder: Path) -> Path:
    """The study of a cell, in a folder with the table."""
    path = folder / "study.toml"
    path.write_text(cell.text)
    return path


def refusal(cell: Cell, folder: Path) -> str | None:
    """Why a study is refused, before anything is compiled; `None` where it is accepted."""
    try:
        source = read_study(written(cell, folder))
        made = assemble(source)
        check_arguments(made.problem, made.network, made.method, ROUNDS, 3)
        method = prepared(made.method, made.problem, made.network)
        agreed = contract(made.problem, made.network, method, rounds=ROUNDS, seed=3)
        with jax.enable_x64(True):
            lay_out(agreed, made.problem)
        list(agreed.guarantee)
    except TacitError as error:
        return str(error)
    return None


def plain(method: str, folder: Path) -> Cell:
    """The plainest study of a method."""
    entry = METHODS[method]
    budgets = ("none",) if entry.protection is Protection.NONE else ("gaussian", "laplace")
    for budget in budgets:
        for where in ("ring", "coordinator"):
            cell = Cell(method, budget=budget, network=where)
            if refusal(cell, folder) is None:
                return cell
    raise AssertionError(f"{method}: nothing plain is accepted: {refusal(cell, folder)}")


def tried(cell: Cell, folder: Path) -> str:
    """What `tacit run` says of a study: "" where it ends well."""
    from typer.testing import CliRunner

    from tacit.cli import app

    path = written(cell, folder)
    done = CliRunner().invoke(app, ["run", str(path), "--force", "--json"])
    raised = done.exception is not None and not isinstance(done.exception, SystemExit)
    return "" if done.exit_code == 0 else f"exit {done.exit_code}, {raised=}: {done.output[-300:]}"


def rehearsed(cell: Cell, folder: Path) -> str:
    """What `tacit rehearse` says of a study: "" where it ends well, "refused: ..." beforehand."""
    from tacit.deploy.operate.rehearse import perform, prepare

    where = folder / "rehearsal"
    try:
        rehearsal = prepare(read_study(written(cell, folder)), where)
    except TacitError as error:
        return f"refused: {error}"
    try:
        found = perform(rehearsal)
    except TacitError as error:
        return f"{type(error).__name__}: {error}"
    assert len(found) >= len(SITES)
    return ""


def main(folder: Path, door: str) -> int:
    """Try everything; print what went well, what was refused and what broke."""
    folder.mkdir(parents=True, exist_ok=True)
    records(folder)
    well: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    broken = 0
    for number, method in enumerate(FITTING):
        base, ask = plain(method, folder), partial(refusal, folder=folder)
        reasons = choices(base, VALUES, ask)[1]
        for count, cell in enumerate(cells(base, VALUES, ask, number)):
            place = folder / f"{method}-{count}"
            place.mkdir()
            records(place)
            said = tried(cell, place) if door == "run" else rehearsed(cell, place)
            if said.startswith("refused"):
                refused.update([said])
            elif said:
                broken += 1
                print(f"{cell}: {said}", flush=True)
            else:
                well.update([method])
        print(f"{method}: {well[method]} well, {len(reasons)} values refused", flush=True)
        forget_programs()
    print(
        f"{well.total()} studies of {len(well)} methods; {refused.total()} refused; {broken} broken"
    )
    for reason, count in refused.most_common():
        print(f"{count:4d}  {reason}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "rehearse" if sys.argv[2:] else "run"))
