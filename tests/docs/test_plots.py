"""Every page of a method or of the gallery and every example has its plot; none is left over."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in (DOCS / "methods").glob("*.md") if page.stem != "index")
STUDIES = sorted(page for page in (DOCS / "gallery").glob("*.md") if page.stem != "index")
PROGRAMS = sorted((DOCS.parent / "examples").glob("*.py"))
FIGURE = re.compile(r"^```\{figure\} (\S+\.svg)\n:alt: (.+)\n", re.MULTILINE)


def figures(page: Path) -> dict[Path, str]:
    """The figures of a page: file, and what is said to those who do not see it."""
    text = page.read_text(encoding="utf-8")
    return {(page.parent / name).resolve(): alt for name, alt in FIGURE.findall(text)}


def plot(folder: str, name: str) -> Path:
    return DOCS / "images" / folder / f"{name}.svg"


def drawn() -> set[Path]:
    """What `make plots` draws."""
    from docs.plots.examples import EXAMPLES
    from docs.plots.front import FRONT
    from docs.plots.gallery import GALLERY
    from docs.plots.methods import METHODS

    folders = {"front": FRONT, "methods": METHODS, "examples": EXAMPLES, "gallery": GALLERY}
    return {plot(folder, name) for folder, plots in folders.items() for name in plots}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_method_has_its_plot(page: Path) -> None:
    alt = figures(page).get(plot("methods", page.stem), "")
    assert len(alt) > 60, f"{page.name} needs a figure of its worked example: see docs/plots"


@pytest.mark.parametrize("page", STUDIES, ids=lambda page: page.stem)
def test_a_study_has_its_plot_and_stands_in_the_gallery(page: Path) -> None:
    alt = figures(page).get(plot("gallery", page.stem), "")
    assert len(alt) > 60, f"{page.name} needs a figure of its lines: see docs/plots/gallery.py"
    title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    gallery = (DOCS / "gallery" / "index.md").read_text(encoding="utf-8")
    assert f"[{title}]({page.name})" in gallery and f"\n{page.stem}\n" in gallery


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_an_example_has_its_plot(program: Path) -> None:
    alt = figures(DOCS / "examples.md").get(plot("examples", program.stem), "")
    assert len(alt) > 60, f"examples.md needs a figure of {program.name}: see docs/plots"


def test_plots_that_are_shown_drawn_and_stored_are_the_same() -> None:
    pages = (*PAGES, *STUDIES, DOCS / "examples.md", DOCS / "index.md")
    shown = {file for page in pages for file in figures(page)}
    folders = ("front", "methods", "examples", "gallery")
    stored = {file for folder in folders for file in plot(folder, "").parent.iterdir()}
    assert shown == stored == drawn(), "`make plots` draws them"


def test_plots_are_small_and_ask_no_server_for_anything() -> None:
    for file in sorted(drawn()):
        text = file.read_text(encoding="utf-8")
        assert len(text) < 120_000, file.name
        assert not re.search(r"(?:href|src)=\"(?!#)|@import|url\((?!#)", text), file.name
