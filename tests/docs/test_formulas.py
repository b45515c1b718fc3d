"""Every formula of the site is typeset, and nothing but a browser is needed to read it."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from math_core import LatexError
from mathml import keep_on_a_line, mathml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FORMULA = re.compile(r"(?m)^( *)\.\. math::.*\n(?:\1 +.*\n|\n)*")


def pages() -> list[Path]:
    return sorted(page for page in DOCS.rglob("*.md") if "api" not in page.parts)


@pytest.mark.site
def test_every_formula_of_a_page_is_typeset(site: Path) -> None:
    written = 0
    for page in pages():
        text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
        blocks = len(re.findall(r"(?m)^ *\$\$.*$", text)) // 2
        html = (site / page.relative_to(DOCS)).with_suffix(".html").read_text(encoding="utf-8")
        assert html.count('<math display="block"') == blocks, page.name
        assert "$" not in re.sub(r"(?s)<(pre|code|script|style)\b.*?</\1>", "", html), page.name
        written += blocks
    assert written > 50


@pytest.mark.parametrize("formula", [r"\fraction{1}{2}", r"\frac{1}{2", r"x_1_2"])
def test_a_formula_that_is_none_is_refused(formula: str) -> None:
    with pytest.raises(LatexError):
        mathml(formula, display=True)


def test_lines_of_a_formula_stand_below_each_other() -> None:
    assert mathml(r"a &= b \\ c &= d", display=True).count("<mtr") == 2


def test_a_prime_is_no_superscript_but_a_power_is() -> None:
    assert "<msup" not in mathml("f'(x)", display=False)
    assert "<msub>" in mathml("x_i'", display=False)
    assert "<msup>" in mathml("x^2", display=False)


def test_a_formula_stays_with_what_it_touches_and_no_text_is_lost() -> None:
    from docutils import nodes

    paragraph = nodes.paragraph()
    paragraph += [nodes.Text("a"), nodes.strong("", "b"), nodes.Text(", "), nodes.strong("", "c")]
    paragraph += [nodes.Text(" ("), nodes.math("", "x"), nodes.Text(", "), nodes.math("", "y")]
    paragraph += [nodes.Text("), d")]
    text = paragraph.astext()
    keep_on_a_line(paragraph)
    assert paragraph.astext() == text
    kept = [node.astext() for node in paragraph.findall(nodes.inline)]
    assert kept == ["(x,", "y),"]


def docstrings() -> Iterator[tuple[str, str]]:
    """Every docstring of the package, with the file that it stands in."""
    for file in sorted((ROOT / "tacit").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield str(file.relative_to(ROOT)), ast.get_docstring(node) or ""


def test_docstrings_have_latex_in_blocks_above_their_sections_only() -> None:
    """The terminal shows first lines and arguments."""
    formulas = 0
    for file, text in docstrings():
        above, _, sections = text.partition("\nArgs:")
        rest, found = FORMULA.subn("", above)
        prose = re.sub(r"(?m)^ *(>>>|\.\.\.) .*$", "", rest + sections)
        assert not re.search(r"\\[A-Za-z]{2}|:math:|\.\. math", prose), (file, prose)
        formulas += found
    assert formulas > 25


@pytest.mark.slow
def test_nothing_that_describe_says_is_latex() -> None:
    from tacit.study._described.catalogue import METHODS
    from tacit.study._described.describe import document

    for entry in METHODS.values():
        shown = json.dumps(document(entry), default=str).replace("\\n", " ")
        assert "math::" not in shown and not re.search(r"\\\\[A-Za-z]{3}", shown), entry.name


def test_pages_have_no_formula_in_plain_text() -> None:
    plain = re.compile(r"<-|\b(?:sum|prod|prox|mean)_(?!noise)|\bsqrt\b|\bargmin\b|\^\(|\|\|")
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for written in (
            r"(?ms)^```(?:python|console|toml|sh|json)\n.*?^```$",
            r"(?s)\$\$.*?\$\$|\$.*?\$",
        ):
            text = re.sub(written, "", text)
        found = plain.search(text)
        assert not found, (page.name, text[found.start() - 60 : found.end() + 60])


@pytest.mark.site
def test_no_docstring_is_shown_as_a_quotation(site: Path) -> None:
    """What a docstring indents is code or steps of an algorithm, whose lines must not be joined."""
    reference = sorted((site / "api").rglob("*.html"))
    assert reference
    for page in reference:
        assert "<blockquote" not in page.read_text(encoding="utf-8"), page.name
