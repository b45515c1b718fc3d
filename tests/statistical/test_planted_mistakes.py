"""`tacit audit` of studies finds mistakes that are planted into the code that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.study import STUDY
from tests.statistical.planted import MASKED, MISTAKES, SAMPLED, audited, finders


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_the_mistake_is_found(name: str, tmp_path: Path, capsys: Any) -> None:
    document = audited(tmp_path, MISTAKES[name])
    capsys.readouterr()
    assert document["refuted"] and finders(document)
    assert document["guarantee"]["status"] == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("study", [STUDY, SAMPLED, MASKED], ids=["plain", "sampled", "masked"])
def test_the_same_studies_without_a_mistake_stand(
    study: str, seed: int, tmp_path: Path, capsys: Any
) -> None:
    document = audited(tmp_path, None, study, seed)
    capsys.readouterr()
    assert not document["refuted"] and finders(document) == []
