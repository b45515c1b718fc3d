"""Reading a study file, with errors that point at the line and the key."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tacit.arguments import checked, remedy
from tacit.errors import ConfigError, NetworkError, PrivacyError, ProblemError, TacitError
from tacit.study._grammar import locate, toml
from tacit.study._grammar.explain import explain
from tacit.study.held import COSTS, RECORDS, Held
from tacit.study.model import CostsStudy, StatisticsStudy, Study, study_of
from tacit.study.parts import Part, named_in

Admit = Callable[[Sequence[Part]], None]
"""Raises if a part of another package must not be imported."""


@remedy("give the result of tacit.study.read_study(...)")
@dataclass(frozen=True)
class Source:
    """A study file as written.

    Attributes:
        name: name of the file in messages.
        text: contents of the file.
        folder: folder from which relative paths start.
        study: checked contents.
        lines: line of every key.
        parts: parts named besides those of the grammar: methods as published, and parts of other
            packages.
    """

    name: str
    text: str
    folder: Path
    study: Study
    lines: dict[locate.Path, int] = field(repr=False)
    parts: tuple[Part, ...] = ()

    def __repr__(self) -> str:
        return f"<Source {self.name}>"

    @property
    def statistics(self) -> bool:
        """Whether its method uses the records themselves, and minimises nothing."""
        return isinstance(self.study, StatisticsStudy)

    @property
    def costs(self) -> bool:
        """Whether each site has one whole cost, and nobody has records."""
        return isinstance(self.study, CostsStudy)

    @property
    def held(self) -> Held:
        """Words for what each site holds."""
        return COSTS if self.costs else RECORDS

    @property
    def foreign(self) -> tuple[Part, ...]:
        """The parts of other packages that the study names."""
        return tuple(part for part in self.parts if not part.own)

    def build(self, word: str, name: str, own: Mapping[str, Any]) -> Any:
        """The object that a name in the study stands for: tacit's own, or from another package.

        Args:
            word: word for the family of parts.
            name: name of the part.
            own: tacit's own parts, by name.
        """
        for part in self.parts:
            if (part.family.word, part.name) == (word, name):
                return part.build
        return own[name]

    @contextlib.contextmanager
    def section(self, *path: str | int) -> Iterator[None]:
        """Point errors raised inside at a section, and at a key if they name one.

        Raises:
            ConfigError: with file, line, section and key before the message.
        """
        try:
            yield
        except TacitError as error:
            if isinstance(error, Located):
                raise
            message = str(error)
            named = self._named(path, message)
            raise Located(place(self.name, named, self.lines) + rest(named, message)) from error

    @contextlib.contextmanager
    def blamed(self) -> Iterator[None]:
        """Point errors raised inside at the section that their kind refers to.

        Raises:
            ConfigError: as for `section`. Errors that are not mistakes in the study pass unchanged.
        """
        try:
            yield
        except (ProblemError, NetworkError, PrivacyError, ConfigError) as error:
            with self.section(*self._home(error)):
                raise

    def _home(self, error: TacitError) -> tuple[str, ...]:
        """The section that an error refers to: that of its kind, or the one with the key it names.

        A key that is not written has no line, and belongs in a section all the same.
        """
        kinds = {"problem": ProblemError, "network": NetworkError, "privacy": PrivacyError}
        found = next((name for name, kind in kinds.items() if isinstance(error, kind)), "run")
        named = re.match(r"(\w+)=", str(error))
        if named and not _takes(self.study, (found,), named[1]):
            inside = {"problem": ("problem", "simulator"), "run": ("method",)}.get(found, ())
            if inside and _takes(self.study, inside, named[1]):
                return inside
        return (found,)

    def _named(self, path: locate.Path, message: str) -> locate.Path:
        """The key or column to which a message refers, if the section has it."""
        if found := re.match(r"(?:([\w ]+): )?(?:(\w+)(?:\[[^\]]*\])*=)?", message):
            table, key = found.groups(default="")
            for named in ((table, key), (key,), (table,)):
                if (*path, *named) in self.lines:
                    return (*path, *named)
            within = [each for each in self.lines if each[: len(path)] == path and each[-1] == key]
            if key and len(within) == 1:  # in a table of the section
                return within[0]
        column = re.search(r"column '([^']+)'", message)
        if column and (*path, "features", column[1]) in self.lines:
            return (*path, "features", column[1])
        return path


def _takes(study: Study, path: Sequence[str], key: str) -> bool:
    """Whether a section of a study has a key."""
    section: Any = study
    for name in path:
        section = getattr(section, name, None)
    return key in getattr(type(section), "model_fields", {})


class Located(ConfigError):
    """An error that already states its position in the study file."""


@checked(ConfigError)
def read_study(path: str | Path, admit: Admit | None = None) -> Source:
    """Read and check a study file.

    Args:
        path: path of a TOML file.
        admit: as for `parse_study`.

    Raises:
        ConfigError: unreadable, not TOML, or with wrong or unknown keys: each is named with its
            line and a remedy.
    """
    path = Path(path)
    try:
        text = toml.decoded(toml.read_bytes(path), str(path))
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path}: no such study file; check the path, or write one with `tacit init your.csv`"
        ) from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check the file") from error
    return parse_study(text, path.name, path.parent, admit)


@checked(ConfigError)
def parse_study(
    text: str, name: str = "study.toml", folder: str | Path = ".", admit: Admit | None = None
) -> Source:
    """Check the text of a study file.

    Args:
        text: text of the study file, TOML.
        name: name of the file in messages.
        folder: folder from which relative paths start.
        admit: function that raises if a part of another package must not be imported; by default
            all parts that the study names are imported.

    Raises:
        ConfigError: as for `read_study`.
    """
    if text.rstrip().endswith(".toml") and "\n" not in text.strip():
        raise ConfigError(f"text={text!r} is the path of a file; read it with read_study({text!r})")
    return check_document(toml.parse(text, name), name, folder, text, admit)


def check_document(
    document: Mapping[str, Any],
    name: str = "study.toml",
    folder: str | Path = ".",
    text: str = "",
    admit: Admit | None = None,
) -> Source:
    """Check the contents of a study.

    Args:
        document: study as read by TOML.
        name: name of the file in messages.
        folder: folder from which relative paths start.
        text: text of the study; empty if there is none.
        admit: as for `parse_study`.

    Raises:
        ConfigError: as for `read_study`; lines are named if there is a text.
    """
    if isinstance(kind := document.get("format"), str) and kind.startswith("tacit-"):
        raise ConfigError(f"{name} is not a study: it has the format {kind!r}; give a study file")
    known = locate.lines(text)
    parts = tuple(named_in(document))
    if admit is not None:
        admit([part for part in parts if not part.own])
    method = document.get("method")
    name_of = method.get("name") if isinstance(method, Mapping) else None
    problem = document.get("problem")
    costs = isinstance(problem, Mapping) and "simulator" in problem and "loss" not in problem
    named = name_of if isinstance(name_of, str) else ""
    model = study_of(parts, named, "model" in document, costs)
    try:
        study = model.model_validate(document)
    except ValidationError as error:
        mistakes = explain(error, document, model)
        raise ConfigError(
            "\n".join(place(name, path, known) + rest(path, words) for path, words in mistakes)
        ) from error
    return Source(name, text, Path(folder), study, known, parts)


def rest(path: locate.Path, message: str) -> str:
    """A message without the key that it begins with, where that stands before it already."""
    if len(path) < 2:
        return message
    return re.sub(rf"^(?:[\w ]+: )?{re.escape(str(path[-1]))}(?:=|: )", "", message)


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
