"""A site's turn in a task of a platform: its member starts, goes on as far as it can, and stops.

To the member every task is a restart, so it is safe when a platform repeats a task: what was
answered is on the owner's disk, and the same bytes leave again. What a task prints may go to the
platform's server, so everything is written to a file beside the state instead.
"""

from __future__ import annotations

import contextlib
import json
import logging
import tomllib
from collections.abc import Generator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tacit.adapters.bag import BUSY, FINISHED, REFUSED, WAITING, WHO, Bag
from tacit.adapters.post import SitePost, next_question
from tacit.arguments import checked
from tacit.deploy.agreement.manifest import read_manifest
from tacit.deploy.files import make_folder, why, write_text
from tacit.deploy.identity.keys import load
from tacit.deploy.member.checking import Options
from tacit.deploy.member.process import run
from tacit.deploy.operate.report import REPORT, write_report
from tacit.errors import ConfigError, LedgerBusy, SiteBusy, TacitError

HOSTED = "hosted.toml"
"""File in a site's folder that says where its other files are."""

LOG = "log.txt"
_PATHS = {"manifest", "keys", "state", "data", "ledger"}
_KEYS = {*_PATHS, "dataset", "test_seed"}


@checked(ConfigError)
def write_site(folder: Path, options: Options) -> Path:
    """Write the file by which a platform's tasks find a member's other files.

    Args:
        folder: folder of the member, which its platform lets tasks read and write.
        options: locations of the files; those below the folder are written relative to it.

    Returns:
        Path of the file.
    """
    rows = []
    for each in fields(options):
        value = getattr(options, each.name)
        if each.name not in _KEYS or value is None:
            continue
        if isinstance(value, Path) and value.is_relative_to(folder):
            value = value.relative_to(folder)
        rows.append(f"{each.name} = {json.dumps(str(value) if each.name in _PATHS else value)}\n")
    write_text(folder / HOSTED, "".join(rows))
    return folder / HOSTED


def read_site(folder: Path) -> Options:
    """Read a member's `hosted.toml`; paths in it are relative to its folder.

    Args:
        folder: folder of the member.

    Raises:
        ConfigError: there is no such file, or it has other keys or values.
    """
    path = folder / HOSTED
    try:
        found = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} cannot be read ({why(error)}); it says where manifest, keys, state and data "
            "of this site are"
        ) from error
    unknown = sorted(found.keys() - _KEYS)
    missing = sorted({"manifest", "keys", "state"} - found.keys())
    if unknown or missing:
        raise ConfigError(
            f"{path} has {f'the unknown key {unknown[0]!r}' if unknown else f'no {missing[0]}'}; "
            f"the keys are {', '.join(sorted(_KEYS))}, of which manifest, keys and state are needed"
        )
    for key, value in found.items():
        kind = int if key == "test_seed" else str
        if type(value) is not kind:
            raise ConfigError(f"{path}: {key} = {value!r} is not {_WORDS[kind]}")
    values: dict[str, Any] = {
        key: folder / value if key in _PATHS else value for key, value in found.items()
    }
    return Options(**values)


_WORDS = {int: "a whole number", str: "a text"}


@checked(ConfigError)
def step(folder: Path, data: bytes) -> bytes:
    """Take a site's turn: a bag of mail in, a bag of mail out.

    Args:
        folder: folder of the site, with `hosted.toml`.
        data: bag that the coordinator sent.

    Returns:
        The site's bag. One that says "refused" has no reason in it: that is in `log.txt` in the
        state folder, for the owner alone.

    Raises:
        ConfigError: the folder has no valid `hosted.toml`, so nothing can be logged.
        RuntimeError: a fault of tacit's; what it is stands in the same log.
    """
    options = read_site(folder)
    with _logged(options.state) as log:
        try:
            return _stepped(options, Bag.read(data)).data()
        except (SiteBusy, LedgerBusy):  # the platform repeats a task early
            return Bag("", BUSY).data()
        except TacitError as error:
            log.error("refused a task: %(error)s", {"error": error})
            return Bag("", REFUSED).data()
        except Exception:
            log.exception("failed in a task")
    raise RuntimeError(f"tacit failed; why is in {LOG} in the state folder of this site")


def _stepped(options: Options, bag: Bag) -> Bag:
    manifest = read_manifest(options.manifest)
    number = manifest.number(load(options.keys).card.name)
    if bag.run != manifest.run.hex():
        raise ConfigError(
            f"the coordinator asks about run {bag.run[:12]!r}, and the manifest of this site is "
            f"that of run {manifest.run.hex()[:12]}. If you agree to the other, write the manifest "
            f"that you have signed into {HOSTED}"
        )
    if manifest.coordinator is None or number == len(manifest.agents):
        raise ConfigError(
            "inside a platform only studies with a coordinator are run, and a site's task is not "
            "the coordinator's"
        )
    if bag.status == WHO:
        question = next_question(options.state, len(manifest.agents), number)
        return Bag(bag.run, WHO, number, asks=(question.key(),))
    post = SitePost(bag)
    try:
        run(options, post, carrier=post)
        status = FINISHED
    except KeyboardInterrupt:
        if not post.stopped:
            raise
        status = WAITING
    if (options.state / "result.json").exists() and not (options.state / REPORT).exists():
        write_report(options.state)
    assert post.reply is not None
    return replace(post.reply, status=status)


@contextlib.contextmanager
def _logged(state: Path) -> Generator[logging.Logger, None, None]:
    """Write what is logged or printed to a file beside the state, and nothing anywhere else."""
    make_folder(state)
    log = logging.getLogger("tacit")
    before = log.handlers[:], log.propagate, log.level
    with (state / LOG).open("a") as file:
        handler = logging.StreamHandler(file)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.handlers[:], log.propagate = [handler], False
        log.setLevel(logging.INFO)
        try:
            with contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
                yield log
        finally:
            log.handlers[:], log.propagate = before[:2]
            log.setLevel(before[2])
