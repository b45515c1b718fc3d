"""TOML from untrusted sources: read within limits of size and time."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.errors import ConfigError

LARGEST = 2 << 20
"""Maximum size of a file in bytes: a study of 20,000 columns, or a manifest of 1,000 members."""

_DEEPEST = 32
"""Maximum number of parts of a dotted key; reading time grows with its square."""

_TABLES = (".csv", ".tsv", ".xlsx", ".xlsm", ".parquet", ".pq")
"""Suffixes of tables, in lower case."""

_PART = r"""[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*"""
_CURLY = "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u00ab\u00bb"
"""Quotation marks of a word processor."""

_LONG_KEY = re.compile(rf"(?:^|[\[{{,]){_PART}(?:\.{_PART}){{{_DEEPEST}}}", re.MULTILINE)


def named_as_table(name: str) -> bool:
    """Whether a file is named as tables are."""
    return name.lower().removesuffix(".gz").endswith(_TABLES)


def read_bytes(path: Path, largest: int = LARGEST) -> bytes:
    """The bytes of a file within the size limit.

    Args:
        path: path of a file, or of anything that can be read like one.
        largest: maximum size in bytes.

    Raises:
        OSError: the file cannot be read.
        ConfigError: the file is too large.
    """
    with path.open("rb") as file:
        data = file.read(largest + 1)
    _check_size(len(data), str(path), largest)
    return data


def decoded(data: bytes, name: str) -> str:
    """The text of a file.

    Args:
        data: its bytes.
        name: name of the file in messages.

    Raises:
        ConfigError: it is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if named_as_table(name):
            raise _table_given(name) from error
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{name}:{line}: cannot be read (it is not UTF-8 text); save it as UTF-8"
        ) from error


def parse(data: bytes | str, name: str, largest: int = LARGEST) -> dict[str, Any]:
    """The document in a text.

    Args:
        data: text, or its bytes in UTF-8.
        name: name of the file in messages.
        largest: maximum size in bytes.

    Raises:
        ConfigError: too large or too deep, not UTF-8, or not TOML; with the line.
    """
    _check_size(len(data), name, largest)
    text = decoded(data, name) if isinstance(data, bytes) else data
    if deep := _LONG_KEY.search(text):
        line = text.count("\n", 0, deep.start()) + 1
        raise ConfigError(
            f"{name}:{line}: a key of more than {_DEEPEST} parts; put keys that hold dots in quotes"
        )
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ConfigError(
            f"{name}: brackets inside each other are too deep for a study or card; correct the file"
        ) from error
    except tomllib.TOMLDecodeError as error:
        if _looks_like_a_table(name, text):
            raise _table_given(name) from error
        where = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line = f":{where[1]}" if where else ""
        reason = str(error).split(" (at ")[0]
        remedy = _unquoted(text, int(where[1])) if where else "correct this line"
        if re.match(r"Cannot (overwrite|declare|mutate|add)|Duplicate", reason):
            reason, remedy = "a key or section stands here for the second time", "leave one out"
        raise ConfigError(f"{name}{line}: not valid TOML: {reason}; {remedy}") from error


_KINDS = {
    "tacit-card-": "a card",
    "tacit-request-": "a request for a certificate",
    "tacit-approval-": "the answer of an authority",
    "tacit-manifest-": "a manifest",
    "tacit-member-": "a member's file",
}


def other_than(wanted: str, document: Mapping[str, Any]) -> str:
    """That a document is not what is wanted, and what it is if that is known.

    Example:
        >>> other_than("a manifest", {"format": "tacit-card-1"}), other_than("a card", {})
        ('a card, not a manifest', 'not a card')
    """
    given = str(document.get("format"))
    what = next((what for start, what in _KINDS.items() if given.startswith(start)), "")
    return f"{what}, not {wanted}" if what else f"not {wanted}"


def _table_given(name: str) -> ConfigError:
    return ConfigError(
        f"{name}: a table, and a file in TOML must stand here (a study, card or manifest); "
        "give one, or write a study of this table with `tacit init`"
    )


def _looks_like_a_table(name: str, text: str) -> bool:
    """Whether a file is named as tables are, or has a first line as they have."""
    header = text.split("\n", 1)[0]
    return named_as_table(name) or ("," in header and not set(header) & set('=[]#"'))


def _unquoted(text: str, line: int) -> str:
    """The remedy for a line, which may have text for which TOML wants quotes, or other quotes."""
    given = text.splitlines()[line - 1]
    if curly := [each for each in given if each in _CURLY]:
        return f'{curly[0]} is a quotation mark of a word processor; write straight ones: "..."'
    if re.search(r'"[^"]*\\', given):
        return "write \\\\ for \\, or put a Windows path in single quotes: 'C:\\data\\visits.csv'"
    if word := re.search(r"=\s*([^\W\d][\w.-]*)\s*(?:#.*)?$", given):
        return f'put text in quotes: "{word[1]}"'
    bare = re.sub(r'"[^"]*"|\'[^\']*\'|#.*', "", text.splitlines()[line - 1])
    found = re.search(r"(?:^|[\[{,.])\s*([\w-]*[^\W\d_a-zA-Z][\w-]*)\s*[]=.]", bare)
    if found is None:
        return "correct this line"
    return f'put names with other letters than a to z in quotes: "{found[1]}"'


def _check_size(size: int, name: str, largest: int) -> None:
    if size > largest:
        if named_as_table(name):
            raise _table_given(name)
        raise ConfigError(
            f"{name}: larger than {largest:,} bytes, which is more than such files have; check "
            "that it is the right one"
        )
