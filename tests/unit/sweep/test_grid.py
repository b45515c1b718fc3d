from __future__ import annotations

from typing import Any

import pytest

from tacit.errors import ConfigError
from tacit.sweep import Grid
from tacit.sweep.sections import shown

STUDY: dict[str, Any] = {
    "method": {"name": "dpsg", "step": 0.5},
    "privacy": {"clip": 1.0, "epsilon": 1.0},
    "problem": {"loss": "logistic", "regulariser": "l2"},
    "run": {"rounds": 5},
}


def test_every_combination_is_a_cell_in_the_order_given() -> None:
    grid = Grid(settings={"privacy.epsilon": (1.0, 2.0), "run.rounds": (5, 6)})
    found = grid.cells(STUDY)
    assert [(s["privacy.epsilon"], s["run.rounds"]) for s, _ in found] == [
        (1.0, 5),
        (1.0, 6),
        (2.0, 5),
        (2.0, 6),
    ]
    assert [(d["privacy"]["epsilon"], d["run"]["rounds"]) for _, d in found][2] == (2.0, 5)
    # the study itself is left as it is
    assert STUDY["privacy"]["epsilon"] == 1.0 and STUDY["run"] == {"rounds": 5}


def test_without_anything_the_study_is_the_only_cell() -> None:
    assert Grid().cells(STUDY) == [({"method": "dpsg"}, STUDY)]


def test_another_method_keeps_the_keys_that_it_has() -> None:
    study = {**STUDY, "method": {"name": "dpsg", "step": 0.5, "decay": 0.5}}
    [(_, document)] = Grid(methods=("dgd",)).cells(study)
    assert document["method"]["name"] == "dgd" and document["method"]["step"] == 0.5


def test_a_method_without_noise_makes_one_cell_without_a_budget() -> None:
    grid = Grid(methods=("dpsg", "dgd"), settings={"privacy.epsilon": (1.0, 2.0)})
    settings, document = grid.cells(STUDY)[-1]
    assert len(grid.cells(STUDY)) == 3
    assert settings == {"method": "dgd"} and "privacy" not in document


def test_a_setting_of_one_method_is_for_that_method_alone() -> None:
    settings = {"dpsg.step": (0.1, 0.2), "method.step": (0.3,)}
    found = Grid(methods=("dpsg", "dgd"), settings={"dpsg.step": settings["dpsg.step"]}).cells(
        STUDY
    )
    assert [cell.get("method.step") for cell, _ in found] == [0.1, 0.2, None]
    assert found[-1][1]["method"]["step"] == 0.5


def test_tables_are_made_where_there_are_none() -> None:
    study = {key: value for key, value in STUDY.items() if key != "privacy"}
    [(_, document)] = Grid(settings={"privacy.epsilon": (2.0,)}).cells(study)
    assert document["privacy"] == {"epsilon": 2.0}


def test_true_stands_for_a_table_of_defaults() -> None:
    study = {**STUDY, "privacy": {"clip": 1.0, "epsilon": 1.0, "masks": True}}
    found = Grid(settings={"privacy.masks.coalition": (1, 2)}).cells(study)
    assert [document["privacy"]["masks"] for _, document in found] == [
        {"coalition": 1},
        {"coalition": 2},
    ]
    assert study["privacy"]["masks"] is True


def test_a_whole_section_brings_its_own_arguments() -> None:
    grid = {"graph": "grid", "rows": 2, "columns": 3}
    settings = {"network.weights": ("metropolis", "max_degree"), "network": ("ring", grid)}
    study = {**STUDY, "network": {"graph": "edges", "edges": [[0, 1]]}}
    found = Grid(settings=settings).cells(study)
    # the single key is changed in the section, in whichever order they are given
    assert [document["network"] for _, document in found] == [
        {"graph": "ring", "weights": "metropolis"},
        {**grid, "weights": "metropolis"},
        {"graph": "ring", "weights": "max_degree"},
        {**grid, "weights": "max_degree"},
    ]
    assert "weights" not in grid
    assert [shown(settings["network"]) for settings, _ in found[:2]] == [
        "ring",
        "grid (rows 2, columns 3)",
    ]


def test_losses_have_arguments_of_their_own_too() -> None:
    losses = ("squared", {"kind": "huber", "threshold": 0.5})
    found = Grid(settings={"problem.loss": losses}).cells(STUDY)
    assert [document["problem"]["loss"] for _, document in found] == list(losses)
    assert shown(losses[1]) == "huber (threshold 0.5)"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"settings": {"network": (1,)}}, "network=1 must be a name or a table"),
        ({"settings": {"network": ("ring", {"graph": "ring"})}}, "network has 'ring' twice"),
        ({"settings": {"method": ("dgd",)}}, "method cannot be varied: methods are given apart"),
        ({"settings": {"data.path": ("a", "b")}}, "all cells share the study's records"),
        (
            {"settings": {"network": ({"graph": "star"},), "network.graph": ("ring",)}},
            "network.graph is varied, and a value of network gives graph as well",
        ),
        ({"seeds": 0}, "seeds=0 must be at least 1"),
        ({"methods": ("DPSG",)}, "method 'DPSG' is unknown; did you mean 'dpsg'?"),
        ({"methods": ("dpgs",)}, "method 'dpgs' is unknown; did you mean 'dpsg'?"),
        ({"methods": ("dvp",)}, "method 'dvp' has no certified mode"),
        ({"methods": ("dpsg", "dpsg")}, "method has 'dpsg' twice"),
        ({"settings": {"step": (1.0,)}}, "'step' must be a section and a key with a dot"),
        ({"settings": {"run.rounds": ()}}, "run.rounds has no value"),
        ({"settings": {"run.rounds": (5, "")}}, "run.rounds has no value, or an empty one"),
        ({"settings": {"run.rounds": (5, 6, 5)}}, "run.rounds has 5 twice"),
        ({"settings": {"run.trials": (5,)}}, "run.trials cannot be varied"),
        ({"settings": {"method.name": ("dgd",)}}, "methods are given apart"),
        (
            {"settings": {"privacy.epsilonn": (1.0,)}},
            "[privacy] has no key 'epsilonn'; did you mean 'epsilon'?",
        ),
        (
            {"settings": {"privcy.epsilon": (1.0,)}},
            "no section 'privcy'; did you mean 'privacy'?",
        ),
        ({"cases": ({"run.roundz": 5},)}, "[run] has no key 'roundz'; did you mean 'rounds'?"),
        ({"settings": {"dpsg.stpe": (1.0,)}}, "dpsg has no key 'stpe'; did you mean 'step'?"),
        ({"settings": {"dgpd.step": (1.0,)}}, "no section 'dgpd'; did you mean 'dgd'?"),
    ],
)
def test_what_is_no_grid_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        Grid(**given)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"method.stpe": (1.0,)}, "method.stpe: dpsg has no key 'stpe'; did you mean 'step'?"),
        ({"dgd.step": (1.0,)}, "for the method dgd, which is not in this sweep"),
        ({"problem.regulariser.strength": (1.0,)}, "the study has regulariser = 'l2'"),
    ],
)
def test_keys_that_do_not_fit_the_study_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        Grid(settings=settings).cells(STUDY)
    assert said in str(error.value)
