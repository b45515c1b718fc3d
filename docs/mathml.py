"""Formulas of the site as MathML, which browsers draw by themselves: no script, no network."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

_LOG = logging.getLogger(__name__)
_CONVERTER = LatexToMathML(fancy_error=False)
_PRIMES = re.compile("[\u2032-\u2034]")


def mathml(latex: str, *, display: bool) -> str:
    r"""A formula as MathML.

    Args:
        latex: The formula, without dollar signs. Lines that end in `\\` stand below each other,
            aligned at `&`.
        display: Whether it stands by itself.

    Raises:
        LatexError: There is a command that is not known, or braces do not match.
    """
    lines = r"\\" in latex and r"\begin{" not in latex
    whole = rf"\begin{{aligned}}{latex}\end{{aligned}}" if lines else latex
    found = _CONVERTER.convert_with_local_state(whole, displaystyle=display)
    tree = ElementTree.fromstring(found.replace("&ApplyFunction;", "\u2061"))
    for element in tree.iter():
        _lower_prime(element)
    return ElementTree.tostring(tree, encoding="unicode")


def _lower_prime(element: ElementTree.Element) -> None:
    """Set a prime beside its letter: as a superscript Chromium makes it tiny, whatever the font."""
    last = element[-1] if len(element) else element
    if element.tag not in ("msup", "msubsup") or last.tag != "mo" or not last.text:
        return
    if _PRIMES.fullmatch(last.text):
        last.attrib.update(form="postfix", lspace="0", rspace="0")
        body = element[:-1]
        if element.tag == "msubsup":
            below = ElementTree.Element("msub")
            below.extend(body)
            body = [below]
        element.tag = "mrow"
        element[:] = [*body, last]


def _converted(node: nodes.Element, *, display: bool) -> str:
    latex = node.astext()
    try:
        return mathml(latex, display=display)
    except LatexError as error:
        # the site is built with warnings as errors
        _LOG.warning("no formula: %s in %r", error, latex, location=node)
        return ""


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_converted(node, display=False))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(_converted(node, display=True))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def keep_on_a_line(tree: nodes.Element) -> None:
    """Keep a formula and what it touches on one line: browsers break even before a full stop."""
    for formula in list(tree.findall(nodes.math)):
        parent = formula.parent
        place = parent.index(formula)
        kept = nodes.inline("", "", formula, classes=["nobreak"])
        # by place, as equal texts are equal to `index` and `replace`
        if place and isinstance(parent[place - 1], nodes.Text):
            before = parent[place - 1].astext()
            touching = re.search(r"\S*\Z", before)[0]
            parent[place - 1] = nodes.Text(before.removesuffix(touching))
            kept.insert(0, nodes.Text(touching))
        if place + 1 < len(parent) and isinstance(parent[place + 1], nodes.Text):
            after = parent[place + 1].astext()
            touching = re.match(r"\S*", after)[0]
            parent[place + 1] = nodes.Text(after.removeprefix(touching))
            kept += nodes.Text(touching)
        parent[place] = kept


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("doctree-resolved", lambda app, tree, name: keep_on_a_line(tree))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
