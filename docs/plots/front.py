"""The plot of the README and of the first page of the site."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

import tacit
from docs.plots.chart import INK, band, chart
from tacit import data
from tacit.privacy import Masks
from tacit.study import demo
from tacit.study.tables import table

TRIALS = 20
EPSILONS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
COLUMNS = {
    "any_visit": data.Boolean(),
    "lncoins": data.Numeric(0, 4.62),
    "idp": data.Boolean(),
    "lpi": data.Numeric(0, 7.2),
    "fmde": data.Numeric(0, 8.3),
    "physlm": data.Numeric(0, 1),
    "disea": data.Numeric(0, 60),
    "hlthg": data.Boolean(),
    "hlthf": data.Boolean(),
    "hlthp": data.Boolean(),
}
"""The columns of `tacit demo`, with its bounds."""


def noise(path: Path) -> None:
    """How well new records are told apart at several budgets, with three kinds of noise."""
    records = table(demo.regression())
    records = records.assign(site=np.arange(len(records)) % 8)
    held = np.random.default_rng(0).random(len(records)) < 0.2
    formula = "any_visit ~ " + " + ".join(list(COLUMNS)[1:])

    def auc(epsilon: float | None, masks: Masks | None, seed: int) -> float:
        fit = tacit.glm(
            formula, records.loc[~held], columns=COLUMNS, family="binomial",
            epsilon=epsilon, masks=masks, seed=seed,
        )  # fmt: skip
        found = fit.compare(records.loc[held]).auc
        assert found is not None
        return found

    places = {
        "central noise, by a curator whom all trust": Masks(coalition=0),
        "secure aggregation, one site may collude": Masks(coalition=1),
        "local noise": None,
    }
    with chart(path, "epsilon of the fit", "AUC on records held out", log="x") as axes:
        for label, masks in places.items():
            found = [[auc(epsilon, masks, seed) for seed in range(TRIALS)] for epsilon in EPSILONS]
            band(axes, EPSILONS, np.array(found), label)
            print(label, np.median(found, axis=1).round(4).tolist())
        pooled = auc(None, None, 0)
        print("pooled", round(pooled, 4))
        axes.axhline(pooled, color=INK, linestyle=":", label="no privacy")
        axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axes.minorticks_off()
        axes.set_ylim(0.5, 0.67)


FRONT: Mapping[str, Callable[[Path], None]] = {noise.__name__: noise}
"""By the name of the picture."""
