"""A study whose sites sum exactly between themselves, from the file to the report."""

from pathlib import Path
from typing import Any

import pytest

from tacit.errors import ConfigError
from tacit.study import assemble, execute, parse_study, read_study
from tacit.study._output.files import result_document
from tacit.study._output.page import report_data
from tacit.study._output.words import summary
from tests.end_to_end.study import changed, write

TREE = changed('"ring"', '"ring"\nexact_sum = "tree"', changed('"dpsg"', '"gradient-descent"'))


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Any:
    text = changed("rounds = 20", "rounds = 3", TREE)
    return execute(assemble(read_study(write(tmp_path_factory.mktemp("study"), text))))


def test_it_runs_and_counts_what_is_relayed(outcome: Any) -> None:
    assert outcome.result.status == "finished"
    found = result_document(outcome)
    assert found["network"] == {
        "kind": "exact sum",
        "agents": 4,
        "connectivity": "through exact sums in every round, by tree over the ring in 4 phases",
        "graph": "ring",
        "exact_sum": "tree",
        "cost": {"phases": 4, "messages": 6, "largest": 2},
    }
    # 4 parameters of 8 bytes, 6 messages a round
    assert found["traffic"]["bytes"] == 3 * 6 * 32


def test_it_is_described_and_drawn_as_its_graph(outcome: Any) -> None:
    assert "over a ring network with exact sums by tree" in summary(outcome)[0]
    data = report_data(outcome, [])
    assert data.network is not None
    assert (data.network.kind, data.network.coordinated) == ("ring", False)
    assert data.network.edges == [(0, 1), (0, 3), (1, 2), (2, 3)]
    facts = data.network.facts
    assert facts["Phases per round"] == 4 and facts["Messages per round"] == 6
    iterate, gradient = data.phases
    assert (iterate["sender"], iterate["receiver"]) == (
        "each site, alike",
        "nobody: every site has it",
    )
    assert (gradient["sender"], gradient["receiver"]) == (
        "each site",
        "every site, over its neighbours",
    )


def test_an_unknown_way_is_named_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"study.toml:\d+: .*exact_sum.*'flooding', 'tree' or"):
        parse_study(changed('"tree"', '"trees"', TREE))


def test_a_method_between_peers_takes_the_graph_itself(tmp_path: Path) -> None:
    text = changed('"gradient-descent"', '"dpsg"', TREE)
    with pytest.raises(ConfigError, match="DPSG runs between peers"):
        execute(assemble(read_study(write(tmp_path, text))))
    text = changed('\nexact_sum = "tree"', "", TREE)
    with pytest.raises(ConfigError, match=r"runs between clients.*ExactSum\(graph\)"):
        execute(assemble(read_study(write(tmp_path, text))))
