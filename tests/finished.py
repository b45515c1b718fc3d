"""What a member of a run between sites has at the end, without processes and connections."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit._engine.environment import versions
from tacit.deploy.agreement.declared import declared, releases
from tacit.deploy.agreement.manifest import Manifest
from tacit.deploy.identity.keys import Keys, create, load
from tacit.deploy.operate.results import Outcome, write
from tacit.method.answer import Minimiser
from tacit.privacy.ledger import Ledger, ReleaseId
from tacit.study.fitted import fitted_model
from tests.sites import STUDY, a_manifest

NAMES = ("north", "süd", "west")


@dataclass(frozen=True)
class Ended:
    """A member that has finished: its state, keys and ledger."""

    state: Path
    keys: Keys
    ledger: Path
    manifest: Manifest


def ended(folder: Path, study: str = STUDY, **change: Any) -> Ended:
    """The first member of a finished run of the study, with its first releases charged.

    Args:
        folder: new folder.
        study: text of the study.
        change: fields of its outcome that are different.
    """
    seeded = change.get("simulated", False)
    keys = [create(folder / name, name, f"127.0.0.1:{21_000 + i}") for i, name in enumerate(NAMES)]
    manifest = a_manifest(keys, study)
    for each in keys:
        manifest = manifest.signed_by(each)
    with jax.enable_x64(True):
        run = declared(manifest, grid=not seeded)
    state, ledger, me = folder / "state", folder / "ledger", keys[0]
    state.mkdir(mode=0o700)
    (state / "manifest.toml").write_text(manifest.toml(), encoding="utf-8")
    (state / "versions.json").write_text(json.dumps(versions()))
    (state / "secret").write_bytes(b"a secret of the member")
    names = run.contract.numbers
    solution = np.linspace(-0.5, 0.5, len(names))
    fields: dict[str, Any] = {
        "solution": solution,
        "names": names,
        "run": manifest.run.hex(),
        "rounds": run.contract.rounds,
        "epsilon": 3.9999,
        "simulated": False,
        "round_seconds": [0.125, 0.25],
        "member": me.card.name,
        "answer": Minimiser(names, tuple(solution.tolist())),
        "model": fitted_model(run.source, names, solution, str(run.guarantee)),
    }
    write(state, Outcome(**fields | change), None if seeded else run.guarantee[0])
    charge(ledger, manifest, run.contract.rounds)
    (state / "status.json").write_text(json.dumps({"paid": {"ledger": str(ledger)}}))
    return Ended(state, me, ledger, manifest)


def copied(found: Ended, folder: Path, **change: Any) -> Ended:
    """The same member in another folder, with another state and other keys to change.

    Args:
        found: the member.
        folder: new folder.
        change: fields of its `result.json` that are different.
    """
    state, keys = folder / "state", folder / "north"
    shutil.copytree(found.state, state)
    shutil.copytree(found.keys.folder, keys)
    result = json.loads((state / "result.json").read_text()) | change
    (state / "result.json").write_text(json.dumps(result))
    return replace(found, state=state, keys=load(keys))


def charge(path: Path, manifest: Manifest, rounds: int) -> None:
    """Charge the first member's releases to a new ledger."""
    with jax.enable_x64(True):
        run = declared(manifest)
        _, events = releases(run, 0)
    mine, name = run.guarantee[0], manifest.agents[0].name
    with Ledger.create(path) as ledger:
        ledger.set_budget(name, "records", epsilon=mine.epsilon * (1 + 1e-9), delta=mine.delta)
        for round in range(rounds):
            for phase, event in events.items():
                ledger.prepare(
                    ReleaseId(name, manifest.run.hex(), round + 1, f"phase {phase}", 0),
                    event,
                    b"noisy bytes",
                    input_hash="0" * 64,
                    dataset="records",
                    recipients=manifest.names[1:],
                    neighbours=mine.neighbours,
                )
