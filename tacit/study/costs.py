"""From [problem.simulator] to whole costs, one per site, and one owner's cost from its own file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import ConfigError, TacitError
from tacit.problem.boxes import CostBox
from tacit.problem.constraint import CONSTRAINTS
from tacit.problem.evaluation import Evaluation
from tacit.problem.host import Host
from tacit.problem.owned import Dispatch, Owned, Separate
from tacit.problem.problem import Problem, starting_point
from tacit.problem.program import Program, of_agent
from tacit.problem.regularisers import REGULARISERS
from tacit.problem.takes import check_takes
from tacit.study._sections.common import plain
from tacit.study._sections.simulator import OwnerFile, OwnerSection, SimulatorSection
from tacit.study.functions import function
from tacit.study.owner_file import read_owner_file
from tacit.study.read import Source
from tacit.study.section_text import value_text


@dataclass(frozen=True)
class OwnCost:
    """What an owner says of its own cost, in a run between sites.

    Attributes:
        path: file that says it.
        given: contents of the file, checked.
    """

    path: Path
    given: OwnerFile


def build_costs(source: Source) -> Problem:
    """The problem of a study whose sites have whole costs, to be simulated.

    Raises:
        ConfigError: nothing to evaluate, or what cannot be evaluated, with the line of the file.
    """
    chosen: Any = source.study.problem
    simulator: SimulatorSection = chosen.simulator
    with source.section("problem", "simulator"):
        owners = _owners(source, simulator)
        return _problem(source, _box(source, simulator, owners, np.arange(len(owners))))


def declared_costs(source: Source, sites: tuple[str, ...], counts: Sequence[int] = ()) -> Problem:
    """The same problem as known to everyone: nothing is started, imported or evaluated.

    Args:
        source: study file.
        sites: names of the sites.
        counts: declared numbers of records, 1 for every cost.

    Raises:
        ConfigError: other numbers, or another number of sites than the study names.
    """
    chosen: Any = source.study.problem
    simulator: SimulatorSection = chosen.simulator
    if len(sites) != len(_sites(source)) or any(count != 1 for count in counts):
        with source.section("partition", "sites"):
            raise ConfigError(
                f"names {len(_sites(source))} owners of a cost, and the run has {len(sites)} with "
                f"{[*counts]} records; each has one cost, which is declared as 1 record"
            )
    how = _how(source, simulator, (Owned(_unasked),) * len(sites))
    host = Host(_unasked, tuple(range(len(sites))), None, batched=False, evaluation=how)
    return replace(_problem(source, _costs(host, np.arange(len(sites)))), names=tuple(sites))


def own_cost(source: Source, agent: int, own: OwnCost) -> CostBox:
    """One owner's cost, evaluated by what its own file names.

    Args:
        source: study file; what it says about `command`, `function` and their like is not used.
        agent: number of the site.
        own: what the owner's file says.

    Raises:
        ConfigError: what cannot be evaluated.
    """
    try:
        return _own_cost(source, agent, own.path.parent, own.given)
    except TacitError as error:
        raise ConfigError(f"{own.path}: {error}") from error


def _own_cost(source: Source, agent: int, folder: Path, given: OwnerFile) -> CostBox:
    chosen: Any = source.study.problem
    if given.command is not None:
        program = of_agent(given.command[0], agent)
        given = given.model_copy(update={"command": (program, *given.command[1:])})
    one = replace(_owned(given, folder), cwd=None)
    if given.command is not None:  # of no other site is there a folder here
        one = replace(one, cwd=of_agent(str(folder / (given.cwd or "")), agent))
    own = {"workers": given.workers or 1, "tries": given.tries or chosen.simulator.tries}
    calls = chosen.simulator.model_copy(update={"cache": None, **own})
    how = _how(source, calls, (one,) * len(_sites(source)))
    if given.cache is not None:
        how = replace(how, cache=folder / given.cache)
    numbers = tuple(range(len(_sites(source))))
    called = Dispatch((one.function,) * len(numbers)) if one.function is None else one.function
    host = Host(called, numbers, None, batched=False, evaluation=how)
    host.name(("this site",) * len(numbers))
    return _costs(host, np.int64(agent))


def read_owner(path: Path) -> OwnCost:
    """An owner's file.

    Raises:
        ConfigError: it cannot be read, or says something else.
    """
    wanted = (
        'in this study each owner has a file such as simulator.toml with command = ["./simulate"]'
    )
    return OwnCost(path, read_owner_file(path, OwnerFile, wanted))


def owner_text(source: Source, agent: int) -> str:
    """The file of an owner that says what the study says of its site, as TOML.

    Args:
        source: study file.
        agent: number of the site.
    """
    chosen: Any = source.study.problem
    simulator: SimulatorSection = chosen.simulator
    name = _sites(source)[agent]
    given = simulator if simulator.sites is None else simulator.sites[name]
    folder = source.folder.resolve() / of_agent(given.cwd or "", agent)
    command = None if given.command is None else _command(given.command, source.folder)
    values: dict[str, Any] = {"command": command, "function": given.function}
    values |= {"cwd": str(folder), "env": given.env, "workers": simulator.workers}
    return "".join(
        f"{key} = {value_text(value)}\n" for key, value in values.items() if value is not None
    )


def _owners(source: Source, simulator: SimulatorSection) -> tuple[Owned, ...]:
    """What evaluates each site's cost."""
    sites = _sites(source)
    if simulator.sites is None:
        if not simulator.named:
            raise ConfigError(
                "names nothing to evaluate, so only owners with simulators of their own can run "
                'it; to simulate it, add command = ["./simulate"], function = "module:name", or '
                "one of them for each site in sites"
            )
        one = _owned(simulator, source.folder)
        for agent in range(len(sites)):
            _check(source, agent, one)
        return (one,) * len(sites)
    if set(simulator.sites) != set(sites):
        odd = sorted(set(simulator.sites) ^ set(sites))
        raise ConfigError(
            f"sites={sorted(simulator.sites)!r} and the sites of [partition] differ in "
            f"{odd[0]!r}; name each site once in both"
        )
    owners = list[Owned]()
    for agent, name in enumerate(sites):
        with source.section("problem", "simulator", "sites", name):
            owners.append(_owned(simulator.sites[name], source.folder))
            _check(source, agent, owners[-1])
    return tuple(owners)


def _check(source: Source, agent: int, own: Owned) -> None:
    """Refuse what cannot be started for a site, where the line of the site is known."""
    if own.command is not None:
        Program(own.command, _names(source), None, own.cwd, own.env).check(agent)
    elif own.function is not None:
        what = f"the black box of {_sites(source)[agent]}"
        check_takes(what, own.function, x="a point, shape (p,)", agent="the agent's number")


def _owned(given: OwnerSection, folder: Path) -> Owned:
    if given.function is not None:
        return Owned(function(given.function, folder / (given.cwd or "")))
    assert given.command is not None
    command = _command(given.command, folder)
    return Owned(None, command, str(folder.resolve() / (given.cwd or "")), given.env)


def _command(command: Sequence[str], folder: Path) -> tuple[str, ...]:
    """A command whose program is found from a folder; a bare name as a shell finds it."""
    program, *arguments = command
    beside = folder / program
    there = "/" in program and Path(of_agent(str(beside), 0)).exists()
    return (str(beside.resolve()) if there else program, *arguments)


def _box(
    source: Source, simulator: SimulatorSection, owners: tuple[Owned, ...], agents: np.ndarray
) -> CostBox:
    how = _how(source, simulator, owners)
    functions = tuple(each.function for each in owners)
    alike = len(set(functions)) == 1 and functions[0] is not None
    called: Any = functions[0] if alike else Dispatch(functions)
    numbers = tuple(map(int, agents))
    return _costs(Host(called, numbers, None, batched=False, evaluation=how), agents)


def _costs(host: Host, agents: Any) -> CostBox:
    return CostBox(normaliser=np.ones(np.shape(agents)), agent=agents, host=host)


def _how(source: Source, simulator: SimulatorSection, owners: tuple[Owned, ...]) -> Evaluation:
    programs = any(each.command is not None for each in owners)
    asked = owners[0].function is _unasked
    workers = simulator.workers or (1 if programs or asked else None)
    cached = simulator.cache is not None and not asked
    return Separate(
        names=_names(source),
        workers=workers,
        timeout=simulator.timeout,
        on_failure=simulator.on_failure,
        tries=simulator.tries,
        cache=source.folder / str(simulator.cache) if cached else None,
        stochastic=simulator.stochastic,
        owners=owners,
    )


def _problem(source: Source, box: CostBox) -> Problem:
    chosen: Any = source.study.problem
    sites, names = _sites(source), _names(source)
    parts: dict[str, Any] = {}
    for key, own in (("regulariser", REGULARISERS), ("constraint", CONSTRAINTS)):
        part = getattr(chosen, key)
        with source.section("problem", key):
            parts[key] = source.build(key, part.kind, own)(**plain(part))
    with source.section("problem"):
        start = starting_point(list(chosen.x0), len(chosen.x0), parts["constraint"])
        return Problem(
            objectives=box,
            x0=start,
            counts=np.ones(len(sites), dtype=int),
            names=sites,
            parameter_names=names,
            declared=True,
            **parts,
        )


def _sites(source: Source) -> tuple[str, ...]:
    return source.study.partition.names


def _names(source: Source) -> tuple[str, ...]:
    chosen: Any = source.study.problem
    return tuple(chosen.parameter_names or (f"x{j}" for j in range(len(chosen.x0))))


def _unasked(x: np.ndarray, agent: int) -> float:
    """Stands for the costs of others, which nobody asks."""
    raise AssertionError("the cost of another site was asked")
