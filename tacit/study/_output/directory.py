"""The results directory, which appears whole or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tacit.errors import ConfigError, RuntimeFailure
from tacit.privacy.ledger.lock import FileLock, still_there

RESULT_FORMAT = "tacit-result-1"
"""Version of the results directory, in `result.json`."""


def _reason(error: OSError) -> str:
    """Why a directory cannot be made."""
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"{error.filename} is a file, not a directory"
    return str(error.strerror)


@dataclass
class Destination:
    """A results directory to be written.

    Files are written to a hidden directory beside it, which is renamed at the end. The checkpoint
    lies beside it too, so that an interrupted run leaves no directory at all. From `prepare` to
    `commit` or `discard` a lock keeps other processes out.

    Attributes:
        path: path of the directory.
        force: whether older results at `path`, or the checkpoint of an interrupted run, may be
            removed.
        resume: whether to resume from the checkpoint of an interrupted run.
        resumable: whether the command can resume one; if not, no checkpoint is kept.
        option: whether --output named the directory, for messages.

    Raises:
        ConfigError: `path` is the current folder, or one that holds it.
    """

    path: Path
    force: bool = False
    resume: bool = False
    resumable: bool = True
    option: bool = False
    _lock: FileLock | None = field(default=None, init=False, repr=False, compare=False)
    _staged: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        here, there = Path.cwd(), self.path.resolve()
        if there in (here, *here.parents):
            what = "the current folder" if there == here else "a folder that holds the current one"
            raise ConfigError(
                f"{self._named} is {what}, and results are moved to a folder of their own; give "
                f"the name of a new one, such as {str(self.path / 'results')!r}"
            )

    @property
    def checkpoint(self) -> Path:
        """File to which the run saves itself."""
        return self.path.with_name(self.path.name + ".checkpoint")

    @property
    def stage(self) -> Path:
        """Directory to which files are written first; its name has the number of the process."""
        return self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")

    def prepare(self) -> None:
        """Make sure that the results can be written, before anything runs.

        Raises:
            ConfigError: something exists there already, another process writes there, or the
                directory cannot be written to.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._take_lock()
            self._refuse_existing()
            self._refuse_checkpoint()
            for stage in self._stages() if self._lock is not None else ():
                shutil.rmtree(stage)
            self.stage.mkdir()
            self._staged = True
        except OSError as error:
            raise ConfigError(
                f"{self._named} cannot be written ({_reason(error)}); choose a "
                "directory that you may write to"
            ) from error
        finally:
            if not self._staged:
                self._release_lock()

    def commit(self) -> None:
        """Move the written files to their place, and remove the checkpoint.

        Raises:
            RuntimeFailure: the files cannot be moved.
        """
        older = self.path.with_name(f".{self.path.name}.older")
        try:
            if self.path.exists():
                shutil.rmtree(older, ignore_errors=True)
                self.path.rename(older)
            self.stage.rename(self.path)
            shutil.rmtree(older, ignore_errors=True)
            self.checkpoint.unlink(missing_ok=True)
        except OSError as error:
            raise RuntimeFailure(
                f"the results cannot be moved to {self.path} ({error.strerror}); "
                f"they are in {self.stage}"
            ) from error
        self._staged = False
        self._release_lock()

    def discard(self) -> None:
        """Remove the written files, and keep the checkpoint if it can be resumed from."""
        if self._staged:
            shutil.rmtree(self.stage, ignore_errors=True)
            if not self.resumable:
                self.checkpoint.unlink(missing_ok=True)
            self._staged = False
        self._release_lock()

    @property
    def _named(self) -> str:
        return f"--output {str(self.path)!r}" if self.option else f"output={str(self.path)!r}"

    def _take_lock(self) -> None:
        try:
            self._lock = _locked(self._lock_path)
        except BlockingIOError as error:
            numbers = [stage.name.split(".")[-2] for stage in self._stages()]
            process = f" (process {numbers[0]})" if len(numbers) == 1 else ""
            raise ConfigError(
                f"{self._named}: another tacit{process} is writing there now; wait "
                "until it has ended, or choose another directory with --output"
            ) from error
        except OSError:
            # A file system without locks: stages have names of their own, so nothing is lost.
            self._lock = None

    def _release_lock(self) -> None:
        if self._lock is not None:
            # Windows removes no open file, and an old one does no harm.
            with suppress(OSError):
                self._lock_path.unlink()
            self._lock.release()
            self._lock = None

    @property
    def _lock_path(self) -> Path:
        return self.path.with_name(f".{self.path.name}.lock")

    def _stages(self) -> list[Path]:
        """Stages of all processes for this directory, running or killed."""
        name = re.compile(rf"\.{re.escape(self.path.name)}\.\d+\.partial")
        return [path for path in self.path.parent.iterdir() if name.fullmatch(path.name)]

    def _refuse_checkpoint(self) -> None:
        if not self.checkpoint.exists() or self.resume:
            return
        if not self.force:
            onward = "go on from it with --resume, or " if self.resumable else ""
            raise ConfigError(
                f"{self._named}: an interrupted run left {self.checkpoint.name}; "
                f"{onward}begin afresh with --force"
            )
        self.checkpoint.unlink()

    def _refuse_existing(self) -> None:
        if not (self.path.exists() or self.path.is_symlink()):
            return
        if not self.force:
            raise ConfigError(
                f"{self._named} exists and is never overwritten unasked; "
                "give --force to replace it, or choose another directory with --output"
            )
        if not (self.path.is_dir() and (_is_results(self.path) or not any(self.path.iterdir()))):
            raise ConfigError(
                f"{self._named} holds something other than results of tacit, which "
                "--force does not remove; choose another directory with --output"
            )


def _locked(path: Path) -> FileLock:
    """A lock on a file that its holder removes at the end.

    Raises:
        BlockingIOError: another process, or another part of this one, holds it.
        OSError: the file cannot be made or locked.
    """
    for _ in range(10):
        path.touch(0o600)
        with suppress(FileNotFoundError):
            number = path.stat().st_ino
            lock = FileLock(path)
            if still_there(path, number):
                return lock
            # The holder removed the file between its opening and its locking.
            lock.release()
    raise BlockingIOError(str(path))


def _is_results(path: Path) -> bool:
    try:
        document = json.loads((path / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and str(document.get("format", "")).startswith(
        "tacit-result-"
    )
