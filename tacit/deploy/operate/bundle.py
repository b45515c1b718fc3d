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
from tacit.deploy.operate.archive import CONTENTS, CONTEXT, FORMAT, SIGNATURE, digests, packed
from tacit.deploy.operate.finished import MANIFEST, Finished, read_finished
from tacit.deploy.operate.report import REPORT, render_report
from tacit.errors import ConfigError, RuntimeFailure
from tacit.method.answer import files_of
from tacit.privacy.ledger.extract import extract, spent
from tacit.study.fitted import MODEL, NAME, REGRESSIONS

README = """\
This bundle shows what a run of tacit between sites guaranteed, as {name} has it.

  report.html         everything on one page; open it in a browser, offline
  guarantee.json      what is protected, from whom, at which epsilon and delta, and who proved it
  study.toml          what was computed
  manifest.toml       what all members agreed to and signed, the study included
  ledger.json         what was charged to the privacy budget for this run, and for no other
  versions.json       versions of the software
  result.json         how the run ended
  all others          the answer, as it was released
  bundle.json         SHA-256 of every file
  bundle.sig          Ed25519 signature in base64 over the line "tacit bundle 1", a line feed, and
                      bundle.json; the key is signing_key of {name} in manifest.toml

Verify it, with the fingerprint that {name} told you over another channel:

  tacit verify FILE --fingerprint "XXXX XXXX ..."
"""
"""Contents of `README.txt`, for the name of a member."""


PRIVATE = ("round_seconds", "epsilon_of_account")
"""What a member's `result.json` has for its owner alone."""


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
        ConfigError: the run has not finished, its noise came from a seed, or files or keys do not
            fit it.
        LedgerError: a ledger that cannot be read, or has no release of the run.
        RuntimeFailure: the bundle could not be written.
    """
    if path.exists() and not force:
        raise ConfigError(f"{path} exists already; choose another name, or give --force")
    if not path.parent.is_dir():
        raise ConfigError(f"{path.parent} is not a directory; make it, or choose another --output")
    found, own = read_finished(state), load(keys)
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
    return files


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
