"""Reading a study file, with errors that point at the line and the key."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tacit.errors import ConfigError, NetworkError, PrivacyError, ProblemError, TacitError
from tacit.study._grammar import locate, toml
from tacit.study._grammar.explain import explain
from tacit.study.model import StatisticsStudy, Study, study_of
from tacit.study.parts import Part, named_in

Admit = Callable[[Sequence[Part]], None]
"""Raises where a part of another package must not be imported."""


@dataclass(frozen=True)
class Source:
    """A study file as it was written.

    Attributes:
        name: how messages call it.
        text: its contents.
        folder: which relative paths start from.
        study: its contents, checked.
        lines: line of every key.
        parts: which it names beside those of the grammar: methods as published, and parts of other
            packages.
    """

    name: str
    text: str
    folder: Path
    study: Study
    lines: dict[locate.Path, int] = field(repr=False)
    parts: tuple[Part, ...] = ()

    @property
    def statistics(self) -> bool:
        """Whether its method asks of the records themselves, and fits no model."""
        return isinstance(self.study, StatisticsStudy)

    @property
    def foreign(self) -> tuple[Part, ...]:
        """The parts of other packages, which it names."""
        return tuple(part for part in self.parts if not part.own)

    def build(self, word: str, name: str, own: Mapping[str, Any]) -> Any:
        """What a name in the study stands for: tacit's own, or of another package.

        Args:
            word: of the family of parts.
            name: of the part.
            own: tacit's, by name.
        """
        for part in self.parts:
            if (part.family.word, part.name) == (word, name):
                return part.build
        return own[name]

    @contextlib.contextmanager
    def section(self, *path: str | int) -> Iterator[None]:
        """Point errors that are raised inside at a section, and at a key if they name one.

        Raises:
            ConfigError: with file, line, section and key before the message.
        """
        try:
            yield
        except TacitError as error:
            if isinstance(error, Located):
                raise
            message = str(error)
            raise Located(
                place(self.name, self._named(path, message), self.lines) + message
            ) from error

    @contextlib.contextmanager
    def blamed(self) -> Iterator[None]:
        """Point errors that are raised inside at the section that their kind speaks of.

        Raises:
            ConfigError: as `section`. What is no mistake of the study passes as it is.
        """
        try:
            yield
        except (ProblemError, NetworkError, PrivacyError, ConfigError) as error:
            kinds = {"problem": ProblemError, "network": NetworkError, "privacy": PrivacyError}
            found = [name for name, kind in kinds.items() if isinstance(error, kind)]
            with self.section(*(found or ["run"])):
                raise

    def _named(self, path: locate.Path, message: str) -> locate.Path:
        """The key or column that a message speaks of, where the section has it."""
        if found := re.match(r"(?:([\w ]+): )?(?:(\w+)=)?", message):
            table, key = found.groups(default="")
            for named in ((table, key), (key,), (table,)):
                if (*path, *named) in self.lines:
                    return (*path, *named)
        column = re.search(r"column '([^']+)'", message)
        if column and (*path, "features", column[1]) in self.lines:
            return (*path, "features", column[1])
        return path


class Located(ConfigError):
    """An error that already says where in the study file it comes from."""


def read_study(path: str | Path, admit: Admit | None = None) -> Source:
    """Read and check a study file.

    Args:
        path: a TOML file.
        admit: as in `parse_study`.

    Raises:
        ConfigError: unreadable, not TOML, or with wrong or unknown keys: every one of them is named
            with its line and what to do.
    """
    path = Path(path)
    try:
        text = toml.read_bytes(path).decode()
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path}: no such study file; check the path, or write one with `tacit init your.csv`"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"{path}: cannot be read ({reason}); check the file") from error
    return parse_study(text, path.name, path.parent, admit)


def parse_study(
    text: str, name: str = "study.toml", folder: str | Path = ".", admit: Admit | None = None
) -> Source:
    """Check the text of a study file.

    Args:
        text: TOML.
        name: how messages call the file.
        folder: which relative paths start from.
        admit: raises where a part of another package must not be imported; by default all that the
            study names are.

    Raises:
        ConfigError: as `read_study`.
    """
    return check_document(toml.parse(text, name), name, folder, text, admit)


def check_document(
    document: Mapping[str, Any],
    name: str = "study.toml",
    folder: str | Path = ".",
    text: str = "",
    admit: Admit | None = None,
) -> Source:
    """Check what a study says.

    Args:
        document: what TOML makes of a study file.
        name: how messages call it.
        folder: which relative paths start from.
        text: it was read from; empty if from none.
        admit: as in `parse_study`.

    Raises:
        ConfigError: as `read_study`; lines are named where there is a text.
    """
    known = locate.lines(text)
    parts = tuple(named_in(document))
    if admit is not None:
        admit([part for part in parts if not part.own])
    method = document.get("method")
    name_of = method.get("name") if isinstance(method, Mapping) else None
    model = study_of(parts, name_of if isinstance(name_of, str) else "")
    try:
        study = model.model_validate(document)
    except ValidationError as error:
        mistakes = explain(error, document, model)
        raise ConfigError(
            "\n".join(place(name, path, known) + words for path, words in mistakes)
        ) from error
    return Source(name, text, Path(folder), study, known, parts)


def place(name: str, path: locate.Path, known: dict[locate.Path, int]) -> str:
    """`study.toml:17: [privacy] epsilon: `, as far as it is known."""
    line = locate.line_of(path, known)
    where = f"{name}:{line}: " if line else f"{name}: "
    if not path:
        return where
    if len(path) == 1:
        return f"{where}[{path[0]}] "
    section, key = path[:-1], path[-1]
    if isinstance(key, int):
        section, key = path[:-2], f"{path[-2]}[{key}]"
    return f"{where}[{'.'.join(map(str, section))}] {key}: "
