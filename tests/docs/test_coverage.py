"""The documentation site builds without a warning and has every public symbol of tacit.

The site is built once, in `make check`, which runs the tests that are marked `site` (conftest.py).
"""

import importlib
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path

import api_tables
import pytest
import study_keys

import tacit
from tacit.study._sections.common import RunSection

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def documented(site: Path) -> set[str]:
    """Full names of all Python objects on the site."""
    from sphinx.util.inventory import InventoryFile

    with (site / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, path: path)
    return {name for kind, objects in inventory.items() if "py:" in kind for name in objects}


def public_names() -> set[str]:
    """Full name of every public symbol: `__all__` of packages, definitions of top-level modules."""
    names = {
        f"tacit.{name}"
        for name in tacit.__all__
        if getattr(getattr(tacit, name), "__module__", "").startswith(
            "tacit._"
        )  # others have a public home
    }
    for found in pkgutil.iter_modules(tacit.__path__, "tacit."):
        if found.name.startswith("tacit._"):
            continue
        module = importlib.import_module(found.name)
        if hasattr(module, "__all__"):
            names |= {f"{found.name}.{name}" for name in module.__all__}
            continue
        # the command line offers commands, no names to import
        assert not found.ispkg or found.name == "tacit.cli", f"{found.name} has no __all__"
        names |= {
            f"{found.name}.{name}"
            for name, value in vars(module).items()
            if not name.startswith("_")
            and (inspect.isclass(value) or inspect.isfunction(value))
            and value.__module__ == found.name
        }
    return names


@pytest.mark.site
def test_every_public_symbol_stands_on_the_site(site: Path) -> None:
    names = public_names()
    assert "tacit.privacy.Privacy" in names
    assert sorted(names - documented(site)) == []


@pytest.mark.site
def test_references_in_pages_lead_somewhere(site: Path) -> None:
    known = documented(site)
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    used = set(re.findall(r"\{py:\w+\}`([\w.]+)`", pages))
    assert used
    assert sorted(used - known) == []


@pytest.mark.site
def test_every_method_stands_in_the_comparison(site: Path) -> None:
    from tacit.study._described.traits import HEADINGS, TABLES, methods

    page = (site / "methods" / "index.html").read_text(encoding="utf-8")
    tables = re.findall(r"<table.*?</table>", page, re.DOTALL)
    # the first table says where to begin, the last explains the columns of the others
    for columns, table in zip(TABLES.values(), tables[1:-1], strict=True):
        rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        assert len(rows) == 1 + len(methods())
        assert all(HEADINGS[column] in rows[0] for column in columns)
        unlinked = [
            method.__name__
            for method, row in zip(methods(), rows[1:], strict=True)
            if f">{method.__name__}</span></a>" not in row or 'href="#' in row
        ]
        assert unlinked == [], "name each with {py:class} and its full name on its page"


def test_every_method_stands_on_the_map() -> None:
    page = (DOCS / "methods" / "index.md").read_text(encoding="utf-8")
    begin, _, _ = page.partition("## All of them")
    linked = set(re.findall(r"\]\((\w+)\.md", begin))
    assert linked == {path.stem for path in (DOCS / "methods").glob("*.md")} - {"index"}


@pytest.mark.site
def test_the_site_asks_no_other_server_for_anything(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|img|link|iframe)\b[^>]*(?:src|href)=\"((?:https?:)?//[^\"]*)",
            page.read_text(encoding="utf-8"),
        )
        assert loaded == [], page.name


def test_every_public_symbol_has_a_docstring() -> None:
    bare: list[str] = []
    for name in public_names():
        module, _, attribute = name.rpartition(".")
        value = getattr(importlib.import_module(module), attribute)
        described = inspect.isclass(value) or inspect.isroutine(value)
        if described and not (value.__doc__ or "").strip():
            bare.append(name)
    assert sorted(bare) == []


def test_the_front_door_names_stand_in_the_reference() -> None:
    page = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    named = {found.rpartition(".")[2] for found in re.findall(r"`(tacit\.[\w.]+)`", page)}
    assert sorted(set(tacit.__all__) - named) == []


def test_every_method_has_its_names_on_its_page() -> None:
    """The class for Python and the key of study files, once, in the first table of a page."""
    from tacit.study._described.catalogue import METHODS

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    published = project["entry-points"]["tacit.methods"]
    index = (DOCS / "methods" / "index.md").read_text(encoding="utf-8")
    elsewhere = set(re.findall(r"\[(\w+)\]\(\.\./\w+\.md", index))  # statistics
    asked = {key: entry.build.__name__ for key, entry in METHODS.items() if key not in elsewhere}
    asked |= {key: place.partition(":")[2] for key, place in published.items()}
    rows = [
        re.findall(r"^\| in Python, in studies \| (.*) \|$", page.read_text("utf-8"), re.MULTILINE)
        for page in (DOCS / "methods").glob("*.md")
        if page.stem != "index"
    ]
    assert all(len(row) == 1 for row in rows)
    pairs = [pair for row in rows for pair in re.findall(r"`(\w+)`, `([\w-]+)`", row[0])]
    assert len(elsewhere) == 5 and sorted(pairs) == sorted((asked[key], key) for key in asked)


def test_pages_install_from_a_copy_and_extras_that_exist() -> None:
    """A package of the name on an index may be another one: tacit is installed from its source."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known, named = set(extras["optional-dependencies"]), set[str]()
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"pip install (?:-\S+ )*['\"]?tacit\b.*", text), page
        for listed in re.findall(r"pip install [^\n]*\.\[([\w,]+)\]", text):
            named |= set(listed.split(","))
    assert {"demo", "deploy", "report"} <= named <= known


def test_pages_of_the_reference_list_what_is_in_a_package() -> None:
    for path, text in api_tables.pages().items():
        assert path.read_text("utf-8") == text, "run `python docs/api_tables.py`"
    for page in (DOCS / "api").glob("*.md"):
        title, sentence, *_ = page.read_text(encoding="utf-8").split("\n\n")
        assert title.startswith("# ") and (sentence[0].isupper() or page.stem == "index"), page
    rows = (DOCS / "api" / "sweep.md").read_text(encoding="utf-8").split("|---|---|\n")[1]
    assert "| `Grid` | What a sweep varies around a study" in rows
    assert all("|  |" not in text for text in api_tables.pages().values())


def test_all_keys_of_a_study_are_on_a_page() -> None:
    text = study_keys.PAGE.read_text("utf-8")
    assert text == study_keys.page(), "run `python docs/study_keys.py`"
    run = text.split("## `[run]`\n")[1].split("## ")[0]
    named = set(re.findall(r"^\| `(\w+)`", run, re.MULTILINE))
    assert named == set(RunSection.model_fields)
