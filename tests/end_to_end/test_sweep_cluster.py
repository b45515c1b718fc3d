"""`tacit sweep` on a real Dask cluster of this machine, over TLS; what makes a cluster unusable."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit._jobs import Cluster, Piece, cluster
from tacit.errors import ConfigError
from tests.end_to_end import study
from tests.end_to_end.cluster import ROOT, Certificates, Running, certify, scheduler
from tests.end_to_end.test_sweep import SMALL, wait_for
from tests.unit._jobs.pieces import square, square_of

pytestmark = pytest.mark.slow

COMMAND = """
from tacit.sweep import cells
cells._WIDTH = 4
from tacit.cli import main
main()
"""
"""The command with small batches."""


def command(path: Path, out: Path, *where: str) -> subprocess.Popen[str]:
    """A sweep of twelve chunks."""
    arguments = ["sweep", str(path), "-n", "48", "--chunk", "4", "-o", str(out), *where]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def reached(running: Running, certificates: Certificates) -> Cluster:
    return Cluster(running.address, certificates.ca, certificates.certificate, certificates.key)


def refused(where: Cluster) -> str:
    """How a cluster is refused."""
    with pytest.raises(ConfigError) as error:
        list(cluster.on_cluster([Piece(square, {"number": 3.0}, 1.0)], where))
    return str(error.value)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certify(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture
def running(tmp_path: Path, certificates: Certificates) -> Iterator[Running]:
    with scheduler(tmp_path / "cluster", certificates) as found:
        yield found


def test_a_cluster_gives_the_same_numbers_though_a_worker_is_killed(
    running: Running, certificates: Certificates, tmp_path: Path
) -> None:
    for _ in range(2):
        running.add_worker()
    long = study.changed("rounds = 5", "rounds = 3000", SMALL)
    path = study.write(tmp_path, study.changed('"visits.csv"', '"visits*.csv"', long))
    options = ["--cluster", running.address]
    for name, file in (
        ("ca", certificates.ca),
        ("cert", certificates.certificate),
        ("key", certificates.key),
    ):
        options += [f"--tls-{name}", str(file)]
    out = tmp_path / "out"
    with command(path, out, *options) as sweeping:
        wait_for(out, 2, sweeping)
        assert not (out / "results.csv").exists()
        running.workers[0].kill()
        printed, errors = sweeping.communicate(timeout=300)
    assert sweeping.returncode == 0, errors
    assert f"on {running.address}" in printed and "unencrypted" not in printed
    assert "Traceback" not in errors
    # the records went to the worker, and it had no path to them
    kept = list((tmp_path / "cluster").rglob("visits.csv"))
    assert kept and all(
        file.read_bytes() == (tmp_path / "visits.csv").read_bytes() for file in kept
    )

    with command(path, tmp_path / "here", "-w", "1") as alone:
        _, errors = alone.communicate(timeout=300)
    assert alone.returncode == 0, errors
    table = (tmp_path / "here" / "results.csv").read_bytes()
    assert (out / "results.csv").read_bytes() == table


def test_a_lost_cluster_loses_nothing_and_the_sweep_goes_on_without_it(tmp_path: Path) -> None:
    path = study.write(tmp_path, study.changed("rounds = 5", "rounds = 3000", SMALL))
    out = tmp_path / "out"
    with scheduler(tmp_path / "cluster", None) as running:
        running.add_worker()
        with command(path, out, "--cluster", running.address) as sweeping:
            wait_for(out, 2, sweeping)
            running.process.kill()
            printed, errors = sweeping.communicate(timeout=120)
    assert sweeping.returncode == 1, errors
    assert "travel unencrypted" in printed and "Traceback" not in errors
    assert f"the cluster at {running.address} was lost; what had ended is stored" in errors
    stored = {file: file.stat().st_mtime_ns for file in (out / "pieces").glob("*.json")}
    assert 2 <= len(stored) < 12
    with command(path, out, "-w", "1") as alone:
        printed, errors = alone.communicate(timeout=300)
    assert alone.returncode == 0, errors
    assert f"{len(stored)} of 12 chunks are stored already" in printed
    assert {file: file.stat().st_mtime_ns for file in stored} == stored


def test_a_process_runs_workers_one_after_the_other(tmp_path: Path) -> None:
    """As in a notebook that starts a second cluster: the first one's folder is gone."""
    import distributed

    local: Any = distributed.LocalCluster
    (tmp_path / "three").write_text("3")
    piece = Piece(square_of, {}, 1.0, inputs={"file": tmp_path / "three"})
    for _ in range(2):
        with local(
            n_workers=1, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address=None
        ) as here:
            answers = list(cluster.on_cluster([piece], Cluster(here.scheduler_address)))
        assert [answer["squared"] for _, answer in answers] == [9.0]


def test_certificates_of_another_authority_are_refused(
    running: Running, certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_SECONDS", 3.0)
    others = certify(tmp_path / "theirs")
    said = refused(reached(running, others))
    assert "cannot be reached" in said and "certificates are its own" in said
    assert "has no workers; start some with" in refused(reached(running, certificates))


def test_a_worker_without_tacit_is_refused(
    running: Running, certificates: Certificates, tmp_path: Path
) -> None:
    import distributed

    installed = Path(str(distributed.__file__)).parents[1]
    bare = tmp_path / "bare"
    bare.mkdir()
    for entry in installed.iterdir():
        if "tacit" not in entry.name.lower():
            (bare / entry.name).symlink_to(entry)
    # -S: no installed package but those
    running.add_worker({"PYTHONPATH": str(bare)}, "-S")
    said = refused(reached(running, certificates))
    assert "worker tls://" in said and "has no tacit; install tacit" in said


def test_a_worker_with_another_version_of_a_library_is_refused(
    running: Running, certificates: Certificates, tmp_path: Path
) -> None:
    older = tmp_path / "older" / "equinox-0.0.1.dist-info"
    older.mkdir(parents=True)
    (older / "METADATA").write_text("Metadata-Version: 2.1\nName: equinox\nVersion: 0.0.1\n")
    running.add_worker({"PYTHONPATH": os.pathsep.join([str(older.parent), str(ROOT)])})
    said = refused(reached(running, certificates))
    assert "has equinox 0.0.1, and this machine" in said and "install the same version" in said


def test_a_worker_with_other_code_is_refused(
    running: Running, certificates: Certificates, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(ROOT / "tacit", other / "tacit")
    shutil.copytree(ROOT / "tests", other / "tests")
    with (other / "tacit" / "_engine" / "runner.py").open("a") as file:
        file.write("\n# changed\n")
    running.add_worker({"PYTHONPATH": str(other)})
    assert "but with other code; install the same there" in refused(reached(running, certificates))


def test_an_address_where_nobody_listens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_SECONDS", 1.0)
    began = time.monotonic()
    assert "cluster='tcp://127.0.0.1:1' cannot be reached" in refused(Cluster("tcp://127.0.0.1:1"))
    assert time.monotonic() - began < 60
