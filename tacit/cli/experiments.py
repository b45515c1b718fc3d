"""Commands that run a study or a paper many times: audit, reproduce, sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import Force, Json

SWEEP_EPILOG = """\b
Examples:
  tacit sweep study.toml --seeds 100 --epsilon 0.5,1,2
  tacit sweep study.toml --seeds 100 --method dpsg,pdop,dgd --set method.step=0.1,0.3
  tacit sweep study.toml --seeds 1000 --cluster tls://head:8786 \\
      --tls-ca ca.pem --tls-cert me.pem --tls-key me.key
"""


def audit(
    study: Annotated[Path, typer.Argument(help="Study file, TOML.")],
    owner: Annotated[
        str | None, typer.Option("--owner", help="Whose data to attack; the first owner's.")
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", help="Runs on either of two neighbouring data sets.")
    ] = 20_000,
    rounds: Annotated[
        int | None, typer.Option("--rounds", "-r", help="Of every run; the study's own.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Instead of the study's own.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory for the files; audit.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Attack the guarantee of a study: run it on the worst neighbouring data, see what leaks.

    Writes audit.json and audit.html. Exit code 0: not refuted, which is no proof; 4: refuted.
    """
    from tacit.cli.auditing import audit_study

    raise typer.Exit(
        audit_study(
            study,
            output,
            owner=owner,
            trials=trials,
            rounds=rounds,
            seed=seed,
            force=force,
            json=json,
        )
    )


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[TARGET]...", help="Such as huang2015/fig1.")
    ] = None,
    paper: Annotated[str | None, typer.Option("--paper", help="All targets of this paper.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All targets of all papers.")] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="Name the targets and their times.")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Fewer trials; says so on the page.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory of the pages; reproduction.")
    ] = None,
    cores: Annotated[int | None, typer.Option("--cores", help="Processes; all cores.")] = None,
    json: Json = False,
) -> None:
    """Draw the figures of the field's papers anew, each with a verdict.

    Beside every figure stands the same comparison with proved guarantees. What has been computed is
    stored in the output directory: the same command goes on where it was interrupted.
    """
    from tacit.cli.reproducing import reproduce_targets

    raise typer.Exit(
        reproduce_targets(
            names or (),
            paper=paper,
            every=every,
            listed=listed,
            fast=fast,
            output=output,
            cores=cores,
            json=json,
        )
    )


def sweep(
    study: Annotated[Path, typer.Argument(help="Study file, TOML.")],
    extra: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", "-n", help="Runs of each cell; [run] trials.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="Methods, commas between; the study's own."),
    ] = None,
    epsilon: Annotated[
        list[str] | None,
        typer.Option("--epsilon", "-e", help="Budgets of one run, commas between."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-s", help="A key of the study and its values: method.step=0.1,0.2. Repeat it."
        ),
    ] = None,
    measure: Annotated[
        str | None, typer.Option("--measure", help="What the page draws, such as auc.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", help="Processes at most; all cores.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Dask scheduler instead: tls://host:port, or tcp://."),
    ] = None,
    tls_ca: Annotated[
        Path | None, typer.Option("--tls-ca", help="The cluster's authority, PEM.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="Your own, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Your own, PEM.")] = None,
    chunk: Annotated[
        int | None,
        typer.Option("--chunk", help="Runs stored at a time, about; some seconds' worth."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory of the sweep; sweep.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace another sweep's table and report.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a study in many settings, with many seeds: one table, one report.

    Every combination of methods, budgets and settings is a cell. What ends is stored in the output
    directory: the same command goes on where it was interrupted. A simulation: to choose a setting
    on private records is a release that no single run's guarantee covers.
    """
    from tacit.cli.sweeping import Asked as AskedSweep
    from tacit.cli.sweeping import sweep_study

    asked = AskedSweep(
        extra=extra or (),
        seeds=seeds,
        methods=method or (),
        epsilon=epsilon or (),
        settings=settings or (),
        measure=measure,
        workers=workers,
        cluster=cluster,
        ca=tls_ca,
        certificate=tls_cert,
        key=tls_key,
        chunk=chunk,
        output=output,
        force=force,
    )
    raise typer.Exit(sweep_study(study, asked, json=json))
