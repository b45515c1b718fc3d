"""A bundle: everything that shows what a run guaranteed, in one signed file.

It holds files that were released or declared, a list of their SHA-256 digests, and the member's
signature over that list.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tacit import __version__
from tacit.arguments import checked
from tacit.deploy.files import why, write_bytes
from tacit.deploy.identity.keys import load, sign
from tacit.deploy.operate.archive import (
    CONTENTS,
    CONTEXT,
    FORMAT,
    PRIVATE,
    README,
    SIGNATURE,
    Tampered,
    digests,
    packed,
)
from tacit.deploy.operate.finished import MANIFEST, Finished, read_finished
from tacit.deploy.operate.recompute import NotRecomputed, Rerun
from tacit.deploy.operate.report import REPORT, render_report
from tacit.errors import ConfigError, RuntimeFailure
from tacit.method.answer import files_of
from tacit.privacy.ledger.extract import extract, spent
from tacit.study.fitted import MODEL, NAME, REGRESSIONS


@checked(ConfigError)
def write_bundle(
    state: Path,
    keys: Path,
    path: Path,
    *,
    ledger: Path | None = None,
    force: bool = False,
) -> Path:
    """Write a signed bundle of a finished run.

    Args:
        state: state folder of the member.
        keys: folder of its keys.
        path: path of the bundle.
        ledger: file of the ledger that the run was charged to; if `None`, where the member's status
            says that it is.
        force: whether to replace an older file.

    Returns:
        Path of the bundle.

    Raises:
        ConfigError: the run has not finished, its noise came from a seed, files or keys do not fit
            it, or `path` is among them.
        LedgerError: a ledger that cannot be read, or has no release of the run.
        RuntimeFailure: the bundle could not be written.
    """
    if path.exists() and not force:
        raise ConfigError(f"{path} exists already; choose another name, or give --force")
    if ledger is not None and path.exists() and ledger.exists() and path.samefile(ledger):
        raise ConfigError(f"{path} is the ledger; choose another name, with --output")
    if not path.parent.is_dir():
        raise ConfigError(f"{path.parent} is not a directory; make it, or choose another --output")
    found, own = read_finished(state), load(keys)
    for folder, what in ((keys, "the keys are"), (state, "the state is")):
        if folder.resolve() in path.resolve().parents:
            raise ConfigError(
                f"{path} is in {folder}, where {what}; write the bundle elsewhere (--output)"
            )
    if found.simulated:
        raise ConfigError(
            f"the noise of the run in {state} came from a seed and protects nobody, so there is "
            "nothing to attest; make a bundle of a run without --test-seed"
        )
    if own.card.signing_key != found.manifest.members[found.number].signing_key:
        raise ConfigError(
            f"the keys in {keys} are those of {own.card.name!r} and not the ones that "
            f"{found.name!r} signed the manifest with; give its own --keys"
        )
    if left := found.manifest.unsigned():
        raise ConfigError(
            f"{state / MANIFEST} is not signed by {', '.join(left)}; put the manifest with all "
            "signatures there"
        )
    files = _files(found, ledger)
    contents = {
        "format": FORMAT,
        "run": found.manifest.run.hex(),
        "member": found.name,
        "tacit": __version__,
        "ended": found.result.get("ended"),
        "bundled": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": {name: digests(data) for name, data in sorted(files.items())},
    }
    files[CONTENTS] = _json(contents)
    files[SIGNATURE] = (sign(own.identity, CONTEXT + files[CONTENTS]) + "\n").encode()
    try:
        write_bytes(path, packed(files))
    except OSError as error:
        raise RuntimeFailure(
            f"{path} cannot be written ({why(error)}); make room, or choose another --output"
        ) from error
    return path


def _files(found: Finished, ledger: Path | None) -> dict[str, bytes]:
    """The files of a bundle: only those that were released or declared, by name."""
    charged: dict[str, bytes] = {}
    # times of a machine are not released, nor what was spent on other runs
    result = {key: each for key, each in found.result.items() if key not in PRIVATE}
    if found.guarantee is not None:
        file, of = ledger or _ledger(found.folder), found.manifest.run.hex()
        charged["ledger.json"] = _json(extract(file, of, found.name))
        # earlier versions kept the epsilon of all runs there
        result["epsilon_spent"] = spent(file, of, found.name, found.guarantee.delta)
    found = replace(found, result=result)
    run = found.laid_out()
    answer = found.answer(run)
    released = ["model.npz", *files_of(answer)]
    released += [NAME] if isinstance(answer, REGRESSIONS) else []
    released += [MODEL] if found.predicts else []
    released += [] if found.guarantee is None else ["guarantee.json"]
    files = charged | {
        "README.txt": README.format(name=found.name).encode(),
        "study.toml": found.manifest.study.encode(),
        MANIFEST: found.manifest.toml().encode(),
        "result.json": _json(result),
        "versions.json": _json(found.versions),
        REPORT: render_report(found, run).encode(),
    }
    for name in released:
        try:
            files[name] = (found.folder / name).read_bytes()
        except OSError as error:
            raise ConfigError(f"{found.folder / name} cannot be read ({why(error)})") from error
    _check(found, Rerun(run, found.manifest, [found.versions["tacit"], __version__]), files)
    return files


def _check(found: Finished, rerun: Rerun, files: dict[str, bytes]) -> None:
    """Refuse to sign what a verifier would call tampered.

    Raises:
        ConfigError: a file of the state that does not follow from the others.
    """
    own = found.guarantee
    try:
        if own is not None and own.owner != found.name:
            raise Tampered(f"guarantee.json is that of {own.owner!r}, not of {found.name!r}")
        if own is not None:
            rerun.guarantee(own, json.loads(files["guarantee.json"]))
        rerun.check_words(files, found.name)
        rerun.answer(files)
    except NotRecomputed:
        return  # of another version of tacit, with which it can be verified
    except Tampered as error:
        raise ConfigError(
            f"{found.folder} is not as the run left it, and nothing was signed: {error}. Restore "
            "the file from a copy of the folder"
        ) from error


def _ledger(state: Path) -> Path:
    """The file of the ledger, as the member's status has it."""
    try:
        path = Path(json.loads((state / "status.json").read_bytes())["paid"]["ledger"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{state / 'status.json'} does not say where the ledger is; give it with --ledger"
        ) from error
    if not path.exists():
        raise ConfigError(f"the ledger {path} is not there; say where it is now with --ledger")
    return path


def _json(document: object) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
