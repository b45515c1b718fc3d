"""Members that tests of several themes start."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.unit.deploy.ring import MEMBERS, Ring, created


@pytest.fixture
def ring(tmp_path: Path) -> Callable[..., Ring]:
    return partial(Ring, folder=tmp_path, keys=created(tmp_path, MEMBERS + 1))
