"""People with several records, at several sites: what they cost, and what is said of them."""

from __future__ import annotations

import math
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import data, network, problem
from tacit.errors import ConfigError, PrivacyError
from tacit.method import PrivateCox, PrivateSurvival, PrivateTableOne
from tacit.privacy import Masks, Privacy
from tests.quick import only

pytestmark = pytest.mark.long

SITES = ["east", "north", "south", "west"]
STAR = network.Coordinator(len(SITES))
DECLARED: dict[str, data.Feature] = {
    "years": data.Numeric(0, 10),
    "died": data.Boolean(),
    "age": data.Numeric(20, 80),
}
SCHEMA = data.Schema(DECLARED, target=None, intercept=False, missing="drop")
COLUMNS = data.columns_of(SCHEMA)
YEARS, DIED, AGE = COLUMNS.values()
METHODS = {
    "table1": lambda privacy: PrivateTableOne([AGE, DIED], medians=["age"], privacy=privacy),
    "survival": lambda privacy: PrivateSurvival(YEARS, DIED, privacy=privacy),
    "cox": lambda privacy: PrivateCox(YEARS, DIED, [AGE], privacy=privacy),
}


@cache
def patients() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    n = 2000
    lived, followed = rng.exponential(6.0, n), rng.uniform(1, 14, n)
    return pd.DataFrame(
        {
            "site": [SITES[i % 4] for i in range(n)],
            "years": np.minimum(lived, followed),
            "died": lived <= followed,
            "age": rng.uniform(20, 80, n),
        }
    )


@cache
def task() -> problem.Records:
    sites = data.even(data.prepare(patients(), SCHEMA), 4)
    return problem.record_tables(sites.features, SCHEMA, size=500)


def noise(name: str, **budget: Any) -> tuple[np.ndarray, Any]:
    """The noise scales of every phase in a run within epsilon = 1, and the guarantee."""
    method: Any = METHODS[name](Privacy(clip=1.0, epsilon=1.0, **budget))
    agreed = tacit.contract(task(), STAR, method, rounds=method.only_rounds)
    scales = [np.max(np.asarray(each)) for each in agreed.scales]
    return np.array(scales[1:], dtype=float), agreed.guarantee.worst


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("name", METHODS)
def test_noise_grows_with_records_and_with_the_root_of_sites(name: str, relation: str) -> None:
    one, _ = noise(name, relation=relation)
    assert (one > 0.0).all()
    for records, sites in ((3, 1), (1, 2), (3, 4)):
        many, promise = noise(
            name, relation=relation, records_per_person=records, sites_per_person=sites
        )
        np.testing.assert_allclose(many, one * records * math.sqrt(sites), rtol=1e-6)
        assert promise.unit == "person" and promise.epsilon == pytest.approx(1.0, rel=1e-6)
    masked, _ = noise(name, relation=relation, masks=Masks())
    several, promise = noise(name, relation=relation, masks=Masks(), records_per_person=3)
    np.testing.assert_allclose(several, 3.0 * masked, rtol=1e-6)
    assert "per person (at most 3 records at one site)" in promise.sentence()


@pytest.mark.parametrize("name", METHODS)
def test_a_sum_moves_by_no_more_than_all_records_of_a_person(name: str) -> None:
    method: Any = METHODS[name](Privacy(clip=1.0, epsilon=1.0))
    queries = method.queries[:2] if name == "cox" else [method.query]
    point = np.random.default_rng(0).normal(size=7) if name == "cox" else None
    extremes = np.array([[-0.9, 1.0, 1.0], [0.9, 0.0, -1.0]])
    for query in queries:
        with jax.enable_x64(True):
            asked = jax.jit(partial(query, SimpleNamespace(point=point)))
            key = jax.random.key(0)
            for records in (1, 3):
                rows = np.zeros((2, 6, 3))
                rows[:, :records] = extremes[:, None]
                one, other = (
                    asked(problem.record_tables([each, each], SCHEMA).agent(0), None, key)
                    for each in rows
                )
                moved = float(np.linalg.norm(one - other))
                assert moved <= records * (1.0 + 1e-9)
                if name != "cox":  # the two differ in every column, as far as records can
                    assert moved == pytest.approx(records)


def asked(name: str, **given: Any) -> Any:
    """The answer of the function on a table."""
    given = {"epsilon": 4.0, "seed": 0, "sites": SITES, **given}
    if name == "table1":
        columns = {"age": DECLARED["age"], "died": DECLARED["died"]}
        return tacit.table1(patients(), ["age"], by="died", columns=columns, **given)
    if name == "survival":
        columns = {key: DECLARED[key] for key in ("years", "died")}
        return tacit.survival(patients(), "years", "died", columns=columns, **given)
    return tacit.cox(patients(), "years", "died", ["age"], columns=DECLARED, **given)


WARNED = {
    "table1": "P-values take records as independent",
    "survival": "intervals are too short.",
    "cox": "They take records as independent",
}


@pytest.mark.parametrize("name", only(["table1"], list(METHODS)))
def test_what_is_printed_says_whom_it_is_about(name: str) -> None:
    found = asked(name, masks=None, sites_per_person=2, records_per_person=2, epsilon=12.0)
    assert WARNED[name] in " ".join(repr(found).split()) and "@misc{tacit" in found.cite()
    worst = found.guarantee.worst
    assert "per person (at most 2 records at each of at most 2 sites)" in worst.sentence()
    assert (worst.status, worst.epsilon) == ("proved", pytest.approx(12.0, rel=1e-6))


@pytest.mark.parametrize("name", METHODS)
def test_several_sites_are_refused_where_nothing_is_proved(name: str) -> None:
    with pytest.raises(PrivacyError, match=r"does not go with masks: .* take local noise"):
        asked(name, sites_per_person=2)
    with pytest.raises(PrivacyError, match="but there are 4 sites"):
        asked(name, sites_per_person=5, masks=None)


def test_an_infinite_budget_is_no_budget() -> None:
    with pytest.raises(PrivacyError, match=r"epsilon=inf would .*epsilon=None for no privacy"):
        asked("table1", epsilon=math.inf)


@pytest.mark.parametrize("name", only(["survival"], list(METHODS)))
def test_a_private_number_of_records_is_said_with_its_price(name: str) -> None:
    found = asked(name, relation="add_remove", size=500)
    printed = " ".join(repr(found).split())
    assert "replacing one is two such changes" in printed
    told = found.guarantee.worst
    assert told.relation == "add_remove"
    assert not any("number of records" in each for each in told.assumptions)
    assert ("takes no share of the budget" in printed) == (name != "cox")
    method = METHODS[name](Privacy(clip=1.0, epsilon=1.0, relation="add_remove"))
    account = tacit.account(task(), STAR, method, rounds=method.only_rounds)
    priced = account.replacing()
    assert priced is not None and priced.delta == account.guarantee.worst.delta
    # two such changes are neighbours of one who has two records
    twice = Privacy(
        clip=1.0,
        noise_multiplier=method_noise(account),
        relation="add_remove",
        records_per_person=2,
    )
    same = tacit.account(task(), STAR, METHODS[name](twice), rounds=method.only_rounds)
    assert priced.epsilon == pytest.approx(same.guarantee.worst.epsilon, rel=1e-6)
    assert 2.0 < priced.epsilon < 2.5
    replaced = METHODS[name](Privacy(clip=1.0, epsilon=1.0))
    assert tacit.account(task(), STAR, replaced, rounds=method.only_rounds).replacing() is None


def method_noise(account: Any) -> float:
    """The noise multiplier of the last release."""
    return float(account.releases[0][-1].noise_multiplier)


def test_nobody_has_more_records_than_there_are() -> None:
    many: Any = PrivateTableOne([AGE], privacy=Privacy(1.0, 1.0, records_per_person=501))
    with pytest.raises(PrivacyError, match="501 is more than the 500 records of the largest site"):
        tacit.contract(task(), STAR, many, rounds=1)
    # a private number is not told by a refusal: who has all records is warned
    with pytest.warns(UserWarning, match="501 is more than the 500 .* keep it to yourself"):
        asked("table1", relation="add_remove", size=800, records_per_person=501)


def test_a_refusal_names_what_was_spent() -> None:
    found = asked("cox", epsilon=0.02)
    spent = r"epsilon = 0\.02 at delta = 1e-6 all the same; another run on these records adds"
    with pytest.raises(ConfigError, match=f"there are no hazard ratios: .*{spent}"):
        _ = found.table
    assert "There is no answer" in repr(found) and "epsilon = 0.02 at delta" in repr(found)
