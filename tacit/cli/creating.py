"""`tacit new`: packages to begin with, for parts of one's own."""

from __future__ import annotations

import keyword
import re
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from tacit.cli.options import Json

_EPILOG = """\b
Examples:
  tacit new method noisy-mixing
  pip install -e './noisy-mixing[test]'
  pytest noisy-mixing
  tacit describe noisy-mixing
"""

_TEMPLATES = Path(__file__).with_name("new_method")

app = typer.Typer(
    name="new",
    help="Write a package for a part of your own.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback()
def new() -> None:
    """Write a package for a part of your own."""


@app.command()
def method(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name in studies, such as noisy-mixing.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", show_default=False, help="Directory to write to.  [default: ./NAME]"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write a package with a method that works, and its tests.

    The package registers the method, so that studies, sweeps and audits can name it once it is
    installed. The example is decentralised gradient descent with noisy gradients.
    """
    from tacit.cli.console import emit, guarded, say

    def command() -> int:
        folder = Path(name) if output is None else output
        written = write_method(name, folder)
        if json:
            emit({"format": "tacit-new-1", "name": name, "files": [str(each) for each in written]})
            return 0
        say(f"Wrote {folder}:")
        for each in written:
            say(f"  {each}")
        say(f"Next: pip install -e '{folder}[test]', then pytest {folder}")
        return 0

    raise typer.Exit(guarded(command, as_json=json))


def write_method(name: str, folder: Path) -> list[Path]:
    """Write a package with a method.

    Args:
        name: name of the method and of the package: lower-case words with hyphens between.
        folder: directory that does not exist yet, or is empty.

    Raises:
        ConfigError: a name that is taken or cannot be one, or a directory that cannot be used.

    Returns:
        The files that were written.
    """
    from tacit.errors import ConfigError

    module = _module(name)
    values = {"name": name, "module": module, "class_": _class(name)}
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(
            f"output={str(folder)!r} exists and is not an empty directory; choose another with "
            "--output"
        )
    written: list[Path] = []
    try:
        for template in sorted(_TEMPLATES.rglob("*.txt")):
            path = template.relative_to(_TEMPLATES).with_suffix("")
            parts = [module if part == "module" else part for part in path.parts]
            target = folder.joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = Template(template.read_text(encoding="utf-8")).substitute(values)
            target.write_text(text, encoding="utf-8")
            written.append(target)
    except OSError as error:
        raise ConfigError(
            f"output={str(folder)!r} cannot be written ({error.strerror}); choose another place"
        ) from error
    return written


def _module(name: str) -> str:
    """The import package for a method's name.

    Raises:
        ConfigError: a name that is taken or cannot be one.
    """
    from tacit.errors import ConfigError
    from tacit.study.parts import METHOD, declared

    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
        better = "-".join(words).lower().lstrip("-0123456789") or "my-method"
        raise ConfigError(
            f"NAME {name!r} must be lower-case words with hyphens between, such as {better}"
        )
    module = name.replace("-", "_")
    if METHOD.takes(name) or name in declared(METHOD):
        raise ConfigError(f"NAME {name!r} is a method already (`tacit methods`); choose another")
    if keyword.iskeyword(module) or module == "tests" or find_spec(module) is not None:
        raise ConfigError(
            f"NAME {name!r}: Python has a module or a word {module!r} already; choose another"
        )
    return module


def _class(name: str) -> str:
    """The name of the class."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("-"))
