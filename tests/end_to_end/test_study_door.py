"""Every method that studies name through `tacit run`, on all that it accepts, and between sites."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.matrix import FITTING, cells, choices, forget_programs, one
from tests.quick import only
from tests.study_door import VALUES, plain, records, refusal, rehearsed, tried

QUICK = ("dpsg", "gradient-descent", "or-zo")
NUMBER = {name: number for number, name in enumerate(FITTING)}


@pytest.mark.slow
@pytest.mark.parametrize("method", only(QUICK, FITTING))
def test_a_mixture_of_what_a_method_accepts_is_run(method: str, tmp_path: Path) -> None:
    records(tmp_path)
    ask = partial(refusal, folder=tmp_path)
    cell = one(plain(method, tmp_path), VALUES, ask, NUMBER[method])
    assert tried(cell, tmp_path) == "", str(cell)


@pytest.mark.slow
@pytest.mark.parametrize("method", FITTING)
def test_everything_that_a_method_accepts_is_run(method: str, tmp_path: Path) -> None:
    records(tmp_path)
    ask = partial(refusal, folder=tmp_path)
    base = plain(method, tmp_path)
    for why in choices(base, VALUES, ask)[1].values():
        assert len(why) > 40, f"{why!r} is no reason"
    for cell in cells(base, VALUES, ask, NUMBER[method]):
        assert tried(cell, tmp_path) == "", str(cell)
    forget_programs()


@pytest.mark.slow
@pytest.mark.parametrize("method", FITTING)
def test_a_method_is_rehearsed_or_refused_before_anybody_signs(method: str, tmp_path: Path) -> None:
    records(tmp_path)
    said = rehearsed(plain(method, tmp_path), tmp_path)
    assert said == "" or said.startswith("refused: "), said
    assert (tmp_path / "rehearsal").exists() == (said == "")
