"""A study whose sites hide each other in sums, from the file to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.privacy import Masks
from tacit.study import account, assemble, execute, mean_noise, parse_study, read_study
from tacit.study._output.files import result_document
from tacit.study._output.page import report_data
from tacit.study._output.words import adversary, protection
from tacit.study.build import build_privacy, check_privacy
from tacit.sweep import Grid, plan
from tests.end_to_end.study import STUDY, changed, write

NAMES = ("north", "south", "east", "west")

STAR = changed("rounds = 20", "rounds = 3", changed('"ring"', '"coordinator"', STUDY))
STAR = changed('"dpsg"', '"gradient-descent"', STAR)


def with_masks(masks: str, text: str = STAR) -> str:
    """A study with a key of [privacy]."""
    return changed("clip = 1.0", f"clip = 1.0\n{masks}", text)


MASKED = with_masks("masks = { coalition = 1, attempts = 4 }")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return execute(assemble(read_study(write(tmp_path_factory.mktemp("study"), MASKED))))


@pytest.mark.parametrize(
    ("text", "masks"),
    [
        ("masks = true", Masks()),
        ("masks = {}", Masks()),
        ("masks = false", None),
        ("[privacy.masks]\ncoalition = 0", Masks(0)),
        ("masks = { coalition = 2, min_cohort = 3, attempts = 9 }", Masks(2, 3, 9)),
    ],
)
def test_masks_are_true_or_a_table(text: str, masks: Masks | None) -> None:
    privacy = build_privacy(parse_study(with_masks(text)), NAMES)
    assert privacy is not None and privacy.masks == masks


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("masks = { coalition = -1 }", r"\[privacy.masks\] coalition: .* whole number from 0"),
        ("masks = { coalition = 2, min_cohort = 2 }", r"\[privacy.masks\] min_cohort: .*above"),
        ('noise = "laplace"\nmasks = true', r"\[privacy\] noise: .*does not go with masks"),
        ("sites_per_person = 2\nmasks = true", r"\[privacy\] sites_per_person: .*masks"),
    ],
)
def test_masks_that_cannot_be_are_refused_before_data_are_read(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=rf"study.toml:31: {words}"):
        check_privacy(parse_study(with_masks(text)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (with_masks("masks = { coalition = 4 }"), r"\[privacy.masks\] coalition: .*at most 3"),
        (
            changed('"coordinator"', '"coordinator"\ndropout = 0.1', with_masks("masks = true")),
            r"\[privacy\] masks: .*min_cohort is not given",
        ),
        (
            with_masks("masks = true", STUDY),
            r"\[privacy\] masks cancel in a sum.*gradient-descent",
        ),
    ],
)
def test_masks_that_do_not_fit_the_run_are_named_with_their_line(
    text: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=rf"study.toml:\d+: {words}"):
        account(assemble(read_study(write(tmp_path, text))))


def test_results_say_against_whom(outcome: Any) -> None:
    for owner in result_document(outcome)["guarantee"]["owners"]:
        told = {name: owner[name] for name in ("adversary", "coalition", "min_cohort", "attempts")}
        assert told == {"adversary": "colluding", "coalition": 1, "min_cohort": 4, "attempts": 4}
        said = "; ".join(owner["assumptions"])
        assert "Diffie-Hellman" in said and "at most 1 agent is corrupted" in said


def test_the_summary_names_the_adversary(outcome: Any) -> None:
    what, against, *_ = protection(outcome)
    assert what.endswith("site's data.")
    assert against.startswith("Adversary: ")
    for part in ("one of the agents", "at least 4 agents", "3 honest ones", "at most 4 sums"):
        assert part in against


@pytest.mark.parametrize(
    ("masks", "words"),
    [
        ("{ coalition = 0 }", "and takes no part"),
        ("{ coalition = 2 }", "up to 2 of the agents"),
        ("{ coalition = 3 }", "an honest one may have only its own noise"),
    ],
)
def test_other_adversaries(masks: str, words: str, tmp_path: Path) -> None:
    study = read_study(write(tmp_path, with_masks(f"masks = {masks}")))
    assert words in adversary(account(assemble(study)).guarantee.worst)


def test_the_report_has_the_adversary_the_sums_and_the_noise(outcome: Any) -> None:
    data = report_data(outcome, [])
    assert data.adversary.startswith("Sees every message")
    iterate, gradient = data.phases
    assert "coalition" not in iterate
    assert [gradient[name] for name in ("coalition", "min_cohort", "attempts")] == [1, 4, 4]
    assert data.mean_noise is not None and data.mean_noise.coalition == 1
    # what is drawn is what was added
    assert data.mean_noise.masked[1] == pytest.approx(gradient["noise_scale"] / np.sqrt(4))


def test_a_run_between_neighbours_has_no_noise_to_compare(tmp_path: Path) -> None:
    assert mean_noise(assemble(read_study(write(tmp_path)))) is None


def test_other_rounds_need_other_noise(tmp_path: Path) -> None:
    assembled = assemble(read_study(write(tmp_path, STAR)))
    few, many = mean_noise(assembled), mean_noise(assembled, 300)
    assert few is not None and many is not None
    assert many.local == pytest.approx(10 * few.local)


def test_a_coalition_can_be_swept(tmp_path: Path) -> None:
    source = read_study(write(tmp_path, with_masks("masks = true")))
    grid = Grid(seeds=1, settings={"privacy.masks.coalition": (0, 2)})
    cells = plan(source, grid).cells
    assert [cell.settings["privacy.masks.coalition"] for cell in cells] == [0, 2]
