"""The line of each key in a TOML text.

`tomllib` reads values only. This scanner follows table headers, dotted keys, inline tables and
arrays just far enough to find where each key begins; it runs on texts that `tomllib` has accepted.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\])*"|\'[^\']*\'', re.S
)
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SCALAR = re.compile(r"[^,\]}\n#]*")


def lines(text: str) -> dict[Path, int]:
    r"""The line, counted from 1, of every key and table of a TOML document.

    Example:
        >>> lines("title = 'x'\n[run]\nrounds = 3")[("run", "rounds")]
        3
    """
    return _Scanner(text).document()


def line_of(path: Sequence[str | int], known: dict[Path, int]) -> int | None:
    """The line of a key, or of the nearest enclosing table."""
    for length in range(len(path), 0, -1):
        found = known.get(tuple(path[:length]))
        if found is not None:
            return found
    return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.found = text, 0, {}
        self.arrays: dict[Path, int] = {}
        self.ends = [match.start() for match in re.finditer("\n", text)]

    def document(self) -> dict[Path, int]:
        table: Path = ()
        while self._skip():
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
        return self.found

    def _skip(self) -> bool:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at < len(self.text)

    def _header(self) -> Path:
        repeated = self.text.startswith("[[", self.at)
        line = self._line()
        self.at += 2 if repeated else 1
        path = self._resolve(self._key())
        self.at += 2 if repeated else 1
        if repeated:
            number = self.arrays.get(path, -1) + 1
            self.arrays[path] = number
            self._note(path, line)
            path = (*path, number)
        self._note(path, line)
        return path

    def _resolve(self, key: Path) -> Path:
        """Tables below an array of tables belong to its last element."""
        path: Path = ()
        for part in key[:-1]:
            path = (*path, part)
            if path in self.arrays:
                path = (*path, self.arrays[path])
        return (*path, key[-1])

    def _pair(self, table: Path) -> None:
        line = self._line()
        key = self._key()
        for length in range(1, len(key) + 1):
            self._note((*table, *key[:length]), line)
        self.at += 1  # the equals sign
        self._value((*table, *key))

    def _key(self) -> Path:
        parts: list[str] = []
        while True:
            self._skip()
            quoted = _STRING.match(self.text, self.at)
            match = quoted or _BARE.match(self.text, self.at)
            if match is None:
                self.at += 1
                return tuple(parts) or ("",)
            parts.append(match[0][1:-1] if quoted else match[0])
            self.at = match.end()
            self._skip()
            if not self.text.startswith(".", self.at):
                return tuple(parts)
            self.at += 1

    def _value(self, path: Path) -> None:
        self._skip()
        opening = self.text[self.at : self.at + 1]
        if opening == "{":
            self.at += 1
            while self._skip() and self.text[self.at] != "}":
                self._pair(path)
                self._comma()
            self.at += 1
        elif opening == "[":
            self.at += 1
            number = 0
            while self._skip() and self.text[self.at] != "]":
                self._note((*path, number), self._line())
                self._value((*path, number))
                self._comma()
                number += 1
            self.at += 1
        else:
            match = _STRING.match(self.text, self.at) or _SCALAR.match(self.text, self.at)
            self.at = max(match.end() if match else self.at, self.at + 1)

    def _comma(self) -> None:
        self._skip()
        if self.text.startswith(",", self.at):
            self.at += 1

    def _line(self) -> int:
        return bisect.bisect_left(self.ends, self.at) + 1

    def _note(self, path: Path, line: int) -> None:
        self.found.setdefault(path, line)
