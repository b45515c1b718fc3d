"""Gaussian masks between real processes: bits, releases replayed, kills, and keys that are gone."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from tacit._engine.exact import ExactEngine
from tacit.deploy.agreement.declared import declared
from tacit.deploy.operate.bundle import write_bundle
from tacit.deploy.operate.rehearse import Rehearsal, prepare, results
from tacit.deploy.operate.verify import Verdict, verify_bundle
from tacit.privacy.ledger import read, verify
from tacit.study import assemble
from tacit.testing import check_between_sites
from tests.end_to_end.site_study import a_study, log_of, sent
from tests.end_to_end.test_sites import with_kills
from tests.laid_out import lay_out

ROUNDS = 8
METHOD = 'name = "masked-gossip"\nstep = 0.5\nratio = 500.0'
MASKED = ('[network]\ngraph = "ring"', METHOD)
"""Masks are 500 times the noise, so that one that stayed in the answer would be seen."""


@pytest.mark.long
def test_sites_compute_what_the_simulation_does_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(a_study(tmp_path, MASKED, 4).text)
    check_between_sites(path)


RECORDED = """
import sys
from pathlib import Path
import numpy as np
from tacit.privacy.noise.pairs import PairRelease
added, path = PairRelease.__call__, Path(sys.argv[sys.argv.index("--state") + 1]).parent / "y.bin"
def recorded(self, *given):
    found = added(self, *given)
    with path.open("ab") as file:
        file.write(found.astype("<f8").tobytes())
    return found
PairRelease.__call__ = recorded
from tacit.cli import main
main()
"""


def start(rehearsal: Rehearsal, number: int) -> subprocess.Popen[bytes]:
    """A member that keeps a copy of its releases."""
    command = rehearsal.command(number, "--verbose")
    at = command.index("-m")
    with rehearsal.log(number).open("ab") as log:
        recorded = [*command[:at], "-c", RECORDED, *command[at + 2 :]]
        return subprocess.Popen(recorded, stdout=log, stderr=log)


@pytest.mark.long
def test_real_releases_replayed_give_the_same_bits_and_masks_cancel(tmp_path: Path) -> None:
    source = a_study(tmp_path, MASKED, ROUNDS)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    running = [start(rehearsal, number) for number in range(3)]
    try:
        for number, process in enumerate(running):
            assert process.wait(timeout=300) == 0, log_of(rehearsal, number)[-2000:]
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert "model claim, not a proof, and not a certificate" in log_of(rehearsal, 0)
    # the keys are gone: what was released stays under its masks
    assert not list(rehearsal.folder.glob("member-*/keys/masks/*"))
    with jax.enable_x64(True):
        agreed = declared(rehearsal.manifest).contract
        parts = assemble(source)
        plan, roots, _ = lay_out(parts.problem, parts.network, parts.method, ROUNDS, 0)
        size, asked = len(agreed.numbers), ROUNDS - agreed.method.closing
        released = np.stack(
            [
                np.fromfile(rehearsal.folder / f"member-{number}" / "y.bin", "<f8").reshape(
                    -1, size
                )
                for number in range(3)
            ]
        )
        assert released.shape == (3, asked, size)
        given = {
            (0, round, 0, 0, agent): released[agent, round]
            for agent in range(3)
            for round in range(asked)
        }
        engine = ExactEngine(plan, roots, replay=given)
        end, _ = engine.advance(engine.start(), np.array([[0, ROUNDS]]))
        (states,) = end.values()
        answers = np.asarray(states.answer)[0]
    for number in range(3):
        np.testing.assert_array_equal(results(rehearsal, number)["solution"], answers[number])
    # the bundle says what it is a bundle of: a claim, computed again
    own = rehearsal.folder / "member-0"
    path = write_bundle(own / "state", own / "keys", tmp_path / "run.zip")
    found = verify_bundle(path, manifest=rehearsal.manifest)
    assert found.verdict is Verdict.VERIFIED and found.guarantee is not None
    assert found.guarantee.followed and not found.guarantee.certificate
    assert any("a model claim, not a certificate" in each for each in found.open)
    # each release is far from the answer, which a clip keeps within 1; the sum of all is near
    release = agreed.release(0, 0)
    steps = np.ldexp(released, -release.grid.exponent)
    assert (steps % 1.0 == 0.0).all()
    assert np.sqrt(np.mean(steps**2)) > 0.5 * release.masks
    most = 3.0 * np.ldexp(1.0, -release.grid.exponent) + 9.0 * np.sqrt(3.0) * release.scale
    assert most < 0.2 * release.masks
    assert (abs(steps.sum(axis=0)) < most).all()


@pytest.mark.slow
def test_kills_release_nothing_twice(tmp_path: Path) -> None:
    """A mask serves one release: whoever starts again sends what it has stored."""
    rounds = 150
    source = a_study(tmp_path, MASKED, rounds)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    with_kills(rehearsal, 8, seed=2)
    answers = [results(rehearsal, number)["solution"] for number in range(3)]
    for number in range(3):
        assert all(len(digests) == 1 for digests in sent(rehearsal, number).values())
        ledger = rehearsal.ledger(number)
        assert verify(ledger).sound
        assert sum(each.releases for each in read(ledger).balances) == rounds - 1
        np.testing.assert_allclose(answers[number], answers[0], rtol=1e-9, atol=1e-9)
    assert not list(rehearsal.folder.glob("member-*/keys/masks/*"))


@pytest.mark.slow
def test_a_member_that_lost_its_state_releases_nothing_again(tmp_path: Path) -> None:
    rehearsal = prepare(a_study(tmp_path, MASKED, 60), tmp_path / "rehearsal", patience=20.0)
    running = [rehearsal.start(number, "--verbose") for number in range(3)]
    try:
        ends = time.monotonic() + 200
        while len(sent(rehearsal, 0)) < 4:
            assert time.monotonic() < ends, log_of(rehearsal, 0)[-2000:]
            time.sleep(0.02)
        running[0].kill()
        running[0].wait()
        before = sent(rehearsal, 0)
        shutil.rmtree(rehearsal.folder / "member-0" / "state")
        running[0] = rehearsal.start(0, "--verbose")
        assert running[0].wait(timeout=200) != 0
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert "the folder was emptied since" in log_of(rehearsal, 0)
    assert sent(rehearsal, 0) == before
