"""Commands of a run between sites: agent, coordinator, rehearse, status, doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import Json

ManifestFile = Annotated[
    Path, typer.Option("--manifest", metavar="FILE", help="What all owners have agreed to.")
]
KeysFolder = Annotated[
    Path, typer.Option("--keys", metavar="DIR", help="Keys of this member: `tacit keys new`.")
]
StateFolder = Annotated[
    Path,
    typer.Option(
        "--state", metavar="DIR", help="What must not be forgotten; the same at every start."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check everything, release nothing, and end.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log more.")]
Metrics = Annotated[
    int | None,
    typer.Option(metavar="PORT", help="Answer Prometheus at 127.0.0.1:PORT/metrics."),
]
JsonLogs = Annotated[
    bool, typer.Option("--json-logs", help="Log one JSON object a line, for a log collector.")
]
TestSeed = Annotated[int | None, typer.Option("--test-seed", hidden=True)]


def agent(
    manifest: ManifestFile,
    keys: KeysFolder,
    state: StateFolder,
    data: Annotated[Path, typer.Option(metavar="FILE", help="Records of this site.")],
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default="one for this run", help="Ledger that is charged."
        ),
    ] = None,
    dataset: Annotated[
        str, typer.Option(help="Name of the records in the ledger, always the same.")
    ] = "records",
    dry_run: DryRun = False,
    verbose: Verbose = False,
    json_logs: JsonLogs = False,
    metrics: Metrics = None,
    json: Json = False,
    test_seed: TestSeed = None,
) -> None:
    """Take part in a run between sites, beside your records.

    Stop it at any time, or let it crash: the same command goes on where it was, and nothing is
    released twice.
    """
    from tacit.cli.deploying import Logs, take_part
    from tacit.deploy.member.process import Options

    options = Options(manifest, keys, state, data, ledger, dataset, test_seed, metrics)
    logs = Logs(verbose=verbose, as_json=json_logs)
    raise typer.Exit(take_part(options, logs, dry_run=dry_run, json=json))


def coordinator(
    manifest: ManifestFile,
    keys: KeysFolder,
    state: StateFolder,
    restore: Annotated[
        bool,
        typer.Option("--restore", help="Begin an empty --state with what all sites have of it."),
    ] = False,
    dry_run: DryRun = False,
    verbose: Verbose = False,
    json_logs: JsonLogs = False,
    metrics: Metrics = None,
    json: Json = False,
    test_seed: TestSeed = None,
) -> None:
    """Coordinate a run between sites.

    It listens, the sites dial in, and it sees noised messages only.

    If its --state was lost, `--restore` with an empty one goes on from what the sites have.
    """
    from tacit.cli.deploying import Logs, take_part
    from tacit.deploy.member.process import Options

    options = Options(manifest, keys, state, test_seed=test_seed, metrics=metrics, restore=restore)
    logs = Logs(verbose=verbose, as_json=json_logs)
    raise typer.Exit(take_part(options, logs, dry_run=dry_run, json=json))


def rehearse(
    study: Annotated[
        Path | None,
        typer.Argument(metavar="STUDY", show_default="that of `tacit demo`", help="Study file."),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="A new folder for everything.")
    ] = Path("rehearsal"),
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1, show_default="the study's own", help="Run fewer rounds than the study has."
        ),
    ] = None,
    agents: Annotated[
        int | None,
        typer.Option(
            min=2, show_default="the study's own", help="Divide the records among so many."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Try a run between sites on this machine.

    Real processes, with keys that are thrown away: the records are divided as the study says, and
    every member runs as it will at its site, with mutual TLS on loopback, a ledger of its own and
    secure noise.
    """
    from tacit.cli import rehearsing

    raise typer.Exit(rehearsing.rehearse(study, folder, rounds, agents, json=json))


def status(
    state: Annotated[Path, typer.Argument(metavar="DIR", help="The --state folder of a member.")],
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on showing it until the member is done.")
    ] = False,
    json: Json = False,
) -> None:
    """Show how far a member is, for whom it waits, what it spent."""
    from tacit.cli import rehearsing

    raise typer.Exit(rehearsing.status(state, follow=follow, json=json))


def doctor(
    manifest: ManifestFile,
    keys: KeysFolder,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Records of this site; none to coordinate.")
    ] = None,
    json: Json = False,
) -> None:
    """Find out why a run between sites does not begin.

    Says which name, port, certificate or clock is wrong. Run it while this member's own agent does
    not run; nothing is released.
    """
    from tacit.cli import rehearsing

    raise typer.Exit(rehearsing.doctor(manifest, keys, data, json=json))
