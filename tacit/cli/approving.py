"""`tacit keys request`, `approve` and `accept`: certificates of a consortium's authority."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import Json

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the keys.")]
Replace = Annotated[
    bool, typer.Option("--replace", help="In the place of what was there before, if that is meant.")
]


def request(
    folder: Folder,
    name: Annotated[
        str | None,
        typer.Option(
            help="Of the agent; left out to renew the certificate of keys that are there."
        ),
    ] = None,
    address: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where it listens; none if it only dials out.")
    ] = "",
    json: Json = False,
) -> None:
    """Make keys and a request for an authority to sign.

    No private key leaves the folder.
    """
    from tacit.cli.console import guarded
    from tacit.deploy.identity.requests import ask

    def command() -> int:
        ask(folder, name, address)
        return asked(folder, json)

    raise typer.Exit(guarded(command, as_json=json))


def asked(folder: Path, json: bool) -> int:
    """Show the request that waits in a folder."""
    from tacit.cli.console import emit, say
    from tacit.deploy.identity.requests import read_request

    path = folder / "request.toml"
    made = read_request(path)
    if json:
        emit(
            {
                "format": "tacit-keys-request-1",
                "name": made.name,
                "fingerprint": made.fingerprint(),
                "request": str(path),
            }
        )
        return 0
    say(f"Send {path} to the keeper of the authority. It holds no secret.")
    say(f"Fingerprint to tell it over another channel: {made.fingerprint()}")
    say(f"What comes back: tacit keys accept {folder} FILE")
    return 0


def approve(
    authority: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the authority.")],
    request: Annotated[Path, typer.Argument(metavar="REQUEST", help="Of a member.")],
    output: Annotated[Path, typer.Argument(metavar="FILE", help="To be written, for the member.")],
    fingerprint: Annotated[
        str | None,
        typer.Option(help="Of the request, as the member tells it; a renewal needs none."),
    ] = None,
    days: Annotated[int, typer.Option(min=1, help="How long the certificate is good for.")] = 365,
    replace: Replace = False,
) -> None:
    """Sign a member's request, and vouch for its card.

    The authority's key stays in its folder.
    """
    from tacit.cli.console import guarded, say
    from tacit.deploy.identity.requests import approve as sign
    from tacit.deploy.identity.requests import read_request

    def command() -> int:
        asked = read_request(request)
        card = sign(authority, asked, output, fingerprint, days, replace_key=replace)
        say(f"Approved {card.name}, {card.address or 'dials out only'}, for {days} days.")
        say(f"Send {output} to it. Its card: {authority / 'issued' / f'{card.name}.toml'}")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


def accept(
    folder: Folder,
    approval: Annotated[Path, typer.Argument(metavar="FILE", help="From the authority's keeper.")],
    replace: Replace = False,
    json: Json = False,
) -> None:
    """Take a certificate that an authority has signed.

    The key that was made for it serves from now on.
    """
    from tacit.cli.console import guarded
    from tacit.cli.keys import shown
    from tacit.deploy.identity.requests import accept as take

    def command() -> int:
        take(folder, approval, replace_authority=replace)
        return shown(folder, json)

    raise typer.Exit(guarded(command, as_json=json))
