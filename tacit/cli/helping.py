"""Help pages in sections, and options that have moved to another command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer import BadParameter, Exit, Typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tacit.errors import TacitError

SECTIONS = {
    "Get started": (
        *("demo", "fit", "table1", "survival", "cox"),
        *("predict", "init", "run", "report"),
    ),
    "Choose a method and settings": ("methods", "describe", "advise", "sweep"),
    "Check the guarantee": ("account", "plan", "audit", "ledger"),
    "Run between sites": (
        *("rehearse", "keys", "parts", "check", "manifest"),
        *("site", "agent", "coordinator", "status", "doctor", "bundle", "verify"),
    ),
    "Reproduce published results": ("reproduce",),
    "Extend tacit": ("new",),
}
"""Every command of `tacit`, in the order in which a newcomer meets it."""

_EXTRAS = {
    "cryptography": ("keys, signatures and runs between sites need the package", "deploy"),
}
"""Packages without which whole commands cannot be imported: what needs them, and their extra."""


class Sections(TyperGroup):
    """Commands under headings. Those of Rich would cost a third of the time that help takes."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write every section."""
        width = max(len(name) for name in self.commands)
        limit = formatter.width - 6 - width
        for heading, names in SECTIONS.items():
            with formatter.section(heading):
                # names of one width, so that all sections have one column
                formatter.write_dl(
                    [(f"{n:{width}}", self.commands[n].get_short_help_str(limit)) for n in names]
                )

    def invoke(self, ctx: Any) -> Any:
        """Run a command; one that needs an extra which is not installed says so."""
        rest = [*ctx._protected_args, *ctx.args]
        try:
            return super().invoke(ctx)
        except BadParameter as error:
            _explain_value(error)
            raise
        except TacitError as error:  # of an option, before its command runs
            from tacit.cli.console import refused

            raise Exit(refused(str(error), as_json="--json" in rest)) from error
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in _EXTRAS:
                raise
            from tacit.cli.console import refused

            what, extra = _EXTRAS[package]
            told = f"{what} {package}, which is not installed: pip install 'tacit[{extra}]'"
            raise Exit(refused(told, as_json="--json" in rest)) from error


def commands(app: Typer) -> Mapping[str, Any]:
    """The commands and groups of an app, by name; none if it is a single command.

    Args:
        app: app of Typer, whose annotations know commands only where it has several.
    """
    group = get_command(app)
    return group.commands if isinstance(group, TyperGroup) else {}


_LIMITS = {"greater_than_equal": ("at least", "ge"), "less_than_equal": ("at most", "le")}
"""What a number must be, by the error of the parser of options that does not name the number."""


def _explain_value(error: BadParameter) -> None:
    """Say which value is no number or out of range, which the parser of options does not."""
    found = getattr(error.__cause__, "errors", list)()
    if len(found) == 1 and (limit := _LIMITS.get(str(found[0].get("type")))):
        words, key = limit
        error.message = f"{found[0]['input']} must be {words} {found[0]['ctx'][key]:g}"
    elif len(found) == 1 and str(found[0].get("type")) in ("float_parsing", "int_parsing"):
        given, whole = str(found[0]["input"]), found[0]["type"] == "int_parsing"
        error.message = f"{given!r} is not a {'whole ' if whole else ''}number"
        point = given.replace(",", ".")
        if not whole and re.fullmatch(r"[+-]?\d*,\d+", given):
            error.message += f"; write {point}"


class Discreet(TyperCommand):
    """A command whose usage omits hidden arguments, as its list of arguments does."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The parts of the usage line."""
        hidden = {
            piece
            for param in self.get_params(ctx)
            if getattr(param, "hidden", False)
            for piece in param.get_usage_pieces(ctx)
        }
        return [piece for piece in super().collect_usage_pieces(ctx) if piece not in hidden]


class OfATable(TyperCommand):
    """A command on one table, or on several that a pattern in quotes stands for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse several files, as the shell makes of a pattern without quotes."""
        from tacit.study._grammar.toml import named_as_table

        files = [
            each
            for before, each in zip(["", *args], args, strict=False)
            if not before.startswith("-")  # the value of an option
            and named_as_table(each)
            and Path(each).is_file()
        ]
        if len(files) > 1:
            pattern = str(Path(files[0]).parent / f"*{Path(files[0]).suffix}")
            ctx.fail(
                f"{files[0]} and {files[1]} are two tables, and one is taken: put a pattern in "
                f"quotes, so that the shell leaves it as it is: {pattern!r}"
            )
        return super().parse_args(ctx, args)


class OfAFile(TyperCommand):
    """A command that takes its settings from a study file, not from options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is a key of a study, by the section that takes it."""
        own = {name for each in self.get_params(ctx) for name in (*each.opts, *each.secondary_opts)}
        for each in args:
            name = each.partition("=")[0]
            if name.startswith("--") and name not in own and (found := _section_of(name)):
                key, section = found
                ctx.fail(f"{name} is not an option here: set {key} in [{section}] of the study")
        return super().parse_args(ctx, args)


def _section_of(option: str) -> tuple[str, str] | None:
    """The key of a study that an option is named after, and its section."""
    from tacit.study._grammar.explain import descriptions
    from tacit.study.model import study_of

    key = option.removeprefix("--").replace("-", "_")
    keys = descriptions(study_of((), "dpsg"))
    # a seed is that of the run, not of a partition
    return next(((key, section) for section in reversed(keys) if key in keys[section]), None)


_MOVED = {
    "--epsilon": "noise",
    "-e": "noise",
    "--noise-multiplier": "epsilon",
    "-z": "epsilon",
    "--clip": "noise",
    "--records": "noise",
    "--noise": "noise",
    "--sampling": "noise",
    "--relation": "noise",
    "--delta": "noise",
    "-d": "noise",
    "--large-delta": "noise",
    "--graph": "gossip",
    "--gossip-rounds": "gossip",
    "--observer": "gossip",
    "--fresh-noise": "gossip",
    "--agents": "gossip",
    "--masks": "masks",
    "--coalition": "masks",
    "--absent": "masks",
    "--attempts": "masks",
}
_ORDER = ("masks", "gossip", "epsilon", "noise")
_COMMANDS = {
    "masks": "`tacit plan masks`",
    "gossip": "`tacit plan gossip`",
    "epsilon": "`tacit plan epsilon`",
    "rounds": "`tacit plan rounds`",
    "noise": "`tacit plan noise`",
}


class OfAStudy(TyperCommand):
    """A command about a study, which sends questions by numbers to `tacit plan`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option of `tacit plan` by the command that takes it."""
        given = [name for each in args if (name := each.partition("=")[0]) in _MOVED]
        if given:
            asked = {_MOVED[name] for name in given}
            budget = bool({"--epsilon", "-e"} & set(given))
            command = next(each for each in _ORDER if each in asked)
            if command == "epsilon" and budget:
                command = "rounds"
            ctx.fail(
                f"{given[0]} is not an option of `tacit account`, which answers for a study. For "
                f"plain numbers use {_COMMANDS[command]}; in a study, change the file."
            )
        return super().parse_args(ctx, args)
