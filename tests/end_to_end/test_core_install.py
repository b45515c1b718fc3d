"""What `pip install tacit` without any extra can do, and what it says where it cannot."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.end_to_end.study import changed, write

ROOT = Path(__file__).parents[2]

EXTRAS = (
    *("clarabel", "cryptography", "cvxpy", "dask", "distributed", "formulaic", "matplotlib"),
    *("networkx", "opendp", "plotly", "prometheus_client", "pyarrow", "sklearn", "statsmodels"),
    "zenoh",
)
"""What only extras bring, as it is imported."""

COMMANDS = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS}))
from tacit.cli import main
for line in sys.stdin.read().splitlines():
    sys.argv = ["tacit", *line.split()]
    try:
        main()
    except SystemExit as ended:
        print("ended with", ended.code or 0)
"""


def tacit(folder: Path, *commands: str) -> str:
    """What the commands print, one after the other, in one process without any extra."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        input="\n".join(commands),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


@pytest.mark.long
def test_a_study_runs_and_its_report_has_text_and_tables(tmp_path: Path) -> None:
    write(tmp_path)
    said = tacit(tmp_path, "init visits.csv -o begun.toml", "run study.toml --public")
    assert said.count("ended with 0") == 2, said
    for name in ("report.html", "report_public.html"):
        page = (tmp_path / "results" / name).read_text()
        assert "pip install 'tacit[report]'" in page
        assert "<table>" in page and "<script" not in page and 'class="plot"' not in page
        assert "script-src" not in page
        assert "At the end:" in page  # what a figure shows is said
        assert 'id="machine"' in page
    assert "pip install 'tacit[report]'" in said
    assert (tmp_path / "results" / "history.csv").read_text().startswith("round,consensus,")


@pytest.mark.long
def test_sweeps_and_audits_write_their_pages(tmp_path: Path) -> None:
    write(tmp_path, changed("rounds = 20", "rounds = 3"))
    said = tacit(
        tmp_path,
        "sweep study.toml --epsilon 1,2 --seeds 2 --workers 1 --output swept",
        "audit study.toml --trials 20 --output audited",
    )
    assert said.count("ended with 0") == 2, said
    assert (tmp_path / "swept" / "results.csv").exists()
    for page in ("swept/report.html", "audited/audit.html"):
        assert "pip install 'tacit[report]'" in (tmp_path / page).read_text()


def test_what_needs_an_extra_names_it(tmp_path: Path) -> None:
    write(tmp_path, changed('graph = "ring"', 'graph = "random_regular"\ndegree = 2\nseed = 0'))
    (tmp_path / "visits.parquet").write_bytes(b"PAR1")
    said = tacit(tmp_path, "run study.toml", "init visits.parquet -o begun.toml")
    assert said.count("ended with 2") == 2, said
    assert "random_regular needs networkx; install it with: pip install 'tacit[graphs]'" in said
    assert "pip install 'tacit[parquet]'" in said


@pytest.mark.long
def test_commands_between_sites_name_their_extra_and_check_needs_none(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "site.toml").write_text("")
    (tmp_path / "b.zip").write_bytes(b"")
    member = "--manifest site.toml --keys keys"
    commands = (
        "rehearse study.toml",
        "keys new keys --name A --address localhost:1",
        "keys show keys",
        "keys authority ours --name Ours",
        "manifest new study.toml m.toml --agent card.toml=3 --data visits.csv",
        "manifest check site.toml",
        "manifest sign site.toml --keys keys",
        f"agent {member} --state state --data visits.csv",
        f"coordinator {member} --state state",
        f"doctor {member}",
        "bundle state --keys keys",
        "verify b.zip --json",
    )
    said = tacit(tmp_path, "check study.toml --data visits.csv", "parts list", *commands)
    told = (
        "error: keys, signatures and runs between sites need the package cryptography, which is "
        "not installed: pip install 'tacit[deploy]'"
    )
    assert "Declare " in said and said.count("ended with 0") == 2, said
    assert said.count(told) == len(commands), said
    assert said.count("ended with 2") == len(commands)
    assert '"format": "tacit-error-1"' in said


def test_the_core_has_no_package_of_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = {re.split(r"[^a-z-]", each)[0].replace("-", "_") for each in project["dependencies"]}
    assert "jax" in core and not core & set(EXTRAS)


@pytest.mark.parametrize("extra", ["demo", "dev"])
def test_who_runs_the_demo_or_the_tests_has_figures(extra: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]

    def within(name: str) -> set[str]:
        inner = re.findall(r"tacit\[([a-z,]+)\]", " ".join(extras[name]))
        return {name}.union(*(within(each) for group in inner for each in group.split(",")))

    assert "report" in within(extra)
