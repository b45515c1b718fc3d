"""Columns of a regression: bounds, names, and the way back to the units of the data."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import patsy
import pytest

from tacit import data
from tacit.data.cells import Column, columns_of
from tacit.data.design import Design, Term, design_of
from tacit.data.factors import Levels, Number, Spline
from tacit.data.formula import named_in, parse_formula
from tacit.errors import ProblemError

SCHEMA = data.Schema(
    {
        "age": data.Numeric(20, 60),
        "income": data.Numeric(0, 10, to=(0, 1)),
        "sex": data.Categorical(["f", "m", "x"]),
        "ill": data.Boolean(),
    },
    target=None,
    intercept=False,
)
COLUMNS = columns_of(SCHEMA)


def record(age: float, income: float, sex: str, ill: bool = False) -> Any:
    """A record as `prepare` makes it."""
    import pandas as pd

    table = pd.DataFrame({"age": [age], "income": [income], "sex": [sex], "ill": [ill]})
    return data.prepare(table, SCHEMA).features[0]


def row(design: Design, values: Any) -> Any:
    with jax.enable_x64(True):
        return np.asarray(design.values(jnp.asarray(values)))


def test_a_row_is_within_its_bounds_and_named() -> None:
    design = design_of([COLUMNS["age"], COLUMNS["sex"]])
    assert design.names == ("age", "sex[T.m]", "sex[T.x]", "Intercept")
    np.testing.assert_allclose(row(design, record(50, 1, "x")), [0.5, 0, 1, 1])
    assert design.longest == pytest.approx(np.sqrt(3.0))
    assert design.typical == pytest.approx(np.sqrt(1.0 + 1.0 / 3.0 + 2.0 / 3.0))


@pytest.mark.parametrize(
    "formula",
    [
        "ill ~ age + C(sex, reference='x')",
        "ill ~ age * income * sex",
        "ill ~ income + bs(age, df=5) * sex",
    ],
)
def test_coefficients_in_the_units_of_the_data_give_the_same_predictor(formula: str) -> None:
    _, design = parse_formula(formula, COLUMNS)
    rng = np.random.default_rng(0)
    scaled = rng.normal(size=design.width)
    natural = dict(zip(design.names, design.natural(scaled), strict=True))
    for _ in range(20):
        age, income = rng.uniform(20, 60), rng.uniform(0, 10)
        sex = str(rng.choice(["f", "m", "x"]))
        values = record(age, income, sex)
        found = row(design, values)
        assert np.linalg.norm(found) <= design.longest + 1e-12
        predictor = 0.0
        own = {"age": age, "income": income, "Intercept": 1.0}
        own |= {f"sex[T.{level}]": float(level == sex) for level in "fmx"}
        spline = next((t.factors[0] for t in design.terms if t.names[0].startswith("bs")), None)
        if spline is not None:
            with jax.enable_x64(True):
                basis = np.asarray(spline.values(jnp.asarray(values)))
            own |= dict(zip(spline.names, basis, strict=True))
        for name, coefficient in natural.items():
            predictor += coefficient * np.prod([own[part] for part in name.split(":")])
        assert predictor == pytest.approx(found @ scaled, abs=1e-9)


def test_splines_are_those_of_patsy_with_knots_between_the_bounds() -> None:
    spline = Spline(COLUMNS["income"], (2.0, 7.0))
    points = np.linspace(0, 10, 41)
    with jax.enable_x64(True):
        mine = np.array(
            [np.asarray(spline.values(jnp.asarray(record(30, x, "f")))) for x in points]
        )
    theirs = patsy.dmatrix("bs(x, knots=(2, 7), lower_bound=0, upper_bound=10) - 1", {"x": points})
    np.testing.assert_allclose(mine, np.asarray(theirs), atol=1e-12)


def test_a_missing_value_leaves_no_number() -> None:
    design = design_of([COLUMNS["age"], COLUMNS["sex"]])
    values = record(30, 1, "f")
    values[list(COLUMNS["sex"].places)] = 0.0
    assert np.isnan(row(design, values)[1:3]).all()


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("ill ~ age:income", "write age\\*income"),
        ("ill ~ log(age)", "log\\(age\\)"),
        ("ill ~ height", "'height'"),
        ("ill ~ age - 1", "intercept"),
        ("ill ~ 1", "no terms"),
        (3, "must be text"),
        ("ill", "has no ~; write it between"),
        ("ill = age", "has no ~; write it between"),
        ("~ age", "names no target; write it to the left of ~"),
        ("log(ill) ~ age", "the left side, 'log\\(ill\\)', must be a column alone"),
        ("ill ~ age + __import__('os').system('id')", "system.* is not known: a factor is"),
        ("ill ~ age**2", r"age\*\*2 is an interaction of age with itself, which is age; compute"),
        ("ill ~ sex + (`age`)^2", r"age\^2 is an interaction of age"),
        ("ill ~ age*age", r"age\*age is an interaction"),
        ("ill ~ sex + age:age", r"age:age is an interaction"),
        ("ill ~ age +", "cannot be read"),
        ("ill ~ .", "name every column"),
        ("ill ~ age | sex", "several parts"),
        ("ill + sex ~ age", "one column"),
        ("ill ~ C(age)", "without C"),
        ("ill ~ C(sex, reference='q')", "f, m, x"),
        ("ill ~ C(sex, Sum)", "not known"),
        ("ill ~ bs(sex, df=4)", "write C\\(sex\\)"),
        ("ill ~ bs(age, df=2)", "df=2"),
        ("ill ~ bs(age)", "give df"),
        ("ill ~ bs(age, knots=[70])", "between its bounds"),
        ("ill ~ bs(age, df=9, degree=7)", "degree=7"),
        ("ill ~ bs(age, df=4, degree='a')", "degree='a'"),
        ("ill ~ age + offset(sex)", "'sex' has levels"),
        ("ill ~ age + offset(log(income))", "'income' may be 0"),
        ("ill ~ age + offset(exp(age))", "offset\\(log\\(column\\)\\)"),
        ("ill ~ age + offset(age, 2)", "not known"),
        ("ill ~ age + offset(height)", "'height'"),
        ("ill ~ age + age:offset(income)", "once and alone"),
        ("ill ~ age + offset(age) + offset(income)", "once and alone"),
        ("ill ~ offset(age)", "no terms"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(formula: Any, told: str) -> None:
    with pytest.raises(ProblemError, match=told):
        parse_formula(formula, COLUMNS)


def test_references_may_be_written_as_in_statsmodels_and_r() -> None:
    for text in ("Treatment('m')", "contr.treatment('m')", "Treatment(reference='m')"):
        if "reference" in text:
            with pytest.raises(ProblemError, match="not known"):
                parse_formula(f"ill ~ C(sex, {text})", COLUMNS)
            continue
        _, design = parse_formula(f"ill ~ C(sex, {text})", COLUMNS)
        assert design.names == ("sex[T.f]", "sex[T.x]", "Intercept")


@pytest.mark.parametrize(
    ("written", "added"), [("offset(income)", 2.5), ("offset(log(age))", np.log(40.0))]
)
def test_an_offset_is_added_in_the_units_of_the_data(written: str, added: float) -> None:
    formula = f"ill ~ C(sex) + {written}"
    _, design = parse_formula(formula, COLUMNS)
    assert design.names == ("sex[T.m]", "sex[T.x]", "Intercept") and len(design.columns) == 2
    assert list(named_in(formula)) == ["ill", "sex", written.split("(")[-1].rstrip(")")]
    with jax.enable_x64(True):
        found = float(design.added(jnp.asarray(record(40.0, 2.5, "f"))))
        assert float(design_of([COLUMNS["age"]]).added(jnp.zeros(9))) == 0.0
    assert found == pytest.approx(added, rel=1e-12)
    assert design.offset is not None
    centre, half = design.offset.moved
    assert -1.0 <= (found - centre) / half <= 1.0


def test_a_column_that_stands_twice_is_refused() -> None:
    with pytest.raises(ProblemError, match="twice"):
        Design((Term((Number(COLUMNS["age"]),)), Term((Number(COLUMNS["age"]),))))
    with pytest.raises(ProblemError, match="one level"):
        Levels(Column("only", ("a",), (0,)))


def test_a_name_that_is_not_one_word_stands_in_backticks() -> None:
    odd = data.Schema(
        {
            "âge (ans)": data.Numeric(20, 60),
            "C(x)": data.Categorical(["f", "m"]),
            "ill or not": data.Boolean(),
        },
        target=None,
        intercept=False,
    )
    formula = "`ill or not` ~ bs(`âge (ans)`, df=4) + `âge (ans)` * C(`C(x)`, reference='m')"
    assert named_in(formula) == {"ill or not": False, "âge (ans)": False, "C(x)": True}
    target, design = parse_formula(formula, columns_of(odd))
    assert target.name == "ill or not"
    assert {"âge (ans)", "C(x)[T.f]", "âge (ans):C(x)[T.f]"} < set(design.names)


def test_a_power_of_several_columns_is_their_interactions() -> None:
    plain = parse_formula("ill ~ age * sex", COLUMNS)[1]
    assert parse_formula("ill ~ (age + sex)**2", COLUMNS)[1].names == plain.names
