"""The figure of what masks save, and where the page says against whom a guarantee holds."""

from dataclasses import replace

import numpy as np
import pytest

from tacit._engine.planning import MeanNoise
from tacit.report import masking, released_only, render
from tests.unit.report.sample import sample
from tests.unit.report.test_html import drawn, text


def noise(agents=10, cohort=10, coalition=1):
    """As `mean_noise` has it for agents that are all alike."""
    masked = 1.0 / np.sqrt(agents * (cohort - np.arange(cohort)))
    return MeanNoise(
        agents, cohort, 50, agents**-0.5, tuple(masked.tolist()), 1.0 / agents, coalition
    )


def test_every_way_is_drawn_and_the_runs_own_is_marked():
    alone, central, masks, mark = masking.ways(noise()).data
    assert list(masks.x) == [0, 1, 2, 3, 4, 5]
    assert masks.y[0] == pytest.approx(0.1) and masks.y[5] == pytest.approx(0.2**0.5 / 10**0.5)
    assert set(alone.y) == {10**-0.5} and set(central.y) == {0.1}
    assert (mark.x[0], mark.y[0]) == (1, masks.y[1])
    assert len({alone.line.dash, central.line.dash, masks.line.dash}) == 3


def test_a_run_without_masks_is_marked_on_its_own_line():
    figure = masking.ways(noise(coalition=None))
    assert figure.data[-1].y[0] == 10**-0.5
    assert "3 times smaller" in masking.caption(noise(coalition=None))


@pytest.mark.parametrize(("agents", "coalition", "last"), [(2, 0, 1), (3, 1, 2), (40, 30, 30)])
def test_few_coalitions_are_drawn_and_always_the_runs_own(agents, coalition, last):
    figure = masking.ways(noise(agents, agents, coalition))
    assert figure.data[2].x[-1] == last
    assert figure.layout.xaxis.dtick == (1 if last <= 10 else 3)
    assert figure.layout.yaxis.range[1] > max(figure.data[2].y)


def test_captions_compare_the_run():
    assert "0.1054, 1.054 times" in masking.caption(noise())
    assert "0.3162" in masking.caption(noise())
    assert "So many agents may be corrupted" in masking.caption(noise(coalition=9))
    two = noise(2, 2, None)
    assert "would make" not in masking.caption(two)
    said = masking.alternative(noise())
    assert "0.3162" in said and "0.1 against 0" in said


def test_the_page_shows_them_in_a_public_report_too():
    data = sample(mean_noise=noise(), adversary="Sees every message.")
    for page in (render(data), render(replace(data, public=True))):
        assert "noise-figure" in drawn(page)
        words = text(page)
        assert "<h3>Adversary</h3>" in words and "Sees every message." in words
    assert released_only(data).mean_noise == data.mean_noise


def test_the_page_of_a_run_that_cannot_use_masks_is_silent():
    page = render(sample())
    assert "noise-figure" not in drawn(page)
    assert "masks" not in text(page) and "<h3>Adversary" not in text(page)


def test_the_numbers_that_masks_rest_on_have_headings():
    phases = [
        {"phase": "iterate", "sender": "the coordinator"},
        {"phase": "gradient", "coalition": 1, "min_cohort": 9, "attempts": 400},
    ]
    words = text(render(sample(phases=phases)))
    for heading in (
        "Most corrupted agents",
        "Fewest agents per sum",
        "Most sums",
    ):
        assert heading in words
