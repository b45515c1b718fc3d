"""Figures of results, as users plot them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit.errors import ConfigError
from tacit.method import Refused
from tacit.privacy import Guarantees, Status
from tacit.report import plot
from tacit.report.curves import survival

AGENTS = 3


def solved(epsilon: float | None = None, **given: Any) -> tacit.Result:
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(50, 2)) for _ in range(AGENTS)]
    task = problem.empirical_risk(features, [x @ [1.0, -1.0] for x in features], problem.Squared())
    method: Any = tacit.DGD(step=0.1)
    if epsilon is not None:
        method = tacit.DPSG(step=0.1, privacy=tacit.Privacy(clip=1.0, epsilon=epsilon, delta=1e-6))
    options = {"reference": "solve", "rounds": 6} | given
    return tacit.run(task, network.complete(AGENTS), method, **options)


@pytest.fixture(scope="module")
def private() -> tacit.Result:
    return solved(2.0, runtime=tacit.Simulation(trials=4))


@pytest.fixture(scope="module")
def open_() -> tacit.Result:
    return solved()


@pytest.mark.long
def test_convergence_draws_what_was_measured(private: tacit.Result) -> None:
    figure = tacit.plot.convergence(private)
    lines = {line.name: line for line in figure.data}
    assert set(lines) == {"Distance", "Objective", "Disagreement"}
    medians = np.median(private.history.measured["distance"], axis=1)
    np.testing.assert_allclose(np.array(lines["Distance"].y, dtype=float), medians)
    assert figure.layout.yaxis.type == "log"
    gone = replace(private, diverged=np.array([2, -1, -1, -1]))
    again = next(line for line in plot.convergence(gone).data if line.name == "Distance")
    kept = np.median(private.history.measured["distance"][:, 1:], axis=1)
    np.testing.assert_allclose(np.array(again.y, dtype=float), kept)
    flat = replace(private.history, measured={"consensus": np.zeros((2, 4))})
    with pytest.raises(ConfigError, match="nothing above 0"):
        plot.convergence(replace(private, history=flat))


@pytest.mark.long
def test_coefficients_stand_beside_those_of_the_reference(private: tacit.Result) -> None:
    agreed, pooled = plot.coefficients(private).data
    np.testing.assert_allclose(np.array(agreed.x, dtype=float), private.solution)
    np.testing.assert_allclose(np.array(pooled.x, dtype=float), private.reference)
    (alone,) = plot.coefficients(replace(private, reference=None)).data
    assert alone.name == "agreed by the sites"
    refused = replace(private, answer=Refused("there are too few records", "more are needed"))
    with pytest.raises(ConfigError, match="no coefficients: There is no answer"):
        plot.coefficients(refused)


def test_epsilon_is_drawn_where_there_is_one(private: tacit.Result, open_: tacit.Result) -> None:
    (line,) = plot.spending(private).data
    assert line.y[0] == 0.0
    assert line.y[-1] == pytest.approx(2.0, rel=1e-3)
    with pytest.raises(ConfigError, match="not protected"):
        plot.spending(open_)


def test_accuracy_is_drawn_over_epsilon(private: tacit.Result, open_: tacit.Result) -> None:
    cheap = solved(0.5)
    points, level = plot.trade_off([private, open_, cheap]).data
    assert points.x == pytest.approx((0.5, 2.0), rel=1e-6)
    ends = private.history.measured["distance"][-1]
    assert points.y[1] == pytest.approx(ends.mean())
    assert points.error_y.array[1] == pytest.approx(2 * ends.std(ddof=1) / 2)
    assert level.name == "without privacy"
    assert set(level.y) == {open_.history.measured["distance"][-1, 0]}
    for results, measure, told in (
        ([], "distance", "is empty"),
        ({}, "distance", "is empty"),
        ([private, replace(private, papers=())], "distance", "several methods.*each line a name"),
        ([private, private], "distance", "one epsilon twice.*each line a name"),
        (["private"], "distance", "give a list of results"),
        ([open_], "distance", "none of the results is private"),
        ([private], "gap", "measure='gap' is not in the history"),
        ([replace(cheap, diverged=np.array([3]))], "distance", "all trials of a result diverged"),
    ):
        with pytest.raises(ConfigError, match=told):
            plot.trade_off(results, measure)


def test_methods_have_a_line_each(private: tacit.Result, open_: tacit.Result) -> None:
    other = replace(private, papers=())
    figure = plot.trade_off({"DPSG": [private], "other": other, "DGD": [open_]})
    assert [(line.name, len(line.y)) for line in figure.data] == [
        ("DPSG", 1),
        ("other", 1),
        ("DGD", 2),
    ]
    # over one budget, points are seen and a level has a length
    assert [line.mode for line in figure.data] == ["markers", "markers", "lines"]
    low, high = figure.data[2].x
    assert low < figure.data[0].x[0] < high
    assert [line.name for line in plot.trade_off(private).data] == ["private"]
    # no claim is drawn as a proof
    model = Guarantees(tuple(replace(each, status=Status.MODEL) for each in private.guarantee))
    claimed = replace(private, guarantee=model)
    figure = plot.trade_off({"DPSG": [claimed], "other": [private], "DGD": [open_]})
    named = ["DPSG (model claim, not a proof)", "other", "DGD"]
    assert [line.name for line in figure.data] == named


def test_methods_converge_side_by_side(private: tacit.Result, open_: tacit.Result) -> None:
    again = solved(2.0, runtime=tacit.Simulation(trials=4), seed=1)
    figure = tacit.plot.convergence({"DPSG": [private, again], "DGD": open_})
    band, dpsg, dgd = figure.data
    assert [dpsg.name, dgd.name] == ["DPSG", "DGD"] and band.fill == "toself"
    assert figure.layout.yaxis.title.text == "Distance" and figure.layout.yaxis.type == "log"
    both = [each.history.measured["distance"] for each in (private, again)]
    values = np.concatenate(both, axis=1)
    assert dpsg.y == pytest.approx(tuple(values.mean(axis=1)))
    error = 2.0 * values.std(axis=1, ddof=1) / 8**0.5
    assert band.y[:7] == pytest.approx(tuple(values.mean(axis=1) + error))
    # a band that reaches 0 ends at the lowest value that is drawn
    assert min(band.y) >= min(*dpsg.y, *dgd.y) > 0.0
    assert dgd.y == pytest.approx(tuple(open_.history.measured["distance"][:, 0]))
    # a trial that diverged is left out
    gone = replace(private, diverged=np.array([2, -1, -1, -1]))
    line = plot.convergence({"DPSG": gone}).data[-1]
    assert line.y == pytest.approx(tuple(both[0][:, 1:].mean(axis=1)))
    # what all have, or what is asked for
    bare = solved(reference=None)
    assert plot.convergence({"a": open_, "b": bare}).layout.yaxis.title.text == "Objective"
    (alone,) = plot.convergence(private, "consensus").data
    assert alone.name == "Disagreement"


def test_what_does_not_converge_side_by_side_is_refused(
    private: tacit.Result, open_: tacit.Result
) -> None:
    flat = replace(open_.history, measured={"consensus": np.zeros((len(open_.history.rounds), 1))})
    results: Any
    for results, measure, told in (
        ([private, open_], None, r"give the result of tacit.run\(...\), or several by name"),
        ({}, None, r"result={} is empty"),
        ({"a": []}, None, r"result\['a'\]=\[\] is empty"),
        ({"a": [open_, 3]}, None, r"result\['a'\]\[1\] is 3; give a list of results"),
        ({"a": [private, open_]}, None, r"result\['a'\] has several methods or budgets"),
        ({"a": [open_, solved(rounds=3)]}, None, "measured after different rounds"),
        ({"a": open_}, "gap", "measure='gap' is not in the history"),
        (open_, "gap", "measure='gap' is not in the history"),
        ({"a": replace(open_, history=flat)}, "consensus", "'consensus' is never above 0"),
        ({"a": replace(open_, diverged=np.array([3]))}, None, r"all trials of result\['a'\]"),
    ):
        with pytest.raises(ConfigError, match=told):
            plot.convergence(results, measure)


def test_a_network_is_drawn_with_its_names() -> None:
    figure = plot.network(network.ring(4), ["a", "b", "c", "d"])
    assert "b" in str(figure.to_dict())
    with pytest.raises(ConfigError, match="names has 1 entries and the network 4 agents"):
        plot.network(network.ring(4), ["a"])
    assert len(plot.network(network.ring(4)).data) == len(figure.data)


def test_noise_is_drawn_with_and_without_masks() -> None:
    features = [np.ones((20, 2))] * 4
    task = problem.empirical_risk(features, [np.ones(20)] * 4, problem.Squared())
    method = tacit.GradientDescent(step=0.1, privacy=tacit.Privacy(clip=1.0, epsilon=1.0))
    found = tacit.mean_noise(task, network.Coordinator(4), method, rounds=3)
    assert found is not None
    assert len(plot.mean_noise(found).data) >= 3


def test_numbers_at_risk_do_not_stand_in_each_other() -> None:
    rows = [
        {"group": "", "time": time, "survival": 1.0, "lower": 1.0, "upper": 1.0, "at_risk": 100}
        | {"band_lower": 1.0, "band_upper": 1.0}
        for time in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0)
    ]
    ticks = survival(rows, "years").layout.xaxis.tickvals
    assert list(ticks) == [0.0, 3.0, 6.0, 9.0, 11.0]
    assert list(survival(rows[:-1], "years").layout.xaxis.tickvals) == [
        0.0,
        2.0,
        4.0,
        6.0,
        8.0,
        10.0,
    ]
    ticks = survival([*rows, rows[-1] | {"time": 12.0}, rows[-1] | {"time": 13.0}], "years")
    assert list(ticks.layout.xaxis.tickvals) == [0.0, 3.0, 6.0, 9.0, 13.0]
