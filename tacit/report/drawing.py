"""The network as a Plotly figure; for a large one, the surroundings of one agent.

Laid out with NetworkX where no positions are given.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tacit.report.canvas import blank
from tacit.report.data import NetworkPicture
from tacit.report.figures import BLUE, FONT, GREY, ORANGE, plain

if TYPE_CHECKING:
    import plotly.graph_objects as go

DRAWN = 200
"""Maximum number of agents drawn: a larger drawing would be illegible."""

NAMED = 40
"""Maximum number of agents labelled in the drawing; hovering shows the others."""


def excerpt(picture: NetworkPicture, most: int = DRAWN) -> list[int]:
    """The agents to draw: all, or the `most` nearest to the first one, in breadth-first order."""
    count = len(picture.names)
    if count <= most:
        return list(range(count))
    if picture.coordinated:
        return list(range(most))
    neighbours: dict[int, list[int]] = {}
    for a, b in picture.edges:
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    seen, queue = {0: None}, deque([0])
    while queue and len(seen) < most:
        for other in neighbours.get(queue.popleft(), ()):
            if other not in seen and len(seen) < most:
                seen[other] = None
                queue.append(other)
    return list(seen)


def draw(picture: NetworkPicture) -> go.Figure:
    """The network: agents as dots with their names, links as lines, a coordinator as a square."""
    agents = excerpt(picture)
    place = _places(picture, agents)
    figure = blank()
    links = _links(picture, agents)
    centre = (0.0, 0.0)
    ends = [(place[a], place[b]) for a, b in links]
    if picture.coordinated:
        ends = [(place[agent], centre) for agent in agents]
    figure.add_scatter(
        x=[v for a, b in ends for v in (a[0], b[0], None)],
        y=[v for a, b in ends for v in (a[1], b[1], None)],
        mode="lines",
        line={"color": GREY, "width": 1.5 if len(ends) <= 200 else 0.7},
        hoverinfo="skip",
    )
    if picture.directed:
        _arrows(figure, ends)
    if picture.coordinated:
        figure.add_scatter(
            x=[0], y=[0], mode="markers+text", text=["coordinator"], textposition="top center",
            marker={"symbol": "square", "size": 20, "color": ORANGE}, hoverinfo="text",
        )  # fmt: skip
    # On a phone there is room for short names only beside the dots.
    beside = max(len(picture.names[agent]) for agent in agents) <= 8
    names = [plain(picture.names[agent]) for agent in agents]
    figure.add_scatter(
        x=[place[agent][0] for agent in agents],
        y=[place[agent][1] for agent in agents],
        mode="markers+text" if len(agents) <= NAMED else "markers",
        text=[name if len(name) <= 18 else name[:17] + "…" for name in names],
        textposition=[_outside(place[agent], beside) for agent in agents],
        hovertext=names,
        hoverinfo="text",
        marker={"size": 16 if len(agents) <= NAMED else 7, "color": BLUE},
        cliponaxis=False,
    )
    hidden = {"visible": False, "range": [-1.6, 1.6], "fixedrange": True}
    figure.update_layout(
        template=None,
        height=400,
        autosize=True,
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13},
        showlegend=False,
        xaxis=hidden,
        yaxis={**hidden, "range": [-1.2, 1.2]},
        hoverlabel={"bgcolor": "#1b2733", "font": {"color": "#ffffff", "family": FONT}},
    )
    return figure


def _links(picture: NetworkPicture, agents: Sequence[int]) -> list[tuple[int, int]]:
    """Links among the drawn agents, each once unless directions matter."""
    drawn = set(agents)
    links = [(a, b) for a, b in picture.edges if a in drawn and b in drawn and a != b]
    if not picture.directed:
        links = [(min(link), max(link)) for link in links]
    return sorted(set(links))


def _places(picture: NetworkPicture, agents: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Positions of the drawn agents, within the square from -1 to 1."""
    if picture.positions is not None and len(agents) == len(picture.names):
        return _within_square({a: (float(x), float(y)) for a, (x, y) in _pairs(picture, agents)})
    if picture.coordinated:
        turn = 2 * math.pi / len(agents)
        return {a: (math.sin(i * turn), math.cos(i * turn)) for i, a in enumerate(agents)}
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(agents)
    graph.add_edges_from(_links(picture, agents))
    degrees = dict(graph.degree)
    if all(degree == 2 for degree in degrees.values()) and nx.is_connected(graph):
        # Walk round a ring from its first agent, so that neighbours are drawn next to each other.
        order = list(nx.dfs_preorder_nodes(graph, agents[0]))
        turn = 2 * math.pi / len(order)
        return {a: (math.sin(i * turn), math.cos(i * turn)) for i, a in enumerate(order)}
    few = len(agents) <= 60
    layout = nx.kamada_kawai_layout(graph) if few else nx.spring_layout(graph, seed=0)
    return _within_square({a: (float(x), float(y)) for a, (x, y) in layout.items()})


def _pairs(picture: NetworkPicture, agents: Sequence[int]) -> list[tuple[int, Any]]:
    positions = picture.positions if picture.positions is not None else ()
    return [(agent, positions[agent]) for agent in agents]


def _within_square(place: dict[int, tuple[float, float]]) -> dict[int, tuple[float, float]]:
    """Shift and scale each axis to -1..1; a line along one axis stays a line."""
    across = _to_unit([x for x, _ in place.values()])
    along = _to_unit([y for _, y in place.values()])
    return dict(zip(place, zip(across, along, strict=True), strict=True))


def _to_unit(values: list[float]) -> list[float]:
    middle, half = (max(values) + min(values)) / 2, (max(values) - min(values)) / 2
    return [(value - middle) / half if half > 1e-9 else 0.0 for value in values]


def _outside(point: tuple[float, float], beside: bool) -> str:
    """The side of a dot that looks away from the centre, for its name."""
    x, y = point
    if beside and abs(x) > 0.35 and abs(y) < 0.9:
        return "middle right" if x > 0 else "middle left"
    return "top center" if y >= 0 else "bottom center"


def _arrows(
    figure: go.Figure, ends: Sequence[tuple[tuple[float, float], tuple[float, float]]]
) -> None:
    """A small triangle two thirds along each link, pointing to its receiver."""
    at = [
        (a[0] + 0.66 * (b[0] - a[0]), a[1] + 0.66 * (b[1] - a[1]), b[0] - a[0], b[1] - a[1])
        for a, b in ends
    ]
    figure.add_scatter(
        x=[x for x, _, _, _ in at],
        y=[y for _, y, _, _ in at],
        mode="markers",
        hoverinfo="skip",
        marker={
            "symbol": "triangle-up",
            "size": 9,
            "color": GREY,
            "angle": [math.degrees(math.atan2(dx, dy)) for _, _, dx, dy in at],
        },
    )
