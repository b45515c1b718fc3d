"""From a manifest and one's own records to a run: everything that is computed beforehand.

The plan is laid out from declared numbers alone, so every member has the same noise and the same
network. No placeholder stands for another's records, however many it declares.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit._engine.agent_step import At
from tacit._engine.compiled import lay_out
from tacit._engine.contract import Contract, check_samples, contract
from tacit._engine.inputs import check_arguments
from tacit._engine.plan import Plan, as_arrays
from tacit.data.schema import Prepared
from tacit.deploy.agreement.bounds import Bounds, bounds_of
from tacit.deploy.agreement.manifest import Manifest
from tacit.deploy.agreement.records import (
    counts_are_public,
)
from tacit.deploy.files import write_secret
from tacit.deploy.member.record import MOST_TURNS
from tacit.deploy.member.schedule import Schedule
from tacit.deploy.member.sending import Noised
from tacit.deploy.member.sum_session import Sums
from tacit.errors import ConfigError, PrivacyError, RuntimeFailure
from tacit.method.phase import AbstractMethod
from tacit.privacy.event import Event
from tacit.privacy.guarantee import Status
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.noise import AbstractNoise, GridRelease, SecureNoise
from tacit.privacy.noise.pairs import PairKeys, PairRelease
from tacit.problem.boxes import CostBox
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.simulator import LossBox
from tacit.problem.task import Rows, Task
from tacit.study.build import build_declared, build_method, build_objective
from tacit.study.costs import OwnCost
from tacit.study.networks import build_network
from tacit.study.read import Source
from tacit.types import Role


@dataclass(frozen=True, eq=False)
class Declared:
    """A run as all members know it.

    Attributes:
        manifest: the agreed manifest.
        source: study of the manifest.
        problem: problem with declared numbers, and one row of zeros in the place of all records.
        plan: plan as arrays, with the noise calibrated; its objectives are the problem's.
        contract: what every owner releases, and the guarantee it has.
        schedule: all turns.
        objective: this agent's objective, padded to the declared number of records; `None` without
            records.
    """

    manifest: Manifest
    source: Source
    problem: Task
    plan: Plan
    contract: Contract
    schedule: Schedule
    objective: EmpiricalRisk | LossBox | CostBox | Rows | None = None

    def bounds(self) -> Bounds:
        """Bounds on the numbers in messages."""
        return bounds_of(self.plan, self.contract)

    @property
    def masked(self) -> bool:
        """Whether pairs of agents have keys for masks, in sums or in noise."""
        return any(phase.hides.summed or phase.hides.shares for phase in self.contract.phases)

    @property
    def guarantee(self) -> Guarantees:
        """The guarantees of all owners."""
        return self.contract.guarantee


def declared(
    manifest: Manifest,
    prepared: Prepared | OwnCost | None = None,
    agent: int = 0,
    *,
    grid: bool = True,
) -> Declared:
    """Lay out a run.

    Args:
        manifest: the agreed manifest.
        prepared: this agent's records or cost; `None` lays out what all members know.
        agent: number of the agent that owns the records.
        grid: whether noise is secure; otherwise it is simulated (tests).

    Raises:
        ConfigError: a study that does not fit the members.
        ProblemError: records beyond what was declared.
        PrivacyError: a method that cannot be run between sites, or a budget that cannot be met.
    """
    source = manifest.source(Path())
    study = source.study
    counts = [member.records for member in manifest.agents]
    problem = build_declared(
        source,
        manifest.names,
        manifest.features,
        manifest.classes,
        counts,
        # from the study alone, so that everybody computes the same guarantee
        assumptions=_assumed(source, counts_are_public(source, manifest.names)),
    )
    own = None
    if prepared is not None:
        # A declared size, so that shapes and times do not depend on the number of records. In a
        # rehearsal the largest, as in the simulation, which it repeats bit for bit.
        size = counts[agent] if grid else max(counts)
        own = as_arrays(build_objective(source, problem, agent, prepared, size))
    network = build_network(source, manifest.names)
    method = build_method(source, manifest.names)
    rounds = study.run.rounds
    with source.blamed():
        check_arguments(problem, network, method, rounds)
        _check_method(method)
        if manifest.silent == "skip" and not (method.absences or method.hides.summed):
            raise PrivacyError(
                f"{type(method).__name__} needs every message: what its agents hold must match "
                'what their neighbours sent. Write silent = "stop" in the manifest, or choose '
                "a method that averages, such as dpsg, gradient-descent or fedavg"
            )
        if method.hides.summed and network.varying:
            raise PrivacyError(
                "masks between sites take all agents that are present; a silent one is left out of "
                "the next sum, so leave probability and dropout out of [network]"
            )
        agreed = contract(
            problem,
            network,
            method,
            rounds=rounds,
            seed=study.run.shared_seed,
            grid=grid,
            most_records=counts,
        )
        check_samples(agreed.releases)  # also of a rehearsal with simulated noise
        _ = agreed.guarantee  # a guarantee that cannot hold is refused here, by the study's line
        plan, _ = lay_out(agreed, problem, divergence=study.run.divergence)
        schedule = Schedule(plan, agreed.turns)
        if agreed.method.hides.summed:
            Sums.of(agreed, None)  # phases that cannot be run like this are refused here, too
        if len(schedule.said_by(Role.SERVER)) > MOST_TURNS:
            raise ConfigError(
                f"{agreed.turns:,} rounds: a coordinator's record of all that it says has room for "
                f"{MOST_TURNS:,} messages; write fewer rounds"
            )
    return Declared(manifest, source, problem, plan, agreed, schedule, own)


def _assumed(source: Source, exactly: bool) -> tuple[str, ...]:
    """What every site assumes about its file before it starts, and about the records in it."""
    from tacit.data.total import assumed
    from tacit.study.tables import schema

    if source.costs:
        return ("the owner's simulator can be started; whether that is so is public",)
    number = "as many records as declared" if exactly else "no more records than declared"
    return (
        "the owner's file can be read as a table with the declared columns, and has "
        f"{number}; whether that is so is public",
        *assumed(replace(schema(source, patterns=True), site=None)),
    )


def releases(
    run: Declared, agent: int, shared: Mapping[int, bytes] | None = None
) -> tuple[dict[int, Noised], dict[int, Event]]:
    """How noise is added to an agent's answers, and what each costs, by number of the phase.

    Args:
        run: the run.
        agent: number of the agent.
        shared: keys for masks that it shares with the others, by number; `None` to see only that
            every release has a secure form.

    Raises:
        PrivacyError: a release that has no secure form.
    """
    agreed, noise = run.contract, SecureNoise()
    noised: dict[int, Noised] = {}
    events: dict[int, Event] = {}
    for index, phase in enumerate(agreed.phases):
        if phase.release is None:
            continue
        # not the release's own: a person may have several records
        events[index] = agreed.releases.event(phase, agreed.owners.contexts[agent])
        release = agreed.release(index, agent)
        # otherwise the noise is that of a part of a sum
        if isinstance(release, GridRelease):
            noised[index] = partial(_alone, release, noise)
        elif isinstance(release, PairRelease) and shared:
            keys = release.keys(run.manifest.run, agent, shared)
            noised[index] = partial(_masked, release, noise, keys)
    return noised, events


def _alone(release: GridRelease, noise: AbstractNoise, answer: np.ndarray, at: At) -> np.ndarray:
    return release(answer, noise)


def _masked(
    release: PairRelease, noise: AbstractNoise, keys: PairKeys, answer: np.ndarray, at: At
) -> np.ndarray:
    return release(answer, noise, keys.mask(release.masks, answer.size, *at))


def charges(run: Declared, agent: int) -> list[Event]:
    """Everything that an agent will be charged for, to check a budget before the run."""
    return list(run.contract.releases.all(run.contract.owners.contexts[agent]))


def own_secret(path: Path) -> Any:
    """The agent's randomness other than noise (such as directions): drawn once, kept in a file."""
    if not path.exists():
        write_secret(path, secrets.token_bytes(32))
    data = path.read_bytes()
    if len(data) != 32:
        raise RuntimeFailure(
            f"{path} has {len(data)} bytes and should have 32: it was damaged, and what was drawn "
            "from it cannot be drawn again. Begin a new run with a new --state directory"
        )
    key = jax.random.key(0)
    for first in range(0, len(data), 4):
        key = jax.random.fold_in(key, int.from_bytes(data[first : first + 4], "big"))
    return key


def _check_method(method: AbstractMethod) -> None:
    privacy = method.privacy
    if privacy is None:
        raise PrivacyError(
            f"{type(method).__name__} has no budget, and between sites private values would leave "
            "as they are; give the study a section [privacy] and a method that uses it"
        )
    if privacy.sites_per_person > 1:
        raise PrivacyError(
            f"sites_per_person={privacy.sites_per_person}: each site's ledger sees its own "
            "releases only; between sites leave it at 1"
        )


def check_secure(run: Declared) -> None:
    """Refuse a run whose guarantee is neither proved nor one of a protocol with secure noise.

    Raises:
        PrivacyError: such a run; the message gives the reason.
    """
    privacy = run.source.study.privacy
    unproved = [each for each in run.guarantee if each.status is not Status.PROVED]
    weak = next((each for each in unproved if not each.followed), next(iter(unproved), None))
    if weak is not None and privacy is not None and privacy.require == "proved":
        raise PrivacyError(
            f"the guarantee of {weak.owner!r} is {weak.status.value!r}, and require = 'proved' in "
            f"[privacy] refuses it{weak.reason and f' ({weak.reason})'}; choose a certified "
            "method, or leave require out if every owner accepts that"
        )
    # every event of such a run has a form on a grid, so what is not proved is what others draw
    shares = any(phase.hides.shares for phase in run.contract.phases)
    if weak is not None and not (shares and weak.followed):
        raise PrivacyError(
            f"the guarantee of {weak.owner!r} is {weak.status.value!r}, and between sites only "
            f"proved ones are run{weak.reason and f' ({weak.reason})'}, or those that hold if all "
            "members follow the protocol; choose a certified method"
        )
    for agent in range(len(run.manifest.agents)):
        releases(run, agent)
