"""Private survival on records that everybody has: those of statsmodels, lifelines, scikit-survival.

Divided over five sites, under masks with one colluder, replace-one, delta 1e-6. Curves and
log-rank test by group in 20 intervals of the follow-up, then a Cox model in 6 pieces, each at the
whole epsilon, several times with other noise. lifelines asks for an older pandas than tacit is
developed with, so this takes an environment of its own:

    pip install lifelines scikit-survival
    python benchmarks/survival_records.py curves --draws 9
    python benchmarks/survival_records.py cox --draws 9
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import pandas as pd

import tacit
from tacit.data import Boolean, Numeric
from tacit.data.feature import Feature
from tacit.errors import ConfigError

SITES, INTERVALS, PIECES = 5, 20, 6
EPSILONS = (None, 4.0, 2.0, 1.0, 0.5)


class Study(NamedTuple):
    """Records `time` (whole numbers), `event` (0 or 1), `group` (0 or 1), and columns of a model.

    Attributes:
        records: the records.
        columns: declared columns of a Cox regression.
        end: time after which nobody is followed.
    """

    records: pd.DataFrame
    columns: dict[str, Feature]
    end: int

    @property
    def table(self) -> pd.DataFrame:
        """The records with truth values for what is a yes or no."""
        table = self.records[list(dict.fromkeys(["time", "event", "group", *self.columns]))]
        table = table.reset_index(drop=True).astype(float)
        return table.assign(event=table["event"] > 0, group=table["group"] > 0)

    def sites(self, number: int = SITES) -> dict[str, pd.DataFrame]:
        """The same by site."""
        return {f"site {i}": self.table.iloc[i::number] for i in range(number)}


def transplants() -> Study:
    """Heart transplants, by age."""
    from statsmodels.datasets import heart

    found: Any = heart.load_pandas()
    found = found.data.rename(columns={"survival": "time", "censors": "event"})
    found["group"] = (found["age"] > 45).astype(int)
    return Study(found, {"age": Numeric(8, 65)}, 3600)


def _loaded(library: str, name: str) -> Any:
    """Records of a library, which an environment for development does not have."""
    return getattr(import_module(f"{library}.datasets"), f"load_{name}")()


def rossi() -> Study:
    """Arrest after a release from prison, by financial aid."""
    found = _loaded("lifelines", "rossi").rename(
        columns={"week": "time", "arrest": "event", "fin": "group"}
    )
    columns = {"group": Boolean(), "age": Numeric(17, 44), "prio": Numeric(0, 18)}
    return Study(found, columns, 52)


def gbsg2() -> Study:
    """Recurrence of breast cancer, by hormonal therapy."""
    found = _loaded("lifelines", "gbsg2").rename(columns={"cens": "event"})
    found["group"] = (found["horTh"] == "yes").astype(int)
    columns = {"group": Boolean(), "age": Numeric(21, 80), "pnodes": Numeric(0, 51)}
    return Study(found, columns, 2659)


def lung() -> Study:
    """Death of advanced lung cancer, by sex."""
    found = _loaded("lifelines", "lung").dropna(subset=["ph.ecog"])
    found = found.rename(columns={"status": "event", "ph.ecog": "ecog"})
    found["group"] = (found["sex"] == 1).astype(int)
    columns = {"group": Boolean(), "age": Numeric(39, 82), "ecog": Numeric(0, 3)}
    return Study(found, columns, 1022)


def flchain() -> Study:
    """Death in Olmsted County, by sex, with a group of free light chains."""
    found, ends = _loaded("sksurv", "flchain")
    found = found.assign(time=ends["futime"], event=ends["death"].astype(int))
    found["group"] = (found["sex"] == "M").astype(int)
    found["flc"] = found["flc.grp"].astype(float)
    columns = {"group": Boolean(), "age": Numeric(50, 101), "flc": Numeric(1, 10)}
    return Study(found, columns, 5215)


STUDIES: dict[str, Callable[[], Study]] = {
    each.__name__: each for each in (transplants, rossi, gbsg2, lung, flchain)
}
LIBRARIES = {"rossi": "lifelines", "gbsg2": "lifelines", "lung": "lifelines", "flchain": "sksurv"}
"""Libraries that records come with, other than statsmodels."""


def curves(study: Study, epsilon: float | None, seed: int) -> dict[str, float]:
    """How far the curves reach and are from Kaplan and Meier's, and what the test says."""
    from statsmodels.duration.survfunc import SurvfuncRight

    declared = {"time": Numeric(0, study.end + 1), "event": Boolean(), "group": Boolean()}
    found: Any = tacit.survival(
        study.sites(), "time", "event", by="group", columns=declared, intervals=INTERVALS,
        epsilon=epsilon, seed=seed,
    )  # fmt: skip
    try:
        answer = found.curves
    except ConfigError:
        return {"reach": 0.0, "p": np.nan, "sup": np.nan}
    frame, away = answer.frame(), []
    for level, group in enumerate(answer.groups):
        part = study.records[study.records["group"] == level]
        exact: Any = SurvfuncRight(part["time"], part["event"].astype(int))
        rows = frame[frame["group"] == group.name]
        at = np.searchsorted(exact.surv_times, rows["time"], side="right")
        away += np.abs(rows["survival"] - np.append(1.0, exact.surv_prob)[at]).tolist()
    reach = min(group.size for group in answer.groups) / INTERVALS
    test = answer.test
    p = np.nan if test is None else test.p_value
    return {"reach": reach, "p": p, "sup": max(away) if away else np.nan}


def ratios(study: Study, epsilon: float | None, seed: int) -> dict[str, Any]:
    """Hazard ratios with their intervals, or nothing where they are refused."""
    declared = {"time": Numeric(0, study.end + 1), "event": Boolean(), **study.columns}
    found: Any = tacit.cox(
        study.sites(), "time", "event", list(study.columns), columns=declared, pieces=PIECES,
        epsilon=epsilon, seed=seed,
    )  # fmt: skip
    try:
        table = found.table
    except ConfigError:
        return {}
    return {
        name: (np.exp(value), error)
        for name, value, error in zip(study.columns, table.values, table.errors, strict=True)
    }


def partial(study: Study) -> dict[str, Any]:
    """Those of Cox's partial likelihood."""
    from statsmodels.duration.hazard_regression import PHReg

    table: Any = study.table.astype(float)
    model = PHReg(table["time"], table[list(study.columns)], table["event"], ties="efron")
    found: Any = model.fit()
    pairs = zip(np.exp(found.params), found.bse, strict=True)
    return dict(zip(study.columns, pairs, strict=True))


def _curves(name: str, draws: int) -> None:
    study = STUDIES[name]()
    for epsilon in EPSILONS:
        rows = pd.DataFrame(
            [curves(study, epsilon, seed) for seed in range(1 if epsilon is None else draws)]
        )
        print(
            f"{name}, {len(study.records)} records, epsilon {epsilon or 'none'}: reaches "
            f"{rows['reach'].median():.0%}, sup error {rows['sup'].median():.4f}, log-rank p "
            f"{rows['p'].median():.4f} ({rows['p'].min():.4f} to {rows['p'].max():.4f}), "
            f"tests {rows['p'].notna().sum()} of {len(rows)}",
            flush=True,
        )


def _cox(name: str, draws: int) -> None:
    study = STUDIES[name]()

    def shown(found: dict[str, Any]) -> str:
        return ", ".join(f"{key} {ratio:.3f} ({e:.3f})" for key, (ratio, e) in found.items())

    print(f"{name}, {len(study.records)} records, partial likelihood: {shown(partial(study))}")
    for epsilon in EPSILONS:
        number = 1 if epsilon is None else draws
        found = [ratios(study, epsilon, seed) for seed in range(number)]
        there = [each for each in found if each]
        middle = {
            key: tuple(np.median([each[key] for each in there], axis=0))
            for key in (study.columns if there else ())
        }
        print(
            f"  epsilon {epsilon or 'none'}: {len(there)} of {number} printed; medians "
            f"{shown(middle)}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="curves", choices=("curves", "cox"))
    parser.add_argument("names", nargs="*", default=[*STUDIES])
    parser.add_argument("--draws", type=int, default=9)
    given = parser.parse_args()
    for name in given.names:
        {"curves": _curves, "cox": _cox}[given.what](name, given.draws)


if __name__ == "__main__":
    main()
