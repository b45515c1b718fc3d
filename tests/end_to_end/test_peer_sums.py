"""Exact sums between real processes on a graph: relayed, without a coordinator's machine."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.deploy.member.adding import ADDING
from tacit.deploy.operate.rehearse import Rehearsal, perform, prepare, results
from tacit.privacy.ledger import read, verify
from tacit.study.read import Source, parse_study
from tests.end_to_end.site_study import STAR, log_of, simulated
from tests.end_to_end.site_study import a_study as three_sites
from tests.end_to_end.test_masked_sites import a_study

RING = '[network]\ngraph = "ring"\nexact_sum = "tree"'


def between_peers(source: Source, network: str = RING) -> Source:
    """The study of sums with peers in the place of the coordinator."""
    text = source.text.replace('[network]\ngraph = "coordinator"', network)
    return parse_study(text, source.name, source.folder)


def status_of(rehearsal: Rehearsal, number: int, part: str = "") -> dict[str, Any]:
    """What a member, or who adds up beside it, says of itself."""
    try:
        path = rehearsal.folder / f"member-{number}" / "state" / part / "status.json"
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("network", "agents"),
    [
        (RING, 5),
        pytest.param(
            '[network]\ngraph = "path"\nexact_sum = "flooding"', 4, marks=pytest.mark.slow
        ),
        pytest.param(
            '[network]\nedges = [[0, 1], [1, 2], [1, 3]]\nexact_sum = "tree"',
            4,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["ring", "path", "tree"],
)
def test_real_sums_over_a_graph_are_those_of_the_simulation_to_the_bit(
    tmp_path: Path, network: str, agents: int
) -> None:
    source = between_peers(a_study(tmp_path, 12, "attempts = 15", agents=agents), network)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    found = perform(rehearsal, ["--test-seed", "5"], seconds=300.0)
    assert len(found) == agents  # nobody coordinates
    for each in found:
        np.testing.assert_array_equal(each["solution"], simulated(source, 5)[0])
        assert each["rounds"] == 12
    # the keys for masks are gone: what was recorded stays masked
    assert not list(rehearsal.folder.glob("member-*/keys/masks/*"))


@pytest.mark.long
def test_local_noise_is_summed_over_a_graph_to_the_bit(tmp_path: Path) -> None:
    source = three_sites(tmp_path, (RING.replace("ring", "path"), STAR[1]), rounds=6)
    found = perform(prepare(source, tmp_path / "rehearsal"), ["--test-seed", "5"], seconds=300.0)
    for each in found:
        np.testing.assert_array_equal(each["solution"], simulated(source, 5)[0])


@pytest.mark.long
def test_a_ring_goes_round_a_site_that_is_killed_and_takes_it_in_again(tmp_path: Path) -> None:
    """Site 1 passes on what site 2 sends, which goes the other way round while site 1 is gone."""
    more = "min_cohort = 4, attempts = 400"
    source = between_peers(a_study(tmp_path, 300, more, agents=5))
    rehearsal = prepare(source, tmp_path / "rehearsal", patience=8.0, silent="skip")
    running = {number: rehearsal.start(number, "--verbose") for number in range(5)}
    ends = time.monotonic() + 500

    def until(holds: str, found: bool = True) -> None:
        while (holds in status_of(rehearsal, 0, ADDING).get("without", [])) is not found:
            assert time.monotonic() < ends, log_of(rehearsal, 0)[-3000:]
            time.sleep(0.1)

    try:
        while not int(status_of(rehearsal, 0, ADDING).get("round", 0)) > 10:
            assert time.monotonic() < ends, log_of(rehearsal, 0)[-3000:]
            time.sleep(0.1)
        running[1].send_signal(signal.SIGKILL)
        running[1].wait()
        until("site 1")
        assert status_of(rehearsal, 0, ADDING)["without"] == ["site 1"]
        running[1] = rehearsal.start(1, "--verbose")
        until("site 1", found=False)
        for number, process in running.items():
            assert process.wait(max(ends - time.monotonic(), 1)) == 0, log_of(rehearsal, number)
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    for number in range(5):
        own = results(rehearsal, number)
        assert own["rounds"] == 300
        np.testing.assert_array_equal(own["solution"], results(rehearsal, 0)["solution"])
        ledger = rehearsal.ledger(number)
        assert verify(ledger).sound
        assert sum(each.releases for each in read(ledger).balances) <= 400
