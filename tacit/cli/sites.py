"""Commands of a run between sites: agent, coordinator, rehearse, status, doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import OWN_TABLE, Json

ManifestFile = Annotated[
    Path, typer.Option("--manifest", metavar="FILE", help="Signed run manifest.")
]
KeysFolder = Annotated[
    Path,
    typer.Option("--keys", metavar="DIR", help="Directory of your keys, from `tacit keys new`."),
]
StateFolder = Annotated[
    Path,
    typer.Option(
        "--state", metavar="DIR", help="Directory for persistent state; reuse it on every restart."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check everything and exit without releasing anything.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log every message sent.")]
Metrics = Annotated[
    int | None,
    typer.Option(
        metavar="PORT",
        min=1,
        max=65535,
        help="Port for Prometheus metrics: http://127.0.0.1:PORT/metrics.",
    ),
]
JsonLogs = Annotated[bool, typer.Option("--json-logs", help="Log one JSON object per line.")]
Attended = Annotated[bool, typer.Option("--attended", hidden=True)]
TestSeed = Annotated[int | None, typer.Option("--test-seed", hidden=True)]


def agent(
    manifest: ManifestFile,
    keys: KeysFolder,
    state: StateFolder,
    data: Annotated[Path, typer.Option(metavar="FILE", help=OWN_TABLE)],
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Ledger to charge.  [default: a new one in --state]",
        ),
    ] = None,
    dataset: Annotated[
        str,
        typer.Option(
            help="Name of the dataset in the ledger; keep it the same for the same records."
        ),
    ] = "records",
    dry_run: DryRun = False,
    verbose: Verbose = False,
    json_logs: JsonLogs = False,
    metrics: Metrics = None,
    json: Json = False,
    test_seed: TestSeed = None,
    attended: Attended = False,
) -> None:
    """Take part in a run between sites with your records.

    Safe to stop or crash at any time: rerun the same command to resume; nothing is released twice.
    """
    from tacit.cli.deploying import Logs, take_part
    from tacit.deploy.member.checking import Options

    options = Options(manifest, keys, state, data, ledger, dataset, test_seed, metrics)
    logs = Logs(verbose=verbose, as_json=json_logs)
    raise typer.Exit(take_part(options, logs, dry_run=dry_run, json=json, attended=attended))


def coordinator(
    manifest: ManifestFile,
    keys: KeysFolder,
    state: StateFolder,
    restore: Annotated[
        bool,
        typer.Option("--restore", help="Restore a lost --state from what all sites have."),
    ] = False,
    dry_run: DryRun = False,
    verbose: Verbose = False,
    json_logs: JsonLogs = False,
    metrics: Metrics = None,
    json: Json = False,
    test_seed: TestSeed = None,
    attended: Attended = False,
) -> None:
    """Coordinate a run between sites.

    The coordinator listens, the sites connect to it, and it sees privatised messages only.

    If its state was lost, --restore with an empty --state resumes from what the sites have.
    """
    from tacit.cli.deploying import Logs, take_part
    from tacit.deploy.member.checking import Options

    options = Options(manifest, keys, state, test_seed=test_seed, metrics=metrics, restore=restore)
    logs = Logs(verbose=verbose, as_json=json_logs)
    raise typer.Exit(take_part(options, logs, dry_run=dry_run, json=json, attended=attended))


def rehearse(
    study: Annotated[
        Path | None,
        typer.Argument(
            metavar="STUDY",
            show_default=False,
            help="Study file (TOML).  [default: the model of `tacit demo`]",
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="New directory for all files.")
    ] = Path("rehearsal"),
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1, show_default=False, help="Number of rounds.  [default: the study's own]"
        ),
    ] = None,
    agents: Annotated[
        int | None,
        typer.Option(
            min=2, show_default=False, help="Number of simulated sites.  [default: the study's own]"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Rehearse a run between sites with real processes here.

    The records are divided as the study says, and every member runs as it will at its site: with
    temporary keys, mutual TLS on loopback, a ledger of its own and secure noise.
    """
    from tacit.cli import rehearsing

    raise typer.Exit(rehearsing.rehearse(study, folder, rounds, agents, json=json))


def status(
    state: Annotated[
        Path, typer.Argument(metavar="DIR", help="The --state directory of a member.")
    ],
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep showing progress until the member is done.")
    ] = False,
    json: Json = False,
) -> None:
    """Show progress, peers being waited for, and budget spent."""
    from tacit.cli import rehearsing

    raise typer.Exit(rehearsing.status(state, follow=follow, json=json))


def doctor(
    manifest: ManifestFile,
    keys: KeysFolder,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"{OWN_TABLE} Leave out for a coordinator."),
    ] = None,
    json: Json = False,
) -> None:
    """Diagnose why a run between sites does not start.

    Shows which name, port, certificate or clock is wrong. Stop your own `tacit agent` first;
    nothing is released.
    """
    from tacit.cli import rehearsing

    raise typer.Exit(rehearsing.doctor(manifest, keys, data, json=json))
