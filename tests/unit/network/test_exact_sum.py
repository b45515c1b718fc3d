"""Exact sums as a network: what methods see, what is counted, what is refused."""

import jax
import networkx as nx
import numpy as np
import pytest

import tacit
from tacit import problem
from tacit._engine.inputs import check_arguments
from tacit.errors import NetworkError
from tacit.method import FedAvg
from tacit.network import (
    Coordinator,
    ExactSum,
    Graph,
    LinkFailure,
    Periodic,
    RandomActivation,
    Recorded,
    RelayCost,
    complete,
    grid,
    laplacian_extremes,
    layout,
    path,
    ring,
    smallest_positive_weight,
    star,
)
from tacit.network.exact_sum import RESIDUAL, require_way
from tacit.network.relay import flood, polynomial_sum, tree_sum
from tacit.privacy.masked import Masks

KEY = jax.random.key(0)
WAYS = ("flooding", "tree", "polynomial")
PAIRS = [nx.Graph([(0, 1), (2, 3)]), nx.Graph([(1, 2), (0, 3)])]
ALONE, WHOLE = nx.empty_graph(4), nx.complete_graph(4)


def task(agents):
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(20, 3)) for _ in range(agents)]
    targets = [x @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=20) for x in features]
    return problem.empirical_risk(features, targets, problem.Squared(), problem.L2(0.1))


def adjacencies(sequence, phases):
    active = np.asarray(sequence.active)
    for phase in phases:
        matrix = np.zeros((sequence.agents, sequence.agents), dtype=bool)
        present = active[phase % len(active)]
        matrix[sequence.receivers[present], sequence.senders[present]] = True
        yield matrix


@pytest.mark.parametrize("by", WAYS)
def test_to_a_method_it_is_a_star_with_everybody(by):
    graph = Graph.from_edges(["oslo", "bern", "rome"], [("oslo", "bern"), ("bern", "rome")])
    network, centre = ExactSum(graph, by), Coordinator(3)
    assert network.coordinated and not network.varying and not network.directed
    mixing, expected = network.mixing(0, KEY), centre.mixing(0, KEY)
    for mine, other in zip(jax.tree.leaves(mixing), jax.tree.leaves(expected), strict=True):
        assert np.array_equal(mine, other)
    assert network.neighbours().shape == (3, 0)
    assert network.degrees.tolist() == [1, 1, 1]
    assert network.client_weight.tolist() == [1 / 3] * 3
    assert network.participations(7, KEY).tolist() == [7, 7, 7]
    assert network.attempts(7, KEY).tolist() == [7, 7, 7]
    assert network.names == ("oslo", "bern", "rome")
    assert network.kind == "exact sum"
    assert network.carrier is network.graph is graph
    assert network.connectivity.startswith(f"through exact sums in every round, by {by} over the")
    assert smallest_positive_weight(network) == 1 / 3


@pytest.mark.parametrize("graph", [ring(10), grid(3, 4), star(6), complete(5), path(2)])
def test_costs_are_those_that_the_protocols_count(graph):
    values = np.ones((graph.agents, 2))
    matrix = np.zeros((graph.agents, graph.agents), dtype=bool)
    matrix[graph.receivers, graph.senders] = True
    assert ExactSum(graph).cost == flood(values, [matrix] * graph.agents).cost
    assert ExactSum(graph, "tree").cost == tree_sum(values, graph).cost
    assert ExactSum(graph, "polynomial").cost == polynomial_sum(values, graph).cost
    assert ExactSum(graph).residual == ExactSum(graph, "tree").residual == 0


def test_what_is_exact_in_whole_numbers():
    assert [ExactSum(ring(5), by).exact_in_integers for by in WAYS] == [True, True, False]
    assert 0 < ExactSum(ring(10), "polynomial").residual < 1e-15


@pytest.mark.parametrize("window", [2, 3, 4])
def test_windows_of_a_period(window):
    sequence = Periodic([*PAIRS, WHOLE], connected=2)
    network = ExactSum(sequence, window=window)
    assert not network.varying
    assert len(network.costs) == 3 // np.gcd(3, window)
    for round, cost in enumerate(network.costs):
        phases = range(round * window, (round + 1) * window)
        found = flood(np.arange(4), list(adjacencies(sequence, phases)))
        assert all(len(have) == 4 for have in found.arrived)
        assert cost == RelayCost(window, found.cost.messages, found.cost.largest)
    assert network.cost.messages == max(cost.messages for cost in network.costs)
    up, down = network.carried(np.full(7, 4))
    assert up.tolist() == [network.costs[i % len(network.costs)].messages for i in range(7)]
    assert down.tolist() == [0] * 7


def test_only_the_windows_that_rounds_begin_with_count():
    # from phase 1 on two phases would not do, but rounds begin at even ones
    sequence = Periodic([nx.star_graph(3), nx.star_graph(3), ALONE, WHOLE], 4)
    assert [cost.messages for cost in ExactSum(sequence, window=2).costs] == [12, 12]
    with pytest.raises(NetworkError, match="window of phases 2 to 2 is not connected"):
        ExactSum(Periodic([WHOLE, WHOLE, ALONE], 2), window=1)


def test_a_record_serves_as_many_rounds_as_it_has_windows():
    network = ExactSum(Recorded([WHOLE, ALONE, *PAIRS, WHOLE], 3), window=2)
    assert network.participations(2, KEY).tolist() == [2] * 4
    with pytest.raises(NetworkError, match=r"rounds=3 with window=2 need 6 graphs, .* after 5"):
        network.participations(3, KEY)
    with pytest.raises(NetworkError, match="rounds=9 with window=2 need 18 graphs"):
        network.participations(9, KEY)
    broken = ExactSum(Recorded([WHOLE, ALONE, PAIRS[0], PAIRS[0], WHOLE, WHOLE], 4), window=2)
    assert broken.participations(1, KEY).tolist() == [1] * 4
    words = r"phases 2 to 3 is not connected: .* agent \d does not reach agent \d.*lengthen window"
    for rounds in (2, 3):
        with pytest.raises(NetworkError, match=words):
            broken.participations(rounds, KEY)


BARBELL = Graph.from_networkx(nx.barbell_graph(20, 10))
CIRCLE = nx.cycle_graph(4, create_using=nx.DiGraph)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: require_way("floding"), "by='floding' .* flooding, tree, polynomial"),
        (lambda: ExactSum(Coordinator(3)), "server of a Coordinator has the sum already"),
        (lambda: ExactSum(ExactSum(ring(3))), "server of a ExactSum has the sum already"),
        (lambda: ExactSum(LinkFailure(ring(5), 0.1)), "LinkFailure are drawn"),
        (lambda: ExactSum(RandomActivation(ring(5), 0.1)), "RandomActivation are drawn"),
        (
            lambda: ExactSum(Graph.from_networkx(CIRCLE)),
            "needs undirected graphs, .* has no counterpart",
        ),
        # both ways in turn: the union has all counterparts, no single graph has
        (
            lambda: ExactSum(Periodic([CIRCLE, CIRCLE.reverse()]), window=4),
            "needs undirected graphs",
        ),
        (lambda: ExactSum(ring(5), window=2), "window=2 is for graphs that change"),
        (lambda: ExactSum(Periodic(PAIRS, 2)), "window=None, .* give window="),
        (lambda: ExactSum(Periodic(PAIRS, 2), window=0), "window=0, "),
        (lambda: ExactSum(Periodic(PAIRS, 2), "tree", 2), "by='tree' .* use by='flooding'"),
        (lambda: ExactSum(Periodic(PAIRS, 2), "polynomial", 2), "by='polynomial' is made for one"),
        (
            lambda: ExactSum(Periodic(PAIRS, 2), window=1),
            r"phases 0 to 0 is not connected: a message of agent 2 does not reach agent 0 .* "
            "lengthen window=1",
        ),
        # the graphs of the window are connected jointly, and messages come too late all the same
        (
            lambda: ExactSum(Periodic([nx.path_graph(4)]), window=2),
            "phases 0 to 1 is not connected",
        ),
        (
            lambda: ExactSum(Recorded(PAIRS, 2), window=3),
            "rounds=1 with window=3 need 3 graphs, and the record ends after 2",
        ),
        (
            lambda: ExactSum(Recorded(PAIRS, 2), window=1),
            "phases 0 to 0 is not connected",
        ),
        (lambda: ExactSum(BARBELL, "polynomial"), "of degree 13, turns rounding into an error of"),
        (lambda: laplacian_extremes(ExactSum(ring(5))), "no links between agents"),
    ],
)
def test_refused_networks(build, message):
    with pytest.raises(NetworkError, match=message):
        build()


def test_the_largest_residual_that_is_accepted_is_small():
    assert RESIDUAL <= 1e-9
    assert ExactSum(grid(10, 10), "polynomial").residual < RESIDUAL


@pytest.mark.long
@pytest.mark.parametrize("private", [pytest.param(False, marks=pytest.mark.slow), True])
def test_gradient_descent_takes_the_same_steps_as_with_a_coordinator(private):
    budget = tacit.Privacy(clip=1.0, epsilon=2.0, delta=1e-5) if private else None
    method = tacit.GradientDescent(step=0.3, privacy=budget)

    def run(network):
        return tacit.run(task(5), network, method, rounds=20, seed=3)

    centred = run(Coordinator(5))
    assert centred.history.bytes[-1] == 24 * 10 * 20
    for by in WAYS if private else ("tree",):
        relayed = run(ExactSum(ring(5), by))
        assert np.array_equal(relayed.solution, centred.solution)
        assert relayed.guarantee.worst.epsilon == centred.guarantee.worst.epsilon
        # 3 numbers of 8 bytes over every link that a message crosses; the server sends nothing
        messages = ExactSum(ring(5), by).cost.messages
        assert relayed.history.bytes.tolist() == [24 * messages * t for t in range(21)]


@pytest.mark.long
def test_one_agent_after_the_other_it_is_the_same():
    method, network = tacit.GradientDescent(step=0.3), ExactSum(ring(5), "tree")
    exact, centred = (
        tacit.run(task(5), each, method, rounds=4, seed=3, runtime=tacit.Simulation(exact=True))
        for each in (network, Coordinator(5))
    )
    assert np.array_equal(exact.solution, centred.solution)


def test_bytes_over_graphs_that_change():
    network = ExactSum(Periodic([*PAIRS, WHOLE], connected=2), window=2)
    assert len({cost.messages for cost in network.costs}) > 1
    result = tacit.run(task(4), network, tacit.GradientDescent(step=0.3), rounds=5, seed=0)
    sent = [24 * network.costs[round % 3].messages for round in range(5)]
    assert result.history.bytes.tolist() == [0, *np.cumsum(sent).tolist()]


def test_a_run_may_not_outlast_its_record():
    network = ExactSum(Recorded([*PAIRS, *PAIRS], 2), window=2)
    method = tacit.GradientDescent(step=0.3)
    assert np.isfinite(tacit.run(task(4), network, method, rounds=2, seed=0).solution).all()
    with pytest.raises(NetworkError, match="rounds=3 with window=2"):
        tacit.run(task(4), network, method, rounds=3, seed=0)


class Twice(tacit.GradientDescent):
    """Two sums a round."""

    def phases(self):
        return super().phases() * 2


def test_a_window_is_one_sum():
    assert tacit.run(task(4), ExactSum(ring(4)), Twice(step=0.1), rounds=2, seed=0).rounds == 2
    with pytest.raises(NetworkError, match=r"Twice does not take one sum in each .*window=2"):
        tacit.run(task(4), ExactSum(Periodic(PAIRS, 2), window=2), Twice(step=0.1), rounds=2)


def test_masks_need_whole_numbers():
    budget = tacit.Privacy(clip=1.0, epsilon=2.0, masks=Masks())
    method = tacit.GradientDescent(step=0.1, privacy=budget)
    check_arguments(task(4), ExactSum(ring(4), "tree"), method, 2)
    with pytest.raises(NetworkError, match=r"2\^64, which by='polynomial' cannot sum"):
        check_arguments(task(4), ExactSum(ring(4), "polynomial"), method, 2)


def test_methods_that_need_the_other_kind_of_network():
    with pytest.raises(NetworkError, match=r"FedAvg runs between clients.*ExactSum\(graph\)"):
        tacit.run(task(4), ring(4), FedAvg(step=0.1), rounds=2)
    with pytest.raises(NetworkError, match="DGD runs between peers"):
        tacit.run(task(4), ExactSum(ring(4)), tacit.DGD(step=0.1), rounds=2)


def test_it_is_drawn_as_its_graph():
    for graph in (ring(5), grid(2, 3)):
        assert np.array_equal(layout(ExactSum(graph)), layout(graph))
