import re
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import ConfigError
from tacit.papers import Paper, Scale, find, reproduce, run, seconds_left, targets
from tacit.papers.catalogue import PAPERS, paper_of
from tacit.report.reproduction import Claim, Verdict, concluded
from tests.unit.papers.pieces import target


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> Paper:
    """A paper with two figures in the place of all others."""
    found = Paper(
        "someone1999",
        "A. Someone: On squares & roots. 1999.",
        (target(), target("someone1999/fig2", 5)),
    )
    monkeypatch.setattr(run, "PAPERS", (found,))
    return found


def test_pages_show_verdicts_and_link_to_each_other(tmp_path: Path, paper: Paper) -> None:
    ended: list[str] = []
    found = reproduce(paper.targets, tmp_path, ended=lambda target, _: ended.append(target.name))
    assert [each.sentence for each in found] == [
        "The squares end at 4.",
        "The squares end at 16.",
    ]
    assert ended == ["someone1999/fig1", "someone1999/fig2"]
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    page = (tmp_path / "someone1999.html").read_text(encoding="utf-8")
    assert "On squares &amp; roots" in index and "squares &lt;of&gt; numbers" in index
    for link, anchor in re.findall(r'href="(someone1999.html)#(fig\d)"', index):
        assert link and f'<section id="{anchor}"' in page
    assert index.count("<strong>reproduced</strong>") == 2
    assert "fast run" not in index + page
    for figure, last in (("fig1", "2,4.0"), ("fig2", "4,16.0")):
        lines = (tmp_path / f"someone1999-{figure}.csv").read_text(encoding="utf-8").splitlines()
        assert lines[0] == "half,panel,curve,x_axis,y_axis,x,y,low,high"
        assert lines[-1] == f"published,Squares,squares,number,its square,{last},,"
        assert f'href="someone1999-{figure}.csv"' in page
    drawn = set(re.findall(r'class="plot" id="([^"]+)"', page))
    assert drawn == {"fig1-p-0", "fig2-p-0"}


def test_a_fast_run_says_so_everywhere(tmp_path: Path, paper: Paper) -> None:
    reproduce(paper.targets[:1], tmp_path, scale=Scale.FAST)
    for name in ("index.html", "someone1999.html"):
        assert "Fast run" in (tmp_path / name).read_text(encoding="utf-8")
    assert "Shortened: two numbers" in (tmp_path / "someone1999.html").read_text(encoding="utf-8")
    # wherever a verdict stands: the index, and each claim
    for name in ("index.html", "someone1999.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "<strong>reproduced (shortened)</strong>" in text
        assert "<strong>reproduced</strong>" not in text


def test_the_sentence_of_a_shortened_run_says_so_at_each_claim() -> None:
    held = Claim("caption", "it falls", Verdict.REPRODUCED, "It falls.")
    verdict, said = concluded([held, held], shortened=True)
    assert verdict is Verdict.REPRODUCED and said.count("it falls: reproduced (shortened).") == 2
    assert "shortened" not in concluded([held], shortened=False)[1]


def test_what_is_stored_takes_no_time(tmp_path: Path, paper: Paper) -> None:
    one, two = paper.targets
    assert seconds_left([two], tmp_path) == 5.0
    told: list[tuple[float, float]] = []
    reproduce([one], tmp_path, told=lambda *done: told.append(done))
    assert seconds_left([two], tmp_path) == 2.0
    assert seconds_left([two], tmp_path, cores=2) == 1.0
    assert told[-1] == (3.0, 3.0)
    reproduce(paper.targets, tmp_path, told=lambda *done: told.append(done))
    assert told[-1] == (2.0, 2.0)


def test_nothing_to_do_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at least one target"):
        reproduce([], tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be made"):
        reproduce([target()], tmp_path / "file" / "folder")


def test_targets_are_found_by_name() -> None:
    names = [each.name for each in targets()]
    assert len(set(names)) == len(names) > 0
    for paper in PAPERS:
        assert [each.name for each in targets(paper.name)] == [t.name for t in paper.targets]
        assert all(each.name.startswith(f"{paper.name}/") for each in paper.targets)
    assert find(names[0]).name == names[0]
    assert paper_of(names[0]).name == names[0].partition("/")[0]
    with pytest.raises(ConfigError, match="did you mean"):
        find(names[0] + "x")
    with pytest.raises(ConfigError, match=r"there is no paper 'zzz'.*--list"):
        targets("zzz")


def test_every_target_has_pieces_at_both_scales_and_says_its_time() -> None:
    for each in targets():
        fast, full = each.pieces(Scale.FAST), each.pieces(Scale.FULL)
        assert all(piece.seconds > 0.0 for piece in (*fast, *full)), each.name
        assert sum(p.seconds for p in fast) <= sum(p.seconds for p in full), each.name
        for piece in fast:
            assert find_function(piece.work) is piece.work, f"{each.name}: not at the module's top"


def find_function(work: Any) -> object:
    """What another process finds under the function's name."""
    import sys

    return getattr(sys.modules[work.__module__], work.__name__, None)


@pytest.mark.parametrize("cores", [0, -1, "all"])
def test_no_cores_take_no_time(tmp_path: Path, paper: Paper, cores: Any) -> None:
    with pytest.raises(ConfigError, match="cores="):
        seconds_left(paper.targets, tmp_path, cores=cores)
