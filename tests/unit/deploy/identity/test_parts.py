"""Pins of packages, and the parts that a manifest lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.deploy.identity.parts import AgreedPart, admit, pin, pinned, place, unpin
from tacit.errors import ConfigError

DIGEST = 64 * "0"


@pytest.fixture(autouse=True)
def pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "folder" / "pins.json"
    monkeypatch.setenv("TACIT_PARTS", str(path))
    return path


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        "[" * 100_000,
        '{"format": "tacit-parts-1", "pins": {"acme": null}}',
        '{"format": "tacit-parts-1", "pins": {"acme": "00"}}',
        '{"format": "tacit-parts-2", "pins": {}}',
    ],
)
def test_damaged_pins_are_told(pins: Path, text: str) -> None:
    pins.parent.mkdir()
    pins.write_text(text)
    with pytest.raises(ConfigError, match="delete it and pin again"):
        pinned()


def test_a_link_in_the_place_of_the_pins_is_not_written_through(pins: Path, tmp_path: Path) -> None:
    pins.parent.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text('{"format": "tacit-parts-1", "pins": {}}')
    pins.symlink_to(elsewhere)
    pin("acme", DIGEST)
    assert pinned() == {"acme": (DIGEST,)} and "acme" not in elsewhere.read_text()
    unpin("acme")
    assert pinned() == {} and place() == pins
    with pytest.raises(ConfigError, match="64 hexadecimal digits"):
        pin("acme", "00")


def test_a_part_is_listed_once() -> None:
    part = AgreedPart(
        family="loss",
        name="acme",
        target="acme:Loss",
        distribution="acme",
        version="1.0",
        sha256=DIGEST,
    )
    with pytest.raises(ConfigError, match="lists a part twice"):
        admit([], [part, part])
    with pytest.raises(ConfigError, match="not installed here"):
        admit([], [part])
