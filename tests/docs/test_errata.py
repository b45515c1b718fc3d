"""Every row of the errata says where it stands in its paper and which test shows it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
SHOWN = "| where | printed | what holds | checked |"
PLACE = re.compile(
    r"section|eq|theorem|proposition|lemma|corollary|remark|appendix|algorithm|definition|abstract|A\.\d"
)


def rows() -> list[list[str]]:
    """The cells of every row of a table of errata."""
    found: list[list[str]] = []
    inside = False
    for line in PAGE.splitlines():
        inside = line.startswith("|") and (inside or line == SHOWN)
        if inside and line != SHOWN and not line.startswith("|---"):
            found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


def known() -> set[str]:
    """Names of all tests of this repository."""
    names: set[str] = set()
    for file in (ROOT / "tests").rglob("test_*.py"):
        names |= {file.stem, *re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)}
    return names


def test_every_row_has_a_place_and_a_check() -> None:
    assert len(rows()) > 40
    for cells in rows():
        where, printed, holds, checked = cells
        assert PLACE.search(where), where
        assert printed and holds, where
        assert re.search(r"`test_\w+`|`tests/[\w/]+\.py`|\]\([\w/.]*#?[\w-]+\)", checked), where


def test_every_test_that_is_named_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named and sorted(named - known()) == []
    for path in re.findall(r"`((?:tests|benchmarks)/[\w/]+\.py)`", PAGE):
        assert (ROOT / path).exists(), path
