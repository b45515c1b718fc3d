"""A package of others: studies, sweeps, audits and runs between sites name its parts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.end_to_end.site_study import STUDY, a_study
from tests.installed import ACME, installed

ROOT = Path(__file__).parents[2]
NETWORK = '[network]\ngraph = "acme-wheel"'
METHOD = 'name = "acme-momentum"\nstep = 0.3\nmomentum = 0.2'

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study with a method and a graph of the package, beside its records."""
    a_study(tmp_path)
    text = STUDY.replace("NETWORK", NETWORK).replace("METHOD", METHOD)
    path = tmp_path / "study.toml"
    path.write_text(text.replace("ROUNDS", "6").replace("BUDGET", ""))
    return path


@pytest.fixture
def tacit(tmp_path: Path) -> Command:
    """The command line where the package is installed."""
    site = installed(tmp_path / "site")

    def run(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "tacit", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": f"{ROOT}{os.pathsep}{site}",
                "TACIT_PARTS": str(tmp_path / "pins.json"),
                "COLUMNS": "400",
            },
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


def pin(tacit: Command) -> str:
    """Pin what is installed; its digest."""
    digest: str = parts(tacit)[0]["sha256"]
    tacit("parts", "trust", "acme-parts", "--digest", digest)
    return digest


def parts(tacit: Command) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(tacit("parts", "list", "--json").stdout)["parts"]
    return found


@pytest.mark.long
def test_a_package_is_listed_and_described_without_code_in_tacit(tacit: Command) -> None:
    assert {each["name"]: each["family"] for each in parts(tacit)} == {
        "acme-momentum": "method",
        "acme-log-cosh": "loss",
        "acme-room": "loss",
        "acme-wheel": "graph",
        "acme-cyclic": "feature",
        "acme-powers": "map",
        "acme-at-least": "target",
        "acme-turns": "partition",
    }
    assert not any(each["pinned"] for each in parts(tacit))
    found = json.loads(tacit("describe", "acme-momentum", "--json").stdout)
    assert found["status"] == "proved" and found["part"]["distribution"] == "acme-parts"
    assert [each["name"] for each in found["parameters"]] == ["step", "momentum"]
    found = json.loads(tacit("describe", "acme-wheel", "--json").stdout)
    assert [each["default"] for each in found["parameters"]] == [0]
    found = json.loads(tacit("describe", "acme-at-least", "--json").stdout)
    assert [each["name"] for each in found["parameters"]] == ["threshold"]


@pytest.mark.slow
def test_a_study_of_its_parts_runs_and_says_whose_code_it_was(study: Path, tacit: Command) -> None:
    loss = 'loss = { kind = "acme-log-cosh", scale = 2.0 }'
    study.write_text(study.read_text().replace('loss = "logistic"', loss))
    # by the time that results are written, another version is installed
    module = study.parent / "site" / "acme_parts" / "momentum.py"
    text = f"\nfrom pathlib import Path\nPath({str(module)!r}).write_text('')\n"
    module.write_text(module.read_text() + text)
    digest = parts(tacit)[0]["sha256"]
    tacit("run", study)
    assert parts(tacit)[0]["sha256"] != digest
    results = study.parent / "results"
    environment = json.loads((results / "environment.json").read_text())
    assert environment["acme-parts"] == f"1.0 sha256:{digest}"
    owner = json.loads((results / "guarantee.json").read_text())["owners"][0]
    assert owner["status"] == "proved"
    said = " ".join(owner["assumptions"])
    assert "the method Momentum computes with code that is not tacit's" in said
    assert "the loss LogCosh encodes the target" in said


PREPARED = """
[data]
path = "records.csv"
map = { kind = "acme-powers", highest = 2 }
[data.features]
hour = { kind = "acme-cyclic", period = 24.0 }
start = { lower = 0, upper = 1 }
[data.target]
kind = "acme-at-least"
column = "measured"
threshold = 0.5
[partition]
by = "acme-turns"
sites = 3
first = 1
[problem]
loss = "logistic"
[network]
graph = "ring"
[method]
name = "dpsg"
step = 0.5
[privacy]
epsilon = 4.0
clip = 1.0
[run]
rounds = 4
"""

SIMULATED = """
[data]
path = "records.csv"
intercept = false
[data.features]
start = { lower = 0, upper = 1, to = [0, 1] }
heat = { lower = 0, upper = 1, to = [0, 1] }
[data.target]
column = "measured"
lower = 0
upper = 1.5
[partition]
by = "acme-turns"
sites = 3
[problem]
loss = { kind = "acme-room", steps = 5 }
constraint = { kind = "box", lower = 0, upper = 2 }
[network]
graph = "coordinator"
[method]
name = "or-zo"
step = 0.2
[privacy]
clip = 0.5
epsilon = 8.0
[run]
rounds = 4
compare = false
"""


def rooms(folder: Path, text: str) -> Path:
    """A study of simulated rooms, beside its records."""
    rng = np.random.default_rng(0)
    rows = ["start,heat,measured,hour"]
    for start, heat, hour in rng.uniform(0.0, 1.0, (90, 3)):
        end = start
        for _ in range(5):
            end += (0.8 * heat - 0.5 * end) / 5
        rows.append(f"{start:.6f},{heat:.6f},{end:.6f},{24 * hour:.2f}")
    (folder / "records.csv").write_text("\n".join(rows) + "\n")
    path = folder / "study.toml"
    path.write_text(text)
    return path


@pytest.mark.slow
def test_a_study_prepares_and_divides_its_records_with_its_parts(
    tmp_path: Path, tacit: Command
) -> None:
    path = rooms(tmp_path, PREPARED)
    tacit("run", path)
    rows = (tmp_path / "results" / "coefficients.csv").read_text().splitlines()[1:]
    names = [row.split(",")[0] for row in rows]
    columns = ("hour:cos", "hour:sin", "start")
    assert names == [*(f"{name}^{k}" for k in (1, 2) for name in columns), "intercept"]
    owner = json.loads((tmp_path / "results" / "guarantee.json").read_text())["owners"][0]
    said = " ".join(owner["assumptions"])
    assert owner["status"] == "proved"
    assert all(name in said for name in ("Cyclic", "AtLeast", "Powers"))
    for old, new, told in (
        ("period = 24.0", "periods = 24.0", "study.toml:6: [data.features.hour] periods: unknown"),
        ("threshold = 0.5", "", "study.toml:8: [data.target] threshold: is missing"),
        ("first = 1", "first = 0.5", "study.toml:15: [partition] first: 0.5 must be a whole"),
        ("acme-cyclic", "acme-cyclik", "study.toml:6: [data.features.hour] kind: 'acme-cyclik'"),
        ("highest = 2", "hihgest = 2", "study.toml:4: [data.map] hihgest: unknown key"),
    ):
        path.write_text(PREPARED.replace(old, new))
        assert told in tacit("account", path, code=2).stderr


@pytest.mark.slow
def test_a_simulator_is_run_and_swept(tmp_path: Path, tacit: Command) -> None:
    named = (
        'x0 = [1, 0.5]\nparameter_names = ["heating", "leak"]\n'
        "simulator = { workers = 2, timeout = 60 }\n[network]"
    )
    path = rooms(tmp_path, SIMULATED.replace("[network]", named))
    told = tacit("run", path).stdout
    assert "Answer: heating = " in told and ", leak = " in told
    owner = json.loads((tmp_path / "results" / "guarantee.json").read_text())["owners"][0]
    assumed = " ".join(owner["assumptions"])
    assert owner["status"] == "proved" and "the loss Room" in assumed
    assert "which are stopped after 60 seconds tells nothing of the records" in assumed
    tacit("sweep", path, "--seeds", "2", "--set", "method.step=0.1,0.2")
    for old, new, key in (
        ("compare = false", "", "[run] compare"),
        ("compare = false", "compare = false\nhold_out = 0.2", "[run] hold_out"),
    ):
        path.write_text(SIMULATED.replace(old, new))
        told = tacit("account", path, code=2).stderr
        assert key in told and "the loss Room gives values only" in told


PLAIN = '''
"""A method that others run inside."""

from typing import ClassVar

from tacit.method import DGD


class Plain(DGD):
    """Gradient descent of peers, once more.

    Args:
        step: first step size, positive.
    """

    name: ClassVar[str] = "acme-plain"
'''

INSIDE = """name = "functional-perturbation"
inner = { name = "acme-plain", step = 0.1 }
basis = { kind = "quadratic", lower = [-2.0, -2.0, -2.0], upper = [2.0, 2.0, 2.0] }
bounds = { strong_convexity = 0.0, smoothness = 4.0 }"""


@pytest.mark.slow
def test_a_method_runs_inside_another_and_is_a_part_of_the_manifest(
    study: Path, tacit: Command
) -> None:
    site = study.parent / "site"
    (site / "acme_parts" / "plain.py").write_text(PLAIN)
    entries = next(site.glob("*.dist-info")) / "entry_points.txt"
    added = f"{METHODS}acme-plain = acme_parts.plain:Plain\n"
    entries.write_text(entries.read_text().replace(METHODS, added))
    text = study.read_text().replace(METHOD, INSIDE).replace("acme-wheel", "ring")
    study.write_text(text.replace("delta = 1e-6", 'noise = "laplace"'))
    tacit("run", study)
    environment = json.loads((study.parent / "results" / "environment.json").read_text())
    assert environment["acme-parts"].startswith("1.0 sha256:")
    pin(tacit)
    manifest = manifest_of(study, tacit)
    assert manifest.count("[[parts]]") == 1 and 'name = "acme-plain"' in manifest
    # one that needs a budget cannot be run inside, and says which can
    study.write_text(study.read_text().replace("acme-plain", "acme-momentum"))
    told = tacit("run", study, code=2).stderr
    assert "[method.inner] name: 'acme-momentum' must be one of" in told


def test_a_mistake_in_a_part_s_key_is_told_with_its_line(study: Path, tacit: Command) -> None:
    study.write_text(study.read_text().replace("momentum = 0.2", "momentun = 0.2"))
    told = tacit("run", study, code=2).stderr
    assert "[method] momentun: unknown key; did you mean 'momentum'?" in told


@pytest.mark.slow
def test_a_sweep_computes_anew_what_other_code_would_answer(study: Path, tacit: Command) -> None:
    study.write_text(study.read_text().replace("acme-wheel", "ring"))
    sweep = ("sweep", study, "--seeds", "2", "--method", "acme-momentum,dpsg")
    tacit(*sweep)
    stored = set((study.parent / "sweep").rglob("pieces/*.json"))
    assert stored
    tacit(*sweep)
    assert set((study.parent / "sweep").rglob("pieces/*.json")) == stored
    module = study.parent / "site" / "acme_parts" / "momentum.py"
    module.write_text(module.read_text() + "\n# another version\n")
    tacit(*sweep)
    # the other cell has no part of the package
    assert len(set((study.parent / "sweep").rglob("pieces/*.json")) - stored) == 1


@pytest.mark.slow
def test_its_method_is_audited(study: Path, tacit: Command) -> None:
    text = study.read_text().replace("[privacy]", "[privacy]\nsampling = 1.0")
    study.write_text(text)
    found = json.loads(tacit("audit", study, "--trials", "1000", "--json").stdout)
    assert found["claim"]["status"] == "proved" and not found["refuted"]


@pytest.mark.long
def test_sites_run_it_once_every_owner_has_pinned_it(study: Path, tacit: Command) -> None:
    told = tacit("rehearse", study, "--output", study.parent / "first", code=2).stderr
    assert "which is not pinned here, so it is not imported" in told
    pin(tacit)
    folder = study.parent / "second"
    tacit("rehearse", study, "--output", folder)
    manifest = (folder / "manifest.toml").read_text()
    assert 'format = "tacit-manifest-2"' in manifest and manifest.count("[[parts]]") == 2
    models = [np.load(path)["solution"] for path in folder.glob("member-*/state/model.npz")]
    assert len(models) == 3 and np.isfinite(models).all()


@pytest.mark.slow
def test_records_are_counted_for_a_study_of_others_with_pinned_parts_only(
    study: Path, tacit: Command
) -> None:
    package = study.parent / "site" / "acme_parts"
    (package / "__init__.py").write_text(f"open({str(study.parent / 'imported')!r}, 'w').close()")
    check = ("check", study, "--data", study.parent / "records.csv")
    assert "which is not pinned here" in tacit(*check, code=2).stderr
    # what only looks like a manifest is a study, too
    study.write_text('format = "tacit-manifest-9"\n' + study.read_text())
    assert "which is not pinned here" in tacit(*check, code=2).stderr
    assert not (study.parent / "imported").exists()
    pin(tacit)
    assert "unknown key" in tacit(*check, code=2).stderr
    study.write_text(study.read_text().partition("\n")[2])
    tacit(*check)


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("code", "install what was agreed, or agree on another manifest"),
        pytest.param("gone", "which is not installed here", marks=pytest.mark.slow),
        pytest.param("unpinned", "not pinned here, so it is not imported", marks=pytest.mark.long),
        pytest.param("unlisted", "the manifest does not list it", marks=pytest.mark.long),
    ],
)
def test_a_hostile_twin_is_refused_before_it_is_imported(
    study: Path, tacit: Command, change: str, told: str
) -> None:
    digest = pin(tacit)
    manifest = study.parent / "run.toml"
    text = manifest_of(study, tacit)
    package = study.parent / "site" / "acme_parts"
    (package / "__init__.py").write_text(
        f"open({str(study.parent / 'imported')!r}, 'w').close()\n"
        if change == "code"
        else (package / "__init__.py").read_text()
    )
    if change == "gone":
        for about in (study.parent / "site").glob("*.dist-info"):
            (about / "entry_points.txt").unlink()
    if change == "unpinned":
        tacit("parts", "distrust", "acme-parts")
    if change == "unlisted":
        start, end = text.index("[[parts]]"), text.index("[[agents]]")
        text = text[:start] + text[end:]
        text = text.replace("tacit-manifest-2", "tacit-manifest-1")
    manifest.write_text(text)
    assert told in tacit("manifest", "check", manifest, code=2).stderr
    assert not (study.parent / "imported").exists()
    assert digest in text or change == "unlisted"


def manifest_of(study: Path, tacit: Command) -> str:
    """A manifest of the study, as its author makes it."""
    members: list[str] = []
    for number, name in enumerate(("north", "south", "west")):
        keys = study.parent / name
        tacit("keys", "new", keys, "--name", name, "--address", f"localhost:{7447 + number}")
        members += ["--agent", f"{keys / 'card.toml'}=40"]
    made = study.parent / "made.toml"
    tacit("manifest", "new", study, made, "--data", study.parent / "records.csv", *members)
    return made.read_text()


METHODS, GRAPHS = "[tacit.methods]\n", "[tacit.graphs]\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("entries", "told"),
    [
        (METHODS + "dpsg = acme_parts.momentum:Momentum", "one of tacit's own"),
        (GRAPHS + "acme-wheel = subprocess:run", "is not a subclass of tacit."),
        *(
            pytest.param(METHODS + entry, told, marks=pytest.mark.long)
            for entry, told in (
                ("acme-momentum = acme_parts.wheel:Wheel", "is not a subclass of tacit."),
                ("other = acme_parts.momentum:Momentum", "calls itself"),
                ("acme-momentum = nothing.here:At", "'nothing', which is not a package or module"),
            )
        ),
    ],
)
def test_what_a_package_declares_wrongly_is_told(
    study: Path, tacit: Command, entries: str, told: str
) -> None:
    about = next((study.parent / "site").glob("*.dist-info"))
    (about / "entry_points.txt").write_text(entries)
    if "other" in entries:
        study.write_text(study.read_text().replace("acme-momentum", "other"))
    if "methods" in entries:
        study.write_text(study.read_text().replace("acme-wheel", "ring"))
    if "graphs" in entries:
        text = study.read_text().replace("acme-momentum", "dpsg")
        study.write_text(text.replace("momentum = 0.2", ""))
    command = ("parts", "list") if "nothing" in entries else ("run", study)
    assert told in tacit(*command, code=2).stderr


def test_two_packages_may_not_declare_one_name(study: Path, tacit: Command) -> None:
    installed(study.parent / "site", name="twin-parts")
    told = tacit("run", study, code=2).stderr
    assert "acme-parts" in told and "twin-parts" in told and "uninstall one of them" in told


@pytest.mark.long
def test_a_query_of_its_own_is_a_model_and_refused_between_sites(
    study: Path, tacit: Command
) -> None:
    module = study.parent / "site" / "acme_parts" / "momentum.py"
    text = module.read_text().replace("query=ClippedGradient(", "query=Larger(")
    module.write_text(text + "\n\nclass Larger(ClippedGradient):\n    pass\n")
    pin(tacit)
    tacit("run", study)
    owner = json.loads((study.parent / "results" / "guarantee.json").read_text())["owners"][0]
    assert owner["status"] == "model" and "the query Larger" in owner["reason"]
    told = tacit("rehearse", study, "--output", study.parent / "rehearsal", code=2).stderr
    assert "the query Larger" in told and "only proved ones are run" in told


@pytest.mark.slow
def test_advice_measures_its_method_beside_tacit_s(study: Path, tacit: Command) -> None:
    text = study.read_text().replace(
        "[partition]", '[partition]\nsites = ["north", "south", "west"]'
    )
    study.write_text(text)
    found = json.loads(tacit("advise", study, "--records", "4000", "--json").stdout)
    measured = {each["method"] for each in found["measured"]}
    assert "acme-momentum" in measured | set(found["left_out"])
    assert {"dpsg", "acme-momentum"} <= measured


@pytest.mark.slow
def test_its_own_tests_pass_where_it_is_installed(tmp_path: Path) -> None:
    site = installed(tmp_path / "site")
    shutil.copytree(ACME / "tests", tmp_path / "tests")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "tests"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "14 passed" in done.stdout
