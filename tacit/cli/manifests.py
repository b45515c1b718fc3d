"""`tacit manifest`: the agreement of all owners of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import Json
from tacit.privacy.digits import rounded_up

if TYPE_CHECKING:
    from tacit.deploy.agreement.declared import Declared

_EPILOG = """\b
One owner writes it, from the study and every site's card and number of records:
  tacit manifest new study.toml run.toml --data mine.csv \\
    --agent north/card.toml=1200 --agent south/card.toml=900 --agent west/card.toml=1500

\b
Every owner reviews it, compares its run id with the others', and signs:
  tacit manifest check run.toml
  tacit manifest sign run.toml --keys keys

\b
`--from` collects the signatures from other copies of the same manifest.
"""

app = typer.Typer(
    name="manifest",
    help="Write, check and sign the agreement of all owners of a run.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

File = Annotated[Path, typer.Argument(metavar="MANIFEST", help="Run manifest.")]


@app.command()
def new(
    study: Annotated[Path, typer.Argument(help="Study file (TOML).")],
    file: Annotated[Path, typer.Argument(metavar="MANIFEST", help="Output file.")],
    data: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="Records of one site; only the names of its features are used."
        ),
    ],
    agent: Annotated[
        list[str],
        typer.Option(
            metavar="CARD=RECORDS", help="Card and number of records of a site; repeat in order."
        ),
    ],
    coordinator: Annotated[
        Path | None, typer.Option(metavar="CARD", help="Card of the coordinator, if there is one.")
    ] = None,
    patience: Annotated[
        float, typer.Option(help="Seconds to wait for a peer that does not answer.")
    ] = 600.0,
    silent: Annotated[
        str,
        typer.Option(help="When a peer times out: stop, or skip it where the method allows that."),
    ] = "stop",
) -> None:
    """Write a manifest from a study and the cards of its members."""
    from tacit.cli.console import guarded, say
    from tacit.deploy.files import write_text
    from tacit.deploy.identity.parts import admit_pinned
    from tacit.deploy.operate.proposal import propose
    from tacit.errors import ConfigError
    from tacit.study.read import read_study

    def command() -> int:
        if file.exists():
            raise ConfigError(f"{file} exists already; a new manifest needs a new name")
        manifest = propose(
            read_study(study, admit_pinned),
            data,
            [_card_and_records(text) for text in agent],
            coordinator,
            patience=patience,
            silent=silent,
        )
        write_text(file, manifest.toml())
        say(f"Wrote {file}, run {manifest.run.hex()[:12]}. Every owner checks and signs it:")
        say(f"tacit manifest check {file}", "  ")
        say(f"tacit manifest sign {file} --keys DIR", "  ")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


@app.command()
def check(file: File, json: Json = False) -> None:
    """Show what a run will do and cost, and who has signed."""
    from tacit.cli.console import WRONG, emit, guarded, say, table

    def command() -> int:
        from tacit.deploy.agreement.manifest import read_manifest
        from tacit.deploy.operate.proposal import review

        manifest = read_manifest(file)
        found = review(manifest)
        run, altered, unsigned, exact = found.run, found.altered, found.unsigned, found.exact
        rows: list[dict[str, Any]] = [
            {
                "name": member.name,
                "address": member.address,
                "records": None if promised is None else member.records,
                "fingerprint": member.card.fingerprint(),
                "signed": member.name not in unsigned,
                "changed": member.name in altered,  # after it signed
                "epsilon": None if promised is None else promised.epsilon,
                "delta": None if promised is None else promised.delta,
            }
            for member, promised in found.members
        ]
        if json:
            about = {"run": manifest.run.hex(), "records_exact": exact}
            emit({"format": "tacit-manifest-check-1", **about, "members": rows})
            return WRONG if altered else 0
        settings = run.source.study
        say(f"{settings.title}: run {manifest.run.hex()}")
        say(
            f"{type(run.plan.method).__name__}, {settings.run.rounds:,} rounds, "
            f"{_size(run)}, timeout {manifest.patience:g} s; a "
            f"peer that times out {'is skipped' if manifest.silent == 'skip' else 'stops the run'}"
        )
        records = "Records" if exact else "Records (at most)"
        table(
            ("Member", "Address", records, "Epsilon", "Delta", "Signed", "Fingerprint"),
            [
                (
                    row["name"],
                    row["address"] or "connects out",
                    "" if row["records"] is None else f"{row['records']:,}",
                    "" if row["epsilon"] is None else rounded_up(row["epsilon"]),
                    "" if row["delta"] is None else rounded_up(row["delta"]),
                    "yes" if row["signed"] else "INVALID" if row["name"] in altered else "no",
                    row["fingerprint"],
                )
                for row in rows
            ],
        )
        for part in manifest.parts:
            say(f"Uses the {part}: {part.target}, SHA-256 {part.sha256}")
        say(run.guarantee.sentence())
        say("Study:")
        for line in manifest.study.strip().splitlines():
            say(line, "  ")
        if altered:
            say(
                f"The manifest was changed after {', '.join(sorted(altered))} signed it. Compare "
                "run ids, and do not sign before you know what was changed."
            )
        elif unsigned:
            missing = ", ".join(sorted(unsigned))
            say(f"Not yet signed by {missing}: tacit manifest sign {file} --keys DIR")
        return WRONG if altered else 0

    raise typer.Exit(guarded(command, as_json=json))


@app.command()
def sign(
    file: File,
    keys: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory of your keys.")
    ] = None,
    take: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="MANIFEST", help="Another copy to collect signatures from."),
    ] = None,
) -> None:
    """Sign a manifest, or collect signatures from other copies."""
    from tacit.cli.console import guarded, say
    from tacit.deploy.agreement.manifest import read_manifest
    from tacit.deploy.files import one_at_a_time, write_text
    from tacit.deploy.identity.keys import load
    from tacit.deploy.identity.pinning import check_trusted
    from tacit.errors import ConfigError

    def command() -> int:
        if keys is None and not take:
            raise ConfigError("give --keys to sign, or --from with a copy that others have signed")
        not_compared: Sequence[str] = ()
        read_manifest(file)  # what is wrong with it is told before a lock is made beside it
        with one_at_a_time(file):  # owners may sign one shared file at the same moment
            manifest = read_manifest(file)
            for copy in take or []:
                other = read_manifest(copy)
                if other.run != manifest.run:
                    theirs, ours = other.run.hex()[:12], manifest.run.hex()[:12]
                    raise ConfigError(f"{copy} is run {theirs}, and {file} is {ours}")
                manifest = manifest.with_signatures_of(other)
            if keys is not None:
                own = load(keys)
                not_compared = check_trusted(manifest, keys, own.card.name)
                manifest = manifest.signed_by(own)
            write_text(file, manifest.toml())
        unsigned = manifest.unsigned()
        if altered := manifest.changed():
            say(
                f"The signatures of {', '.join(altered)} are invalid: the manifest was changed "
                "after they signed it."
            )
        say(
            f"Run {manifest.run.hex()[:12]}: "
            + (
                f"not yet signed by {', '.join(unsigned)}."
                if unsigned
                else "signed by all members."
            )
        )
        if not_compared:
            say(
                f"The card of {', '.join(not_compared)} has not been verified on this machine: "
                "compare its fingerprint with its owner, then pin it with `tacit keys trust`."
            )
        return 0

    raise typer.Exit(guarded(command, as_json=False))


def _card_and_records(text: str) -> tuple[Path, int]:
    from tacit.deploy.agreement.manifest import MOST_RECORDS
    from tacit.errors import ConfigError

    path, _, number = text.rpartition("=")
    if not path or not number.isdecimal() or not 1 <= int(number) <= MOST_RECORDS:
        raise ConfigError(
            f"--agent {text}: give a card and a number of records from 1 to {MOST_RECORDS:,}, "
            "CARD=RECORDS"
        )
    return Path(path), int(number)


def _size(run: Declared) -> str:
    """How much is asked for, in a few words."""
    from tacit.method.glm import PrivateGLM

    if isinstance(run.plan.method, PrivateGLM):
        return f"{run.plan.method.width:,} coefficients"
    size = run.problem.dimension
    return f"{size:,} numbers a record" if run.source.statistics else f"{size:,} parameters"
