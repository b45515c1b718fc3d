import math
from itertools import pairwise

import pytest

from tacit.report import figures


def test_values_that_have_no_logarithm_leave_a_gap():
    figure = figures.convergence(
        [0, 1, 2, 3, 4], {"gap": [1.0, 0.0, math.nan, math.inf, -1.0]}, (figures.BLUE,)
    )
    assert list(figure.data[0].y) == [1.0, None, None, None, None]
    assert figure.layout.yaxis.type == "log"


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([1.0, 1e-3], ["0.001", "0.01", "0.1", "1"]),
        ([1.0, 1e-10], [f"10<sup>{power}</sup>" for power in (-10, -8, -6, -4)] + ["0.01", "1"]),
        ([1.0, 0.1], ["0.1", "0.2", "0.5", "1"]),
        ([0.31, 0.98], ["0.3", "0.4", "0.5", "0.6", "0.8", "1"]),
        ([1.0], ["1"]),
        ([0.0], None),
    ],
)
def test_ticks_of_a_log_axis_are_written_out_and_apart(values, ticks):
    axis = figures.convergence(range(len(values)), {"gap": values}, (figures.BLUE,)).layout.yaxis
    assert (axis.ticktext and list(axis.ticktext)) == ticks and axis.title.text == "gap"


def test_the_ticks_of_a_forest_plot_are_on_its_axis():
    """At 0.5 and 2 there would be none between the ends of these intervals but 1."""
    names = ("parameter", "value", "lower", "upper", "sampling_lower", "sampling_upper")
    rows = [("idp", 0.56, 0.505, 0.62, 0.52, 0.6), ("disea", 1.83, 1.65, 1.95, 1.72, 1.93)]
    figure = figures.forest([dict(zip(names, row, strict=True)) for row in rows], "odds ratio")
    low, high = figure.layout.xaxis.range
    assert figure.layout.xaxis.ticktext == ("0.5", "1", "2")
    assert all(low < math.log10(each) < high for each in figure.layout.xaxis.tickvals)
    same = dict(zip(names, ("idp", 1.0, 1.0, 1.0, 1.0, 1.0), strict=True))
    assert figures.forest([same], "odds ratio").layout.xaxis.range is None


def test_a_long_line_is_thinned_and_keeps_its_ends():
    values = [1.0 + i for i in range(50_000)]
    line = figures.convergence(range(50_000), {"gap": values}, (figures.BLUE,)).data[0]
    assert len(line.x) == figures.POINTS
    assert (line.x[0], line.x[-1]) == (0, 49_999)
    assert (line.y[0], line.y[-1]) == (1.0, 50_000.0)


def test_thinning_repeats_no_point():
    assert len(set(figures.thin(1001))) == figures.POINTS


@pytest.mark.parametrize(("count", "most"), [(0, 40), (1, 40), (40, 40), (51, 40), (1001, 40)])
def test_rows_stand_evenly_and_end_with_the_last(count, most):
    found = figures.every(count, most)
    assert len(found) <= most
    assert found[-1:] == list(range(count))[-1:]
    assert len({after - before for before, after in pairwise(found[:-1])}) <= 1


def test_lines_differ_without_colour():
    figure = figures.convergence(
        [0, 1], {"gap": [1.0, 0.1], "distance": [1.0, 0.2]}, (figures.BLUE,)
    )
    first, second = figure.data
    assert first.line.dash != second.line.dash
    assert first.marker.symbol != second.marker.symbol
    assert figure.layout.showlegend


def test_spending_shows_the_budget_and_has_room_for_it():
    figure = figures.spending([0, 1], [0.0, 0.5], budget=2.0)
    assert figure.layout.shapes[0].y0 == 2.0
    assert figure.layout.annotations[0].text == "budget 2"
    assert figure.layout.yaxis.range[1] > 2.0


@pytest.mark.parametrize("budget", [None, math.inf])
def test_spending_without_a_finite_budget_has_no_line(budget):
    figure = figures.spending([0, 1], [0.0, math.inf], budget)
    assert not figure.layout.shapes
    assert list(figure.data[0].y) == [0.0, None]


def test_accuracy_gives_each_fit_its_own_sign_and_the_same_colour_everywhere():
    rows = [
        {"name": "base rate", "auc": 0.5},
        {"name": "agreed by the sites", "auc": 0.669},
        {"name": "pooled, no privacy", "auc": 0.671},
        {"name": "unknown", "auc": math.nan},
    ]
    figure = figures.accuracy(rows, "auc")
    assert [trace.x[0] for trace in figure.data] == [0.5, 0.669, 0.671]
    assert [t.marker.color for t in figure.data] == [figures.GREY, figures.BLUE, figures.ORANGE]
    assert len({trace.marker.symbol for trace in figure.data}) == 3
    assert figure.layout.annotations[1].text == "<b>0.669</b> agreed by the sites"


def test_accuracy_of_equal_fits_still_has_a_width():
    figure = figures.accuracy([{"name": "a", "auc": 0.5}, {"name": "b", "auc": 0.5}], "auc")
    low, high = figure.layout.xaxis.range
    assert low < 0.5 < high


def test_the_largest_coefficients_are_drawn_in_their_own_order():
    rows = [{"feature": f"x{i}", "agreed": float(i % 50)} for i in range(100)]
    drawn = figures.coefficients(rows).data[0]
    assert len(drawn.x) == figures.COEFFICIENTS
    assert min(drawn.x) == 35.0
    assert drawn.text[0] == "x35"


def test_coefficients_without_a_pooled_fit_have_one_series():
    figure = figures.coefficients([{"feature": "age", "agreed": 0.1}])
    assert [trace.name for trace in figure.data] == ["agreed by the sites"]
    assert not figure.layout.showlegend


def test_labels_are_text_and_not_markup():
    figure = figures.coefficients([{"feature": "<b>a & b</b>", "agreed": 0.1}])
    assert figure.layout.yaxis.ticktext[0] == "&lt;b&gt;a &amp; b&lt;/b&gt;"


@pytest.mark.parametrize(
    ("metric", "way"),
    [("AUC", "higher is better"), ("log_loss", "lower is better"), ("charm", "")],
)
def test_direction_of_a_metric(metric, way):
    assert figures.direction(metric) == way
