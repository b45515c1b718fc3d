"""Every example in the README and on the site runs and prints what it shows.

Blocks of a page run in order and share their names and a folder: `python`, plain or as a session;
`console`, whose commands `tacit ...` must end well; `toml`, written to the file that its first line
names. Blocks of `sh` are instructions for the reader's own machine.
"""

import doctest
import re
import shlex
import sys
import types
from pathlib import Path

import pytest
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
QUICK_METHODS = ("dgd", "dpsg", "dvp", "gradient_descent")
QUICK_STUDIES = ("index", "clip", "simulator")
SLOW_PAGES = ("extend", "advise", "audit", "masks", "reproduce")
SLOW = {
    *(ROOT / "docs" / f"{page}.md" for page in SLOW_PAGES),
    *(page for page in (ROOT / "docs" / "methods").glob("*.md") if page.stem not in QUICK_METHODS),
    *(page for page in (ROOT / "docs" / "gallery").glob("*.md") if page.stem not in QUICK_STUDIES),
}
"""Pages of `make test-all`; `make test` runs the examples of the README, `make long` the others."""
assert set(PAGES) >= SLOW, "a page of the slow ones was renamed"
BLOCK = re.compile(r"^```(python|console|toml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples(page: Path) -> list[tuple[int, str, str]]:
    """Line number, language and text of each example of a page."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, m.start(2)), m[1], m[2]) for m in BLOCK.finditer(text)]


def run_session(text: str, namespace: dict[str, object], page: Path, line: int) -> str:
    """Run a block of `>>>` lines in `namespace`; what went wrong, or nothing."""
    session = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), line)
    session.globs = namespace
    report: list[str] = []
    # pandas ends lines in spaces, which pages do not
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(session, out=report.append, clear_globs=False)
    return "".join(report)


def run_commands(text: str) -> str:
    """Run each command `$ tacit ...`; what the first that fails printed, or nothing."""
    from tacit.cli import app

    for line in text.replace("\\\n", " ").splitlines():  # a command may go on
        prompt, program, *arguments = shlex.split(line)
        assert (prompt, program) == ("$", "tacit"), line
        outcome = CliRunner().invoke(app, arguments)
        if outcome.exit_code != 0:
            return f"{line}\n{outcome.output}\n{outcome.exception!r}"
    return ""


def run_example(
    language: str, text: str, namespace: dict[str, object], page: Path, line: int
) -> str:
    """Run one example; what went wrong, or nothing."""
    if language == "console":
        return run_commands(text)
    if language == "toml":
        Path(text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")
        return ""
    if ">>>" in text:
        return run_session(text, namespace, page, line)
    exec(compile("\n" * line + text, str(page), "exec"), namespace)
    return ""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=() if page == README else pytest.mark.slow if page in SLOW else pytest.mark.long,
        )
        for page in PAGES
        if examples(page)
    ],
)
def test_examples_of_a_page_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType(f"examples_of_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)
    for line, language, text in examples(page):
        failures = run_example(language, text, vars(module), page, line)
        assert not failures, failures


def test_every_example_is_found() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    opened = len(re.findall(r"```(?:python|console|toml)", text))
    assert opened == sum(len(examples(page)) for page in PAGES) > 0


def test_a_wrong_output_is_noticed() -> None:
    assert "Expected" in run_session(">>> 1 + 1\n3\n", {}, Path("page.md"), 0)


def test_a_command_that_fails_is_noticed() -> None:
    assert "no such study file" in run_commands("$ tacit run missing.toml")
