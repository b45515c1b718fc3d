"""What the comparison of private and pooled regressions of real data shows, on small models."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "real_data.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("real_data", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["real_data"] = module  # where dataclasses look annotations up
    spec.loader.exec_module(module)
    return module


def test_no_record_is_beyond_its_bounds(script: ModuleType) -> None:
    for model in script.MODELS.values():
        frame = model.records()
        for name, declared in {model.target[0]: model.target[1], **model.columns}.items():
            low, high = getattr(declared, "lower", 0), getattr(declared, "upper", 1)
            # the file has logarithms with five decimals
            assert frame[name].between(low - 1e-4, high + 1e-4).all(), name


@pytest.mark.slow
def test_many_records_give_intervals_and_few_are_refused(
    script: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script.main(["--models", "fair", "heart", "--seed", "3", "--output", str(tmp_path)])
    fair, heart = capsys.readouterr().out.strip().split("\n\n")
    printed = re.findall(r"^(\w+) .*\[ *(\S+), *(\S+)\].*\[ *(\S+), *(\S+)\]", fair, re.MULTILINE)
    assert [row[0] for row in printed] == ["Intercept", *script.MODELS["fair"].columns]
    for name, *ends in printed:
        low, high, least, most = map(float, ends)
        assert max(low, least) < min(high, most), name  # they overlap
        assert most - least > high - low, name  # and the private one is wider
    assert heart.count("No intervals") == len(script.EPSILONS) and "records at this" in heart
    assert heart.count("[ none ]") == 2 and not re.search(r"\].*\[ *-?\d", heart)
    shown = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    said = fair.count("No intervals") + heart.count("No intervals")
    assert shown.count("No intervals") == said and shown.count("<h2>") == 2


@pytest.mark.long
def test_numbers_follow_the_records(script: ModuleType) -> None:
    model = script.MODELS["fair"]
    frame = model.records()
    other = frame.assign(age=frame["age"].max() + frame["age"].min() - frame["age"])
    for fit in (script.pooled, lambda *given: script.private(*given, 1.0, 0)):
        before, after = (fit(model, each).values for each in (frame, other))
        place = 1 + list(model.columns).index("age")
        assert before[place] < 0.0 < after[place]
        np.testing.assert_array_less(0.0, before[place + 1] * after[place + 1])
