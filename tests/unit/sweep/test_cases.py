"""Cases: methods with what each of them needs, in one table and one figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit.errors import ConfigError
from tacit.study import read_study
from tacit.sweep import Grid, Plan, Sweep, plan, read_grid
from tacit.sweep.cases import covered
from tacit.sweep.page import sweep_data
from tests.end_to_end import study
from tests.unit.sweep.made_up import ended

BASELINES = """
[settings]
privacy.epsilon = [1, 2]

[[cases]]
name = "DPSG on a ring"
method = "dpsg"

[[cases]]
name = "DP-IADMM"
method = { name = "dp-iadmm-prox", penalty = 2 }
network = "coordinator"
run.rounds = 3

[[cases]]
name = "Functional perturbation"
method.name = "functional-perturbation"
method.inner = { name = "dgd", step = 0.1 }
method.basis = { kind = "quadratic", lower = [-1, -1, -1, -1], upper = [1, 1, 1, 1] }
privacy = { noise = "laplace", delta = 0, clip = 0.5 }
"""

SIZES = "".join(
    f'''
[[cases]]
name = "{name}"
partition.sites = {sites}
network = {network}
'''
    for sites, columns in ((4, 2), (6, 3))
    for name, network in (
        ("Ring", '"ring"'),
        ("Grid", f'{{ graph = "grid", rows = 2, columns = {columns} }}'),
    )
)


EVEN = study.changed('by = "column"\ncolumn = "site"', 'by = "even"\nsites = 4')


def planned(tmp_path: Path, text: str, written: str = study.STUDY) -> Plan:
    (tmp_path / "grid.toml").write_text(text)
    return plan(read_study(study.write(tmp_path, written)), read_grid(tmp_path / "grid.toml"))


def test_methods_with_networks_and_noise_of_their_own_stand_in_one_table(tmp_path: Path) -> None:
    made = planned(tmp_path, BASELINES)
    assert [cell.worst.status.value for cell in made.cells] == ["proved"] * 6
    assert [round(cell.worst.epsilon, 3) for cell in made.cells] == [1, 2] * 3
    assert [cell.worst.delta for cell in made.cells[::2]] == [1e-6, 1e-6, 0.0]
    assert [cell.source.study.run.rounds for cell in made.cells[::2]] == [20, 3, 20]
    found = tuple(ended(made, *([1.0] * made.seeds,) * 6))
    swept = Sweep(made, found, "objective", (), tmp_path)
    names = ["DPSG on a ring", "DP-IADMM", "Functional perturbation"]
    assert [line.name for line in swept.plot().data] == names
    assert "Case & Epsilon & Guarantee & Objective" in swept.to_latex()
    assert swept.cells()["network"][2:4].tolist() == ["coordinator"] * 2
    again = swept.plot(names={"DP-IADMM": "IADMM"}).data
    assert [line.name for line in again] == ["DPSG on a ring", "IADMM", "Functional perturbation"]


def test_tables_have_what_a_cell_runs_with_wherever_it_is_given(tmp_path: Path) -> None:
    text = """
[[cases]]
name = "DPSG"
method = "dpsg"

[[cases]]
name = "DP-ADMM"
method = { name = "dp-admm", step = 4, penalty = 2 }
network = "coordinator"
privacy.noise = "gaussian"
run.rounds = 3
"""
    made = planned(tmp_path, text)
    found = tuple(ended(made, *([1.0] * made.seeds,) * 2))
    swept = Sweep(made, found, "objective", (), tmp_path)
    rows = [
        ["dpsg", 0.5, None, "gaussian", 20],  # step and rounds of the study, noise by default
        ["dp-admm", 4, 2, "gaussian", 3],
    ]
    keys = ["method", "method.step", "method.penalty", "privacy.noise", "run.rounds"]
    assert [[cell.value(key) for key in keys] for cell in made.cells] == rows
    table = swept.cells()[keys].astype(object)
    assert table.where(table.notna(), None).to_numpy().tolist() == rows
    shown = sweep_data(made, found, None).cells
    assert [row["step"] for row in shown] == [0.5, 4] and shown[0]["penalty"] is None


def test_graphs_of_several_sizes_have_a_line_each(tmp_path: Path) -> None:
    made = planned(tmp_path, SIZES, EVEN)
    found = tuple(ended(made, *([1.0] * made.seeds,) * 4))
    figure = Sweep(made, found, "objective", (), tmp_path).plot()
    assert [(line.name, list(line.x)) for line in figure.data] == [
        ("Ring", [4, 6]),
        ("Grid", [4, 6]),
    ]
    assert figure.layout.xaxis.title.text == "sites"


@pytest.mark.parametrize(
    ("cases", "settings", "said"),
    [
        (({},), {}, "a case is {}; give a table"),
        (({"method": "dpsgg"},), {}, "did you mean 'dpsg'"),
        (({"name": "a"}, {"name": "a"}), {}, "twice; give every case once"),
        (({"network": "ring"},), {"network.weights": ("metropolis",)}, "in one of the two places"),
        (({"run.trials": 3},), {}, "cannot be varied"),
        (({"privcy.noise": "laplace"},), {}, "did you mean 'privacy'"),
        (({"privacy": 3},), {}, "must be a table of keys"),
        (({"name": 3},), {}, "must be a name in quotes"),
    ],
)
def test_what_is_no_case_is_refused(
    cases: tuple[Any, ...], settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as error:
        Grid(cases=cases, settings=settings)
    assert said in str(error.value)


def test_a_section_of_one_method_is_a_matter_for_a_case() -> None:
    with pytest.raises(ConfigError, match=r"give it in a case: \[\[cases\]\] with method = 'dpsg'"):
        Grid(settings={"dpsg.privacy.noise": ("laplace",)})


def test_a_grid_of_a_grid_s_cases_is_the_same() -> None:
    """As the command makes of a file and its options, so that both find each other's results."""
    bounds = {"strong_convexity": 0.01, "smoothness": 0.6}
    once = Grid(cases=({"name": "FP", "method": {"name": "dgd", "step": 1, "bounds": bounds}},))
    assert once.cases[0]["method.bounds.smoothness"] == 0.6
    assert Grid(cases=once.cases).cases == once.cases


def test_cases_of_one_name_that_differ_in_no_number_are_lines_of_their_own() -> None:
    networks = [{"case": "D-ZOA", "method": "d-zoa", "network": each} for each in ("ring", "path")]
    sizes = [{"case": "D-ZOA", "network": "ring", "partition.sites": each} for each in (3, 9)]
    assert covered(networks, "D-ZOA") == {"method"}
    assert covered(sizes, "D-ZOA") == {"network"}
