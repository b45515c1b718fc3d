"""Settings that every test shares, `--quick` and `--share`."""

import gc
import hashlib
import itertools
import operator
import sys
import threading
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import jax
import pytest

from tests.text_columns import columns_of_text

# JAX keeps what it has traced, millions of objects; looking through them all again and again for
# garbage takes long.
gc.set_threshold(100_000, 50, 50)

COMPILES = "/jax/core/compile/jaxpr_to_mlir_module_duration"
"""What JAX reports after a program was traced and before it is compiled."""

LEAVES = ("subprocess.Popen", "os.fork", "socket.__new__")
"""What Python reports before a process is started or a socket is opened."""

MAPS, MOST_MAPS = Path("/proc/self/maps"), 40_000
"""Where Linux lists what a process has mapped, three or four a program, and how much is left alone.

It allows 65,530.
"""

_running = False
_ended = 0


@pytest.fixture
def float64() -> Iterator[None]:
    """Run a test of traced code in the precision that `tacit.run` works in."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(params=["str", "object"])
def text_columns(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a test with columns of text as pandas 3 makes them, and as pandas 2 does."""
    with columns_of_text(request.param):
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="run the first case of each test that is not marked not_quick, and skip what compiles "
        "a program, starts a process or opens a socket, as soon as it does",
    )
    parser.addoption(
        "--share",
        metavar="K/N",
        default="1/1",
        help="run the K-th of N shares of the tests, dealt by their names; cases of one test stay "
        "together",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("quick"):
        jax.monitoring.register_event_duration_secs_listener(
            lambda event, duration_secs, **kwargs: _skip("compiles") if event == COMPILES else None
        )
        sys.addaudithook(lambda event, details: _skip(event) if event in LEAVES else None)
        # a process of multiprocessing is reported by none of these
        start = BaseProcess.start
        BaseProcess.start = lambda self: _skip("starts a process") or start(self)


@pytest.hookimpl(trylast=True)  # after -m
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    number, shares = map(int, str(config.getoption("share")).split("/"))
    if not 1 <= number <= shares:
        raise pytest.UsageError(f"--share {number}/{shares}: K must be 1 to N")
    # the cases of one test compile the same programs
    names = [each.nodeid.partition("[")[0] for each in items]
    dealt = [int.from_bytes(hashlib.sha256(each.encode()).digest()[:4]) % shares for each in names]
    kept = [share == number - 1 for share in dealt]
    if config.getoption("quick"):
        kept = list(map(operator.and_, kept, _quick(items, names)))
    dropped = list(itertools.compress(items, map(operator.not_, kept)))
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = itertools.compress(items, kept)


def _quick(items: list[pytest.Item], names: list[str]) -> Iterator[bool]:
    """Return which of the tests `--quick` runs, given their names without cases."""
    before = set[str]()
    for item, name in zip(items, names, strict=True):
        yield name not in before and item.get_closest_marker("not_quick") is None
        before.add(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Any:
    global _running
    _running = True
    try:
        return (yield)
    finally:
        _running = False
        _forget_programs()


def _forget_programs() -> None:
    """Drop what JAX has compiled before the system refuses it more memory, which ends Python."""
    global _ended
    _ended += 1
    if _ended % 50 == 0 and MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()


def _skip(why: str) -> None:
    # a test that waits for its own threads would wait for ever
    if _running and threading.current_thread() is threading.main_thread():
        pytest.skip(f"not quick: {why}")
