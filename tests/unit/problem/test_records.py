"""From tables to a problem: filling up, weights, intercept, names, and every refused input."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacit.errors import ProblemError
from tacit.problem import (
    L1,
    Box,
    GroupL1,
    Huber,
    JaxLoss,
    Logistic,
    Polyhedron,
    Simplex,
    Softmax,
    Squared,
    empirical_risk,
)


def tables():
    return [np.arange(4.0).reshape(2, 2), np.ones((3, 2))]


def answers():
    return [np.array([0.0, 1.0]), np.array([1, 0, 1])]


def build(features=None, targets=None, loss=None, **options):
    return empirical_risk(
        tables() if features is None else features,
        answers() if targets is None else targets,
        Logistic() if loss is None else loss,
        **options,
    )


class Scaled(Squared):
    """A loss with a plain number, which no converter makes an array."""

    scale: float = 2.0

    def value(self, scores, targets):
        return self.scale * super().value(scores, targets)


def test_a_plain_number_of_a_loss_is_one_of_every_agent():
    problem = build(loss=Scaled(3.0))
    assert problem.objectives.loss.scale.tolist() == [3.0, 3.0]
    assert float(problem.agent(1).value(np.zeros(2))) == pytest.approx(3.0 * 2.0 / 3.0)


def test_different_sizes_are_filled_up_and_masked():
    problem = build(pad_to=5)
    risk = problem.objectives
    assert risk.features.shape == (2, 5, 2)
    assert risk.units == 5
    np.testing.assert_array_equal(risk.mask.sum(axis=1), [2, 3])
    np.testing.assert_array_equal(risk.features[0, :2], tables()[0])
    assert not risk.features[0, 2:].any()
    assert not risk.targets[0, 2:].any()
    assert problem.counts.tolist() == [2, 3]
    assert risk.features.dtype == np.float64


@pytest.mark.parametrize(
    ("weighting", "normaliser"), [("agent", [2, 3]), ("record", [5, 5]), ("sum", [1, 1])]
)
def test_weighting(weighting, normaliser):
    problem = build(weighting=weighting)
    assert problem.normaliser.tolist() == normaliser
    assert problem.value(np.zeros(2)) == pytest.approx(
        np.log(2.0) * (2 / normaliser[0] + 3 / normaliser[1])
    )


@pytest.mark.parametrize(("given", "normaliser"), [(4, [4, 4]), ([2.5, 8.0], [2.5, 8.0])])
def test_a_declared_normaliser(given, normaliser):
    problem = build(normaliser=given)
    assert problem.declared
    assert problem.normaliser.tolist() == normaliser
    assert problem.counts.tolist() == [2, 3]
    assert problem.value(np.zeros(2)) == pytest.approx(
        np.log(2.0) * (2 / normaliser[0] + 3 / normaliser[1])
    )
    assert not build(weighting="record").declared


def test_a_declared_normaliser_does_not_move_with_the_number_of_records():
    fewer = build([tables()[0][:1], tables()[1]], [answers()[0][:1], answers()[1]], normaliser=4)
    assert fewer.normaliser.tolist() == build(normaliser=4).normaliser.tolist()


def test_intercept_is_a_column_of_ones_without_penalty():
    problem = build(regulariser=L1(1.0), intercept=True, feature_names=["age", "dose"])
    assert problem.parameter_names == ("age", "dose", "intercept")
    assert problem.regulariser.unpenalised == (2,)
    assert (problem.objectives.features[1, :, 2] == 1.0).all()


def test_intercept_of_every_class_is_without_penalty():
    problem = build(loss=Softmax(2), regulariser=GroupL1(1.0, (0, 0, 1, 1, 2, 2)), intercept=True)
    assert problem.dimension == 6
    assert problem.regulariser.unpenalised == (4, 5)
    assert problem.parameter_names[-2:] == ("intercept:0", "intercept:1")


def test_every_array_of_the_objectives_has_an_agent_axis():
    problem = build(loss=Huber(0.5))
    assert problem.objectives.loss.threshold.shape == (2,)
    assert problem.agent(1).loss.threshold.shape == ()


def test_starting_point_is_in_the_set():
    assert build(constraint=Simplex()).x0.tolist() == [0.5, 0.5]
    assert build(x0=[0.25, 0.5]).x0.tolist() == [0.25, 0.5]


def test_parameters_of_a_users_loss_are_counted():
    problem = build(loss=JaxLoss(lambda x, row, target: x[2] * row[0], 3))
    assert problem.parameter_names == ("x0", "x1", "x2")


def test_codings_are_read_together():
    problem = build(targets=[[1, 1], [-1, 1, -1]])
    assert problem.objectives.targets.tolist() == [[1, 1, 0], [0, 1, 0]]


def spoiled(value):
    features = tables()
    features[1] = features[1].astype(object) if isinstance(value, str) else features[1]
    features[1][2, 1] = value
    return features


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"features": spoiled(np.nan)}, ["agent 1", "row 2", "column 1", "'feature 1'", "missing"]),
        ({"features": spoiled(np.inf)}, ["row 2", "infinite"]),
        ({"features": spoiled("x")}, ["agent 1", "dtype object", "real numbers"]),
        (
            {"features": [tables()[0], np.ones((3, 4))]},
            ["agent 1", "4 columns", "the first agent has 2"],
        ),
        ({"features": [tables()[0], np.ones(3)]}, ["agent 1", "(3,)"]),
        ({"features": [tables()[0], np.ones((0, 2))]}, ["agent 1", "no records"]),
        ({"features": [], "targets": []}, ["empty"]),
        ({"features": tables()[:1], "targets": answers()[:1]}, ["1 agent", "at least two"]),
        ({"targets": answers()[:1]}, ["2 agents", "1"]),
        ({"targets": [[0.0, 1.0], [1.0, 0.0]]}, ["agent 1", "(2,)", "3 records"]),
        ({"targets": [[0.0, 1.0], [1.0, np.nan, 0.0]]}, ["agent 1", "row 1", "missing"]),
        ({"targets": [[0.0, 1.0], ["a", "b", "c"]]}, ["agent 1", "targets", "real numbers"]),
        ({"targets": [[0.0, 1.0], [1.0, 3.0, 0.0]]}, ["row 1 of 'agent 1'", "is 3"]),
        ({"targets": [[0.0, 1.0], [1.0, -1.0, 1.0]]}, ["row 0 of 'agent 0'", "is 0"]),
        ({"loss": "logistic"}, ["'logistic'", "JaxLoss"]),
        ({"names": ["a"]}, ["1 entries for 2"]),
        ({"names": ["a", "a"]}, ["agent name 'a'", "twice"]),
        ({"feature_names": ["a", "a"]}, ["parameter name 'a'", "twice"]),
        ({"feature_names": ["a"]}, ["2 columns, and feature_names has 1 names"]),
        ({"pad_to": 2}, ["pad_to=2", "3 records", "never dropped"]),
        ({"x0": [0.0]}, ["(1,)", "2 finite"]),
        ({"x0": [0.0, np.nan]}, ["finite"]),
        (
            {"x0": [0.0, 5.0], "constraint": Box(0.0, 1.0)},
            ["misses the constraint by 4", "write x0=[0, 1], the"],
        ),
        (
            {"x0": [2.0, 2.0], "constraint": Polyhedron([[1.0, 1.0]], [1.0])},
            ["write x0=[0.5, 0.5], the nearest point inside it"],
        ),
        ({"constraint": Box([0.0] * 3, 1.0)}, ["lower has shape (3,)"]),
        ({"regulariser": GroupL1(1.0, (0,))}, ["1 entries", "2 parameters"]),
        ({"normaliser": 0.0}, ["normaliser=0.0", "positive number, or 2"]),
        ({"normaliser": [1.0, np.inf]}, ["positive number"]),
        ({"normaliser": [1.0, 2.0, 3.0]}, ["3 entries", "2 agents"]),
        ({"normaliser": "many"}, ["normaliser='many'"]),
        ({"normaliser": 2.0, "weighting": "sum"}, ["normaliser=2.0", "weighting='sum'", "leave"]),
        ({"weighting": "site"}, ["weighting='site'", "agent, record, sum"]),
    ],
)
def test_wrong_input_is_refused(options, words):
    with pytest.raises(ProblemError) as caught:
        build(**options)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_values_of_records_do_not_stand_in_messages():
    features = tables()
    features[0][0, 0] = 123456.0
    features[1][0, 0] = np.nan
    with pytest.raises(ProblemError) as caught:
        build(features=features)
    assert "123456" not in str(caught.value)


def test_squared_loss_takes_any_number():
    assert build(targets=[[0.5, -1.0], [2.0, 3.0, 4.0]], loss=Squared()).value([0.0, 0.0]) > 0


def test_what_lies_under_a_mask_is_not_taken_for_a_value() -> None:
    hidden = np.ma.masked_greater(np.ones((3, 2)), 0.5)
    for features, targets in ((hidden, np.ones(3)), (np.ones((3, 2)), hidden[:, 0])):
        with pytest.raises(ProblemError, match="hold masked values; fill in or drop"):
            empirical_risk([features] * 2, [targets] * 2, Squared())
    # a mask that hides nothing is no reason to refuse
    empirical_risk([np.ma.masked_greater(np.ones((3, 2)), 2.0)] * 2, [np.ones(3)] * 2, Squared())


def test_a_normaliser_beyond_all_numbers_of_records_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"normaliser=1e\+20 must be positive and at most 9e"):
        empirical_risk([np.ones((3, 2))] * 2, [np.ones(3)] * 2, Squared(), normaliser=1e20)


def test_columns_are_compared_by_their_names() -> None:
    def posed(*columns: Any, **options: Any) -> Any:
        tables = [
            np.eye(2) if each is None else pd.DataFrame(np.eye(2), columns=each) for each in columns
        ]
        return empirical_risk(tables, [np.zeros(2)] * len(tables), Squared(), **options)

    with pytest.raises(ProblemError, match=r"agent 1: .* b, a, and those of agent 0 .* order"):
        posed(["a", "b"], ["b", "a"])
    with pytest.raises(ProblemError, match=r"agent 2: .* b, a, and those of agent 1"):
        posed(None, ["a", "b"], ["b", "a"])
    with pytest.raises(ProblemError, match="c, d, and those of agent 0 are a, b; name the same"):
        posed(["a", "b"], ["c", "d"])
    with pytest.raises(ProblemError, match="a, b, and feature_names are b, a, in another order"):
        posed(["a", "b"], ["a", "b"], feature_names=["b", "a"])
    tables = [pa.table({"a": [1.0], "b": [2.0]}), pa.table({"b": [1.0], "a": [2.0]})]
    with pytest.raises(ProblemError, match="in another order"):
        empirical_risk(tables, [[0.0], [1.0]], Squared())
    posed(["a", "b"], None, feature_names=["a", "b"])
    posed([0, 1], [1, 0])
