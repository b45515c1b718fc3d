"""`tacit manifest`: what all owners of a run agree to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.options import Json

_EPILOG = """\b
One owner puts it together, from the study and everybody's card with a number of records:
  tacit manifest new study.toml run.toml --data mine.csv \\
    --agent north/card.toml=1200 --agent south/card.toml=900 --agent west/card.toml=1500

\b
Every owner reads it, compares its run id with the others', and signs:
  tacit manifest check run.toml
  tacit manifest sign run.toml --keys keys

\b
Signatures stand beside what is signed: `--from` collects those of other copies of one manifest.
"""

app = typer.Typer(
    name="manifest",
    help="Make, read and sign what the owners of a run agree to.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

File = Annotated[Path, typer.Argument(metavar="MANIFEST", help="The manifest.")]


@app.command()
def new(
    study: Annotated[Path, typer.Argument(help="Study file.")],
    file: Annotated[Path, typer.Argument(metavar="MANIFEST", help="To be written.")],
    data: Annotated[
        Path, typer.Option(metavar="FILE", help="Records of one site, for names of features only.")
    ],
    agent: Annotated[
        list[str], typer.Option(metavar="CARD=RECORDS", help="An agent; once for each, in order.")
    ],
    coordinator: Annotated[
        Path | None, typer.Option(metavar="CARD", help="Who coordinates a star.")
    ] = None,
    patience: Annotated[
        float, typer.Option(help="Seconds to wait for a silent neighbour.")
    ] = 600.0,
    silent: Annotated[
        str,
        typer.Option(help="Then: stop, or skip to go on without it, where the method allows that."),
    ] = "stop",
) -> None:
    """Make a manifest of a study and the members' cards."""
    from tacit.cli.console import guarded, say
    from tacit.deploy.agreement.declared import check_secure, declared, features
    from tacit.deploy.agreement.manifest import agreed
    from tacit.deploy.files import write_text
    from tacit.errors import ConfigError
    from tacit.study.read import read_study

    def command() -> int:
        import jax

        if file.exists():
            raise ConfigError(f"{file} is there already; a new manifest needs a new name")
        source = read_study(study)
        names, classes = features(source, data)
        vouchers: dict[str, str] = {}
        members = [_member(text, vouchers) for text in agent]
        above = None if coordinator is None else _member(f"{coordinator}=1", vouchers)
        manifest = agreed(source, names, classes, members, above, patience, silent, vouchers)
        with jax.enable_x64(True):
            check_secure(declared(manifest))  # what cannot be run is not signed either
        write_text(file, manifest.toml())
        say(f"Made {file}, run {manifest.run.hex()[:12]}. Every owner checks and signs it:")
        say(f"tacit manifest check {file}", "  ")
        say(f"tacit manifest sign {file} --keys DIR", "  ")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


@app.command()
def check(file: File, json: Json = False) -> None:
    """Say what a run will do and cost, and who has signed."""
    from tacit.cli.console import emit, guarded, say, table

    def command() -> int:
        import jax

        from tacit.deploy.agreement.declared import check_secure, counts_are_public, declared
        from tacit.deploy.agreement.manifest import read_manifest

        manifest = read_manifest(file)
        with jax.enable_x64(True):
            run = declared(manifest)
        check_secure(run)
        unsigned, altered = set(manifest.unsigned()), set(manifest.changed())
        exact = counts_are_public(run.source, manifest.names)
        rows: list[dict[str, Any]] = [
            {
                "name": member.name,
                "address": member.address,
                "records": member.records,
                "fingerprint": member.card.fingerprint(),
                "signed": member.name not in unsigned,
                "epsilon": promised.epsilon,
                "delta": promised.delta,
            }
            for member, promised in zip(manifest.agents, run.guarantee, strict=True)
        ]
        if manifest.coordinator is not None:
            member = manifest.coordinator
            rows.append(
                {
                    "name": member.name,
                    "address": member.address,
                    "records": None,
                    "fingerprint": member.card.fingerprint(),
                    "signed": member.name not in unsigned,
                    "epsilon": None,
                    "delta": None,
                }
            )
        if json:
            about = {"run": manifest.run.hex(), "records_exact": exact}
            emit({"format": "tacit-manifest-check-1", **about, "members": rows})
            return 0
        settings = run.source.study
        say(f"{settings.title}: run {manifest.run.hex()}")
        say(
            f"{type(run.plan.method).__name__}, {settings.run.rounds:,} rounds, "
            f"{run.problem.dimension:,} parameters, patience {manifest.patience:g} s, then "
            + ("going on without who is silent" if manifest.silent == "skip" else "stopping")
        )
        records = "Records" if exact else "Records, at most"
        table(
            ("Member", "Address", records, "Epsilon", "at delta", "Signed", "Fingerprint"),
            [
                (
                    row["name"],
                    row["address"] or "dials out",
                    "" if row["records"] is None else f"{row['records']:,}",
                    "" if row["epsilon"] is None else f"{row['epsilon']:.4g}",
                    "" if row["delta"] is None else f"{row['delta']:g}",
                    "yes" if row["signed"] else "DOES NOT FIT" if row["name"] in altered else "no",
                    row["fingerprint"],
                )
                for row in rows
            ],
        )
        for part in manifest.parts:
            say(f"With the {part}, {part.target}, sha256 {part.sha256}")
        say(run.guarantee.sentence())
        say("The study that everybody agrees to:")
        for line in manifest.study.strip().splitlines():
            say(line, "  ")
        if altered:
            say(
                f"Changed after {', '.join(sorted(altered))} signed it: it is not what they agreed "
                "to. Compare run ids, and do not sign before you know what was changed."
            )
        elif unsigned:
            missing = ", ".join(sorted(unsigned))
            say(f"Not signed by {missing}: tacit manifest sign {file} --keys DIR")
        return 0

    raise typer.Exit(guarded(command, as_json=json))


@app.command()
def sign(
    file: File,
    keys: Annotated[Path | None, typer.Option(metavar="DIR", help="Keys of this member.")] = None,
    take: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="MANIFEST", help="Another copy, to take signatures from."),
    ] = None,
) -> None:
    """Sign a manifest, or collect signatures of other copies of it."""
    from tacit.cli.console import guarded, say
    from tacit.deploy.agreement.manifest import read_manifest
    from tacit.deploy.files import write_text
    from tacit.deploy.identity.keys import load
    from tacit.deploy.identity.pinning import check_trusted
    from tacit.errors import ConfigError

    def command() -> int:
        if keys is None and not take:
            raise ConfigError("give --keys to sign, or --from a copy that others have signed")
        manifest = read_manifest(file)
        for copy in take or []:
            other = read_manifest(copy)
            if other.run != manifest.run:
                raise ConfigError(
                    f"{copy} is run {other.run.hex()[:12]}, and {file} is {manifest.run.hex()[:12]}"
                )
            manifest = manifest.with_signatures_of(other)
        not_compared: Sequence[str] = ()
        if keys is not None:
            own = load(keys)
            not_compared = check_trusted(manifest, keys, own.card.name)
            manifest = manifest.signed_by(own)
        write_text(file, manifest.toml())
        unsigned = manifest.unsigned()
        if altered := manifest.changed():
            say(
                f"The signatures of {', '.join(altered)} do not fit: the manifest was changed "
                "after they signed it."
            )
        say(
            f"Run {manifest.run.hex()[:12]}: "
            + (f"not yet signed by {', '.join(unsigned)}." if unsigned else "signed by everybody.")
        )
        if not_compared:
            say(
                f"Nobody has compared the card of {', '.join(not_compared)} on this machine: "
                "`tacit keys trust` pins one whose fingerprint its owner has told."
            )
        return 0

    raise typer.Exit(guarded(command, as_json=False))


def _member(text: str, vouchers: dict[str, str]) -> Any:
    """A member by its card; what an authority says of it is put among the vouchers."""
    from tacit.deploy.agreement.manifest import Member
    from tacit.deploy.identity.keys import read_card
    from tacit.errors import ConfigError

    path, _, number = text.rpartition("=")
    if not path or not number.isdigit():
        raise ConfigError(f"--agent {text}: give a card and a number of records, CARD=RECORDS")
    card = read_card(Path(path))
    if card.voucher:
        vouchers[card.name] = card.voucher
    return Member(
        name=card.name,
        address=card.address,
        signing_key=card.signing_key,
        authority=card.authority,
        records=int(number),
    )
