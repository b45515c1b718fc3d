import math

from tacit.report import NetworkPicture
from tacit.report.drawing import DRAWN, NAMED, draw, excerpt


def ring(count, **changes):
    return NetworkPicture(
        [f"site {i}" for i in range(count)],
        [(i, (i + 1) % count) for i in range(count)],
        "ring",
        **changes,
    )


def links(figure):
    """Number of lines drawn: three entries (two ends and a gap) each."""
    return len(figure.data[0].x) // 3


def test_neighbours_on_a_ring_stand_next_to_each_other():
    figure = draw(ring(8))
    agents = figure.data[-1]
    gaps = [math.dist((x, y), (u, v)) for x, y, _, u, v in _ends(figure)]
    assert links(figure) == 8
    assert list(agents.text) == [f"site {i}" for i in range(8)]
    assert max(gaps) - min(gaps) < 1e-9


def _ends(figure):
    x, y = figure.data[0].x, figure.data[0].y
    return [(x[i], y[i], None, x[i + 1], y[i + 1]) for i in range(0, len(x), 3)]


def test_an_edge_given_both_ways_is_drawn_once():
    assert links(draw(NetworkPicture(["a", "b"], [(0, 1), (1, 0)], "path"))) == 1


def test_directions_are_drawn_as_arrows():
    figure = draw(NetworkPicture(["a", "b"], [(0, 1), (1, 0)], "cycle", directed=True))
    assert links(figure) == 2
    first, second = figure.data[1].marker.angle
    assert abs(abs(first - second) - 180.0) < 1e-9


def test_given_positions_are_kept_up_to_scale():
    figure = draw(ring(3, positions=[(0, 0), (4, 0), (2, 8)]))
    assert list(figure.data[-1].x) == [-1.0, 1.0, 0.0]
    assert list(figure.data[-1].y) == [-1.0, -1.0, 1.0]


def test_a_line_of_agents_stays_a_line():
    picture = NetworkPicture(["a", "b"], [(0, 1)], "path", positions=[(0, 3), (1, 3)])
    assert list(draw(picture).data[-1].y) == [0.0, 0.0]


def test_a_coordinator_stands_in_the_middle_of_its_clients():
    figure = draw(NetworkPicture(["a", "b", "c"], [], "star", coordinated=True))
    assert figure.data[1].text == ("coordinator",)
    assert links(figure) == 3


def test_of_a_large_network_the_surroundings_of_one_agent_are_drawn():
    picture = ring(10_000)
    agents = excerpt(picture)
    assert len(agents) == len(set(agents)) == DRAWN
    assert set(agents) == {i % 10_000 for i in range(-DRAWN // 2 + 1, DRAWN // 2 + 1)} or set(
        agents
    ) == {i % 10_000 for i in range(-DRAWN // 2, DRAWN // 2)}
    figure = draw(picture)
    assert links(figure) == DRAWN - 1
    assert figure.data[-1].mode == "markers"


def test_of_many_clients_the_first_are_drawn():
    names = [str(i) for i in range(1000)]
    assert excerpt(NetworkPicture(names, [], "star", coordinated=True)) == list(range(DRAWN))


def test_names_stand_in_the_drawing_while_there_is_room():
    assert draw(ring(NAMED)).data[-1].mode == "markers+text"
    assert draw(ring(NAMED + 1)).data[-1].mode == "markers"


def test_short_names_stand_outside_the_ring_and_long_ones_above_or_below():
    assert "middle right" in draw(ring(8)).data[-1].textposition
    long = NetworkPicture([f"hospital {i}" for i in range(3)], [(0, 1), (1, 2), (2, 0)], "ring")
    assert set(draw(long).data[-1].textposition) == {"top center", "bottom center"}


def test_long_names_are_cut_and_told_in_full_on_hovering():
    name = "a hospital with a very long name"
    drawn = draw(NetworkPicture([name, "b"], [(0, 1)], "path")).data[-1]
    assert drawn.text[0] == "a hospital with a…"
    assert drawn.hovertext[0] == name


def test_a_random_graph_lies_within_the_frame():
    edges = [(i, j) for i in range(12) for j in range(i) if (i * j) % 5 < 2]
    drawn = draw(NetworkPicture([str(i) for i in range(12)], edges, "random graph")).data[-1]
    assert max(map(abs, (*drawn.x, *drawn.y))) <= 1.0 + 1e-9
