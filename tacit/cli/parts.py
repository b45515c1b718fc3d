"""`tacit parts`: parts from other packages, and which of them runs between sites may use."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli.options import Json

_EPILOG = """\b
Packages declare methods, losses, graphs and other parts as entry points. Your own studies may use
all that are installed:
  tacit parts list

\b
Between sites, studies come from others, so a part is imported only if you have pinned its digest.
Review the code, compare the digest with the others over another channel, and pin it:
  tacit parts trust acme-parts --digest ab12...
"""

app = typer.Typer(
    name="parts",
    help="List parts from other packages, and pin their code.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Package = Annotated[str, typer.Argument(metavar="PACKAGE", help="Name of the installed package.")]


@app.command("list")
def show(json: Json = False) -> None:
    """List installed parts and metrics with the digests of their code.

    Imports none of them.
    """
    from tacit.cli.console import emit, guarded, say, table
    from tacit.deploy.identity.parts import AgreedPart, pinned
    from tacit.study.own_code import installed_metrics
    from tacit.study.parts import foreign

    def command() -> int:
        pins = pinned()
        parts = [AgreedPart.of(part) for part in foreign()]
        metrics = [AgreedPart.of(part) for part in installed_metrics()]
        found = [*parts, *metrics]
        trusted = [each.sha256 in pins.get(each.distribution, ()) for each in parts]
        told = [*("yes" if own else "no" for own in trusted), *["-"] * len(metrics)]
        if json:
            rows = [
                {**each.model_dump(), "pinned": own}
                for each, own in zip(parts, trusted, strict=True)
            ]
            named = [each.model_dump() for each in metrics]
            emit({"format": "tacit-parts-list-1", "parts": rows, "metrics": named})
            return 0
        if not found:
            say("No installed package declares a part. docs/extend.md explains how to.")
            return 0
        table(
            ["Part", "Name", "Package", "Version", "Pinned"],
            [
                [each.family, each.name, each.distribution, each.version, own]
                for each, own in zip(found, told, strict=True)
            ],
        )
        for package, digest in dict.fromkeys((each.distribution, each.sha256) for each in found):
            say(f"{package}: sha256 {digest}")
        if metrics:
            say("Metrics are for your own runs: no site imports them, so they are not pinned.")
        return 0

    raise typer.Exit(guarded(command, as_json=json))


@app.command()
def trust(
    package: Package,
    digest: Annotated[
        str, typer.Option(metavar="HEX", help="SHA-256 of its code, as the others gave it.")
    ],
) -> None:
    """Allow runs between sites to import a package by its digest."""
    from tacit.cli.console import guarded, say
    from tacit.deploy.identity.parts import pin, place
    from tacit.errors import ConfigError
    from tacit.study.parts import foreign

    def command() -> int:
        here = {part.sha256 for part in foreign() if part.distribution == package}
        if not here:
            raise ConfigError(
                f"{package!r} is not installed here or declares no part; `tacit parts list` lists "
                "all"
            )
        if digest not in here:
            raise ConfigError(
                f"the installed {package} has digest {', '.join(sorted(here))}, not {digest!r}; "
                "install the version that the others have, or find out whose code differs"
            )
        pin(package, digest)
        say(f"Pinned {package} in {place()}.")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


@app.command()
def distrust(package: Package) -> None:
    """No longer allow runs between sites to import a package."""
    from tacit.cli.console import guarded, say
    from tacit.deploy.identity.parts import place, unpin

    def command() -> int:
        unpin(package)
        say(f"Removed {package} from {place()}.")
        return 0

    raise typer.Exit(guarded(command, as_json=False))
