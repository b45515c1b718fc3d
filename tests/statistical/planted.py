"""Mistakes planted into the code that really runs, and whether `tacit audit` of a study finds them.

Each replaces one function of the runtime, of a mechanism or of the path between sites by one with a
mistake that somebody might make. The audit is the command's own, with at most 20,000 runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tacit._engine import batched
from tacit._engine import step as agent
from tacit.cli.auditing import audit_study
from tacit.privacy import masked, masking, sensitivity
from tacit.privacy.mechanism import Mechanism
from tacit.privacy.noise import source, stream
from tacit.problem import erm
from tests.end_to_end.study import STUDY, changed, write

RUNS, ROUNDS = 20_000, 6

SAMPLED = changed(
    "clip = 1.0",
    'clip = 1.0\nsampling = 0.2\nrelation = "add_remove"',
    changed('loss = "logistic"', 'loss = "logistic"\nnormaliser = 150'),
)
MASKED = changed("clip = 1.0", "clip = 1.0\nmasks = { coalition = 1 }").replace(
    'graph = "ring"', 'graph = "coordinator"'
).replace('name = "dpsg"', 'name = "gradient-descent"')  # fmt: skip

Plant = Callable[[pytest.MonkeyPatch], None]
"""Puts the mistake into the code."""


@dataclass(frozen=True)
class Mistake:
    """A planted mistake, and the study that it shows in."""

    plant: Plant
    study: str = STUDY


def one_noise_for_all_agents(patch: pytest.MonkeyPatch) -> None:
    honest = batched.agent_secret
    patch.setattr(batched, "agent_secret", lambda root, agent: honest(root, 0 * agent))


def _one_key(patch: pytest.MonkeyPatch, purpose: str) -> None:
    honest = agent.phase_keys

    def keys(secret: Any, round: Any, phase: int, step: Any) -> Any:
        first = getattr(honest(secret, 0 * round, phase, step), purpose)
        return honest(secret, round, phase, step)._replace(**{purpose: first})

    patch.setattr(agent, "phase_keys", keys)


def one_noise_for_all_rounds(patch: pytest.MonkeyPatch) -> None:
    _one_key(patch, "noise")


def one_sample_for_all_rounds(patch: pytest.MonkeyPatch) -> None:
    _one_key(patch, "sample")


def grid_noise_halved(patch: pytest.MonkeyPatch) -> None:
    honest = source.discrete_gaussian
    patch.setattr(source, "discrete_gaussian", lambda s, scale, n: honest(s, scale / 2.0, n))


def constant_key(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(stream, "os", SimpleNamespace(urandom=bytes))


def noise_halved(patch: pytest.MonkeyPatch) -> None:
    honest = Mechanism.add
    patch.setattr(
        Mechanism, "add", lambda self, v, s, key, shared=None: honest(self, v, s / 2.0, key, shared)
    )


def records_not_clipped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(erm, "clip_factor", lambda norms, clip: jnp.ones_like(norms))


def another_relation(patch: pytest.MonkeyPatch) -> None:
    def of_a_sum(bound: float, rate: float, public: Any, relation: Any) -> float:
        return bound / (public.normaliser * rate)  # as if a record were removed, not replaced

    patch.setattr(sensitivity, "_of_a_sum", of_a_sum)


def nothing_is_sampled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        sensitivity, "sample", lambda key, units, rate: jnp.ones(units, bool) if rate < 1 else None
    )


def noise_shared_by_the_number(patch: pytest.MonkeyPatch) -> None:
    honest = masked.with_noise_of  # by the number of honest agents instead of its root
    patch.setattr(masked, "with_noise_of", lambda event, root: honest(event, root**2))


def one_mask_for_all_rounds(patch: pytest.MonkeyPatch) -> None:
    honest = masking.hmac.digest
    digest = SimpleNamespace(digest=lambda key, label, how: honest(key, b"", how))
    patch.setattr(masking, "hmac", digest)


def noise_left_out_at_times(patch: pytest.MonkeyPatch) -> None:
    honest = Mechanism.add

    def add(self: Any, value: Any, scale: Any, key: Any, shared: Any = None) -> Any:
        there = jax.random.bernoulli(jax.random.fold_in(key, 1), 0.99)
        return honest(self, value, there * scale, key, shared)

    patch.setattr(Mechanism, "add", add)


MISTAKES: dict[str, Mistake] = {
    "the same noise at all agents": Mistake(one_noise_for_all_agents),
    "the same noise in all rounds": Mistake(one_noise_for_all_rounds),
    "the same sample in all rounds": Mistake(one_sample_for_all_rounds, SAMPLED),
    "noise halved on the grid between sites": Mistake(grid_noise_halved),
    "a constant key of the noise between sites": Mistake(constant_key),
    "noise halved in the simulation": Mistake(noise_halved),
    "records not clipped": Mistake(records_not_clipped),
    "the sensitivity of another relation": Mistake(another_relation),
    "a sample is charged and all records are taken": Mistake(nothing_is_sampled, SAMPLED),
    "noise of a masked sum divided by the number of agents": Mistake(
        noise_shared_by_the_number, MASKED
    ),
    "the same masks in all rounds": Mistake(one_mask_for_all_rounds, MASKED),
    "noise left out of one release in a hundred": Mistake(noise_left_out_at_times),
}


@contextmanager
def planted(mistake: Mistake | None) -> Generator[None, None, None]:
    """The mistake stands in the code; nothing that was compiled before or there is used again."""
    with pytest.MonkeyPatch.context() as patch:
        if mistake is not None:
            jax.clear_caches()
            mistake.plant(patch)
        yield
    if mistake is not None:
        jax.clear_caches()


def audited(folder: Path, mistake: Mistake | None, study: str = STUDY, seed: int = 0) -> Any:
    """What `tacit audit` writes about the study of a mistake, or of none."""
    folder.mkdir(parents=True, exist_ok=True)
    path = write(folder, study if mistake is None else mistake.study)
    with planted(mistake):
        code = audit_study(
            path,
            folder / "out",
            owner=None,
            trials=RUNS,
            rounds=ROUNDS,
            seed=seed,
            force=True,
            json=True,
        )
    document = json.loads((folder / "out" / "audit.json").read_text())
    assert code == (4 if document["refuted"] else 0)
    return document


def finders(document: Any) -> list[str]:
    """What refuted a claim: the attack, or tests by what they test."""
    attack = document["lower_bound"] > document["claim"]["epsilon"]
    failed = [f"{each['of']}, {each['what']}" for each in document["checks"] if each["failed"]]
    return [*(["attack"] if attack else []), *failed]
