"""`tacit keys request`, `approve` and `accept`: certificates of a consortium's authority."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import Json

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the keys.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace the existing one.")]


def request(
    folder: Folder,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the site; leave out to renew the certificate of existing keys."),
    ] = None,
    address: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT", help="Address to listen on; leave out to connect out only."
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Create keys and a request for an authority to sign.

    No private key leaves the directory.
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
    say(f"Send {path} to the authority. It holds no secrets.")
    say(f"Fingerprint to give over another channel: {made.fingerprint()}")
    say(f"When the answer arrives: tacit keys accept {folder} FILE")
    return 0


def approve(
    authority: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the authority.")],
    request: Annotated[Path, typer.Argument(metavar="REQUEST", help="Request of a member.")],
    output: Annotated[
        Path, typer.Argument(metavar="FILE", help="Output file, to send to the member.")
    ],
    fingerprint: Annotated[
        str | None,
        typer.Option(help="Fingerprint of the request as the member gave it; not needed to renew."),
    ] = None,
    days: Annotated[int, typer.Option(min=1, help="Validity of the certificate in days.")] = 365,
    replace: Replace = False,
) -> None:
    """Sign a member's request and issue its card.

    The authority's key stays in its directory.
    """
    from tacit.cli.console import guarded, say
    from tacit.deploy.identity.requests import approve as sign
    from tacit.deploy.identity.requests import read_request

    def command() -> int:
        asked = read_request(request)
        card = sign(authority, asked, output, fingerprint, days, replace_key=replace)
        say(f"Approved {card.name}, {card.address or 'connects out only'}, for {days} days.")
        say(f"Send {output} to the member. Its card: {authority / 'issued' / f'{card.name}.toml'}")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


def accept(
    folder: Folder,
    approval: Annotated[Path, typer.Argument(metavar="FILE", help="Answer of the authority.")],
    replace: Replace = False,
    json: Json = False,
) -> None:
    """Install a certificate signed by an authority.

    The key created for it is used from now on.
    """
    from tacit.cli.console import guarded
    from tacit.cli.keys import shown
    from tacit.deploy.identity.requests import accept as take

    def command() -> int:
        take(folder, approval, replace_authority=replace)
        return shown(folder, json)

    raise typer.Exit(guarded(command, as_json=json))
