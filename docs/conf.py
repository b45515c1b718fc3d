"""Settings of the documentation site: `make docs`."""

import importlib.metadata
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).parent))

project = "tacit"
author = "The tacit maintainers"
copyright = "the tacit maintainers, Apache-2.0"
release = importlib.metadata.version("tacit")

extensions = [
    "mathml",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
source_suffix = {".md": "markdown"}
default_role = "literal"  # docstrings write `x` for code

myst_enable_extensions = ["attrs_inline", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_attr_annotations = False  # shapes such as "*agents" are no markup
napoleon_use_ivar = True  # fields of data classes are not documented twice

highlight_language = "none"  # what docstrings indent is mostly no Python

html_theme = "furo"
html_title = "tacit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"footer_icons": []}


def _indented_is_literal(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Show as it is what a docstring indents after a sentence that ends in a colon."""
    sentence = re.compile(r"\S+ .*[^:]:$")
    for here, blank, below in zip(range(len(lines)), lines[1:], lines[2:], strict=False):
        deeper = len(below) - len(below.lstrip()) > len(lines[here]) - len(lines[here].lstrip())
        if sentence.search(lines[here]) and not blank.strip() and below.strip() and deeper:
            lines[here] += ":"


def _sources_are_linked(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Link every `Source:` of a docstring to the tables that are made of them."""
    lines[:] = [re.sub(r"(?<!\w)Source: ", ":doc:`Source </sources>`: ", line) for line in lines]


def _underscores_stay(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Keep the underscore that ends an attribute's name, where it would mark a reference."""
    lines[:] = [re.sub(r"^(:ivar \w+)_:", r"\1\\_:", line) for line in lines]


class TablesOfSources(SphinxDirective):
    """The tables from equations to code, made of every `Source:` of the package."""

    def run(self) -> list[Any]:
        from citation_tables import tables

        self.env.note_reread()
        return self.parse_text_to_nodes(tables(), allow_section_headings=True)


class ComparisonOfMethods(SphinxDirective):
    """The tables of all methods, made of what they answer when they are asked."""

    def run(self) -> list[Any]:
        from tacit.study._described.traits import HEADINGS, TABLES, methods, traits

        self.env.note_reread()
        lines: list[str] = []
        for title, columns in TABLES.items():
            rows = [["Method", *(HEADINGS[key] for key in columns)], ["---"] * (1 + len(columns))]
            for method in methods():
                found = traits(method)
                rows.append([_linked(method.__name__), *(getattr(found, key) for key in columns)])
            lines += ["", f"**{title}**", "", *(f"| {' | '.join(row)} |" for row in rows)]
        return self.parse_text_to_nodes("\n".join(lines))


class Planner(SphinxDirective):
    """The planner: a form and the scripts that compute, with what they ask of tacit."""

    def run(self) -> list[Any]:
        from planner_facts import page

        self.env.note_reread()
        return [nodes.raw("", page(), format="html")]


def _linked(method: str) -> str:
    """A method's name, with a link to the page that introduces it, or to the reference."""
    role = re.compile(rf"\{{py:class\}}`tacit\.(?:method|papers(?:\.\w+)+)\.{method}`")
    docs = Path(__file__).parent
    pages = {page.name: page for page in sorted((docs / "methods").glob("*.md"))}
    for statistics in ("counts.md", "regression.md", "survival.md", "table1.md"):
        pages[f"../{statistics}"] = docs / statistics
    places = {name: role.search(page.read_text(encoding="utf-8")) for name, page in pages.items()}
    found = {name: place.start() for name, place in places.items() if place}
    if found:
        return f"[{method}]({min(found, key=found.__getitem__)})"
    return f"{{py:class}}`tacit.method.{method}`"


def setup(app: Any) -> None:
    app.add_directive("comparison-of-methods", ComparisonOfMethods)
    app.add_directive("planner", Planner)
    app.add_directive("tables-of-sources", TablesOfSources)
    # before napoleon, which rewrites the sections
    app.connect("autodoc-process-docstring", _indented_is_literal, priority=400)
    app.connect("autodoc-process-docstring", _sources_are_linked, priority=401)
    # after it
    app.connect("autodoc-process-docstring", _underscores_stay, priority=600)
