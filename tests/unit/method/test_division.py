"""A guarantee about tables that tacit divides is true, or it says what it rests on."""

from collections.abc import Callable

import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit.data.partition import (
    Sites,
    by_column,
    dirichlet,
    drawn,
    even,
    sorted_by_label,
    train_test_split,
)
from tacit.data.schema import Prepared
from tacit.method import FedAvg
from tacit.privacy import GaussianRelease, epsilon, noise_multiplier
from tacit.types import Unit

RECORDS, SITES, DELTA = 40, 4, 1e-6

Divide = Callable[[Prepared], Sites]

DIVISIONS: dict[str, Divide] = {
    "column": lambda t: by_column(t, [str(k) for k in range(SITES)]),
    "drawn": lambda t: drawn(t, SITES),
    "even": lambda t: even(t, SITES),
    "label": lambda t: sorted_by_label(t, SITES),
    "dirichlet": lambda t: dirichlet(t, SITES, 5.0),
    "held out by place": lambda t: by_column(train_test_split(t, 0.3)[0]),
    "held out by record": lambda t: by_column(train_test_split(t, 0.3, by="record")[0]),
    "held out by label": lambda t: by_column(train_test_split(t, 0.3, stratify=True)[0]),
}

# as it stands, and where neighbouring tables move records that they share
TRUE = {
    "column": ("replace_one", "add_remove"),
    "drawn": ("add_remove",),
    "even": ("replace_one",),
    "label": (),
    "dirichlet": (),
    "held out by place": ("replace_one",),
    "held out by record": ("add_remove",),
    "held out by label": (),
}


def table() -> Prepared:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(RECORDS, 3))
    return Prepared(
        features=rows / np.linalg.norm(rows, axis=1, keepdims=True),
        targets=(np.arange(RECORDS) % 2).astype(float),
        feature_names=("a", "b", "c"),
        sites=np.array([str(k) for k in np.arange(RECORDS) // 2 % SITES]),
    )


def neighbours(relation: str) -> list[Prepared]:
    """Every table with one record fewer, or with the label of one record turned around."""
    whole, found = table(), []
    assert whole.sites is not None
    for row in range(RECORDS):
        features, targets, sites = whole.features, whole.targets.copy(), whole.sites
        if relation == "add_remove":
            features, targets, sites = (
                np.delete(each, row, axis=0) for each in (features, targets, sites)
            )
        else:
            targets[row] = 1.0 - targets[row]
        found.append(Prepared(features, targets, whole.feature_names, sites))
    return found


def method(relation: str) -> tacit.DPSG:
    return tacit.DPSG(
        step=0.1, privacy=tacit.Privacy(epsilon=1.0, delta=DELTA, clip=0.5, relation=relation)
    )


def task(sites: Sites) -> problem.Problem:
    return problem.empirical_risk(
        sites.features,
        sites.targets,
        problem.Logistic(),
        normaliser=10.0,  # so that no count is assumed public
        names=sites.names,
    )


def sums(sites: Sites) -> np.ndarray:
    """Every site's sum of clipped gradients at 0, which is what its first round noises."""
    return np.array([(0.5 - y) @ x for x, y in zip(sites.features, sites.targets, strict=True)])


@pytest.mark.parametrize(
    "relation", [pytest.param("replace_one", marks=pytest.mark.long), "add_remove"]
)
@pytest.mark.parametrize("name", DIVISIONS)
def test_what_is_claimed_without_an_assumption_is_true(name: str, relation: str) -> None:
    divide = DIVISIONS[name]
    sites = divide(table())
    stated = tacit.account(
        task(sites), network.ring(SITES), method(relation), rounds=1
    ).guarantee.worst
    named = any(
        "which site holds which record, and which are held" in a for a in stated.assumptions
    )
    only = any("replaced only by one" in a for a in stated.assumptions)
    assert (named or only) == (relation not in TRUE[name])
    # exact epsilon of all first releases together, over all neighbours
    claimed = noise_multiplier(1.0, DELTA, lambda z: [GaussianRelease(z)])
    scale = claimed * 0.5 * (2.0 if relation == "replace_one" else 1.0)
    worst = 0.0
    for neighbour in neighbours(relation):
        other = divide(neighbour)
        if only and other.counts != sites.counts:
            continue
        moved = float(np.linalg.norm(sums(sites) - sums(other)))
        if moved > 0.0:
            worst = max(worst, epsilon([GaussianRelease(scale / moved)], DELTA))
    if not named:
        assert worst <= 1.0 + 1e-6
    else:
        assert worst > 1.05, "an assumption that nothing rests on"


@pytest.mark.long
def test_what_was_prepared_is_named_without_being_passed_on() -> None:
    prepared = Prepared(
        table().features, table().targets, ("a", "b", "c"), assumptions=("bounds are public",)
    )
    sites = even(prepared, SITES)
    assert "bounds are public" in task(sites).assumptions
    own = problem.empirical_risk(
        [np.array(x) for x in sites.features],
        [np.array(y) for y in sites.targets],
        problem.Logistic(),
        assumptions=("mine", "mine"),
    )
    assert own.assumptions == ("mine",)
    stated = tacit.run(own, network.ring(SITES), method("replace_one"), rounds=1, seed=0)
    assert all("mine" in each.assumptions for each in stated.guarantee)


def test_a_whole_agent_may_change_how_many_records_there_are() -> None:
    budget = tacit.Privacy(epsilon=1.0, delta=DELTA, clip=0.5)
    whole = FedAvg(step=0.1, local_steps=2, release="update", privacy=budget)
    for divide, named in ((even, True), (drawn, False)):
        made = task(divide(table(), SITES))
        worst = tacit.account(made, network.Coordinator(SITES), whole, rounds=2).guarantee.worst
        assert worst.unit is Unit.AGENT
        assert any("public places" in each for each in worst.assumptions) == named
