"""A study between sites: real processes on this machine, compared with its simulation."""

from __future__ import annotations

import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from tacit._engine.runner import Simulation, run
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.privacy.ledger import read, verify
from tacit.ranges import Positive, Whole
from tacit.study import account, assemble
from tacit.study.read import Source, read_study
from tacit.testing.hold import hold

if TYPE_CHECKING:
    from tacit.deploy.operate.rehearse import Rehearsal

_CLOSE = 1e-3
"""Tolerance on an epsilon: for the grid of the noise and for rounding up."""


@checked(ConfigError)
def check_between_sites(
    study: Path | str, *, test_seed: Whole = 5, seconds: Positive = 600.0
) -> None:
    """Run a study between real processes on this machine, twice, and compare with the simulation.

    With the noise of a run between sites:

    * every site has the guarantee of the simulation, proved, or a model claim of both;
    * its ledger is sound, has exactly one charge for each of its releases, and the epsilon of the
      guarantee;
    * no message leaves with two contents;
    * all members end with the same model, with a coordinator or exact sums between peers.

    With the simulated noise of a seed, all members end with the bits of the exact simulation. The
    digests of the parts that the study names are pinned for these runs only: the installed code is
    trusted. Needs `tacit[deploy]`, and about a minute.

    Args:
        study: study file.
        test_seed: seed of the simulated noise, at least 0.
        seconds: time limit per run, in seconds, positive.

    Raises:
        AssertionError: a requirement does not hold.
        ConfigError: a study that cannot be run between sites.
        RuntimeFailure: a member failed; its last printed lines are in the message.
    """
    from tacit.deploy.operate.rehearse import perform, prepare, without_scores

    source = without_scores(read_study(study))
    with tempfile.TemporaryDirectory() as folder, _pinned(source, Path(folder) / "pins.json"):
        rehearsal = prepare(source, Path(folder) / "noised")
        found = perform(rehearsal, ["--verbose"], seconds=float(seconds))
        promises_hold(source, rehearsal)
        charges_hold(rehearsal)
        messages_hold(rehearsal)
        models_hold(rehearsal, found)
        rehearsal = prepare(source, Path(folder) / "seeded")
        found = perform(rehearsal, ["--test-seed", str(test_seed)], seconds=float(seconds))
        bits_hold(source, rehearsal, found, test_seed)


def promises_hold(source: Source, rehearsal: Rehearsal) -> None:
    """Every site has the guarantee of the simulation."""
    from tacit.deploy.agreement.declared import declared

    with jax.enable_x64(True):
        between = declared(rehearsal.manifest).guarantee
        simulated = account(assemble(source)).guarantee
    for here, there in zip(between, simulated, strict=True):
        for key in ("unit", "relation", "delta", "status"):
            own, other = getattr(here, key), getattr(there, key)
            hold(
                own == other,
                f"{here.owner!r}: {key} is {own} between sites and {other} in the simulation",
            )
        hold(
            np.isclose(here.epsilon, there.epsilon, rtol=_CLOSE),
            f"{here.owner!r}: epsilon is {here.epsilon:g} between sites and {there.epsilon:g} in "
            "the simulation",
        )


def charges_hold(rehearsal: Rehearsal) -> None:
    """One charge for each release, and the epsilon of the guarantee."""
    from tacit.deploy.agreement.declared import declared

    with jax.enable_x64(True):
        agreed = declared(rehearsal.manifest)
        promised = agreed.guarantee
    rounds = agreed.source.study.run.rounds
    senders = {phase.sender for phase in agreed.contract.phases if phase.release is not None}
    hold(len(senders) == 1, f"values are released by {len(senders)} kinds of members")
    planned = sum(
        # masked sums may be asked in any turn, and are planned in those of their phase
        turn.phase.release is not None and turn.at.round in turn.phase.rounds.of(rounds)
        for turn in agreed.schedule.turns()
    )
    for number, member in enumerate(rehearsal.manifest.agents):
        ledger = rehearsal.ledger(number)
        hold(verify(ledger).sound, f"the ledger of {member.name!r} is not sound")
        balances = read(ledger).balances
        charged, spent = sum(b.releases for b in balances), sum(b.spent for b in balances)
        hold(
            charged == planned,
            f"the ledger of {member.name!r} has {charged} charges for {planned} releases",
        )
        epsilon = promised[number].epsilon
        hold(
            np.isclose(spent, epsilon, rtol=_CLOSE),
            f"the ledger of {member.name!r} says that epsilon {spent:g} was spent, and {epsilon:g} "
            "was promised",
        )


def messages_hold(rehearsal: Rehearsal) -> None:
    """No message leaves with two contents."""
    for number, member in enumerate(rehearsal.manifest.members):
        log = (rehearsal.folder / f"member-{number}" / "log.txt").read_text(errors="replace")
        sent: dict[str, set[str]] = defaultdict(set)
        for key, digest in re.findall(r"sent (\S+) (\S+)", log):
            sent[key].add(digest)
        hold(sent, f"{member.name!r} sent nothing")
        twice = [key for key, digests in sent.items() if len(digests) > 1]
        hold(not twice, f"{member.name!r} sent other contents again as {', '.join(twice)}")


def models_hold(rehearsal: Rehearsal, found: list[Any]) -> None:
    """Where somebody adds up for all, they end with one model; other peers with one each."""
    members, one = rehearsal.manifest.members, _one_model(rehearsal)
    models = [each.get("solution") for each in found]
    for member, model in zip(members, models, strict=True):
        hold(model is not None, f"{member.name!r} ended without a model")
        hold(np.isfinite(model).all(), f"the model of {member.name!r} is not finite")
        if one:
            same = np.array_equal(model, models[0])
            hold(same, f"{member.name!r} ended with another model than {members[0].name!r}")


def bits_hold(source: Source, rehearsal: Rehearsal, found: list[Any], seed: int) -> None:
    """With the noise of a seed, all members end with the bits of the exact simulation."""
    parts = assemble(source)
    expected = run(
        parts.problem,
        parts.network,
        parts.method,
        rounds=source.study.run.rounds,
        seed=seed,
        runtime=Simulation(exact=True),
    ).solutions[0]
    one = _one_model(rehearsal)
    for number, (member, each) in enumerate(zip(rehearsal.manifest.members, found, strict=True)):
        hold(
            np.array_equal(each["solution"], expected[0 if one else number]),
            f"{member.name!r} ended with other bits than the simulation with the same noise",
        )


def _one_model(rehearsal: Rehearsal) -> bool:
    """Whether all members get the model from who adds up."""
    return rehearsal.manifest.coordinator is not None or rehearsal.manifest.relayed


@contextmanager
def _pinned(source: Source, path: Path) -> Iterator[None]:
    """Pin the parts that a study names, in a file of its own."""
    from tacit.deploy.identity.parts import VARIABLE, pin

    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(path)
    try:
        for part in source.foreign:
            pin(part.distribution, part.sha256)
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before
