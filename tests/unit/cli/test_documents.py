"""JSON documents keep their keys, and their numbers: tests/golden/commands holds earlier ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tests.end_to_end.study import changed, write

GOLDEN = Path(__file__).parents[2] / "golden" / "commands"
STAR = changed('"dpsg"', '"gradient-descent"', changed('"ring"', '"coordinator"'))
MASKED = changed("clip = 1.0", "clip = 1.0\nmasks = { coalition = 1, attempts = 25 }", STAR)
COMMANDS = {
    "plan_noise": "plan noise --epsilon 1 --rounds 200 --clip 1 --records 2000",
    "plan_rounds": "plan rounds --epsilon 1 --noise-multiplier 60",
    "plan_epsilon": "plan epsilon --noise-multiplier 2 --rounds 100 --noise discrete-gaussian",
    "plan_gossip": "plan gossip --graph ring --agents 5 --steps 4 -z 5 --fresh-noise",
    "plan_masks": "plan masks --agents 10 --coalition 2 --absent 1 -e 1 -r 300 --attempts 330",
    "account": "account study.toml",
}
PROSE = {"sentence", "theorem", "reason", "assumptions", "released", "warning"}


def bound(value: Any) -> Any:
    """What programs rely on: all but sentences."""
    if isinstance(value, dict):
        return {key: None if key in PROSE else bound(each) for key, each in value.items()}
    if isinstance(value, list):
        return [bound(each) for each in value]
    return pytest.approx(value, rel=1e-6) if isinstance(value, float) else value


@pytest.mark.parametrize("name", COMMANDS)
def test_documents(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "account":
        write(tmp_path, MASKED)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [*COMMANDS[name].split(), "--json"])
    assert done.exit_code == 0, done.output
    earlier = json.loads((GOLDEN / f"{name}.json").read_text())
    assert bound(json.loads(done.stdout)) == bound(earlier)
