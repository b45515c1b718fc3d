"""Parts of others between sites: pinned by every owner, in the manifest, refused if changed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.end_to_end.parts.package import METHOD, METHODS, Command, pin

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


@pytest.mark.long
def test_no_command_for_sites_imports_what_is_not_pinned(study: Path, tacit: Command) -> None:
    folder = study.parent
    package = folder / "site" / "acme_parts" / "__init__.py"
    package.write_text(f"open({str(folder / 'imported')!r}, 'w').close()\n{package.read_text()}")
    data = ("--data", folder / "records.csv")
    tacit("keys", "new", folder / "keys", "--name", "north", "--address", "localhost:7447")
    own = ("--name", "north", "--address", "localhost:7447", "--epsilon", "1")
    tacit("site", "join", *own, *data, "--records", "40", "--site", folder / "first")
    agents = ("--agent", f"{folder / 'keys' / 'card.toml'}=40")
    commands = (
        ("rehearse", study, "--output", folder / "rehearsal"),
        ("check", study, *data),
        ("manifest", "new", study, folder / "run.toml", *data, *agents),
        ("site", "join", *own, *data, "--study", study, "--site", folder / "second"),
        ("site", "propose", study, "--site", folder / "first"),
    )
    for command in commands:
        assert "which is not pinned here" in tacit(*command, code=2).stderr
        assert not (folder / "imported").exists()
    pin(tacit)
    tacit(*commands[3])
    assert (folder / "imported").exists()
    # another digest is pinned
    package.write_text(package.read_text() + "CHANGED = True\n")
    told = tacit(*commands[0], code=2).stderr
    assert "(pinned: " in told and "; installed: " in told


@pytest.mark.slow
def test_records_are_counted_for_a_study_of_others_with_pinned_parts_only(
    study: Path, tacit: Command
) -> None:
    package = study.parent / "site" / "acme_parts"
    (package / "__init__.py").write_text(f"open({str(study.parent / 'imported')!r}, 'w').close()")
    check = ("check", study, "--data", study.parent / "records.csv")
    assert "which is not pinned here" in tacit(*check, code=2).stderr
    # nor is it imported for what only looks like a manifest
    text = study.read_text()
    study.write_text('format = "tacit-manifest-9"\n' + text)
    assert "has the format 'tacit-manifest-9'" in tacit(*check, code=2).stderr
    assert not (study.parent / "imported").exists()
    study.write_text(text)
    pin(tacit)
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


@pytest.mark.long
def test_a_query_of_its_own_is_a_model_and_refused_between_sites(
    study: Path, tacit: Command
) -> None:
    module = study.parent / "site" / "acme_parts" / "momentum.py"
    text = module.read_text().replace("query=ClippedGradient.of(", "query=Larger.of(")
    module.write_text(text + "\n\nclass Larger(ClippedGradient):\n    pass\n")
    pin(tacit)
    tacit("run", study)
    owner = json.loads((study.parent / "results" / "guarantee.json").read_text())["owners"][0]
    assert owner["status"] == "model" and "the query Larger" in owner["reason"]
    told = tacit("rehearse", study, "--output", study.parent / "rehearsal", code=2).stderr
    assert "the query Larger" in told and "only proved ones are run" in told
