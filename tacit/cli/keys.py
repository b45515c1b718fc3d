"""`tacit keys`: a member's keys, and a consortium's authority."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import approving
from tacit.cli.options import Json

_EPILOG = """\b
Every member creates keys once, on the machine that takes part, and sends its card to the others:
  tacit keys new keys --name "North clinic" --address north.example:7447
  tacit keys show keys

\b
With an authority that all members trust, one file goes to it and one comes back:
  tacit keys authority consortium --name "Three clinics"
  tacit keys request keys --name "North clinic" --address north.example:7447
  tacit keys approve consortium request.toml north.toml --fingerprint "ABCD EFGH ..."
  tacit keys accept keys north.toml
  tacit keys trust keys consortium/authority.crt --fingerprint "IJKL MNOP ..."

\b
Cards hold no secrets and may be sent by mail. Somebody who swaps a card on the way can impersonate
its owner, so compare fingerprints over another channel, e.g. by telephone, and pin the card:
  tacit keys trust keys south-card.toml --fingerprint "ABCD EFGH ..."
"""

app = typer.Typer(
    name="keys",
    help="Create, show, trust and rotate keys; approve certificates.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the keys.")]
Authority = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        show_default=False,
        help="Directory of a consortium's authority.  [default: self-signed]",
    ),
]
Days = Annotated[int, typer.Option(min=1, help="Validity of the certificate in days.")]


@app.command()
def new(
    folder: Folder,
    name: Annotated[str, typer.Option(help="Name of the site, as in the study's data.")],
    address: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT", help="Address to listen on; leave out to connect out only."
        ),
    ] = "",
    authority: Authority = None,
    days: Days = 365,
    json: Json = False,
) -> None:
    """Create keys in a new directory.

    Private keys are readable by their owner only.
    """
    from tacit.cli.console import guarded
    from tacit.deploy.identity.keys import create

    def command() -> int:
        create(folder, name, address, authority, days)
        return shown(folder, json)

    raise typer.Exit(guarded(command, as_json=json))


@app.command()
def authority(
    folder: Folder,
    name: Annotated[str, typer.Option(help="Name of the authority.")],
) -> None:
    """Create a consortium's authority in a new directory.

    Whoever holds it decides who is a member.
    """
    from tacit.cli.console import guarded, say
    from tacit.deploy.identity.certificates import create_authority
    from tacit.deploy.identity.vouch import authority_fingerprint

    def command() -> int:
        create_authority(folder, name)
        certificate = folder / "authority.crt"
        say(f"Created {folder}. Everybody who trusts it pins {certificate}, fingerprint")
        say(authority_fingerprint(certificate.read_text()), "  ")
        say(f"Keep {folder / 'authority.pem'} where nobody else can read it.")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


@app.command()
def show(folder: Folder, json: Json = False) -> None:
    """Show name, address, fingerprint and expiry."""
    from tacit.cli.console import guarded

    raise typer.Exit(guarded(lambda: shown(folder, json), as_json=json))


@app.command()
def trust(
    folder: Folder,
    card: Annotated[
        Path,
        typer.Argument(
            metavar="CARD",
            help="Card of another member, or authority.crt of an authority, whose cards are then "
            "trusted.",
        ),
    ],
    fingerprint: Annotated[
        str | None,
        typer.Option(help="Fingerprint as its owner gave it; it has to match the card's."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the pinned card (after key rotation).")
    ] = False,
) -> None:
    """Pin another member's card, or an authority.

    From then on, manifests with a different card of that member are neither signed nor run. Pinning
    an authority trusts all cards that it has issued.
    """
    from tacit.cli.console import guarded, say
    from tacit.deploy.identity.keys import load, read_card
    from tacit.deploy.identity.pinning import read_certificate, trust_authority
    from tacit.deploy.identity.pinning import trust as pin

    def command() -> int:
        load(folder)
        if card.suffix == ".crt":
            pem = read_certificate(card)
            told = trust_authority(folder, pem, fingerprint, replace=replace)
            say(f"Trusted: the authority with fingerprint {told}, and the cards it has issued.")
        else:
            found = read_card(card)
            pin(folder, found, fingerprint, replace=replace)
            say(f"Trusted: {found.name}, fingerprint {found.fingerprint()}.")
        if fingerprint is None:
            say("Compare this fingerprint with its owner over another channel.")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


@app.command()
def forget(
    folder: Folder,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="ID", show_default=False, help="Run id, or its beginning.  [default: all runs]"
        ),
    ] = None,
) -> None:
    """Delete mask keys of unfinished runs.

    What was masked with them stays masked. A member deletes its own when a run ends. A run whose
    key is deleted cannot be resumed.
    """
    from tacit.cli.console import guarded, say
    from tacit.deploy.identity.keys import load
    from tacit.deploy.identity.pair_keys import forget as delete
    from tacit.deploy.identity.pair_keys import kept
    from tacit.errors import ConfigError

    def command() -> int:
        keys = load(folder)
        found = [each for each in kept(keys) if each.hex().startswith(run or "")]
        if run is not None and len(found) != 1:
            some = ", ".join(each.hex()[:12] for each in kept(keys)) or "none"
            raise ConfigError(f"--run {run} matches {len(found)} keys; available: {some}")
        for each in found:
            delete(keys, each)
            say(f"Deleted the mask key of run {each.hex()[:12]}.")
        if not found:
            say("There are no mask keys.")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


@app.command()
def rotate(
    folder: Folder,
    authority: Authority = None,
    days: Days = 365,
    identity: Annotated[
        bool,
        typer.Option("--identity", help="Also replace the signing key (suspected compromise)."),
    ] = False,
    json: Json = False,
) -> None:
    """Replace the certificate and its key.

    The card changes, so manifests have to be written again.
    """
    from tacit.cli.console import guarded
    from tacit.deploy.identity.keys import renew

    def command() -> int:
        renew(folder, authority, days, identity=identity)
        return shown(folder, json)

    raise typer.Exit(guarded(command, as_json=json))


app.command()(approving.request)
app.command()(approving.approve)
app.command()(approving.accept)


def shown(folder: Path, json: bool) -> int:
    """Show keys, a card, or a request that waits for its approval."""
    from tacit.cli.approving import asked
    from tacit.cli.console import emit, say
    from tacit.deploy.identity.keys import WARN_DAYS, load, read_card

    if folder.is_file():
        card, left, path, renewal = read_card(folder), None, folder, ""
    elif (folder / "request.toml").exists() and not (folder / "card.toml").exists():
        return asked(folder, json)
    else:
        keys = load(folder)
        card, left, path, renewal = keys.card, keys.days_left(), folder / "card.toml", keys.renewal
    if json:
        emit(
            {
                "format": "tacit-keys-1",
                "name": card.name,
                "address": card.address,
                "fingerprint": card.fingerprint(),
                "card": str(path),
                "days_left": left,
            }
        )
        return 0
    say(f"{card.name}, {card.address or 'connects out only'}")
    say(f"Fingerprint: {card.fingerprint()}")
    say(f"Card to send to the others: {path}")
    if left is not None:
        soon = f"; renew it with {renewal}" if left < WARN_DAYS else ""
        say(f"The certificate expires in {left:.0f} days{soon}.")
    return 0
