"""The results directory, which appears whole or not at all."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import ConfigError, RuntimeFailure

RESULT_FORMAT = "tacit-result-1"
"""Version of the results directory, in `result.json`."""


@dataclass(frozen=True)
class Destination:
    """A results directory to be written.

    Files are written to a hidden directory beside it, which is renamed at the end. The checkpoint
    lies beside it too, so that an interrupted run leaves no directory at all.

    Attributes:
        path: path of the directory.
        force: whether older results at `path`, or the checkpoint of an interrupted run, may be
            removed.
        resume: whether to resume from the checkpoint of an interrupted run.
    """

    path: Path
    force: bool = False
    resume: bool = False

    @property
    def checkpoint(self) -> Path:
        """File to which the run saves itself."""
        return self.path.with_name(self.path.name + ".checkpoint")

    @property
    def stage(self) -> Path:
        """Directory to which files are written first."""
        return self.path.with_name(f".{self.path.name}.partial")

    def prepare(self) -> None:
        """Make sure that the results can be written, before anything runs.

        Raises:
            ConfigError: something exists there already, or the directory cannot be written to.
        """
        try:
            self._refuse_existing()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.stage.exists():
                shutil.rmtree(self.stage)
            self.stage.mkdir()
        except OSError as error:
            raise ConfigError(
                f"output={str(self.path)!r} cannot be written ({error.strerror}); choose a "
                "directory that you may write to"
            ) from error
        if self.checkpoint.exists() and not self.resume:
            if not self.force:
                raise ConfigError(
                    f"output={str(self.path)!r}: an interrupted run left {self.checkpoint.name}; "
                    "go on from it with --resume, or begin afresh with --force"
                )
            self.checkpoint.unlink()

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

    def discard(self) -> None:
        """Remove the written files, keep the checkpoint."""
        shutil.rmtree(self.stage, ignore_errors=True)

    def _refuse_existing(self) -> None:
        if not (self.path.exists() or self.path.is_symlink()):
            return
        if not self.force:
            raise ConfigError(
                f"output={str(self.path)!r} exists and is never overwritten unasked; "
                "give --force to replace it, or choose another directory with --output"
            )
        if not (self.path.is_dir() and (_is_results(self.path) or not any(self.path.iterdir()))):
            raise ConfigError(
                f"output={str(self.path)!r} holds something other than results of tacit, which "
                "--force does not remove; choose another directory with --output"
            )


def _is_results(path: Path) -> bool:
    try:
        document = json.loads((path / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and str(document.get("format", "")).startswith(
        "tacit-result-"
    )
