"""Every formula of the site is typeset, and nothing but a browser is needed to read it."""

import re
from pathlib import Path

import pytest
from math_core import LatexError
from mathml import keep_on_a_line, mathml

DOCS = Path(__file__).parents[2] / "docs"


def pages() -> list[Path]:
    return sorted(page for page in DOCS.rglob("*.md") if "api" not in page.parts)


@pytest.mark.site
def test_every_formula_of_a_page_is_typeset(site: Path) -> None:
    written = 0
    for page in pages():
        text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
        blocks = len(re.findall(r"(?m)^\$\$.*$", text)) // 2
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
