"""Formulas over declared columns: `visits ~ age * C(sex) + bs(income, df=4) + offset(log(days))`.

formulaic parses the operators; what a factor means is decided here, because nothing may be taken
from the records: levels, bounds and knots are those that were declared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit import checks
from tacit.arguments import checked
from tacit.data.cells import Column, chosen
from tacit.data.design import Design, Term
from tacit.data.factors import Factor, Levels, Number, Offset, Spline, bounds_of
from tacit.errors import ProblemError

KNOWN = (
    "a column, C(column), C(column, reference='level'), bs(column, df=4), or once and alone "
    "offset(column) or offset(log(column))"
)
"""What a factor may be."""


@checked(ProblemError, own="columns")
def parse_formula(formula: str, columns: Mapping[str, Column]) -> tuple[Column, Design]:
    """The target and the design of a formula.

    Args:
        formula: `target ~ terms`, with `+`, `:`, `*`, `-` and parentheses as in R, and factors that
            are a column, `C(column)` or `bs(column, df=..., knots=[...], degree=3)`. The intercept
            stays. One term may be `offset(column)` or `offset(log(column))`, which is added as it
            is.
        columns: declared columns by name.

    Raises:
        ProblemError: a formula that cannot be read, a factor that is not known, or a column that is
            not declared.

    Example:
        >>> from tacit.data.cells import Column, Scale
        >>> age = Column("age", (), (0,), Scale(20.0, 60.0, 20.0, 40.0))
        >>> sex, ill = Column("sex", ("f", "m"), (1, 2)), Column("ill", ("no", "yes"), (3, 4))
        >>> target, design = parse_formula("ill ~ age * sex", {"age": age, "sex": sex, "ill": ill})
        >>> target.name, design.names
        ('ill', ('age', 'sex[T.m]', 'age:sex[T.m]', 'Intercept'))
    """
    if not isinstance(formula, str):
        raise ProblemError(
            f"formula={checks.shown(formula)} must be text such as 'visits ~ age + C(sex)'"
        )
    if not isinstance(columns, Mapping):
        raise ProblemError(
            f"columns={checks.shown(columns)} must map names to declared columns, as columns_of "
            "does"
        )
    for name, column in columns.items():
        if not isinstance(column, Column):
            raise ProblemError(
                f"columns[{name!r}] is {checks.shown(column)}; give the columns of a schema: "
                "data.columns_of(schema)"
            )
    left, right = _terms(formula)
    if len(left) != 1 or len(left[0]) != 1:
        raise ProblemError(
            f"formula={formula!r}: the left side must be one column; transform the target in the "
            "data instead"
        )
    named = _parsed(left[0][0])
    if not isinstance(named, ast.Name):
        raise ProblemError(
            f"formula={formula!r}: the left side, {left[0][0]!r}, must be a column alone; "
            "transform the target in the data instead"
        )
    target = chosen(columns, named.id)
    return target, _design(formula, right, columns)


def _design(formula: str, right: list[list[str]], columns: Mapping[str, Column]) -> Design:
    """The design of the right side of a formula."""
    if [] not in right:
        raise ProblemError(
            f"formula={formula!r} leaves out the intercept, without which the bounds of the "
            "records cannot be undone; leave it in"
        )
    known = [factors for factors in right if any(map(_is_offset, factors))]
    if len(known) > 1 or any(len(factors) > 1 for factors in known):
        raise ProblemError(
            f"formula={formula!r}: an offset stands once and alone; add several up in one declared "
            "column of the data, and leave it out of interactions"
        )
    terms = [
        Term(tuple(_factor(each, columns) for each in factors))
        for factors in right
        if factors and factors not in known
    ]
    if not terms:
        raise ProblemError(
            f"formula={formula!r} has no terms but the intercept; a mean needs no regression"
        )
    return Design(tuple(terms), _offset(known[0][0], columns) if known else None)


@checked(ProblemError, own="columns")
def parse_terms(terms: str, columns: Mapping[str, Column]) -> Design:
    """The design of the right side of a formula, without an offset.

    Args:
        terms: right side of a formula, as for `parse_formula`.
        columns: declared columns by name, at least one.

    Raises:
        ProblemError: as for `parse_formula`, or an offset.

    Example:
        >>> from tacit.data.cells import Column, Scale
        >>> age = Column("age", (), (0,), Scale(20.0, 60.0, 20.0, 40.0))
        >>> parse_terms("bs(age, df=3)", {"age": age}).names
        ('bs(age, df=3)[0]', 'bs(age, df=3)[1]', 'bs(age, df=3)[2]', 'Intercept')
    """
    if not isinstance(columns, Mapping) or not columns:
        raise ProblemError(
            f"columns={checks.shown(columns)} must map names to declared columns, as columns_of "
            "does"
        )
    if not isinstance(terms, str) or not terms.strip() or "~" in terms:
        raise ProblemError(
            f"terms={checks.shown(terms)} must be the right side of a formula alone, such as "
            "'age * C(sex)'"
        )
    design = _design(terms, _terms(f"1 ~ {terms}")[1], columns)
    if design.offset is not None:
        raise ProblemError(f"terms={terms!r}: an offset is for regressions; leave it out")
    return design


def named_in(formula: str) -> dict[str, bool]:
    """The columns that a formula names, the target first, and whether it takes each by its levels.

    Raises:
        ProblemError: a formula that cannot be read, or has its target on both sides.

    Example:
        >>> named_in("visits ~ age * C(sex)")
        {'visits': False, 'age': False, 'sex': True}
    """
    sides = [[each for term in side for each in term] for side in _terms(formula)]
    found: dict[str, bool] = {}
    for right, text in ((right, text) for right, side in enumerate(sides) for text in side):
        called = _parsed(text)
        levels = False
        if isinstance(called, ast.Call) and called.args:
            if right and ast.unparse(called.func) not in ("C", "bs", "offset"):
                raise _unknown(text)
            levels = isinstance(called.func, ast.Name) and called.func.id == "C"
            logged = _logged(called.args[0]) if _is_offset(text) else None
            called = called.args[0] if logged is None else logged
        if not isinstance(called, ast.Name):
            raise _unknown(text)
        if right and called.id == next(iter(found), None):
            raise ProblemError(
                f"formula={formula!r} has its target {called.id!r} on the right of ~ as well; "
                "leave it out there"
            )
        found[called.id] = levels or found.get(called.id, False)
    return found


def _parsed(text: str) -> ast.expr:
    """A factor as an expression; names in backticks may hold anything."""
    names = re.findall(r"`([^`]*)`", text)
    numbered = iter(range(len(names)))
    plain = re.sub(r"`[^`]*`", lambda _: f"_quoted_{next(numbered)}_", text)
    try:
        node = ast.parse(plain, mode="eval").body
    except SyntaxError:
        return ast.Name(text)
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and (found := re.fullmatch(r"_quoted_(\d+)_", each.id)):
            each.id = names[int(found[1])]
    return node


def _terms(formula: str) -> tuple[list[list[str]], list[list[str]]]:
    """Factors of each term on both sides; none for the intercept."""
    example = "such as 'visits ~ age + C(sex)'"
    if "~" not in formula:
        raise ProblemError(
            f"formula={formula!r} has no ~; write it between the target and the columns, {example}"
        )
    if "." in re.sub(r"[A-Za-z_0-9]\.|\.[A-Za-z_0-9]|`[^`]*`|'[^']*'|\"[^\"]*\"", "", formula):
        raise ProblemError(f"formula={formula!r}: name every column, not `.`")
    try:
        from formulaic import Formula
        from formulaic.errors import FormulaicError
        from formulaic.parser import DefaultFormulaParser
    except ModuleNotFoundError:
        raise ProblemError(
            "formulas need the package formulaic: pip install 'tacit[formula]'"
        ) from None
    try:
        # its metaclass makes objects of other classes, which type checkers do not see
        parsed: Any = Formula
        read = parsed(formula)
        tree = DefaultFormulaParser().get_ast(formula)
    except SyntaxError as error:
        raise _unknown((error.text or formula).strip()) from None
    except (FormulaicError, AttributeError, ValueError) as error:
        if re.search(r"\([^()]*\|[^()]*\)", formula):
            raise ProblemError(
                f"formula={formula!r}: random effects, as in (1|site), are not available; leave "
                "them out, or take the site as a column of the data"
            ) from None
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ProblemError(
            f"formula={formula!r} cannot be read: {reason}; a name with blanks or brackets stands "
            "in backticks, as in `CRP (mg/l)`"
        ) from None
    if not hasattr(read, "lhs"):
        raise ProblemError(
            f"formula={formula!r} names no target; write it to the left of ~, {example}"
        )
    _check_powers(tree, formula)
    left, right = read.lhs, read.rhs
    sides: list[list[list[str]]] = []
    for side in (left, right):
        try:
            factors = [[_written(factor) for factor in term.factors] for term in side]
        except (AttributeError, TypeError):
            raise ProblemError(
                f"formula={formula!r} has several parts (`|`); write one model"
            ) from None
        sides.append([[each for each in term if each != "1"] for term in factors])
    return sides[0], sides[1]


def _check_powers(tree: Any, formula: str) -> None:
    """Refuse a factor times itself: products are interactions, so that it would be the factor."""
    args = list(getattr(tree, "args", ()))
    for each in args:
        _check_powers(each, formula)
    if len(args) != 2 or hasattr(args[0], "args"):
        return
    factor, symbol, other = str(args[0]), tree.operator.symbol, str(args[1])
    if symbol in ("**", "^") or (symbol in ("*", ":") and other == factor):
        raise ProblemError(
            f"formula={formula!r}: {factor}{symbol}{other} is an interaction of {factor} with "
            f"itself, which is {factor}; compute a power into a declared column of the data, or "
            f"take bs({factor}, df=4) for a curve"
        )


def _written(factor: Any) -> str:
    """A factor as text, with the name of a column in backticks, which formulaic takes off."""
    return f"`{factor.expr}`" if factor.eval_method.value == "lookup" else factor.expr


def _factor(text: str, columns: Mapping[str, Column]) -> Factor:
    """One factor, over a declared column."""
    node = _parsed(text)
    if isinstance(node, ast.Name):
        column = chosen(columns, node.id)
        return Levels(column) if column.levels else Number(column)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
        raise _unknown(text)
    name = node.args[0]
    if not isinstance(name, ast.Name):
        raise _unknown(text)
    column = chosen(columns, name.id)
    try:
        given = {str(each.arg): ast.literal_eval(each.value) for each in node.keywords}
        more = [_reference(each) for each in node.args[1:]]
    except (ValueError, TypeError):
        raise _unknown(text) from None
    if node.func.id == "C" and len(more) <= 1 and set(given) <= {"reference"}:
        reference = more[0] if more else given.get("reference")
        return Levels(column, None if reference is None else str(reference))
    if node.func.id == "bs" and not more and set(given) <= {"df", "knots", "degree"}:
        return _spline(text, column, **given)
    raise _unknown(text)


def _is_offset(text: str) -> bool:
    node = _parsed(text)
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "offset"


def _offset(text: str, columns: Mapping[str, Column]) -> Offset:
    """What is added to the linear predictor as it is."""
    node = _parsed(text)
    assert isinstance(node, ast.Call)
    if len(node.args) != 1 or node.keywords:
        raise _unknown(text)
    logged = _logged(node.args[0])
    name = node.args[0] if logged is None else logged
    if not isinstance(name, ast.Name):
        raise _unknown(text)
    return Offset(chosen(columns, name.id), logged is not None)


def _logged(node: ast.expr) -> ast.expr | None:
    """What a logarithm is taken of, also as NumPy writes it."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    return node.args[0] if ast.unparse(node.func) in ("log", "np.log") else None


def _reference(node: ast.expr) -> Any:
    """`Treatment("a")` and `contr.treatment("a")` name a reference, as in statsmodels and R."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        called = ast.unparse(node.func)
        if called in ("Treatment", "contr.treatment"):
            return ast.literal_eval(node.args[0])
    raise ValueError


def _spline(
    text: str, column: Column, df: Any = None, knots: Any = None, degree: Any = 3
) -> Spline:
    if (df is None) == (knots is None):
        raise ProblemError(f"{text}: give df (number of columns) or knots, one of them")
    if not isinstance(degree, int):
        raise ProblemError(f"{text}: degree={degree!r} must be a whole number")
    if knots is None:
        if not isinstance(df, int) or df < degree:
            raise ProblemError(f"{text}: df={df!r} must be a whole number from degree={degree}")
        Number(column)
        low, high = bounds_of(column)
        knots = np.linspace(low, high, df - degree + 2)[1:-1].tolist()
    inner = np.atleast_1d(np.asarray(knots, dtype=float))
    return Spline(column, tuple(inner.tolist()), degree, text)


def _unknown(text: str) -> ProblemError:
    return ProblemError(
        f"factor {text!r} is not known: a factor is {KNOWN}; compute anything else into a declared "
        "column of the data. A name that is no single word stands in backticks: `Age (years)`"
    )
