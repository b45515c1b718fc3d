"""What `docs/_static/planner.js` does not compute itself, asked of tacit when the site is built.

Sensitivities, shares of budgets, limits and the words of guarantees: the page holds them as JSON.
The script has the closed form of Gaussian differential privacy, and arithmetic.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit import network, problem
from tacit.advise.forecast import (
    FAMILIES,
    LIKELY,
    MOST_COLUMNS,
    UNLIKELY,
    kept,
    noise,
    regression,
    schema,
)
from tacit.method.glm import SHARES
from tacit.method.gradient_descent import GradientDescent
from tacit.privacy import Masks, Privacy, caution
from tacit.privacy.accounting import SMALLEST_DELTA
from tacit.privacy.digits import rounded_up
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.sensitivity import ClippedGradient
from tacit.types import PublicContext, Relation, Unit

RELATIONS = (Relation.REPLACE_ONE, Relation.ADD_REMOVE)

SITES, ROUNDS, COALITION, NOISE, DELTA = 97, 53, 31, 36.5, 1.919e-7
"""Numbers of made-up runs whose guarantees are taken: none of them stands there for anything else.
"""


@cache
def facts() -> str:
    """Everything, as JSON."""
    return json.dumps(
        {
            "least_delta": SMALLEST_DELTA,
            "most_columns": MOST_COLUMNS,
            "mean": {each.value: sensitivity(each) for each in RELATIONS},
            "regression": regressions(),
            "words": words(),
            "warning": {"least": caution.LARGE_EPSILON, "text": warning()},
        },
        allow_nan=False,
    )


def sensitivity(relation: Relation) -> float:
    """Sensitivity of the sum of one site's vectors, each clipped to norm 1."""
    public = PublicContext(
        agent=0,
        agents=2,
        round=0,
        rounds=1,
        count=1,
        normaliser=1.0,
        unit=Unit.RECORD,
        degree=1,
        participations=1,
    )
    return ClippedGradient(lambda state: state, clip=1.0).sensitivity(public, relation)


def regressions() -> dict[str, Any]:
    """Noise of a regression by family and adjacency, and what all of them share."""
    found: dict[str, Any] = {
        "shares": {str(sums): list(shares) for sums, shares in SHARES.items()},
        "likely": LIKELY,
        "unlikely": UNLIKELY,
        "kept": kept(),
    }
    for family in FAMILIES:
        found[family] = {relation.value: noise(family, relation) for relation in RELATIONS}
    return found


def words() -> dict[str, dict[str, str]]:
    """Guarantees with places for numbers, by what is released, adjacency and coalition."""
    ways: dict[str, Masks | None] = {
        "local": None,
        "masked 0": Masks(coalition=0),
        "masked 1": Masks(coalition=1),
        "masked": Masks(coalition=COALITION),
    }
    found: dict[str, dict[str, str]] = {}
    for relation, (way, masks) in itertools.product(RELATIONS, ways.items()):
        budget = Privacy(1.0, None, DELTA, NOISE, relation=relation, masks=masks)
        for what, agreed in (("mean", means(budget)), ("regression", fits(budget))):
            worst = agreed.guarantee.worst
            said = with_places(agreed.guarantee)
            against = re.search(r"against (an adversary .*?)\. Status", said)
            assert against is not None, said
            found[f"{what} {relation.value} {way}"] = {
                "sentence": said,
                "unit": worst.unit.value,
                "relation": worst.relation.value.replace("_", "-"),
                "adversary": against[1],
                "status": worst.status.value,
            }
    return found


def warning() -> str:
    """The warning about a large epsilon, with a place for its factor."""
    return caution.warning(12.0).replace(f"{math.exp(12.0):,.0f}", "{factor}")


def means(budget: Privacy, sites: int = SITES, records: int = 2, rounds: int = ROUNDS) -> Any:
    """Contract of a run that releases the mean of clipped vectors in every round."""
    tables, targets = [np.ones((records, 1))] * sites, [np.ones(records)] * sites
    declared = float(records) if budget.relation is Relation.ADD_REMOVE else None
    task = problem.empirical_risk(tables, targets, problem.Squared(), normaliser=declared)
    method = GradientDescent(step=1.0, privacy=budget)
    return tacit.contract(task, network.Coordinator(sites), method, rounds=rounds)


def fits(budget: Privacy, sites: int = SITES, records: int = 2, sums: int = 4) -> Any:
    """Contract of a regression with one column."""
    declared = records if budget.relation is Relation.ADD_REMOVE else None
    tables = [np.ones((records, 2))] * sites
    task = problem.record_tables(tables, schema(1, "binomial"), size=declared)
    method = regression(1, "binomial", budget, sums)
    return tacit.contract(task, network.Coordinator(sites), method, rounds=sums)


def with_places(guarantee: Guarantees) -> str:
    """The guarantee of a made-up run in words, with places instead of its numbers."""
    worst, said = guarantee.worst, guarantee.sentence()
    numbers = {
        f"the {SITES} agents": "the {sites} agents",
        f"({worst.releases} releases)": "({releases})",
        f"({rounded_up(worst.epsilon)}, {rounded_up(DELTA)})": "({epsilon}, {delta})",
        f"at least {SITES} agents": "at least {sites} agents",
        f"at least {SITES - worst.coalition} honest": "at least {honest} honest",
        f"up to {worst.coalition} of the": "up to {coalition} of the",
        f"at most {worst.coalition} agents are": "at most {coalition} agents are",
        f"at most {worst.releases} sums": "at most {sums} sums",
        " Simulated noise: ": " {warning} Simulated noise: ",
    }
    for number, place in numbers.items():
        said = said.replace(number, place)
    return said


def page() -> str:
    """The planner as it stands in its page: form, facts and scripts."""
    form = (Path(__file__).parent / "planner_form.html").read_text(encoding="utf-8")
    told = facts().replace("<", "\\u003c")
    return (
        f'<link rel="stylesheet" href="_static/planner.css">\n{form}'
        f'<script type="application/json" id="planner-facts">{told}</script>\n'
        '<script src="_static/planner.js"></script>\n'
        '<script src="_static/planner_page.js"></script>\n'
    )
