"""A fitted regression in hand and from its file: what it prints, cites and draws."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import data
from tacit.errors import ConfigError, PrivacyError, ProblemError
from tacit.method import PrivateGLM, load_regression
from tacit.method.answer import REPEATED
from tacit.statistics import Regression

pytestmark = pytest.mark.long

DECLARED = {"age": data.Numeric(20, 80), "ill": data.Boolean()}


def visits(records: int = 6000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"site": rng.choice(["a", "b", "c"], records), "age": rng.uniform(20, 80, records)}
    )
    table["ill"] = rng.random(records) < 1 / (1 + np.exp(3 - 0.05 * table["age"]))
    return table


@cache
def fitted(records_per_person: int = 1) -> Regression:
    return tacit.glm(
        "ill ~ age",
        visits(),
        columns=DECLARED,
        family="binomial",
        epsilon=3.0,
        records_per_person=records_per_person,
        seed=0,
    )


def test_what_a_fit_can_do_its_file_can_do(tmp_path: Path) -> None:
    fit = fitted()
    fit.save(tmp_path / "fit.json")
    loaded = load_regression(tmp_path / "fit.json")
    assert loaded.cite() == fit.cite() == fit.result.cite() and "@misc{tacit," in fit.cite()
    assert fit.result.papers and loaded.papers == fit.result.papers
    assert loaded.to_latex() == fit.to_latex()
    assert loaded.summary() == fit.summary() and loaded.guarantee == str(fit.guarantee)
    assert loaded.to_frame().equals(fit.to_frame())
    assert loaded.conf_int(0.9).equals(fit.conf_int(0.9))
    drawn = [tacit.plot.coefficients(each).to_json() for each in (fit, loaded, fit.result)]
    assert drawn[0] == drawn[1] == drawn[2]


def test_a_file_per_site_may_have_decimal_commas(tmp_path: Path) -> None:
    paths: dict[str, Path] = {}
    for site, table in visits().groupby("site"):
        paths[str(site)] = tmp_path / f"{site}.csv"
        table.drop(columns="site").to_csv(paths[str(site)], sep=";", decimal=",", index=False)
    given: dict[str, Any] = {"columns": DECLARED, "family": "binomial", "epsilon": 3.0, "seed": 0}
    fit = tacit.glm("ill ~ age", paths, decimal=",", **given)
    np.testing.assert_allclose(fit.table.values, fitted().table.values, rtol=1e-12)


def test_latex_has_what_a_paper_prints() -> None:
    fit = fitted()
    text = fit.to_latex(ratios=True, errors=True)
    assert "Odds ratio & 2.5 \\% & 97.5 \\%" in text and "Privacy" in text
    row = fit.to_frame().iloc[1]
    assert f"{row['odds_ratio']:#.4g}" in text and f"{row['privacy_error']:#.4g}" in text
    said = "6,000 records; (3, 1e-6)-DP per record, proved, simulated noise"
    assert said in text.replace("$", "")
    assert "Odds" not in fit.to_latex() and "6,000" not in fit.table.to_latex()


@pytest.mark.parametrize("given", [{"ratios": "a"}, {"errors": 1}])
def test_flags_of_a_printed_table_are_true_or_false(given: dict[str, Any]) -> None:
    fit = fitted()
    ((name, value),) = given.items()
    for made in (fit, fit.table):
        with pytest.raises(ConfigError, match=f"{name}={value!r} must be True or False"):
            made.to_latex(**given)
    guarantee = fit.guarantee
    assert guarantee is not None
    for told in (guarantee, guarantee.worst):
        with pytest.raises(PrivacyError, match="assumptions='no' must be True or False"):
            told.sentence(assumptions="no")  # pyright: ignore[reportArgumentType]


def test_a_record_without_a_value_has_no_prediction(tmp_path: Path) -> None:
    fitted().save(tmp_path / "fit.json")
    found = load_regression(tmp_path / "fit.json").predict(pd.DataFrame({"age": [40.0, np.nan]}))
    assert found.isna().all(axis=1).tolist() == [False, True]


def test_a_family_by_another_name_is_answered_with_its_own() -> None:
    design = fitted().design
    with pytest.raises(ConfigError, match="did you mean 'binomial'"):
        PrivateGLM(design, design.columns[0], "logistic")
    with pytest.raises(ConfigError, match="did you mean 'poisson'"):
        PrivateGLM(design, design.columns[0], "Poisson")


def test_a_misspelt_declaration_is_refused() -> None:
    declared = {**DECLARED, "Age": data.Numeric(0, 1)}
    with pytest.raises(ProblemError, match=r"columns declares 'Age', which is not .* mean 'age'"):
        tacit.glm("ill ~ age", visits(), columns=declared, family="binomial")


def test_a_person_with_several_records_is_protected_and_errors_say_what_they_take(
    tmp_path: Path,
) -> None:
    once, twice = fitted(), fitted(2)
    worst = twice.guarantee.worst
    assert (worst.unit.value, worst.records_per_person) == ("person", 2)
    assert abs(worst.epsilon - 3.0) < 1e-3
    error = [float(fit.table.privacy[1, 1]) for fit in (once, twice)]
    assert error[1] > 2.0 * error[0]
    assert REPEATED in twice.table.sentence() and REPEATED not in once.table.sentence()
    twice.save(tmp_path / "fit.json")
    assert REPEATED in load_regression(tmp_path / "fit.json").table.sentence()


def test_an_unknown_level_is_answered_with_what_can_be_done_now() -> None:
    table = visits(300)
    table["arm"] = np.resize(["placebo", "drug A"], len(table))
    declared = {**DECLARED, "arm": data.Categorical(["placebo", "drug A"])}
    fit = tacit.glm("ill ~ arm", table, columns=declared, family="binomial", epsilon=99.0, seed=0)
    for given, said in (
        (
            "Placebo",
            r"\('placebo', 'drug A'\) .*; did you mean 'placebo'\? The fit knows no others: put",
        ),
        ("drug C", r"\('placebo', 'drug A'\) .*; the fit knows no others: put one of them in its"),
    ):
        for call in (fit.predict, fit.model.moved):
            with pytest.raises(ProblemError, match=said) as caught:
                call(table.assign(arm=given))
            assert "map =" not in str(caught.value)


@pytest.mark.parametrize("number", ["NaN", "Infinity"])
def test_a_file_with_a_number_that_is_none_is_damaged(tmp_path: Path, number: str) -> None:
    fit = fitted()
    fit.save(path := tmp_path / "fit.json")
    value = repr(float(fit.result.answer.values[0]))
    text = path.read_text()
    assert text.count(value) == 1
    path.write_text(text.replace(value, number))
    with pytest.raises(ProblemError, match="is damaged: a number in it is not finite"):
        load_regression(path)
