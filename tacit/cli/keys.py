"""`tacit keys`: an agent's keys, and a consortium's authority."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import approving
from tacit.cli.options import Json

_EPILOG = """\b
Every owner makes keys once, on the machine that will take part, and sends its card to the others:
  tacit keys new keys --name "North clinic" --address north.example:7447
  tacit keys show keys

\b
With an authority that all owners trust to say who is who, one file goes there and one comes back:
  tacit keys authority consortium --name "Three clinics"
  tacit keys request keys --name "North clinic" --address north.example:7447
  tacit keys approve consortium request.toml north.toml --fingerprint "ABCD EFGH ..."
  tacit keys accept keys north.toml
  tacit keys trust keys consortium/authority.crt --fingerprint "IJKL MNOP ..."

\b
Cards hold no secret, and may be sent by mail. Whoever swaps a card on the way can take an owner's
place, so compare fingerprints over another channel, such as the telephone, and pin what is right:
  tacit keys trust keys south-card.toml --fingerprint "ABCD EFGH ..."
"""

app = typer.Typer(
    name="keys",
    help="Make, show and renew the keys of a member.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the keys.")]
Authority = Annotated[
    Path | None,
    typer.Option(metavar="DIR", show_default="its own", help="Folder of a consortium's authority."),
]
Days = Annotated[int, typer.Option(min=1, help="Days that the certificate is valid.")]


@app.command()
def new(
    folder: Folder,
    name: Annotated[str, typer.Option(help="Name of the agent, as in the study's data.")],
    address: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where it listens; none if it only dials out.")
    ] = "",
    authority: Authority = None,
    days: Days = 365,
    json: Json = False,
) -> None:
    """Make keys in a new folder. Private ones are readable by their owner only."""
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
    """Make a consortium's authority in a new folder.

    Whoever has it says who is who.
    """
    from tacit.cli.console import guarded, say
    from tacit.deploy.identity.certificates import create_authority
    from tacit.deploy.identity.vouch import authority_fingerprint

    def command() -> int:
        create_authority(folder, name)
        certificate = folder / "authority.crt"
        say(f"Made {folder}. Everybody who trusts it pins {certificate}, fingerprint")
        say(authority_fingerprint(certificate.read_text()), "  ")
        say(f"Keep {folder / 'authority.pem'} where only its keeper can read it.")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


@app.command()
def show(folder: Folder, json: Json = False) -> None:
    """Show name, address, fingerprint and expiry of keys or a card."""
    from tacit.cli.console import guarded

    raise typer.Exit(guarded(lambda: shown(folder, json), as_json=json))


@app.command()
def trust(
    folder: Folder,
    card: Annotated[
        Path,
        typer.Argument(
            metavar="CARD",
            help="Card of another member; or authority.crt of an authority, whose word for cards "
            "then counts as compared.",
        ),
    ],
    fingerprint: Annotated[
        str | None, typer.Option(help="As its owner tells it; it has to be the card's.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="In the place of an older card, after a rotation.")
    ] = False,
) -> None:
    """Pin another member's card, or an authority.

    No manifest with another card of that member is then signed or run with these keys.
    Of an authority, the cards that it vouches for are trusted, whoever's they are.
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
            say(f"The authority with fingerprint {told} is trusted, and the cards it vouches for.")
        else:
            found = read_card(card)
            pin(folder, found, fingerprint, replace=replace)
            say(f"{found.name}, fingerprint {found.fingerprint()}, is trusted.")
        if fingerprint is None:
            say("Compare this with what its owner says, over another channel than the card's.")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


@app.command()
def forget(
    folder: Folder,
    run: Annotated[
        str | None,
        typer.Option(metavar="ID", show_default="all", help="Of one run, or how its id begins."),
    ] = None,
) -> None:
    """Delete keys for masks of runs that never ended.

    What was masked with them stays masked. A member that ends a run deletes its own. A run whose
    key is gone cannot go on.
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
            raise ConfigError(f"--run {run} is that of {len(found)} keys; there are {some}")
        for each in found:
            delete(keys, each)
            say(f"Deleted the key for masks of run {each.hex()[:12]}.")
        if not found:
            say("There are no keys for masks.")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


@app.command()
def rotate(
    folder: Folder,
    authority: Authority = None,
    days: Days = 365,
    identity: Annotated[
        bool,
        typer.Option(
            "--identity", help="Replace the signing key too: somebody may have copied it."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Replace the certificate and its key.

    The card changes, and manifests have to be made anew.
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
    say(f"{card.name}, {card.address or 'dials out only'}")
    say(f"Fingerprint: {card.fingerprint()}")
    say(f"Card for the others: {path}")
    if left is not None:
        soon = f"; renew it with {renewal}" if left < WARN_DAYS else ""
        say(f"The certificate ends in {left:.0f} days{soon}.")
    return 0
