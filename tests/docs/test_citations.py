"""A source names a paper, a section and what is numbered there, and its symbol has a test."""

from __future__ import annotations

from pathlib import Path

import citation_tables
import citations
import pytest

KNOWN = citations.papers()
EARLIER, LATER = "Gratton et al. (2020)", "Gratton et al. (2021)"


@pytest.mark.long
def test_every_source_of_the_package_names_its_place_and_has_a_test() -> None:
    assert citations.problems() == []


def test_places_are_read_one_by_one() -> None:
    read = citations.places("section III-B, eqs (7) to (9), (11a), algorithms 1, 2, appendix A.7")
    assert read == [
        *("section III-B", "eq (7)", "eq (8)", "eq (9)", "eq (11a)"),
        *("algorithm 1", "algorithm 2", "appendix A.7"),
    ]


def test_a_citation_may_go_on_in_the_same_paper_and_in_the_next() -> None:
    text = f"{LATER}, section IV-C, eq (17); section IV-E, eq (22); {EARLIER}, section V, eq (32)"
    found = citations.citations(text, KNOWN)
    assert [c.paper.cite for c in found] == [LATER, LATER, EARLIER]
    assert [row for c in found for row in c.rows()] == [
        *(("section IV-C", "eq (17)"), ("section IV-E", "eq (22)"), ("section V", "eq (32)")),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Somebody (2021), eq (1)", "no paper of tacit/papers/papers.toml"),
        (f"{LATER}", "without a place"),
        (f"{LATER}, A title that it does not have, section II, eq (1)", "is not a place"),
        (f"{LATER}, eq (26)", "of which section"),
        (f"{LATER}, section V-A", "which equation or statement"),
        (f"{LATER}, section V.A, eq (26)", "has no section V.A"),
        (f"{LATER}, section V-A, eq (29)", r"eq \(29\) is not in section V-A"),
        (f"{LATER}, section IV-E, theorem 2", "theorem 2 is not in section IV-E"),
        (f"{LATER}, section V-A, eq (26), after Duchi", "is not a place"),
        ("McSherry (2009)", "without a place"),
    ],
)
def test_a_source_that_says_too_little_or_what_is_not_there_is_refused(
    text: str, said: str
) -> None:
    with pytest.raises(citations.CitationError, match=said):
        citations.citations(text, KNOWN)


def test_a_package_with_a_bad_source_is_reported_by_symbol_and_line(tmp_path: Path) -> None:
    package = tmp_path / "small"
    package.mkdir()
    (package / "one.py").write_text(
        f'''"""A module."""

LIMIT = 1
"""A number.

Source: {LATER}, eq (1).
"""

class Thing:
    """A class. Source: {LATER}, section II, eq (1).

    Not a source: `Source: nothing`.
    """

    def act(self):
        """A method.

        Source: Nobody (1900), a
        title.
        """
'''
    )
    assert [(s.symbol, s.line) for s in citations.sources(package)] == [
        ("small.one.LIMIT", 4),
        ("small.one.Thing", 10),
        ("small.one.Thing.act", 16),
    ]
    wrong = [line for line in citations.problems(package) if "no test uses it" not in line]
    assert len(wrong) == 2
    assert "one.py:4: small.one.LIMIT" in wrong[0] and "of which section" in wrong[0]
    assert "one.py:16: small.one.Thing.act" in wrong[1] and "Nobody (1900)" in wrong[1]


def test_a_symbol_without_a_test_is_reported(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_one.py").write_text(
        "from tacit.method import DZOA\n"
        "from tacit.papers.gratton2021.bounds import inner_loop_bound\n"
        "def test(): assert DZOA and inner_loop_bound and total\n"
    )
    used = citations.used_in_tests(tests)
    assert citations.tests_of("tacit.method.d_zoa.DZOA", used) == ["test_one.py"]
    assert citations.tests_of("tacit.papers.gratton2021.bounds.inner_loop_bound", used) == [
        "test_one.py"
    ]
    assert citations.tests_of("tacit.papers.gratton2021.bounds", used) == ["test_one.py"]
    assert citations.tests_of("tacit.papers.gratton2021.bounds.outer_loop_bound", used) == []
    # the name alone is another's
    assert citations.tests_of("tacit.method.d_zoa_claim.PaperClaim.total", used) == []


@pytest.mark.long
def test_the_tables_lead_from_equations_to_code_and_tests() -> None:
    lines = citation_tables.tables().splitlines()
    [row] = [line for line in lines if line.startswith("| V-A, eq (26) |")]
    assert "tacit.papers.gratton2021.bounds.inner_loop_bound" in row
    assert "gratton2021/test_bounds`" in row
    assert citation_tables.shortened(["eq (3)", "eq (7)", "eq (8)", "eq (9)"]) == "(3), (7) to (9)"
