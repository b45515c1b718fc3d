"""Files that others wrote are read within bounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.deploy.agreement.manifest import read_manifest
from tacit.deploy.identity.keys import read_card
from tacit.errors import ConfigError
from tacit.study._grammar import toml
from tacit.study.read import parse_study, read_study

DEEP = ".".join(["a"] * 20_000)

HOSTILE = {
    "a dotted key": f"{DEEP} = 1",
    "a dotted table": f"[{DEEP}]",
    "a dotted key inside": f"x = {{ b = 1, {DEEP} = 1 }}",
    "dots with spaces and quotes": " . ".join(["'a'"] * 20_000) + " = 1",
    "arrays": "a = " + "[" * 100_000,
    "tables": "a = " + "{a=" * 100_000,
    "numbers": "a = [" + "0," * (4 << 20) + "]",
    "lines": "\n" * (8 << 20),
    "a text": f'a = "{"x" * (8 << 20)}"',
    "no text": "\udcff\udcfe",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("read", [read_study, read_card, read_manifest])
def test_hostile_files_are_refused_at_once(
    tmp_path: Path, read: Callable[[Path], object], text: str
) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(ConfigError, match=r"file\.toml"):
        read(path)


def test_a_device_without_end_is_not_read_to_its_end() -> None:
    with pytest.raises(ConfigError, match="more than such files have"):
        read_card(Path("/dev/zero"))


def test_what_studies_have_is_read() -> None:
    known = toml.parse('[data.features."a.b.c"]\nlower = -1.5\nrates = [0.1, 0.2]', "study.toml")
    assert known == {"data": {"features": {"a.b.c": {"lower": -1.5, "rates": [0.1, 0.2]}}}}


def test_the_line_of_a_long_key_is_named() -> None:
    with pytest.raises(ConfigError, match=r"study\.toml:2: a key of more than 32 parts"):
        toml.parse(f"a = 1\n{DEEP} = 1", "study.toml")


def test_thousands_of_mistakes_are_told_in_a_few_lines() -> None:
    text = "\n".join(f"k{number}.b = 1" for number in range(20_000))
    with pytest.raises(ConfigError, match="more mistakes; correct these first") as told:
        parse_study(text)
    assert len(str(told.value)) < 10_000
