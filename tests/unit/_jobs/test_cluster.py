"""Addresses and certificates of a cluster; a real one is in tests/end_to_end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tacit._jobs import Cluster, Piece
from tacit._jobs.cluster import on_cluster
from tacit.errors import ConfigError
from tests.unit._jobs.pieces import square


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"address": "head:8786"}, "must be tls://host:port or tcp://host:port"),
        ({"address": "tls://head"}, "must be tls://host:port"),
        ({"address": "http://head:80"}, "must be tls://host:port"),
        ({"address": "tls://head:8786"}, "give ca=, certificate=, key= too"),
        ({"address": "tls://head:8786", "ca": "PEM"}, "give certificate=, key= too"),
        ({"address": "tcp://head:8786", "ca": "PEM"}, "uses no certificates; begin"),
        (
            {"address": "tls://head:8786", "ca": "PEM", "certificate": "PEM", "key": "gone.pem"},
            "gone.pem' is not a file",
        ),
    ],
)
def test_what_is_no_cluster_is_refused(given: dict[str, str], said: str, tmp_path: Path) -> None:
    (tmp_path / "PEM").write_text("")
    files: dict[str, Any] = {k: v if k == "address" else tmp_path / v for k, v in given.items()}
    with pytest.raises(ConfigError) as error:
        Cluster(**files)
    assert said in str(error.value)


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    pieces = [Piece(square, {"number": 3.0}, 1.0)]
    with pytest.raises(ConfigError, match=r"pip install 'tacit\[cluster\]'"):
        list(on_cluster(pieces, Cluster("tcp://127.0.0.1:8786")))


def test_without_work_no_cluster_is_asked() -> None:
    assert list(on_cluster([], Cluster("tcp://127.0.0.1:1"))) == []
