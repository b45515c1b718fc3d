import math
from pathlib import Path
from typing import Any

import jax
import networkx as nx
import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.method import DPSG, DZOASolver, GradientDescent
from tacit.network import AbstractTopology, Coordinator, ExactSum
from tacit.network.randomised import LinkFailure, RandomActivation
from tacit.network.sequence import Periodic, Recorded
from tacit.problem.constraint import Affine, Ball, Box, Polyhedron, Simplex
from tacit.problem.losses import Huber, Quantile
from tacit.problem.regularisers import ElasticNet, GroupL1
from tacit.study import assemble, parse_study
from tacit.study.build import build_method, build_privacy, check_privacy
from tacit.study.networks import build_network
from tacit.study.read import Source
from tests.end_to_end.study import STUDY, changed, write

NAMES = ("north", "south", "east", "west")


def network(text: str) -> Any:
    return build_network(parse_study(changed('graph = "ring"', text)), NAMES)


def method(section: str, private: bool = False) -> Any:
    text = changed('name = "dpsg"\nstep = 0.5', section)
    if not private:
        text = changed("[privacy]\nepsilon = 1.0\ndelta = 1e-6\nclip = 1.0\n", "", text)
    return build_method(parse_study(text), NAMES)


def problem(old: str, new: str, folder: Path) -> Any:
    from tacit.study import read_study

    return assemble(read_study(write(folder, changed(old, new)))).problem


def links(built: Any) -> set[tuple[int, int]]:
    return set(zip(built.senders.tolist(), built.receivers.tolist(), strict=True))


def test_edges_by_name_and_by_number() -> None:
    path = {(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)}
    assert links(network("edges = [[0, 1], [1, 2], [2, 3]]")) == path
    by_name = 'edges = [["north", "south"], ["south", "east"], ["east", 3]]'
    assert links(network(by_name)) == path


def test_directed_edges_keep_their_direction() -> None:
    circle = network("edges = [[0, 1], [1, 2], [2, 3], [3, 0]]\ndirected = true")
    assert links(circle) == {(0, 1), (1, 2), (2, 3), (3, 0)}
    assert circle.directed


def test_topologies_take_their_own_keys() -> None:
    assert network('graph = "grid"\nrows = 2\ncolumns = 2').kind == "grid"
    drawn = network('graph = "erdos_renyi"\nprobability = 0.9\nseed = 3\nweights = "max_degree"')
    assert drawn.kind == "erdos_renyi"
    assert network('graph = "tree"\nbranching = 3').degrees.tolist() == [3, 1, 1, 1]


def test_weights_may_be_a_matrix() -> None:
    third = 1 / 3
    rows = [[third, third, 0, third], [third, third, third, 0]]
    rows += [[0, third, third, third], [third, 0, third, third]]
    built = network(f'graph = "ring"\nweights = {rows}')
    np.testing.assert_allclose(built.self_weight, third)


@pytest.mark.parametrize("last", ["west", "lyon"])
def test_nodes_with_the_names_of_sites_are_these_sites(
    monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    class Line(AbstractTopology):
        def graph(self, agents: int) -> nx.Graph:
            return nx.path_graph(["south", "north", "east", last])

    monkeypatch.setattr(Source, "build", lambda *_: Line)
    if last in NAMES:
        assert links(network('graph = "ring"')) == {(0, 1), (1, 0), (0, 2), (2, 0), (2, 3), (3, 2)}
    else:
        with pytest.raises(ConfigError, match=r"lyon.*give both the same names"):
            network('graph = "ring"')


def test_networks_that_vary() -> None:
    failing = 'graph = "ring"\nvarying = { kind = "link_failure", probability = 0.5 }'
    assert isinstance(network(failing), LinkFailure)
    sleeping = 'graph = "ring"\nvarying = { kind = "random_activation", probability = 0.5 }'
    assert isinstance(network(sleeping), RandomActivation)
    sequence = 'graph = "sequence"\ngraphs = [[[0, 1], [2, 3]], [[1, 2], [3, 0]]]\nconnected = 2'
    assert isinstance(network(sequence), Periodic)
    assert isinstance(network(f"{sequence}\nrepeat = false"), Recorded)


def test_exact_sums_over_a_graph() -> None:
    for by in ("flooding", "tree", "polynomial"):
        built = network(f'graph = "grid"\nrows = 2\ncolumns = 2\nexact_sum = "{by}"')
        assert isinstance(built, ExactSum)
        assert (built.by, built.carrier.kind, built.window) == (by, "grid", None)
    assert isinstance(network('edges = [[0, 1], [1, 2], [2, 3]]\nexact_sum = "tree"'), ExactSum)
    sequence = 'graph = "sequence"\ngraphs = [[[0, 1], [2, 3]], [[1, 2], [3, 0]]]\nconnected = 2'
    built = network(f'{sequence}\nexact_sum = "flooding"\nwindow = 2')
    assert isinstance(built, ExactSum)
    assert isinstance(built.carrier, Periodic)
    assert built.window == 2


def test_a_coordinator() -> None:
    built = network('graph = "coordinator"\nprobability = 0.5\ndropout = 0.25')
    assert isinstance(built, Coordinator)
    assert built.probability == 0.5
    assert built.dropout == 0.25


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("edges = [[0, 1], [1, 9]]", "names site number 9; there are 4"),
        ('edges = [["north", "noth"]]', "did you mean 'north'"),
        ('edges = [["north", "x"]]', "they are north, south, east, west"),
        ('graph = "grid"\nrows = 2\ncolumns = 4', "8 agents and there are 4 sites"),
        ('graph = "sequence"\ngraphs = []', "empty"),
        ('graph = "sequence"\ngraphs = [[[0, 1], [1, 2], [2, 3]]]\nwindow = 2', "add exact_sum"),
        (
            'graph = "sequence"\ngraphs = [[[0, 1], [1, 2], [2, 3]]]\nwindow = 2\n'
            'exact_sum = "flooding"',
            "lengthen window=2",
        ),
        ('graph = "coordinator"\ndropout = 1.0', "dropout: 1.0 must be above 0 and below 1"),
        (
            'graph = "ring"\nexact_sum = "tree"\n'
            'varying = { kind = "link_failure", probability = 0.5 }',
            "LinkFailure are drawn",
        ),
    ],
)
def test_networks_that_cannot_be(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=rf"study.toml:\d+: \[network\].*{words}"):
        network(text)


def test_methods_with_and_without_a_budget() -> None:
    private = method('name = "dpsg"\nstep = 0.25\naverage = false', private=True)
    assert isinstance(private, DPSG)
    assert (private.step, private.average, private.privacy.clip) == (0.25, False, 1.0)
    plain = method('name = "gradient-descent"\nstep = 0.5')
    assert isinstance(plain, GradientDescent)
    assert plain.privacy is None
    assert method('name = "gradient-descent"\nstep = 0.5', private=True).privacy is not None


def test_the_papers_claim_and_a_step_a_site() -> None:
    solver = method(
        'name = "d-zoa-solver"\nstep = [0.1, 0.2, 0.3, 0.4]\nprinted = true\n'
        "claim = { epsilon = 0.15, delta = 1e-3 }"
    )
    assert isinstance(solver, DZOASolver)
    np.testing.assert_array_equal(solver.step, [0.1, 0.2, 0.3, 0.4])
    assert solver.claim is not None
    assert solver.claim.epsilon == 0.15


def test_the_solver_chooses_its_step_if_none_is_given() -> None:
    solver = method('name = "d-zoa-solver"')
    assert isinstance(solver, DZOASolver)
    assert solver.step is None


def test_a_budget_a_site_follows_the_order_of_the_sites() -> None:
    clips = "clip = { west = 4, east = 3, south = 2, north = 1 }"
    privacy = build_privacy(parse_study(changed("clip = 1.0", clips)), NAMES)
    assert privacy is not None
    np.testing.assert_array_equal(privacy.clip, [1, 2, 3, 4])
    with pytest.raises(ConfigError, match="no entry for site 'east'"):
        build_privacy(
            parse_study(changed("clip = 1.0", "clip = { west = 4, south = 2, north = 1 }")), NAMES
        )


def test_a_declared_normaliser_by_site(tmp_path: Path) -> None:
    by_name = "normaliser = { west = 4, east = 3, south = 2, north = 1 }\n[network]"
    built = problem("[network]", by_name, tmp_path)
    assert built.declared
    assert dict(zip(built.names, built.normaliser.tolist(), strict=True)) == {
        "north": 1.0,
        "south": 2.0,
        "east": 3.0,
        "west": 4.0,
    }
    assert problem("[network]", "normaliser = 150\n[network]", tmp_path).normaliser[0] == 150.0
    for wrong, words in (
        ("-1", "must be a positive number"),
        ("{ nowhere = 1 }", "'nowhere', which is not a site"),
    ):
        with pytest.raises(ConfigError, match=rf"study.toml:\d+: \[problem\] normaliser.*{words}"):
            problem("[network]", f"normaliser = {wrong}\n[network]", tmp_path)


def test_a_study_has_a_starting_point(tmp_path: Path) -> None:
    width = len(problem("[network]", "[network]", tmp_path).x0)
    start = list(range(width))
    assert problem("[network]", f"x0 = {start}\n[network]", tmp_path).x0.tolist() == start
    with pytest.raises(ConfigError, match=r"\[problem\].*x0 has shape \(1,\)"):
        problem("[network]", "x0 = [1.0]\n[network]", tmp_path)
    with pytest.raises(ConfigError, match=r"\[problem\] parameter_names: .*belongs to simulators"):
        problem("[network]", 'parameter_names = ["a"]\n[network]', tmp_path)
    with pytest.raises(ConfigError, match=r"\[problem\] simulator: .*logistic is written out"):
        problem("[network]", "simulator = { workers = 2 }\n[network]", tmp_path)
    with pytest.raises(ConfigError, match="command: unknown key"):
        problem("[network]", 'simulator = { command = ["a"] }\n[network]', tmp_path)


def test_add_remove_needs_a_declared_normaliser(tmp_path: Path) -> None:
    relation = 'clip = 1.0\nrelation = "add_remove"'
    with pytest.raises(ConfigError, match=r"\[privacy\] relation.*add normaliser = "):
        problem("clip = 1.0", relation, tmp_path)
    text = changed("[network]", "normaliser = 150\n[network]", changed("clip = 1.0", relation))
    check_privacy(parse_study(text))


def test_a_person_at_several_sites() -> None:
    text = changed("clip = 1.0", "clip = 1.0\nsites_per_person = 2\nrecords_per_person = 3")
    privacy = build_privacy(parse_study(text), NAMES)
    assert privacy is not None
    assert (privacy.sites_per_person, privacy.records_per_person) == (2, 3)


@pytest.mark.parametrize(
    ("new", "kind"),
    [
        ('{ kind = "elastic_net", l1 = 0.1, l2 = 0.2 }', ElasticNet),
        ('{ kind = "group_l1", strength = 0.1, groups = [0, 0, 1, 2] }', GroupL1),
    ],
)
def test_regularisers_spare_the_intercept(new: str, kind: type, tmp_path: Path) -> None:
    built = problem('{ kind = "l2", strength = 1e-3 }', new, tmp_path).regulariser
    assert isinstance(built, kind)
    assert built.unpenalised == (3,)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{ kind = "box", lower = -1, upper = [1, 1, 1, 2] }', Box),
        ('{ kind = "ball", radius = 2, order = 1 }', Ball),
        ('"simplex"', Simplex),
        ('{ kind = "affine", matrix = [[1, 0, 0, 0]], target = [0.5] }', Affine),
        (
            '{ kind = "polyhedron", matrix = [[1, 1, 0, 0]], bound = [1], '
            "equations = [[0, 0, 1, -1]], target = [0] }",
            Polyhedron,
        ),
    ],
)
def test_constraints(text: str, kind: type, tmp_path: Path) -> None:
    built = problem('"logistic"\n', f'"logistic"\nconstraint = {text}\n', tmp_path)
    assert isinstance(built.constraint, kind)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{ kind = "huber", threshold = 0.5 }', Huber),
        ('{ kind = "quantile", level = 0.9 }', Quantile),
    ],
)
def test_losses_with_constants(text: str, kind: type, tmp_path: Path) -> None:
    assert isinstance(problem('"logistic"', text, tmp_path).objectives.loss, kind)


def test_a_study_without_intercept_or_penalty(tmp_path: Path) -> None:
    text = changed('missing = "drop"', 'missing = "drop"\nintercept = false')
    assert "intercept" in text
    path = write(tmp_path, text.replace('regulariser = { kind = "l2", strength = 1e-3 }\n', ""))
    from tacit.study import read_study

    built = assemble(read_study(path)).problem
    assert built.parameter_names == ("age", "sex=m", "smoker")
    assert text != STUDY


def test_a_clip_may_be_in_any_norm() -> None:
    study = parse_study(changed("clip = 1.0\n", 'clip = 1.0\nclip_norm = "inf"\n'))
    privacy = build_privacy(study, NAMES)
    assert privacy is not None
    assert privacy.clip_norm == math.inf
    with pytest.raises(ConfigError, match="clip_norm"):
        parse_study(changed("clip = 1.0\n", "clip = 1.0\nclip_norm = 3\n"))


def test_a_declared_row_norm_bounds_the_gradients(tmp_path: Path) -> None:
    built = problem("[data]\n", "[data]\nrow_norm = 0.5\n", tmp_path)
    with jax.enable_x64(True):
        bounds = np.asarray(built.objectives.gradient_bound(2))
    np.testing.assert_array_equal(bounds, [0.5] * built.agents)


def test_a_large_delta_is_asked_for_by_name() -> None:
    text = changed("delta = 1e-6", "delta = 0.5\nlarge_delta = true")
    privacy = build_privacy(parse_study(text), NAMES)
    assert privacy is not None
    assert privacy.large_delta
