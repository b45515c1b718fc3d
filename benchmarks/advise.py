"""What `tacit advise` promises, against what the advised studies come to.

Every study is written as a user would write it, with public bounds that are round numbers, and
asked about with the records of its sites. The share of yes and the gain of a fit without privacy
are told to one digit, as an earlier publication might tell them, unless `assumed` is given. Then
the study is run as advised, on real records wherever scikit-learn and statsmodels ship them, in
eight trials on each of four splits; so are the settings that `tacit init` writes, and the best
arrangement that was proposed besides. Promise and outcome are medians of the share that is kept of
what the pooled fit gains over the base rate, in mean loss on records held out. After each line
stands whether the share of the study as it stands, and of the other arrangement, came within a
factor of two of what was promised (+), or not (-); o stands where the verdict is open, so that
nothing was promised. In brackets stands the middle half of the trials. `quick` advises on dpsg and
gradient-descent alone. `fresh` takes other studies, chosen before any of them was advised on; one
rule was changed after their first run, the curvature of Huber's loss. `all` takes both.

    python benchmarks/advise.py [fresh] [all] [assumed] [quick] [first study] [number of studies]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from typer.testing import CliRunner

import tacit.advise.candidates
from tacit.cli import app
from tacit.method import DPSG, GradientDescent
from tacit.problem.scores import base_scores, scores, share_kept
from tacit.study import assemble, execute
from tacit.study.read import check_document
from tacit.study.run import targets

SPLITS, TRIALS = (1, 2, 3, 4), 8


@dataclass(frozen=True)
class Case:
    """A study, and what its owners may say of it.

    Attributes:
        name: in the table.
        frame: its records; the last column is to be predicted.
        target: the declaration of that column.
        loss: of one record.
        sites: shares of the records that the sites have.
        graph: who talks to whom.
        epsilon: of the whole run.
        privacy: more of the budget.
        problem: more of the problem.
    """

    name: str
    frame: Callable[[], pd.DataFrame]
    target: Mapping[str, Any]
    loss: str
    sites: tuple[float, ...]
    graph: str
    epsilon: float
    privacy: Mapping[str, Any] | None = None
    problem: Mapping[str, Any] | None = None

    def study(self, folder: Path) -> dict[str, Any]:
        """Write the records; the study as a document, with what `tacit init` writes."""
        frame = self.frame().sample(frac=1.0, random_state=0).reset_index(drop=True)
        cuts = np.cumsum(np.array(self.sites) / sum(self.sites))[:-1]
        where = np.searchsorted((cuts * len(frame)).astype(int), np.arange(len(frame)), "right")
        frame.insert(0, "site", [f"s{k}" for k in where])
        frame.to_csv(folder / "records.csv", index=False)
        star = self.graph == "coordinator"
        return {
            "title": self.name,
            "data": {
                "path": str(folder / "records.csv"),
                "features": {
                    name: _bounds(frame[name]) for name in frame.columns[1:-1]
                },
                "target": {"column": frame.columns[-1], **self.target},
            },
            "partition": {
                "by": "column",
                "column": "site",
                "sites": [f"s{k}" for k in range(len(self.sites))],
            },
            "problem": {
                "loss": self.loss,
                "regulariser": {"kind": "l2", "strength": 1e-3},
                **(self.problem or {}),
            },
            "network": {"graph": self.graph},
            "method": {"name": "gradient-descent" if star else "dpsg", "step": 1.0},
            "privacy": {
                "epsilon": self.epsilon, "delta": 1e-6, "clip": 1.0, **(self.privacy or {})
            },
            "run": {"rounds": 100, "seed": 0, "hold_out": 0.2, "output": "results"},
        }  # fmt: skip


def _bounds(column: pd.Series) -> dict[str, Any]:
    """Bounds that a code book might give: round numbers outside of what occurs."""
    low, high = float(column.min()), float(column.max())
    if set(column.unique()) <= {0, 1}:
        return {"kind": "boolean"}
    unit = 10.0 ** np.floor(np.log10(max(high - low, 1e-12)))
    lower = np.floor(low / unit + 1e-9) * unit
    return {"lower": float(lower), "upper": float(np.ceil(high / unit - 1e-9) * unit)}


def _sklearn(name: str, **options: Any) -> pd.DataFrame:
    import sklearn.datasets

    found = getattr(sklearn.datasets, name)(**options)
    rows, answers = (found.data, found.target) if hasattr(found, "data") else found
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])])
    frame = frame.loc[:, frame.nunique() > 1]
    return frame.assign(answer=answers)


def _statsmodels(name: str, answer: str) -> pd.DataFrame:
    import statsmodels.api

    frame = getattr(statsmodels.api.datasets, name).load_pandas().data.dropna().astype(float)
    return frame.assign(answer=frame.pop(answer))


def _digits() -> pd.DataFrame:
    return _sklearn("load_digits")


EVEN4, EVEN8 = (1.0,) * 4, (1.0,) * 8
UNEVEN = (50.0, 30.0, 10.0, 6.0, 4.0)
YES = {"positive": "> 0"}
CLASSES = {"levels": [str(digit) for digit in range(10)]}
MASKS = {"masks": {"coalition": 1}}

CASES = (
    Case("visits, any", lambda: _statsmodels("randhie", "mdvis"), YES, "logistic", EVEN8, "ring",
         1.0),
    Case("visits, 10 % many, uneven", lambda: _statsmodels("randhie", "mdvis"),
         {"positive": "> 6"}, "logistic", UNEVEN, "complete", 1.0),
    Case("visits, number", lambda: _statsmodels("randhie", "mdvis"),
         {"lower": 0.0, "upper": 20.0}, "squared", EVEN4, "complete", 1.0),
    Case("visits, masks by record", lambda: _statsmodels("randhie", "mdvis"), YES, "logistic",
         UNEVEN, "coordinator", 0.3, MASKS, {"weighting": "record"}),
    Case("affairs", lambda: _statsmodels("fair", "affairs"), YES, "logistic", EVEN4, "ring", 0.5),
    Case("affairs, uneven", lambda: _statsmodels("fair", "affairs"), YES, "logistic", UNEVEN,
         "complete", 2.0),
    Case("diabetes", lambda: _sklearn("load_diabetes"), {"lower": 0.0, "upper": 400.0}, "squared",
         (1.0,) * 3, "complete", 4.0),
    Case("diabetes, strict", lambda: _sklearn("load_diabetes"), {"lower": 0.0, "upper": 400.0},
         "squared", (1.0,) * 3, "complete", 0.5),
    Case("tumours, masks", lambda: _sklearn("load_breast_cancer"), YES, "logistic", EVEN4,
         "coordinator", 2.0, MASKS),
    Case("ten digits", _digits, CLASSES, "softmax", EVEN4, "coordinator", 8.0),
    Case("one digit, 10 %", _digits, {"positive": 8}, "logistic", EVEN4, "complete", 3.0),
    Case("votes", lambda: _statsmodels("anes96", "vote"), YES, "logistic", EVEN4, "complete", 3.0),
    Case("friedman, uneven", lambda: _sklearn("make_friedman1", n_samples=20000, random_state=0),
         {"lower": 0.0, "upper": 30.0}, "squared", UNEVEN, "complete", 0.5),
    Case("made up, 10 %", lambda: _sklearn("make_classification", n_samples=20000, weights=[0.9],
         n_features=12, n_informative=6, random_state=0), YES, "logistic", EVEN8, "ring", 0.5),
)  # fmt: skip

FRESH = (
    Case("wine, one of three", lambda: _sklearn("load_wine"), {"positive": 0}, "logistic",
         (1.0,) * 3, "complete", 6.0),
    Case("party, seven steps", lambda: _statsmodels("anes96", "PID"),
         {"lower": 0.0, "upper": 6.0}, "squared", EVEN4, "ring", 2.0),
    Case("visits, 40 % some", lambda: _statsmodels("randhie", "mdvis"), {"positive": "> 2"},
         "logistic", EVEN4, "ring", 2.0),
    Case("visits, huber", lambda: _statsmodels("randhie", "mdvis"),
         {"lower": 0.0, "upper": 20.0}, "huber", UNEVEN, "complete", 1.0),
    Case("marriages, rated", lambda: _statsmodels("fair", "rate_marriage"),
         {"lower": 1.0, "upper": 5.0}, "squared", EVEN4, "coordinator", 1.0),
    Case("means of travel", lambda: _statsmodels("modechoice", "choice"), YES, "logistic",
         (1.0,) * 3, "complete", 2.0),
    Case("irises", lambda: _sklearn("load_iris"), {"levels": ["0", "1", "2"]}, "softmax",
         (1.0,) * 3, "coordinator", 10.0),
    Case("friedman 2, uneven", lambda: _sklearn("make_friedman2", n_samples=20000, random_state=1),
         {"lower": 0.0, "upper": 2000.0}, "squared", UNEVEN, "coordinator", 1.0),
    Case("made up, 16 sites", lambda: _sklearn("make_classification", n_samples=20000,
         n_features=20, n_informative=8, random_state=1), YES, "logistic", (1.0,) * 16, "ring",
         1.0),
    Case("made up, masks", lambda: _sklearn("make_regression", n_samples=10000, n_features=10,
         noise=50.0, random_state=1), {"lower": -1000.0, "upper": 1000.0}, "squared", EVEN4,
         "coordinator", 0.5, MASKS),
    Case("digits, odd", lambda: _digits().assign(answer=lambda found: found["answer"] % 2), YES,
         "logistic", EVEN8, "complete", 4.0),
)  # fmt: skip


def came(document: Mapping[str, Any]) -> np.ndarray:
    """Shares that a study keeps, of all splits and trials; what is known of the data beside."""
    shares: list[float] = []
    for split in SPLITS:
        rounds = document["run"]["rounds"]
        varied = {"split_seed": split, "seed": split, "trials": TRIALS, "record": rounds}
        run = {**document["run"], **varied}
        outcome = execute(assemble(check_document({**document, "run": run}, name="study.toml")))
        held, loss = outcome.assembled.held_out, outcome.assembled.problem.agent(0).loss
        pooled = outcome.scores["pooled, no privacy"]["loss"]
        base = base_scores(loss, targets(outcome.assembled.problem), held.targets)["loss"]
        for answers, finished in zip(
            outcome.result.solutions, outcome.result.finished, strict=True
        ):
            own = scores(loss, held.features, held.targets, answers.mean(axis=0))["loss"]
            share = share_kept(own if finished else np.inf, pooled, base, higher=False)
            shares.append(np.nan if share is None else share)
    return np.array(shares)


def told(document: Mapping[str, Any]) -> dict[str, str]:
    """What owners may say: records of their sites, share of yes and gain to one digit."""
    run = {**document["run"], "split_seed": 0}
    assembled = assemble(check_document({**document, "run": run}, name="study.toml"))
    loss, known = assembled.problem.agent(0).loss, targets(assembled.problem)
    held = assembled.held_out
    pooled = scores(loss, held.features, held.targets, assembled.problem.reference().solution)
    base = base_scores(loss, known, held.targets)
    gain = 1.0 - pooled["loss"] / base["loss"]
    found = {"gain": f"{min(max(gain, 0.01), 0.95):.1g}"}
    if document["problem"]["loss"] == "logistic":
        found["prevalence"] = f"{np.mean(known):.1g}"
    return {"records": ",".join(map(str, assembled.problem.counts)), **found}


def advised(document: Mapping[str, Any], toml: str) -> dict[str, Any]:
    """The study with what is advised."""
    sections = tomllib.loads(toml)
    merged = {
        name: {**part, **sections.get(name, {})} if isinstance(part, dict) else part
        for name, part in document.items()
    }
    merged["method"] = sections["method"]
    if "network" in sections:
        merged["network"] = sections["network"]
    return merged


def within(promised: float, kept: float) -> bool:
    """Whether what was promised came within a factor of two, or nothing was promised and came."""
    if max(promised, kept) < 0.1:
        return True
    return kept > 0.0 and 0.5 <= promised / kept <= 2.0


def main(*arguments: str) -> int:
    assumed = "assumed" in arguments
    if "quick" in arguments:
        tacit.advise.candidates._private = lambda: [DPSG, GradientDescent]
    cases = FRESH if "fresh" in arguments else (*CASES, *FRESH) if "all" in arguments else CASES
    numbers = [int(each) for each in arguments if each.isdigit()]
    first, count = (*numbers, *(0, len(cases))[len(numbers) :])
    print("study                      verdict    promised            came    init    changed:"
          " promised  came    seconds")  # fmt: skip
    good = total = 0
    for case in cases[first : first + count]:
        with tempfile.TemporaryDirectory() as folder:
            document = case.study(Path(folder))
            options = told(document)
            (path := Path(folder) / "study.toml").write_text(_written(document))
            if assumed:
                options = {"records": options["records"]}
            flags = [part for key, value in options.items() for part in (f"--{key}", value)]
            began = time.monotonic()
            done = CliRunner().invoke(app, ["advise", str(path), *flags, "--json"])
            seconds = time.monotonic() - began
            if done.exit_code:
                print(f"{case.name:25s}  {done.stdout} {done.exception!r}")
                continue
            advice = json.loads(done.stdout)
            best = advice["measured"][0]
            kept = float(np.nanmedian(came(advised(document, advice["toml"]))))
            init = float(np.nanmedian(came(document)))
            line = (
                f"{case.name:25s}  {advice['verdict']:9s}  {_range(best)}  {kept:5.2f}  {init:6.2f}"
            )
            opened = advice["verdict"] == "open"
            marks = "o" if opened else "-+"[within(best["kept"], kept)]
            if advice["changes"]:
                change = advice["changes"][0]
                other = float(np.nanmedian(came(advised(document, change["toml"]))))
                marks += "-+"[within(change["kept"], other)]
                line += f"             {_range(change)}   {other:5.2f}"
            else:
                line += "                 -       -"
            print(f"{line}   {seconds:6.0f}  {marks} {best['method']} {options}", flush=True)
            good, total = good + (marks[0] == "+"), total + (not opened)
    print(f"promises within a factor of two: {good} of {total}")
    return 0 if 10 * good >= 9 * total else 1


def _range(measured: Mapping[str, Any]) -> str:
    low, high = (float("nan") if each is None else each for each in measured["middle"])
    return f"{measured['kept']:5.2f} ({low:5.2f} to {high:5.2f})"


def _written(document: Mapping[str, Any]) -> str:
    """A study as TOML: tables of tables and plain values are all there is."""
    lines: list[str] = []

    def value(each: Any) -> str:
        if isinstance(each, Mapping):
            return "{ " + ", ".join(f"{json.dumps(k)} = {value(v)}" for k, v in each.items()) + " }"
        return json.dumps(each)

    for name, part in document.items():
        if not isinstance(part, Mapping):
            lines.append(f"{name} = {value(part)}")
            continue
        lines.append(f"[{name}]")
        lines += [f"{json.dumps(key)} = {value(each)}" for key, each in part.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
