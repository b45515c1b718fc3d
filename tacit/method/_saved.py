"""The format of a file that a regression or a model was saved to."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tacit import checks
from tacit.arguments import checked
from tacit.data.feature import FEATURES, Feature
from tacit.data.files import check_path
from tacit.data.schema import Schema
from tacit.errors import ConfigError, ProblemError, RuntimeFailure, TacitError

_READERS = {
    "regression": "load_regression",
    "fitted-model": "load_model",
    "hazards": "load_hazards",
}
"""Functions that read fits, by the formats of their files."""


class SavedFit(BaseModel):
    """What every such file says of the fit and its columns."""

    model_config = ConfigDict(extra="forbid")

    date: str
    guarantee: str
    columns: dict[str, dict[str, Any]]
    missing: Any
    decimal: str

    def as_schema(self, *, intercept: bool = False, row_norm: float | None = None) -> Schema:
        """The declarations of the columns."""
        return Schema(
            {name: _feature(dict(given)) for name, given in self.columns.items()},
            None,
            intercept=intercept,
            missing=self.missing,
            row_norm=row_norm,
            decimal=self.decimal,
        )


def saved_text(path: str | Path, known: str) -> str:
    """The contents of a file; what names no format is left to its reader.

    Args:
        path: path of the file.
        known: format that is read.

    Raises:
        ProblemError: a file that cannot be read, or of another format.
    """
    check_path(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ProblemError(f"{path}: cannot be read ({reason}); check the path") from error
    try:
        found = json.loads(text)["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return text
    if found != known:
        raise ProblemError(
            f"{path}: has the format {checks.shown(found)}; {_reader(str(found), known)}"
        )
    return text


def _reader(found: str, known: str) -> str:
    """What reads a file of another format than the known one."""
    for kind, reader in _READERS.items():
        if found.startswith(f"tacit-{kind}-") and not known.startswith(f"tacit-{kind}-"):
            return f"tacit.method.{reader} reads such files"
    return f"this version of tacit reads {known!r}"


@checked(ConfigError)
def write_saved(path: str | Path, text: str) -> None:
    """Write such a file.

    Args:
        path: path of the file.
        text: its contents, JSON.

    Raises:
        ConfigError: what is no path.
        RuntimeFailure: a file that cannot be written.
    """
    try:
        Path(path).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RuntimeFailure(
            f"{path} cannot be written ({error.strerror}); choose another place"
        ) from error


@contextmanager
def reading(path: str | Path, kind: str, name: str) -> Generator[None]:
    """Refuse a file whose contents are not what was expected.

    Args:
        path: path of the file.
        kind: what it should hold, such as "a regression".
        name: name under which runs write such files.

    Raises:
        ProblemError: in place of the error of whoever reads the contents.
    """
    try:
        yield
    except (ValidationError, TacitError, TypeError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0]
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            reason = " ".join([*map(str, first["loc"]), first["msg"]])
        raise ProblemError(
            f"{path}: is not {kind} that tacit has saved ({reason}); give the {name} of a run, or "
            "copy it again if it was cut off"
        ) from error


def today() -> str:
    """The day, as YYYY-MM-DD."""
    return datetime.now(UTC).date().isoformat()


def declarations(schema: Schema) -> dict[str, Any]:
    """The declarations of the columns as plain values, by name."""
    return {name: _plain(feature) for name, feature in schema.features.items()}


def _plain(feature: Feature) -> dict[str, Any]:
    """A declaration as plain values; a regression has tacit's own kinds only (`columns_of`)."""
    for name, kind in FEATURES.items():
        if isinstance(feature, kind):
            keys = asdict(feature)
            for key in ("map", "missing_values"):
                if not keys.get(key, True):  # as files of earlier versions
                    del keys[key]
            return {"kind": name, **keys}
    raise ProblemError(f"columns of the kind {type(feature).__name__} cannot be saved")


def _feature(given: dict[str, Any]) -> Feature:
    """The declaration that `_plain` made plain."""
    kind: Any = FEATURES[given.pop("kind")]
    return kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in given.items()})
