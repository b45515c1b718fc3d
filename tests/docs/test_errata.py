"""Every row of the errata says where it stands in its paper and which test shows it."""

import re
from collections import Counter
from pathlib import Path

import citations

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
SHOWN = "| where | printed | what holds | checked |"
GLANCE = "| no. | theorem or claim | paper, section, equation | about | verdict | use instead |"
MISPRINTS = "| where | printed | meant | shown |"
PLACE = re.compile(
    r"section|eq|theorem|proposition|lemma|corollary|remark|appendix|algorithm|definition|abstract|A\.\d"
)


def rows(head: str = SHOWN) -> list[list[str]]:
    """The cells of every row of the tables with this head."""
    found: list[list[str]] = []
    inside = False
    for line in PAGE.splitlines():
        inside = line.startswith("|") and (inside or line == head)
        if inside and line != head and not line.startswith("|---"):
            found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


NUMBERED = "theorem|lemma|proposition|corollary|remark|definition|assumption|algorithm|example"
TOKEN = re.compile(
    r"\b(?P<key>[A-Z]\d\d)\b"
    r"|\b(?P<section>sections?|appendix) (?P<labels>[A-Z0-9][\w.-]*(?:, [A-Z][\w-]*)*)"
    r"|\b(?P<appendix>A\.\d+)\b"
    rf"|\b(?P<kind>{NUMBERED}) (?P<number>[A-Z0-9][\w.]*\b)"
    r"|\((?P<equation>\d+)[a-z]?\)"
)


def places(where: str) -> list[tuple[str, str]]:
    """The places that a row names, with the keys of their papers; what stands for a part of one."""
    found: list[tuple[str, str]] = []
    key = ""
    for token in TOKEN.finditer(where):
        key = token["key"] or key
        if token["section"]:
            kind = "appendix" if token["section"] == "appendix" else "section"
            found += [(key, f"{kind} {label}") for label in token["labels"].split(", ")]
        if token["appendix"]:
            found.append((key, f"appendix {token['appendix']}"))
        if token["kind"]:
            found.append((key, f"{token['kind']} {token['number']}"))
        if token["equation"]:
            found.append((key, f"eq ({token['equation']})"))
    return found


def test_the_first_table_has_every_claim_and_its_paper() -> None:
    """Numbers, places and papers of the rows below; short cells."""
    glance, below = rows(GLANCE), rows()
    assert [cells[0] for cells in glance] == [str(1 + row) for row in range(len(below))]
    for (number, claim, where, about, verdict, instead), cells in zip(glance, below, strict=True):
        assert cells[0].startswith(f"**{number}** "), number
        assert about in ("privacy", "accuracy", "algorithm")
        assert verdict in ("false", "false, by audit", "inconsistent", "open", "holds"), number
        assert PLACE.search(where) and instead, number
        plain = [re.sub(r"\$[^$]*\$", "x", cell) for cell in (claim, where, instead)]
        assert max(len(cell.split()) for cell in plain) <= 20, number
        if "the same" not in cells[0]:  # as the row before
            papers = re.findall(r"\b[A-Z]\d\d\b", where)
            assert set(papers) <= set(re.findall(r"\b[A-Z]\d\d\b", cells[0])), number


def test_the_number_of_claims_is_said_alike_everywhere() -> None:
    glance = rows(GLANCE)
    false = [cells for cells in glance if cells[4].startswith("false")]
    private = sum(cells[3] == "privacy" for cells in false)
    papers = len({key for cells in glance for key in re.findall(r"\b[A-Z]\d\d\b", cells[2])})
    words = {6: "six"}[papers]
    flat = {
        name: " ".join((ROOT / name).read_text("utf-8").split())
        for name in ("README.md", "docs/errata.md", "docs/tutorials/researcher.md")
    }
    claims = f"{len(glance)} claims"
    assert (
        f"{claims} in {words} papers; {len(false)} are false, {private} of them about privacy"
        in (flat["docs/errata.md"])
    )
    assert (
        f"{len(false)} claims of {words} papers do not hold, {private} of them about privacy"
        in (flat["README.md"])
    )
    assert f"{claims} of {words} papers" in flat["docs/tutorials/researcher.md"]
    assert (
        f"{len(false)} are false, {private} of them about privacy"
        in (flat["docs/tutorials/researcher.md"])
    )


def test_no_sentence_is_longer_than_forty_words() -> None:
    text = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    text = re.sub(r"\$[^$]*\$|`[^`]*`", "x", text)
    blocks = (each.replace("\n", " ") for each in re.split(r"\n\n|\n(?=[*#|])|\|", text))
    sentences = [each for block in blocks for each in re.split(r"(?<=[.!?])\s", block)]
    assert len(sentences) > 500
    assert [each for each in sentences if len(each.split()) > 40] == []


def known() -> Counter[str]:
    """Names of all tests of this repository, and how many there are of each."""
    names: Counter[str] = Counter()
    for file in (ROOT / "tests").rglob("test_*.py"):
        names.update(re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE))
    return names


def test_every_row_has_a_place_and_a_check() -> None:
    assert len(rows()) > 40
    for cells in rows():
        where, printed, holds, checked = cells
        assert PLACE.search(where), where
        assert printed and holds, where
        assert re.search(r"`test_\w+`|`tests/[\w/]+\.py`|\]\([\w/.]*#?[\w-]+\)", checked), where


def test_every_misprint_has_a_place_and_a_test_if_a_number_shows_it() -> None:
    assert len(rows(MISPRINTS)) > 15
    for cells in rows(MISPRINTS):
        where, printed, meant, shown = cells
        assert PLACE.search(where), where
        assert printed and meant, where
        assert re.fullmatch(r"`test_\w+`|-", shown), where
    # no list of them is left in words
    assert len(re.findall(r"^### Misprints$", PAGE, re.MULTILINE)) == PAGE.count(MISPRINTS)


def test_every_test_that_is_named_is_one_test() -> None:
    named, there = set(re.findall(r"`(test_\w+)`", PAGE)), known()
    assert named and {name: there[name] for name in named if there[name] != 1} == {}
    for path in re.findall(r"`((?:tests|benchmarks)/[\w/]+\.py)`", PAGE):
        assert (ROOT / path).exists(), path


def written(name: str) -> bool:
    """Whether a module of tacit has this full name, or one defines or exports it."""
    module, _, last = name.rpartition(".")
    home, own = (ROOT / each.replace(".", "/") for each in (module, name))
    if own.with_suffix(".py").exists():
        return True
    file = home.with_suffix(".py") if home.with_suffix(".py").exists() else home / "__init__.py"
    return re.search(rf"\b{last}\b", file.read_text("utf-8")) is not None


def test_everything_of_tacit_that_is_named_exists() -> None:
    named = re.findall(r"\{py:(?:func|class|mod)\}`~?([\w.]+)`", PAGE)
    assert len(named) > 10
    assert [name for name in named if not written(name)] == []
    assert not written("tacit.papers.huang2015.bounds.no_such_bound")


def test_every_place_of_a_row_is_in_its_paper() -> None:
    papers = {paper.key: paper.contents for paper in citations.papers().values() if paper.key}
    checked = 0
    named_at = [cells[0] for cells in rows() + rows(MISPRINTS)] + [
        cells[2] for cells in rows(GLANCE)
    ]
    for where in named_at:
        for key, place in places(where):
            if key not in papers:
                continue  # a paper whose text was not at hand, or the row before
            contents = papers[key]
            there = {listed for section in contents.values() for listed in section}
            # section IV has IV-A in it, section 3 has 3.1
            named = any(re.match(rf"{re.escape(place)}(?![\w])", section) for section in contents)
            assert place in there or named, (where, key, place)
            checked += 1
    assert checked > 150


def test_places_of_a_row_are_read_by_paper() -> None:
    where = "G21 section IV-B, lemma 1, eqs (16), (33a); G20 sections VI, VII; R21 A.7, eq (31)"
    assert places(where) == [
        *(("G21", "section IV-B"), ("G21", "lemma 1"), ("G21", "eq (16)"), ("G21", "eq (33)")),
        *(("G20", "section VI"), ("G20", "section VII"), ("R21", "appendix A.7")),
        ("R21", "eq (31)"),
    ]
