"""Input that looks like a mistake: each kind is refused or warned of, with the remedy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import data, network, privacy, problem
from tacit.audit import audit_callable, lower_bounds, one_run_bound
from tacit.errors import ConfigError, LedgerError, PrivacyError, ProblemError
from tacit.estimators import PrivateClassifier, PrivateLinearRegression
from tacit.method import load_model
from tacit.privacy.ledger import Ledger

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "site": RNG.choice(["north", "south"], 200),
        "age": RNG.uniform(20.0, 80.0, 200),
        "ill": RNG.random(200) < 0.4,
        "years": RNG.uniform(0.1, 9.0, 200),
        "died": False,
    }
)
COLUMNS = {
    "age": data.Numeric(0, 100),
    "ill": data.Boolean(),
    "years": data.Numeric(0, 10),
    "died": data.Boolean(),
}
CLAIM = (1.0, 1e-6)


def fitted(table: pd.DataFrame = TABLE, formula: str = "ill ~ age", **options: object):
    given: dict = {"columns": COLUMNS, "family": "binomial", "seed": 0, **options}
    return tacit.glm(formula, table, **given)


def diverged() -> tacit.Result:
    rows = [RNG.uniform(-1.0, 1.0, (20, 2)) for _ in range(3)]
    task = problem.empirical_risk(rows, [x.sum(axis=1) for x in rows], problem.Squared())
    return tacit.run(task, network.ring(3), tacit.DGD(step=1e6), rounds=20, seed=0)


def test_a_mechanism_without_noise_is_refuted() -> None:
    found = audit_callable(lambda number, key: number, 0.0, 1.0, claim=CLAIM, trials=100, seed=0)
    assert found.refuted


def test_noise_beside_a_constant_that_leaks_is_refuted() -> None:
    def half(number: float, rng: np.random.Generator) -> list[float]:
        return [rng.normal(), number]

    settings: dict = {"claim": CLAIM, "trials": 100, "seed": 0, "generator": "numpy"}
    assert audit_callable(half, 0.0, 1.0, **settings).refuted


def test_the_same_data_twice_are_no_neighbours() -> None:
    with pytest.raises(ConfigError, match="are the same"):
        audit_callable(lambda number, key: number, 1.0, 1.0, claim=CLAIM)


def test_scores_that_say_nothing_are_refused() -> None:
    with pytest.raises(ConfigError, match="scores has 3 entries"):
        lower_bounds(np.arange(3.0), np.arange(20.0), delta=0.0)
    with pytest.raises(ConfigError, match=r"others\[0\] is NaN"):
        lower_bounds(np.arange(20.0), np.full(20, np.nan), delta=0.0)
    with pytest.raises(ConfigError, match=r"scores\[1\] is NaN"):
        one_run_bound(np.array([0.0, np.nan]), np.array([True, False]), delta=0.0, guesses=1)


def test_a_diverged_run_has_no_answer() -> None:
    result = diverged()
    assert np.isnan(result.solution).all() and result.frame()["value"].isna().all()
    assert "take a smaller step" in result.summary()
    with pytest.raises(ConfigError, match="there is no answer"):
        tacit.plot.coefficients(result)


@pytest.mark.long
def test_without_one_event_nothing_is_printed() -> None:
    assert fitted(TABLE.assign(ill=True), epsilon=None).table.refusal is not None
    settings: dict = {"columns": COLUMNS, "limit": 9.0, "pieces": 4, "epsilon": None}
    assert "hardly anybody has the event" in repr(
        tacit.cox(TABLE, "years", "died", ["age"], **settings)
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:coefficients without intervals")
def test_estimators_tell_of_values_beyond_the_bounds() -> None:
    x, y = TABLE[["age"]].to_numpy(), TABLE["years"].to_numpy()
    model = PrivateLinearRegression(bounds=(0, 100), target_bounds=(0, 10), epsilon=None)
    with pytest.warns(UserWarning, match="1 of 1 values of X"):
        model.fit(x, y).predict([[5000.0]])
    with pytest.warns(UserWarning, match="200 of 200 values of y"):
        model.set_params(target_bounds=(100, 200)).fit(x, y)


@pytest.mark.long
def test_sites_that_look_like_a_mistake() -> None:
    blank = TABLE["site"] + np.where(TABLE.index % 2, " ", "")
    with pytest.warns(UserWarning, match="differ only in blanks or case"):
        fitted(TABLE.assign(site=blank))
    with pytest.warns(UserWarning, match="looks like an identifier"):
        fitted(TABLE.assign(site=TABLE.index.astype(str)))
    with pytest.warns(UserWarning, match="size=10 is far from"):
        fitted(relation="add_remove", size=10)


def test_one_file_under_two_paths_is_one_table(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    TABLE.to_csv(path, index=False)
    with pytest.raises(ConfigError, match="are one table"):
        fitted({"north": path, "south": f"{tmp_path}/./a.csv"})


def test_ledger_refuses_what_charges_nobody_or_nothing_known(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "a.ledger") as ledger:
        with pytest.raises(LedgerError, match="charges nobody"):
            ledger.charge_run("r", {}, dataset="d")
        events = {"o": [privacy.GaussianRelease(10.0)]}
        with pytest.raises(LedgerError, match="no adjacency"):
            ledger.charge_run("r", events, dataset="d", neighbours="person")
    with pytest.raises(LedgerError, match=r"Ledger\.open"):
        Ledger("a.ledger")  # type: ignore[arg-type]


def test_privacy_arguments() -> None:
    with pytest.raises(PrivacyError, match="sums to 3"):
        privacy.gossip_mu(np.ones((3, 3)), 2, [0])
    with pytest.raises(PrivacyError, match="events_at"):
        privacy.affordable_rounds(1.0, 1e-6, lambda rounds: rounds)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["", "a\0b.csv"])
def test_a_path_that_names_no_file(path: str) -> None:
    for read in (data.load, load_model, fitted):
        with pytest.raises(ProblemError, match="names no file"):
            read(path)  # type: ignore[arg-type]


def test_a_page_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("<!DOCTYPE html>\n<html>404</html>\n")
    with pytest.raises(ProblemError, match="an HTML page"):
        data.load(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("table", "formula", "said"),
    [
        (TABLE.assign(ill=TABLE.ill + 1), "ill ~ age", r"Categorical\(\[1, 2\]\)"),
        (TABLE.assign(age=pd.Timestamp("2020-01-01")), "ill ~ age", r"data\.Date"),
        (TABLE, "ill ~ age + (1|site)", "random effects"),
        (TABLE, "0 ~ 1", "names no column"),
    ],
)
def test_remedies(table: pd.DataFrame, formula: str, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        fitted(table, formula)


def test_names_that_are_found_elsewhere() -> None:
    with pytest.raises(AttributeError, match=r"tacit\.glm"):
        _ = tacit.fit  # type: ignore[attr-defined]
    assert tacit.testing.check_loss  # type: ignore[attr-defined]


@pytest.mark.long
def test_counts_that_are_no_whole_numbers_are_told() -> None:
    counts = TABLE.assign(falls=RNG.poisson(2, 200).astype(float))
    counts.loc[:2, "falls"] += 0.5
    given: dict = {"columns": COLUMNS | {"falls": data.Numeric(0, 20)}, "formula": "falls ~ age"}
    with pytest.warns(UserWarning, match="3 values of falls are no whole numbers"):
        fitted(counts, family="poisson", **given)


def test_a_size_far_from_the_records_is_told_by_estimators() -> None:
    x, y = TABLE[["age"]].to_numpy(), TABLE["ill"].to_numpy()
    model = PrivateClassifier(bounds=(0, 100), epsilon=None, rounds=2, size=10)
    with pytest.warns(UserWarning, match="size=10 is far from") as told:
        model.fit(x, y, groups=TABLE["site"])
    assert told[0].filename == __file__


@pytest.mark.parametrize("name", [0, None, ("age",)])
def test_columns_are_named_by_text(name: object) -> None:
    declared: dict = {"columns": {name: data.Numeric(0, 100)}, "epsilon": None}
    for fit in (
        lambda: tacit.glm("ill ~ age", TABLE, family="binomial", **declared),
        lambda: tacit.survival(TABLE, "years", "died", **declared),
        lambda: tacit.cox(TABLE, "years", "died", ["age"], limit=9.0, **declared),
    ):
        with pytest.raises(ConfigError, match=r"columns has the key .*rename\(columns=str\)"):
            fit()
    with pytest.raises(ProblemError, match=r"features has the key .* text"):
        data.Schema(declared["columns"], target=None)


def test_declarations_are_no_columns_of_a_schema() -> None:
    with pytest.raises(ProblemError, match=r"columns\['age'\] is a Numeric; .*columns_of\(schema"):
        data.parse_formula("ill ~ age", COLUMNS)
