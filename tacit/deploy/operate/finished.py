"""A finished run of a member, as its state folder has it."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from tacit.deploy.agreement.declared import Declared, declared
from tacit.deploy.agreement.manifest import Manifest, read_manifest
from tacit.deploy.files import why
from tacit.errors import ConfigError, PrivacyError
from tacit.method.answer import Answer
from tacit.privacy.guarantee import FORMAT, Guarantee
from tacit.study.fitted import MODEL

MANIFEST = "manifest.toml"
"""Copy of the agreed manifest, with all signatures."""


@dataclass(frozen=True, eq=False)
class Finished:
    """What a member has after a run. Everything in it was released or declared.

    Attributes:
        folder: state folder of the member.
        manifest: agreed manifest, with all signatures.
        number: number of the member.
        result: document in `result.json`.
        guarantee: guarantee of this owner; `None` for a coordinator, or with simulated noise.
        solution: answer of the member, shape `(p,)`.
        versions: versions of tacit and the packages that computed it.
        predicts: whether there is a `model.json`.
    """

    folder: Path
    manifest: Manifest
    number: int
    result: dict[str, Any]
    guarantee: Guarantee | None
    solution: Float[np.ndarray, " p"]
    versions: dict[str, str]
    predicts: bool

    @property
    def name(self) -> str:
        """Name of the member."""
        return self.manifest.members[self.number].name

    @property
    def simulated(self) -> bool:
        """Whether the noise came from a seed, as in some rehearsals, and protects nobody."""
        return self.result["noise"] != "secure"

    def laid_out(self) -> Declared:
        """The run as all members know it, computed again from the manifest.

        Raises:
            ConfigError: parts of other packages that are not installed or not pinned here.
        """
        with jax.enable_x64(True):
            return declared(self.manifest, grid=not self.simulated)

    def answer(self, run: Declared) -> Answer:
        """What the solution means.

        Args:
            run: the run, from `laid_out`.
        """
        with jax.enable_x64(True):
            return run.contract.method.answer(self.solution, run.contract)


def read_finished(state: Path) -> Finished:
    """Read the state folder of a member that has finished.

    Args:
        state: state folder of the member.

    Raises:
        ConfigError: the run has not finished, or a file is missing or does not fit the others.
    """
    if not (state / "result.json").exists():
        raise ConfigError(
            f"{state} has no result.json: give the --state directory of a member whose run has "
            "finished; `tacit status` shows how far it is"
        )
    result = _json(state / "result.json")
    if result.get("format") != "tacit-site-result-1":
        raise ConfigError(
            f"{state / 'result.json'} has the format {result.get('format')!r}, not that of a "
            "member's state directory"
        )
    if not (state / MANIFEST).exists():
        raise ConfigError(
            f"{state} has no {MANIFEST}: its run ended under an earlier version of tacit. Copy the "
            f"signed manifest of the run there as {MANIFEST}"
        )
    manifest = read_manifest(state / MANIFEST)
    run, name = manifest.run.hex(), result.get("member") or _json(state / "status.json")["name"]
    if result["run"] != run:
        raise ConfigError(
            f"{state / MANIFEST} is the manifest of run {run[:12]}, and {state / 'result.json'} "
            f"is of run {result['run'][:12]}; put the right one there"
        )
    number = manifest.number(name)
    try:
        with np.load(state / "model.npz") as file:
            solution = np.asarray(file["solution"])
    except (OSError, KeyError, ValueError) as error:
        raise ConfigError(f"{state / 'model.npz'} cannot be read ({_why(error)})") from error
    guarantee = None
    if number < len(manifest.agents) and result["noise"] == "secure":
        guarantee = parse_guarantee(_json(state / "guarantee.json"), manifest)
    return Finished(
        folder=state,
        manifest=manifest,
        number=number,
        result=result,
        guarantee=guarantee,
        solution=solution,
        versions=_json(state / "versions.json"),
        predicts=(state / MODEL).exists(),
    )


def parse_guarantee(document: dict[str, Any], manifest: Manifest) -> Guarantee:
    """The guarantee in a member's `guarantee.json`.

    Args:
        document: contents of the file.
        manifest: manifest of the run that it should be about.

    Raises:
        ConfigError: it is not a guarantee, or is about another run.
    """
    if document.get("run") != manifest.run.hex():
        raise ConfigError(f"guarantee.json is not about run {manifest.run.hex()[:12]}")
    names = {each.name for each in fields(Guarantee)}
    values = {name: value for name, value in document.items() if name in names}
    try:
        return Guarantee.from_dict({"format": FORMAT, **values})
    except PrivacyError as error:
        raise ConfigError(f"guarantee.json: {error}") from error


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read ({_why(error)})") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{path} is not what a member of a run writes")
    return found


def _why(error: Exception) -> str:
    return why(error) if isinstance(error, OSError) else "it is damaged"
