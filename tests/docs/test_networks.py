"""The page of networks lists every graph, with the keys of its section and its Python."""

import inspect
import re
from pathlib import Path

from tacit import network
from tacit.study._grammar.arguments import arguments
from tacit.study._sections.network import SECTIONS, PeerSection, Varying

PAGE = (Path(__file__).parents[2] / "docs" / "networks.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_every_graph_has_its_keys_and_its_python() -> None:
    found = {cells[0].strip('`"'): cells for cells in rows("Graphs")}
    assert list(found) == [*network.TOPOLOGIES, *SECTIONS]
    for name, (_, keys, python, words) in found.items():
        if name in network.TOPOLOGIES:
            build = network.TOPOLOGIES[name].build
            known = [each.name for each in arguments(build, leave_out=("agents", "weights"))]
            given = [each for each in inspect.signature(build).parameters if each != "weights"]
            assert python == f"`{name}({', '.join(given)})`"
        else:
            fields = SECTIONS[name].model_fields
            known = [each for each in fields if each not in (*PeerSection.model_fields, "graph")]
        assert re.findall(r"`(\w+)`", keys) == known, name
        assert words, name


def test_what_is_named_in_python_exists_and_takes_these_arguments() -> None:
    calls = re.findall(r"`([A-Z]\w+)(?:\.(\w+))?\(([^)]*)\)`", PAGE)
    assert {call[0] for call in calls} >= {"Graph", "Coordinator", "Periodic", "ExactSum"}
    for owner, function, given in calls:
        target = getattr(network, owner)
        target = getattr(target, function) if function else target
        parameters = inspect.signature(target).parameters
        for each in re.findall(r"[a-z]\w+", re.sub(r'"[^"]*"', "", given)):
            assert each in parameters or each == "graph", (owner, each)


def test_every_key_of_a_graph_of_peers_is_listed() -> None:
    keys = [cells[0].strip("`") for cells in rows("What any graph of peers takes")]
    assert keys == list(PeerSection.model_fields)
    for kind in inspect.get_annotations(Varying, eval_str=True)["kind"].__args__:
        assert f'"{kind}"' in PAGE
