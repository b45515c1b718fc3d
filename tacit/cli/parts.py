"""`tacit parts`: what other packages add to tacit, and which of them runs between sites may use."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli.options import Json

_EPILOG = """\b
A package declares methods, losses, graphs and other parts as entry points. A study of your own may
name all that are installed:
  tacit parts list

\b
Between sites a study is somebody else's, so a part is imported only if you pinned its digest. Read
the code, compare the digest with the others' over another channel, and pin it:
  tacit parts trust acme-parts --digest ab12...
"""

app = typer.Typer(
    name="parts",
    help="Show what other packages add, and pin what sites may run.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Package = Annotated[str, typer.Argument(metavar="PACKAGE", help="Name of the installed package.")]


@app.command("list")
def show(json: Json = False) -> None:
    """List the parts that are installed, with the digests of their code. Imports none of them."""
    from tacit.cli.console import emit, guarded, say, table
    from tacit.deploy.identity.parts import AgreedPart, pinned
    from tacit.study.parts import foreign

    def command() -> int:
        pins = pinned()
        found = [AgreedPart.of(part) for part in foreign()]
        trusted = [each.sha256 in pins.get(each.distribution, ()) for each in found]
        if json:
            rows = [
                {**each.model_dump(), "pinned": own}
                for each, own in zip(found, trusted, strict=True)
            ]
            emit({"format": "tacit-parts-list-1", "parts": rows})
            return 0
        if not found:
            say("No installed package declares a part. See docs/add_a_method.md for how one does.")
            return 0
        table(
            ["Part", "Name", "Package", "Version", "Pinned"],
            [
                [each.family, each.name, each.distribution, each.version, "yes" if own else "no"]
                for each, own in zip(found, trusted, strict=True)
            ],
        )
        for package, digest in dict.fromkeys((each.distribution, each.sha256) for each in found):
            say(f"{package}: sha256 {digest}")
        return 0

    raise typer.Exit(guarded(command, as_json=json))


@app.command()
def trust(
    package: Package,
    digest: Annotated[
        str, typer.Option(metavar="HEX", help="SHA-256 of its code, as the others told you.")
    ],
) -> None:
    """Let runs between sites import a package whose code has this digest."""
    from tacit.cli.console import guarded, say
    from tacit.deploy.identity.parts import pin, place
    from tacit.errors import ConfigError
    from tacit.study.parts import foreign

    def command() -> int:
        here = {part.sha256 for part in foreign() if part.distribution == package}
        if not here:
            raise ConfigError(
                f"{package!r} is not installed here, or declares no part; `tacit parts list` "
                "shows what is"
            )
        if digest not in here:
            raise ConfigError(
                f"the installed {package} has the digest {', '.join(sorted(here))} and not "
                f"{digest!r}; install what the others have, or find out who has another one"
            )
        pin(package, digest)
        say(f"Pinned {package} in {place()}.")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


@app.command()
def distrust(package: Package) -> None:
    """Let no run between sites import a package any more."""
    from tacit.cli.console import guarded, say
    from tacit.deploy.identity.parts import place, unpin

    def command() -> int:
        unpin(package)
        say(f"Removed {package} from {place()}.")
        return 0

    raise typer.Exit(guarded(command, as_json=False))
