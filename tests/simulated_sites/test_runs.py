"""Runs of all shapes end, a seed repeats to the last byte, and what was once found stays mended."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulated_sites import cast, run, seams, seeds, watchers
from tests.simulated_sites.faults import Fault, draw
from tests.simulated_sites.mutants import named
from tests.simulated_sites.planting import planted
from tests.simulated_sites.ran import Ran

ROOT = Path(__file__).parents[2]
DIGEST = """
from tests.simulated_sites import seams, seeds
with seams.replaced():
    for seed in range(6):
        print(seeds.of_seed(seed).digest())
"""
OUTSIDE = ("gate", "transport", "doctor", "rehearse", "nursery", "parts", "archive")
"""Modules that no simulated member runs, or of which it runs what asks nothing of the machine."""

FOUND = {
    "who comes back when the others have finished": (
        "who has finished is waited for",
        29,
        cast.RING_SKIP,
        (Fault("kill after publish", 0, 2, 60.0),),
    ),
    "who begins when the others have finished": (
        "who is silent is not asked whether it has finished + "
        "who has finished is waited for beside one who is silent",
        1132,
        cast.RING_SKIP,
        (
            Fault("torn commit", 1, 17, 2.211),
            Fault("full disk", 1, 3, value=4),
            Fault("full disk", 0, 28, value=1),
        ),
    ),
    "who waits for one that has finished, and was behind before": (
        "who has finished is waited for as if it waited itself",
        35,
        cast.RING_SKIP,
        (Fault("full disk", 2, 7, value=4), Fault("full disk", 1, 18, value=2)),
    ),
    "who was killed when it had noted that it comes in again": (
        "rounds in which a member took part at last told as an absence",
        178,
        cast.RING_SKIP,
        (
            Fault("torn commit", 0, 24, 0.7252),
            Fault("full disk", 0, 8, value=4),
            Fault("full disk", 2, 20, value=1),
        ),
    ),
    "a state that was marked, and killed again": (
        "a state that was marked is recorded only when a message is made",
        29,
        cast.RING_SKIP,
        (Fault("torn commit", 0, 4, 0.1), Fault("full disk", 0, 7, value=2)),
    ),
    "a state and a ledger put back together, with newer keys": (
        "a release noted in the ledger and the journal alone",
        7,
        cast.RING_LEDGER,
        (
            Fault("cut", 0, 1.251, 1.0, 0.0, (0,)),
            Fault("copy", 0, 1.25, 0.2, 1.75, ("work",)),
        ),
    ),
    "who comes back when its coordinator has ended early": (
        "a coordinator that ended early is not asked for its last word",
        29,
        cast.MASKS,
        (Fault("kill after publish", 0, 2, 1.0),),
    ),
    "a client that is killed again while a sum is announced": (
        "a sum that was announced meanwhile is not asked for",
        20,
        cast.MASKS,
        (
            Fault("kill", 2, 0.8238, 5.3623),
            Fault("power cut", 2, 6.2275, 0.3749),
        ),
    ),
    "a client that is killed again when it has heard of a sum": (
        "a sum that was announced meanwhile is not asked for + "
        "what was heard before a start tells of no later sum",
        1,
        cast.MASKS_FOUR,
        (
            Fault("kill", 3, 1.0888, 5.2638),
            Fault("torn commit", 3, 13, 0.5801),
        ),
    ),
    "who was stopped for longer than patience": (
        "time in which a member was stopped counts as waiting",
        1009964,
        cast.PAIR,
        (
            Fault("power cut", 0, 0.831, 0.241),
            Fault("stall", 0, 3.6507, 27.1557),
            Fault("stall", 1, 1.1992, 5.1194),
            Fault("preempted", 0, 0.0, value=0.03),
        ),
    ),
    "who is killed twice as it begins": (
        "a beginning that was recorded on one side alone is not recorded on the other",
        86,
        cast.PAIR,
        (Fault("kill before commit", 0, 4, 0.1), Fault("kill before commit", 0, 8, 0.1)),
    ),
    "who is started twice while its disk is full": (
        "a folder of state that cannot be made is not told of",
        2,
        cast.PAIR,
        (Fault("twin", 0, 1.1433, value=1.0), Fault("full disk", 0, 14, value=4)),
    ),
    "a state that one part refuses does not bind the other": (
        "an agent begins although who adds up beside it is refused",
        893,
        replace(cast.PEERS, sums="flooding"),
        (Fault("copy", 0, 0.649, 0.1, 1.271, ("state",)),),
    ),
    "a whole machine that is put back where sums are added up": (
        "who adds up beside an agent asks nobody before it sends",
        4,
        replace(cast.PEERS, silent="stop"),
        (Fault("copy", 0, 1.0145, 0.05, 1.3645, ("machine",)),),
    ),
    "a whole machine that is put back where the last sum is added up": (
        "who adds up beside an agent asks nobody before it sends",
        48,
        replace(cast.PEERS, silent="stop"),
        (Fault("copy", 0, 1.3231, 0.002, 1.7078, ("machine",)),),
    ),
    "who ended early, and is started again": (
        "who ended early goes back to a round that never was",
        211,
        replace(cast.PEERS, silent="stop"),
        (Fault("full disk", 2, 17, value=2),),
    ),
    "who comes back when its coordinator waits for somebody else": (
        "a coordinator that went on is given up as if it were silent + "
        "a sum that is over is waited for",
        409,
        cast.MASKS_FOUR,
        (
            Fault("cut", 0, 0.8456, 3.4994, 1.0, (0, 1)),
            Fault("cut", 2, 3.3942, 7.1878, 1.0, (2, 3, 4)),
        ),
    ),
}
"""Faults that kept a member from its end, or made it answer twice or give up: what was mended."""


@pytest.fixture
def simulated() -> Generator[None, None, None]:
    with seams.replaced():
        yield


@pytest.mark.parametrize(
    "shape",
    [
        cast.RING,
        cast.MASKS,
        cast.PEERS,
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in (cast.PAIR, cast.STAR, cast.RING_SKIP)
        ),
    ],
    ids=lambda shape: shape.name,
)
def test_a_run_without_faults_ends_and_repeats_to_the_last_byte(
    simulated: None, shape: cast.Shape
) -> None:
    ran, again = (run.simulate(7, shape) for _ in range(2))
    assert list(ran.ended.values()) == ["finished"] * shape.members
    assert watchers.broken(ran) == {}
    assert ran.digest() == again.digest()
    assert run.simulate(8, shape).digest() != ran.digest()
    left = {each[4] for each in ran.history if each[1] == "left"}
    assert len(left) >= shape.rounds * shape.agents


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_mended(simulated: None, name: str) -> None:
    _, *given = FOUND[name]
    ran = run.simulate(*given)
    assert watchers.broken(ran) == {}
    assert set(ran.ended.values()) == {"finished"}


@pytest.mark.long
@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_is_found_again_without_its_mend(name: str) -> None:
    mended, *given = FOUND[name]
    mistakes = [named(each) for each in mended.split(" + ")]
    with planted(*mistakes), seams.replaced():
        found = set(watchers.broken(run.simulate(*given)))
    for each in mistakes:
        assert found & set(each.watchers), each.name


def in_a_process(hashed: str) -> Sequence[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DIGEST],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hashed, "PYTHONPATH": str(ROOT)},
    )
    return done.stdout.split()


@pytest.mark.long
def test_a_seed_with_its_faults_is_the_same_run_in_another_process(simulated: None) -> None:
    here = [seeds.of_seed(seed).digest() for seed in range(6)]
    assert here == in_a_process("1") == in_a_process("2")


@pytest.mark.long
def test_many_members_end_after_kills(simulated: None) -> None:
    shape, agents = cast.large(16), 16
    faults = [
        Fault("torn commit", 3, 12, 0.3),
        Fault("kill", 5, 1.2, 0.5),
        Fault("kill after publish", agents - 1, 2, 0.2),
        Fault("cut", 0, 1.0, 2.0, 1.0, (0, 1, 2)),
    ]
    ran = run.simulate(1, shape, faults)
    assert watchers.broken(ran) == {}
    assert ran.counts["torn commit"] == 1


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.long) for first in range(10, 100, 10))]
)
@pytest.mark.parametrize("way", ["tree", pytest.param("flooding", marks=pytest.mark.long)])
def test_peers_that_add_up_end_after_faults_of_all_kinds(
    simulated: None, way: str, first: int
) -> None:
    """On a ring, with all that is drawn for a star with masks, and members that pass on less."""
    shape = replace(cast.PEERS, sums=way)
    for seed in range(first, first + 10):
        ran = run.simulate(seed, shape, draw(seed, shape), equal=seed % 3 == 0)
        assert watchers.broken(ran) == {}, seed


def test_a_link_that_is_broken_all_the_time_leaves_nobody_out(
    simulated: None, tmp_path: Path
) -> None:
    """Member 1 pushes to member 0, which adds up, over this link: it is asked round the ring."""
    ran = Ran(7, cast.PEERS, ())
    world = run.Run(ran, tmp_path)
    world.at.network.cut |= {(0, 1): float("inf"), (1, 0): float("inf")}
    world.go()
    assert watchers.broken(ran) == {}
    assert list(ran.ended.values()) == ["finished"] * 4 and not ran.of("silent")
    assert all(not left.without for left in ran.left.values())


def test_no_member_reaches_the_machine_past_what_is_replaced() -> None:
    """Names of functions would stay Python's own, and other modules are not replaced at all."""
    forbidden = {"random", "subprocess", "multiprocessing", "asyncio", "socket", "select", "fcntl"}
    wrong = []
    for module in seams.modules():
        name = module.__name__
        assert module.__file__ is not None
        if name.rpartition(".")[2] in OUTSIDE:
            continue
        for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in seams.REPLACED:
                named = {each.name for each in node.names} - {"UTC", "datetime"}
                wrong += [f"{name}: from {node.module} import {each}" for each in named]
            elif isinstance(node, ast.Import):
                wrong += [
                    f"{name}: import {each.name}"
                    for each in node.names
                    if each.name.partition(".")[0] in forbidden
                ]
    assert wrong == []
