"""The unit and the container file start members and let them write what they have to, no more."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.deploy.agreement.binding import Binding
from tacit.deploy.agreement.manifest import Manifest, agreed, read_manifest
from tacit.deploy.identity import keys
from tacit.deploy.identity.pair_keys import check_writable, forget, has_key, offer
from tacit.deploy.identity.pinning import trust
from tacit.deploy.member.checking import Options
from tacit.deploy.member.process import run
from tacit.deploy.operate.rehearse import prepare, results
from tacit.errors import ConfigError
from tacit.study.read import parse_study
from tests.sites import STUDY, member, records

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "sites"
MASKED = STUDY.replace("clip = 1.0", "clip = 1.0\nmasks = true").replace(
    'graph = "ring"', 'graph = "coordinator"'
).replace('name = "dpsg"', 'name = "gradient-descent"')  # fmt: skip


@pytest.mark.parametrize(
    ("name", "command", "least"),
    [
        ("tacit-agent.service", "agent", 4),
        ("Containerfile", "agent", 4),
        ("tacit-site.service", "site join", 5),
        ("tacit-site.service", "site serve", 3),
    ],
)
def test_the_options_of_the_examples_exist(name: str, command: str, least: int) -> None:
    help = CliRunner().invoke(app, [*command.split(), "--help"]).output
    lines = (EXAMPLES / name).read_text().split(f"tacit {command}", 1)[1].splitlines()
    given = lines[0]
    for line in lines[1:]:
        if not given.rstrip().endswith("\\"):
            break
        given += line
    options = re.findall(r"--[a-z-]+", given)
    assert len(options) >= least
    for option in options:
        assert re.search(rf"{option}\b", help), option


class Unit(configparser.RawConfigParser):
    """A unit file: keys keep their case, and lines go on after a backslash."""

    def __init__(self) -> None:
        super().__init__(strict=False)
        text = (EXAMPLES / "tacit-agent.service").read_text()
        self.read_string(re.sub(r"\\\n\s*", " ", text))

    def optionxform(self, optionstr: str) -> str:
        return optionstr

    def option(self, name: str) -> str:
        words = shlex.split(self["Service"]["ExecStart"])
        return words[words.index(name) + 1]

    def writable(self) -> list[str]:
        """Folders that a service sees as such, its own temporary one aside."""
        service = self["Service"]
        assert service["ProtectSystem"] == "strict" and service["PrivateTmp"] == "yes"
        paths = [each.removeprefix("-") for each in service["ReadWritePaths"].split()]
        return [*paths, f"/var/lib/{service['StateDirectory']}"]


_WRITES: list[Path] | None = None
_HOOKED: list[bool] = []


def _noted(event: str, arguments: tuple[Any, ...]) -> None:
    if _WRITES is None or event not in {
        "open", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "sqlite3.connect",
    }:  # fmt: skip
        return
    if event == "open" and not (
        (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    ):
        return
    _WRITES.extend(
        Path(os.fsdecode(each)).resolve()
        for each in arguments[: 2 if event in ("os.rename", "os.link") else 1]
        if isinstance(each, str | bytes | os.PathLike)
    )


@contextmanager
def writes() -> Iterator[list[Path]]:
    """Every path that Python opens to write, makes or removes meanwhile."""
    global _WRITES
    if not _HOOKED:
        sys.addaudithook(_noted)  # for good: it cannot be taken off
        _HOOKED.append(True)
    _WRITES = []
    try:
        yield _WRITES
    finally:
        _WRITES = None


def masked(folder: Path) -> tuple[list[keys.Keys], Manifest]:
    """A masked run that all have signed, with every card pinned."""
    names = ("north", "south", "west", "hub")
    made = [
        keys.create(folder / name, name, "127.0.0.1:7447" if name == "hub" else "")
        for name in names
    ]
    members = [member(each) for each in made]
    manifest = agreed(parse_study(MASKED), ["age", "intercept"], 0, members[:3], members[3])
    for each in made:
        manifest = manifest.signed_by(each)
        for other in made:
            if other is not each:
                trust(each.folder, other.card)
    return made, manifest


def test_a_masked_member_writes_only_where_the_unit_lets_it(tmp_path: Path) -> None:
    made, manifest = masked(tmp_path)
    path, state = tmp_path / "run.toml", tmp_path / "state"
    path.write_text(manifest.toml())
    options = Options(path, made[0].folder, state, records(tmp_path))
    with writes() as found:
        run(options, only_check=True)
        with Binding(made[0], manifest.run, state) as binding:
            binding.bind("")
        assert has_key(made[0], manifest.run)
        forget(made[0], manifest.run)
    unit = Unit()
    folders = {unit.option("--keys"): made[0].folder, "/var/lib/tacit/run": state}
    assert unit.option("--state") == "/var/lib/tacit/run"
    real = [
        Path(each.replace(old, str(new)))
        for each in ["/var/lib/tacit/run", *unit.writable()]
        for old, new in folders.items()
        if each.startswith(old)
    ]
    assert len(real) == 3
    within = [
        each
        for each in found
        if each.is_relative_to(tmp_path) and not any(each.is_relative_to(r) for r in real)
    ]
    assert not within
    for written in ("masks", "runs"):
        assert any(each.is_relative_to(made[0].folder / written) for each in found)


def test_a_run_without_masks_writes_nothing_beside_its_keys(tmp_path: Path) -> None:
    own = keys.create(tmp_path / "north", "north")
    with writes() as found:
        forget(own, bytes(32))
    assert not found


def _can_mount() -> bool:
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    trial = ["unshare", "-m", "sh", "-c", "mount --bind /tmp /tmp"]
    return subprocess.run(trial, check=False, capture_output=True).returncode == 0


READ_ONLY = """
mount --bind "$KEYS" "$KEYS"
for each in $WRITABLE; do mount --bind "$KEYS/$each" "$KEYS/$each"; done
mount -o remount,bind,ro "$KEYS"
exec "$@"
"""


def started(folder: Path, command: list[str], *, writable: bool) -> subprocess.Popen[bytes]:
    """A member whose keys are on a read-only mount, but for what the unit says."""
    own = folder / "keys"
    (own / "runs").mkdir(mode=0o700, exist_ok=True)
    there = [each for each in ("runs", "masks") if writable and (own / each).exists()]
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(
            ["unshare", "-m", "sh", "-e", "-c", READ_ONLY, "sh", *command],
            env=os.environ | {"KEYS": str(own), "WRITABLE": " ".join(there)},
            stdout=log,
            stderr=log,
        )


CHECK = """
import sys
from pathlib import Path
from tacit.deploy.identity.keys import load
from tacit.deploy.identity.pair_keys import check_writable
check_writable(load(Path(sys.argv[1])))
"""


@pytest.mark.long
def test_keys_for_masks_that_cannot_be_deleted_are_told_of_first(tmp_path: Path) -> None:
    own = keys.create(tmp_path / "keys", "north")
    offer(own, bytes(32))
    if os.geteuid() != 0:
        (own.folder / "masks").chmod(0o500)
        with pytest.raises(ConfigError, match="ReadWritePaths"):
            check_writable(own)
        return
    if not _can_mount():
        pytest.skip("for root every folder is writable, and it may not mount one read-only")
    command = [sys.executable, "-c", CHECK, str(own.folder)]
    assert started(tmp_path, command, writable=True).wait(60) == 0
    assert started(tmp_path, command, writable=False).wait(60) == 1
    assert "ReadWritePaths" in (tmp_path / "log.txt").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not _can_mount(), reason="mounts need a privilege that is not there")
def test_a_masked_run_goes_through_with_keys_on_a_read_only_mount(tmp_path: Path) -> None:
    rows = ["age,ill,site"]
    for site in ("north", "south", "west"):
        rows += [f"{age},{'yes' if age % 2 else 'no'},{site}" for age in range(20, 40)]
    (tmp_path / "records.csv").write_text("\n".join(rows) + "\n")
    rehearsal = prepare(parse_study(MASKED, folder=tmp_path), tmp_path / "run")
    members = [(n, rehearsal.folder / f"member-{n}") for n in range(4)]
    number, own = members[0]
    refused = started(own, rehearsal.command(number, "--dry-run"), writable=False)
    assert refused.wait(120) == 2
    assert "ReadWritePaths" in (own / "log.txt").read_text()
    running = [started(own, rehearsal.command(n), writable=True) for n, own in members]
    try:
        for process, (_, own) in zip(running, members, strict=True):
            assert process.wait(240) == 0, (own / "log.txt").read_text()[-2000:]
    finally:
        for process in running:
            process.kill()
            process.wait()
    run_id = read_manifest(rehearsal.folder / "manifest.toml").run
    for number, own in members:
        assert results(rehearsal, number)["rounds"] == 5
        assert not has_key(keys.load(own / "keys"), run_id)


def _instructions() -> list[tuple[str, str]]:
    text = (EXAMPLES / "Containerfile").read_text()
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined)]


def test_the_container_file_is_whole() -> None:
    found = _instructions()
    known = ["FROM", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"]
    assert [word for word, _ in found if word not in known] == []
    assert found[0][0] == "FROM" and ":" in found[0][1]
    steps = dict(found)
    copied = [name for word, rest in found if word == "COPY" for name in rest.split()[:-1]]
    for name in copied:
        assert (ROOT / name).exists()
    # all that pyproject.toml needs to build the package
    needed = {"pyproject.toml", "README.md", "LICENSE", "tacit"}
    assert needed <= set(copied)
    made = steps["RUN"]
    user = re.search(r"useradd .*?--uid (\d+) --gid (\w+) .*? (\w+)\s", made)
    group = re.search(r"groupadd .*?--gid (\d+) (\w+)", made)
    assert user is not None and group is not None
    assert steps["USER"] == user[3] == user[2] == group[2]
    assert user[1] == group[1]
    assert re.search(rf"-o {user[3]} -g {user[3]} -m 700 {steps['VOLUME']}", made)
    for key in ("ENTRYPOINT", "CMD"):
        assert all(isinstance(each, str) for each in json.loads(steps[key]))
    said = (EXAMPLES / "Containerfile").read_text()
    assert f"user and group {user[1]}" in said and f"chown -R {user[1]}:{user[1]}" in said
    for written in ("masks", "runs"):
        assert f"-v /etc/tacit/keys/{written}:/etc/tacit/keys/{written}" in said
    assert f"--state {steps['VOLUME']}" in said


def _builder() -> list[str] | None:
    for name in ("podman", "buildah", "docker"):
        if shutil.which(name) is None:
            continue
        if subprocess.run([name, "info"], check=False, capture_output=True).returncode == 0:
            return [name, "build"]
    return None


@pytest.mark.slow
@pytest.mark.skipif(_builder() is None, reason="nothing here builds containers")
def test_the_container_file_builds() -> None:
    builder = _builder()
    assert builder is not None
    subprocess.run([*builder, "-f", str(EXAMPLES / "Containerfile"), str(ROOT)], check=True)
