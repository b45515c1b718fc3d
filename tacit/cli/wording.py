"""Errors of Python functions in the words of the command line: `seeds=0` is `--seeds 0`.

An argument of a function and the option that it comes from have the same name.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from typing import Any

from tacit.data.columns import Undeclared
from tacit.errors import TacitError

_WRITTEN = re.compile(r"^the study of this \w+(?::\d+)?: (?:\[([\w.]+)\] )?(?:(\w+): )?(?:(\w+)=)?")
"""The place of an error in a study that a command writes, which its user does not see."""

_LOCATED = re.compile(r"^[^\n]*?(?:: \[[\w.]+\] |\.toml(?::\d+)?: )")
"""The place of an error in a file of the user's, whose keys are no options."""

_KEYS = {"partition.column": "site"}
"""Keys of a study that have another name than the option that they come from."""

_CODE = re.compile(r"\w\([^()]*$|--[\w-]+ [^ ]*$")
"""What stands before an argument of code, or within the value of an option."""


class Command:
    """What a command is given.

    Attributes:
        names: option or argument, as a user writes it, by the name of Python's argument.
        given: what stands on the command line, by the same names.
        flags: names of options without a value.
    """

    def __init__(self, context: Any) -> None:
        """Take it from the context of Typer."""
        self.names: dict[str, str] = {}
        self.given: dict[str, Any] = {}
        self.flags: set[str] = set()
        for each in context.command.params:
            source = context.get_parameter_source(each.name)
            typed = source is not None and source.name == "COMMANDLINE"
            for name, written in _names(each):
                self.names.setdefault(name, written)
                if typed:
                    self.given.setdefault(name, context.params.get(each.name))
                if getattr(each, "is_flag", False):
                    self.flags.add(name)

    def said(self, error: TacitError) -> str:
        """The message of an error, in the words of the command's options and arguments."""
        message, undeclared = str(error), _undeclared(error)
        if undeclared is not None and {"levels", "map"} <= self.names.keys():
            message = message.replace(str(undeclared), _declaring(undeclared))
        return self._blamed(error) or "\n".join(map(self._line, message.split("\n")))

    def _blamed(self, error: BaseException | None) -> str | None:
        """An error about a key of a study, if an option gave the value in its place."""
        if error is None or not _LOCATED.match(str(error)):
            return None
        while (error := error.__cause__) is not None:
            found = re.match(r"(\w+)=(\[[^\]]*\]|'[^']*'|\S+)", message := str(error))
            if found and found[1] in self.given and _same(found[2], self.given[found[1]]):
                return self._line(message)
        return None

    def _line(self, line: str) -> str:
        if place := _WRITTEN.match(line):
            return self._of_written(place) + self._arguments(line[place.end() :])
        return line if _LOCATED.match(line) else self._arguments(line)

    def _of_written(self, place: re.Match[str]) -> str:
        """The option that a key of a written study comes from, in the place of its line."""
        section, key, given = place.groups(default="")
        name = _KEYS.get(f"{section}.{key or given}", key or given)
        if name in self.names:
            column = section.partition("data.features.")[2]
            return f"{self.names[name]} " + (f"{column}: " if column else "")
        return f"{given}=" if given else f"{key}: " if section == "method" and key else ""

    def _arguments(self, line: str) -> str:
        """A message about arguments of functions, such as seeds=0, about options."""

        def renamed(found: re.Match[str]) -> str:
            name, value = found[1], found[2]
            if name not in self.names or _CODE.search(line[: found.start()]):
                return found[0]
            if value.startswith("["):
                value = _with_commas(value)
            return self.names[name] + ("" if name in self.flags else f" {value}".rstrip())

        def accepted(found: re.Match[str]) -> str:
            return self.names[found[1]] if found[1] in self.flags else found[0]

        def remedied(found: re.Match[str]) -> str:
            known = found[1] in self.names and "study" not in self.given
            return f"that is {self.names[found[1]]} {found[2]}" if known else found[0]

        def named(found: re.Match[str]) -> str:
            plain = "_" not in found[1] and found[1] not in self.flags
            return found[0] if plain else f"({self.names.get(found[1], found[1])})"

        if "epsilon" in self.given:
            told = f"a smaller {self.names['epsilon']} than {self.given['epsilon']}"
            line = line.replace("(a smaller epsilon)", f"({told})")
        line = re.sub(r"\b(\w+) = true in \[\w+\](?: \((?:\w+\()?\w+=True\)\)?)?", accepted, line)
        line = re.sub(r"in a study, (\w+) = '(\w+)'", remedied, line)
        line = re.sub(r"(?<![\w\].'\"{\[/=-])(\w+)=(\[[^\]]*\]|'[^']*'|[^\s;,:)]*)", renamed, line)
        if "local" in self.flags:
            line = line.replace("local noise (no masks)", "local noise (--local)")
        return re.sub(r"(?<!\w)\((\w+)\)", named, line)


def running() -> Command | None:
    """The command that runs, or `None` outside of one."""
    try:  # newer versions of Typer have a copy of Click
        from typer._click.globals import get_current_context
    except ModuleNotFoundError:
        from click.globals import get_current_context
    context = get_current_context(silent=True)
    return None if context is None else Command(context)


def _names(param: Any) -> Iterator[tuple[str, str]]:
    """Names that a parameter may have in Python, with what a user writes."""
    if param.param_type_name != "option":
        yield param.name, param.metavar or param.name.upper()
        return
    longest = max(param.opts, key=len)
    name = longest.removeprefix("--").replace("-", "_")
    yield from ((each, longest) for each in (name, param.name))
    if getattr(param, "multiple", False):
        yield f"{name}s", longest


def _with_commas(shown: str) -> str:
    """A list in a message as it is given to an option; as it is where it is no list of values."""
    try:
        text = ",".join(map(str, ast.literal_eval(shown)))
    except (ValueError, SyntaxError, TypeError):
        return shown
    return repr(text) if " " in text else text


def _same(shown: str, given: Any) -> bool:
    """Whether a value in a message is what the option was given, or a part of it."""
    texts = given if isinstance(given, list | tuple) else [given]
    parts = {_plain(part) for each in texts for part in re.split(r"[,\s]+", str(each))}
    return {_plain(part) for part in re.split(r"[,\s]+", shown.strip("[];"))} <= parts


def _plain(text: str) -> str:
    try:
        return str(float(text.strip("'")))
    except ValueError:
        return text.strip("'")


def _undeclared(error: BaseException | None) -> Undeclared | None:
    """The value that is not declared, if an error is about one."""
    while error is not None and not isinstance(error, Undeclared):
        error = error.__cause__
    return error


def _declaring(undeclared: Undeclared) -> str:
    """What is said of a value that is not declared, with options as remedies."""
    option = shlex.quote(f"{undeclared.column}={undeclared.recoding}")
    return str(
        undeclared.with_remedies(
            "correct it, declare the value (--levels), or rewrite it "
            f'(--map {option}, where "" is missing)'
        )
    )
