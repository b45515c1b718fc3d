"""What stands in several files of the repository says the same in each."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import tacit

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def document(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_citation_has_this_version_and_the_five_papers() -> None:
    cited = document("CITATION.cff")
    assert cited["version"] == tacit.__version__
    assert cited["license"] == PROJECT["project"]["license"]
    papers = tomllib.loads((ROOT / "tacit" / "papers" / "papers.toml").read_text(encoding="utf-8"))[
        "paper"
    ]
    read = [paper for paper in papers if "contents" in paper]
    assert len(read) == 5
    assert [
        (each["title"], ", ".join(author["family-names"] for author in each["authors"]))
        for each in cited["references"]
    ] == [(paper["title"], paper["authors"]) for paper in read]
    for each, paper in zip(cited["references"], read, strict=True):
        entry = paper["bibtex"]
        assert str(each["year"]) == entry.get("year", paper["cite"][-5:-1])
        assert entry["author"] == " and ".join(
            f"{author['family-names']}, {author['given-names']}" for author in each["authors"]
        )
        place = entry.get("journal", entry.get("booktitle", entry.get("archiveprefix")))
        assert place == each.get("journal", each.get("collection-title"))
        assert [entry.get(name) for name in ("volume", "number", "doi")] == [
            each.get(name) and str(each[name]) for name in ("volume", "issue", "doi")
        ]
        assert entry.get("pages", "None--None") == f"{each.get('start')}--{each.get('end')}"
        assert entry.get("eprint", "") in f"{each.get('doi')} {each.get('url')}"


def test_the_workflow_runs_every_version_on_every_system() -> None:
    jobs = document(".github/workflows/ci.yml")["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    classified = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
    assert matrix["python"] == classified
    low, high = re.findall(r"3\.(\d+)", PROJECT["project"]["requires-python"])
    assert classified == [f"3.{minor}" for minor in range(int(low), int(high))]
    assert {system.partition("-")[0] for system in matrix["system"]} == {
        *("ubuntu", "macos", "windows"),
    }


def test_the_workflow_runs_what_is_there() -> None:
    jobs = document(".github/workflows/ci.yml")["jobs"]
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    markers = {
        each.partition(":")[0] for each in PROJECT["tool"]["pytest"]["ini_options"]["markers"]
    }
    for run in runs:
        assert set(re.findall(r"not (\w+)", run)) <= markers
        for path in re.findall(r"tests/\S+|\.ci/\S+", run):
            assert (ROOT / path).exists()
        for extra in re.findall(r"\.\[(\w+)\]", run):
            assert extra in PROJECT["project"]["optional-dependencies"]
    assert any("--numprocesses" in run for run in runs)


@pytest.mark.parametrize("name", ["bug", "feature", "question"])
def test_a_form_asks_with_names_that_differ(name: str) -> None:
    form = document(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "body"} <= set(form)
    asked = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert asked and len(asked) == len(set(asked))
    assert all(
        part["attributes"].get("label", part["attributes"].get("value")) for part in form["body"]
    )


def test_the_page_on_installing_has_every_extra() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert named == set(PROJECT["project"]["optional-dependencies"]) - {"dev", "docs", "fuzz"}
