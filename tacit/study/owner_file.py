"""Files that an owner writes for its own site, beside a study of all sites."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from tacit.errors import ConfigError
from tacit.study._grammar import locate, toml
from tacit.study._grammar.explain import explain
from tacit.study._grammar.section import Section
from tacit.study.read import place, rest

File = TypeVar("File", bound=Section)


def read_owner_file(path: Path, model: type[File], wanted: str) -> File:
    """The contents of such a file, checked.

    Args:
        path: path of the file, in TOML.
        model: what it may say.
        wanted: what file an owner has, with an example, for the message about one that is absent.

    Raises:
        ConfigError: it cannot be read, or says something else.
    """
    try:
        text = toml.read_bytes(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"{path} cannot be read ({reason}); {wanted}") from error
    document = toml.parse(text, path.name)
    try:
        return model.model_validate(document)
    except ValidationError as error:
        known = locate.lines(text)
        raise ConfigError(
            "\n".join(
                place(path.name, at, known) + rest(at, words)
                for at, words in explain(error, document, model)
            )
        ) from error
