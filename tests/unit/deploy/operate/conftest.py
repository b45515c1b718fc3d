"""A member that has finished, and its bundle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.deploy.operate.bundle import write_bundle
from tests.finished import Ended, ended


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    return ended(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def bundle(finished: Ended) -> Path:
    return write_bundle(finished.state, finished.keys.folder, finished.state.parent / "run.zip")
