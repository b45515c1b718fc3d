"""Studies whose sites have whole costs, evaluated by simulators of their own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tacit._jobs import name_of
from tacit.deploy.agreement.admissible import check_study
from tacit.deploy.agreement.declare import count
from tacit.errors import ConfigError, OracleError
from tacit.privacy.gaussian_dp import mu_from_epsilon
from tacit.problem.boxes import CostBox
from tacit.study import assemble, execute, parse_study, setting
from tacit.study.cost_noise import cost_noise
from tacit.study.costs import declared_costs, own_cost, owner_text, read_owner
from tacit.sweep import Grid, plan
from tacit.sweep.chunk import chunk
from tacit.sweep.table import Runs, chosen

PROGRAM = f"""\
north = {{ command = ["{sys.executable}", "bowl.py", "{{level}}"], env = {{ DEPTH = "2" }} }}
south = {{ function = "costs_of_tests:bowl" }}
"""
STUDY = f"""\
[problem]
x0 = [0.0, 1.0]
parameter_names = ["level", "share"]
constraint = {{ kind = "box", lower = -3, upper = 3 }}
[problem.simulator]
timeout = 60
[problem.simulator.sites]
{PROGRAM}
[partition]
sites = ["north", "south"]
[network]
graph = "coordinator"
[method]
name = "or-zo"
step = 0.1
[run]
rounds = 2
"""
MODULE = """\
def bowl(x, agent):
    return float((x[0] - 1) ** 2 + agent * x[1] ** 2)

def broken(x, agent):
    raise RuntimeError("the valve stuck")

number = 3
"""
SCRIPT = "import os, sys\nprint(float(os.environ['DEPTH']) * (float(sys.argv[1]) + 1) ** 2)\n"
ALIKE = 'function = "costs_of_tests:bowl"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "costs_of_tests.py").write_text(MODULE)
    (tmp_path / "bowl.py").write_text(SCRIPT)
    return tmp_path


def made(folder: Path, old: str = "", new: str = "") -> Any:
    assert old in STUDY
    return assemble(parse_study(STUDY.replace(old, new), folder=folder)).problem


def alike(folder: Path, keys: str) -> Any:
    return made(folder, f"timeout = 60\n[problem.simulator.sites]\n{PROGRAM}", keys)


def test_each_site_has_a_program_or_a_function_of_its_own(folder: Path) -> None:
    box = made(folder)
    # north: 2 (0.5 + 1)^2, its variable and its argument; south: (0.5 - 1)^2 + 1 * 0.25^2
    assert box.value([0.5, 0.25]) == pytest.approx(4.5 + 0.25 + 0.0625, rel=1e-12)
    assert box.names == ("north", "south") and box.parameter_names == ("level", "share")
    assert box.counts.tolist() == [1, 1] and isinstance(box.objectives, CostBox)


def test_one_simulator_for_all_is_told_who_asks(folder: Path) -> None:
    assert alike(folder, ALIKE).value([1.0, 2.0]) == 4.0  # agent 0: 0, agent 1: 2^2
    (folder / "1").mkdir()
    (folder / "0").mkdir()
    for agent in "01":
        (folder / agent / "own.py").write_text(f"print({agent} + 10)")
    command = f'command = ["{sys.executable}", "own.py"]\ncwd = "{{agent}}"'
    assert alike(folder, command).value([1.0, 2.0]) == 21.0


def test_a_program_may_have_the_number_of_the_site_in_its_name(folder: Path) -> None:
    (folder / "plants").mkdir()
    for agent in (0, 1):
        program = folder / "plants" / f"p{agent}.sh"
        program.write_text(f"#!/bin/sh\necho {agent + 3}\n")
        program.chmod(0o755)
    command = 'command = ["plants/p{agent}.sh"]\n'
    assert alike(folder, command).value([0.0, 0.0]) == 7.0
    text = STUDY.replace(f"timeout = 60\n[problem.simulator.sites]\n{PROGRAM}", command)
    source, path = parse_study(text, folder=folder), folder / "own.toml"
    path.write_text(owner_text(source, 1))
    (folder / "plants" / "p0.sh").unlink()  # the other owner's is on another machine
    own = own_cost(source, 1, read_owner(path))
    assert own.host.evaluate(np.zeros(2), own.agent).tolist() == [4.0]
    with pytest.raises(ConfigError, match=r"\[problem.simulator\] command: there is no program"):
        alike(folder, command)


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("{level}", "{lever}", 8, "command: {lever} is not a placeholder"),
        ('env = { DEPTH = "2" }', 'cwd = "nowhere"', 8, "cwd: there is no folder"),
        ("costs_of_tests:bowl", "costs_of_tests:bow", 9, "no function 'bow'"),
        ("costs_of_tests:bowl", "costs_of_tests:alone", 9, "the black box of south"),
    ],
)
def test_an_error_names_the_site_and_its_line(
    folder: Path, old: str, new: str, line: int, told: str
) -> None:
    with (folder / "costs_of_tests.py").open("a") as module:
        module.write("\ndef alone(x):\n    return 0.0\n")
    with pytest.raises(ConfigError) as raised:
        made(folder, old, new)
    said, site = str(raised.value), {8: "north", 9: "south"}[line]
    assert said.startswith(f"study.toml:{line}: [problem.simulator.sites") and told in said
    assert site in said.partition(told)[0] + told


def test_what_chance_asks_for_is_said_where_it_belongs(folder: Path) -> None:
    """Of a key that is not written the section is known, though not the line."""
    with (folder / "costs_of_tests.py").open("a") as module:
        module.write("\nimport random\ndef noisy(x, agent):\n    return random.random()\n")
    text = STUDY.replace("costs_of_tests:bowl", "costs_of_tests:noisy")
    with pytest.raises(ConfigError, match=r"toml:5: \[problem\] simulator: stochastic=False: the"):
        execute(assemble(parse_study(text, folder=folder)))
    source = parse_study(text.replace("timeout", "stochastic = true\ntimeout"), folder=folder)
    with pytest.raises(ConfigError, match=r"toml:16: \[method\] shortest=1\.5e-08: .*read_study"):
        execute(assemble(source))


def test_evaluations_are_made_as_the_study_says(folder: Path) -> None:
    keys = f'{ALIKE}\nworkers = 2\ntimeout = 50\non_failure = "retry"\nstochastic = true\n'
    how = alike(folder, f'{keys}cache = "kept.sqlite"').objectives.host.evaluation
    assert (how.workers, how.timeout, how.on_failure, how.stochastic) == (2, 50, "retry", True)
    assert how.cache == folder / "kept.sqlite" and how.attempts == 3
    assert alike(folder, f"{keys}tries = 2").objectives.host.evaluation.attempts == 2
    with pytest.raises(ConfigError, match=r"toml:\d+: \[problem.simulator\] tries: 1: on_failure"):
        alike(folder, f"{keys}tries = 1")


def test_a_sweep_measures_the_objective_at_the_answer(folder: Path) -> None:
    text = STUDY.replace(f"timeout = 60\n[problem.simulator.sites]\n{PROGRAM}", ALIKE)
    [cell] = plan(parse_study(text, folder=folder), Grid(seeds=1)).cells
    found = chunk(dict(cell.study), 1, 0, 1, code=cell.code, folder=str(folder))
    assert "objective" in cell.measures
    assert 0.0 < found["measured"]["objective"][0] < 2.0  # 1 + 1 at the start
    assert chosen([Runs.of(cell, [found], 1)]) == "objective"


def test_stored_answers_belong_to_the_code_of_each_site(folder: Path) -> None:
    keep = ("timeout = 60", 'timeout = 60\ncache = "kept.sqlite"')
    first = made(folder, *keep)
    first.value([0.5, 0.25])
    again = made(folder, *keep)
    again.value([0.5, 0.25])
    assert first.objectives.host.calls.tolist() == [1, 1]
    assert again.objectives.host.calls.tolist() == [0, 0]
    (folder / "bowl.py").write_text(SCRIPT + "\n# another one")
    changed = made(folder, *keep)
    changed.value([0.5, 0.25])
    assert changed.objectives.host.calls.tolist() == [1, 0]


def test_a_study_runs(folder: Path) -> None:
    outcome = execute(assemble(parse_study(STUDY + "seed = 1\n", folder=folder)))
    assert np.isfinite(outcome.result.solutions).all()
    box: Any = outcome.assembled.problem.objectives
    # 10 directions, two points each, in two rounds, and the values of the history
    assert box.host.calls.min() >= 2 * 2 * 10


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("south = { function", "east = { function", "'east'"),
        ("costs_of_tests:bowl", "costs_of_tests", "module:function"),
        ("costs_of_tests:bowl", "costs_of_tests:bow", "no function 'bow'; it has bowl, broken"),
        ("costs_of_tests:bowl", "costs_of_tests:number", "no function 'number'"),
        ("costs_of_tests:bowl", "no_such_costs:bowl", "No module named 'no_such_costs'"),
        (f'"{sys.executable}", "bowl.py"', '"no-such-program"', "no program 'no-such-program'"),
        ("{level}", "{lever}", "{lever} is not a placeholder"),
        ("timeout = 60", "timeout = 0", "0 must be above 0"),
        ("timeout = 60", "workers = 0", "0 must be at least 1"),
        ("timeout = 60", 'on_failure = "ignore"', "'ignore' must be 'stop', 'retry' or 'skip'"),
        ("timeout = 60", ALIKE, "leave out sites, or command and function"),
        ("timeout = 60", "steps = 3", "unknown key"),
        (f'function = "{ALIKE[12:]}', "env = {}", "env, which is for a program"),
        ("x0 = [0.0, 1.0]", "x0 = [0.0, 9.0]", "x0 misses the constraint"),
        ("x0 = [0.0, 1.0]", "", "x0 = ..."),
        ("rounds = 2", "rounds = 2\ncompare = true", "compare = false"),
        ("rounds = 2", "rounds = 2\nhold_out = 0.1", "hold_out"),
        ('sites = ["north", "south"]', "", "sites = ..."),
        (
            "[partition]",
            '[data]\npath = "a.csv"\n[partition]',
            "there are no records where each site has a simulator",
        ),
    ],
)
def test_mistakes_are_named_with_a_remedy(folder: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        made(folder, old, new)
    assert told in str(raised.value) and "study.toml" in str(raised.value)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def bowl(x, agent)\n    return 1.0\n", ["wrong.py, line 1: SyntaxError: expected ':'"]),
        ("limit = 1 / 0\n", ["wrong.py, line 1: ZeroDivisionError", "in 'limit = 1 / 0'"]),
        ("\nimport no_such_package\n", ["wrong.py, line 2: ModuleNotFoundError: No module"]),
        ("raise SystemExit(3)\n", ["wrong.py, line 1: SystemExit: 3"]),
    ],
)
def test_a_module_that_is_there_and_wrong_is_shown(
    folder: Path, code: str, told: list[str]
) -> None:
    (folder / "wrong.py").write_text(code)
    with pytest.raises(ConfigError) as raised:
        made(folder, "costs_of_tests:bowl", "wrong:bowl")
    said = str(raised.value)
    assert all(each in said for each in told), said
    assert "correct it" in said and "installed" not in said


def test_a_study_without_simulators_is_for_owners_that_have_theirs(folder: Path) -> None:
    with pytest.raises(ConfigError, match="only owners with simulators of their own can run it"):
        alike(folder, 'on_failure = "skip"')


@pytest.mark.long
def test_a_study_is_swept_and_other_code_has_other_answers(folder: Path) -> None:
    source = parse_study(STUDY, folder=folder)
    grid = Grid(seeds=2, settings={"method.step": (0.1, 0.2)})
    first = [each[0] for each in plan(source, grid).pieces()]
    found = chunk(**first[0].arguments)
    assert found["finished"] == [True, True] and len(found["measured"]["consensus"]) == 2
    (folder / "bowl.py").write_text(SCRIPT + "\n# another one")
    again = plan(parse_study(STUDY, folder=folder), grid).pieces()[0][0]
    assert name_of(again) != name_of(first[0]) != name_of(first[1])


def test_advice_and_records_belong_to_other_studies(folder: Path) -> None:
    with pytest.raises(ConfigError, match="whole costs, and advice rests on numbers of records"):
        setting(parse_study(STUDY, folder=folder))


def test_the_noise_of_costs_is_forecast_without_an_evaluation(folder: Path) -> None:
    text = STUDY + "[privacy]\nepsilon = 1\ndelta = 1e-3\nclip = 1.0\n"
    made = assemble(parse_study(text, folder=folder))
    found = cost_noise(made)
    costs: Any = made.problem.objectives
    # Gaussian noise of mu at (1, 1e-3), two clips long, in the mean of two sites
    mu = 2.0 / found.noise[0] / np.sqrt(2.0)
    assert mu == pytest.approx(mu_from_epsilon(1.0, 1e-3), rel=1e-3)
    assert found.enough == pytest.approx(8.0) and found.noise[2] > 1.0 > found.noise[3]
    assert costs.host.calls.tolist() == [0, 0]
    with pytest.raises(ConfigError, match=r"without epsilon in \[privacy\] there is no noise"):
        cost_noise(assemble(parse_study(STUDY, folder=folder)))


def test_what_everybody_knows_starts_nothing(folder: Path) -> None:
    text = STUDY.replace("costs_of_tests", "no_such_module").replace("bowl.py", "nowhere.py")
    known: Any = declared_costs(parse_study(text, folder=folder), ("b", "a"), (1, 1))
    assert known.names == ("b", "a") and "no_such_module" not in sys.modules
    with pytest.raises(AssertionError, match="another site was asked"), jax.enable_x64(True):
        known.objectives.host._function(np.zeros(2), 0)
    with pytest.raises(ConfigError, match="names 2 owners of a cost, and the run has 3"):
        declared_costs(parse_study(text, folder=folder), ("a", "b", "c"), (1, 1, 1))
    with pytest.raises(ConfigError, match="declared as 1 record"):
        declared_costs(parse_study(text, folder=folder), ("a", "b"), (1, 2))


def test_an_owner_evaluates_what_its_own_file_names(folder: Path) -> None:
    source = parse_study(STUDY, folder=folder)
    whole = made(folder)
    for agent in (0, 1):
        path = folder / f"own-{agent}.toml"
        path.write_text(owner_text(source, agent))
        own = own_cost(source, agent, read_owner(path))
        asked = own.host.evaluate(np.array([0.5, 0.25]), own.agent)
        there = whole.objectives.host.evaluate(np.array([0.5, 0.25]), np.array(agent))
        assert asked == there


def test_an_owner_says_how_often_it_tries(folder: Path) -> None:
    skipping = STUDY.replace("timeout = 60", 'timeout = 60\non_failure = "skip"\ntries = 2')
    source, path = parse_study(skipping, folder=folder), folder / "own.toml"
    for keys, tries in (("", 2), ("tries = 5\n", 5)):
        path.write_text(keys + ALIKE)
        assert own_cost(source, 1, read_owner(path)).host.evaluation.attempts == tries


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "names nothing to evaluate"),
        ('command = ["no-such-program"]', "no program 'no-such-program'"),
        ('command = "./simulate"', "must be a list"),
        ("stochastic = true\n" + ALIKE, "unknown key"),
    ],
)
def test_an_owner_is_told_of_its_mistakes(folder: Path, text: str, told: str) -> None:
    (folder / "own.toml").write_text(text)
    source = parse_study(STUDY, folder=folder)
    with pytest.raises(ConfigError, match=told):
        own_cost(source, 1, read_owner(folder / "own.toml"))


def test_an_owner_declares_one_cost_and_hears_whether_it_can_be_started(folder: Path) -> None:
    source = parse_study(STUDY, folder=folder)
    (folder / "own.toml").write_text(ALIKE)
    found = count(source, folder / "own.toml")
    assert (found.declare, found.exact, found.cost, found.unfit) == (1, True, True, "")
    (folder / "own.toml").write_text('command = ["no-such-program"]')
    assert "no program 'no-such-program'" in count(source, folder / "own.toml").unfit


def test_between_sites_a_failure_must_not_show(folder: Path) -> None:
    with pytest.raises(ConfigError, match='on_failure = "skip"'):
        check_study(parse_study(STUDY, folder=folder), "the manifest")
    skipping = STUDY.replace("timeout = 60", 'timeout = 60\non_failure = "skip"')
    check_study(parse_study(skipping, folder=folder), "the manifest")


def test_a_missing_file_says_what_belongs_there(folder: Path) -> None:
    with pytest.raises(ConfigError, match="each owner has a file such as"):
        read_owner(folder / "none.toml")


def test_a_failure_ends_a_simulation_and_names_the_site(folder: Path) -> None:
    with pytest.raises(OracleError, match="box of south raised RuntimeError: the valve stuck"):
        made(folder, "tests:bowl", "tests:broken").value([0.0, 0.0])


def test_each_study_has_the_modules_beside_it(folder: Path) -> None:
    first = made(folder)
    other = folder / "other"
    other.mkdir()
    (other / "costs_of_tests.py").write_text(MODULE.replace("agent * x[1]", "7 * x[1]"))
    (other / "bowl.py").write_text(SCRIPT)
    there: Any = assemble(parse_study(STUDY, folder=other)).problem
    assert (first.value([1.0, 1.0]), there.value([1.0, 1.0])) == (8.0 + 1.0, 8.0 + 7.0)
    (other / "numpy.py").write_text(MODULE)
    with pytest.raises(ConfigError, match="an installed module 'numpy' was found first"):
        assemble(parse_study(STUDY.replace("costs_of_tests", "numpy"), folder=other))
