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
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file, TOML.")],
    owner: Annotated[
        str | None,
        typer.Option("--owner", show_default="the first", help="Owner whose data to attack."),
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", help="Runs on each of two neighbouring data sets.")
    ] = 20_000,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", "-r", show_default="the study's own", help="Rounds of every run."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", show_default="the study's own", help="Seed of the runs.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", show_default="audit", help="Directory for the files."),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Attack the guarantee of a study: try to refute its epsilon.

    Runs its method many times on the worst two neighbouring data sets, and tells from what is sent
    which of them it was. Writes audit.json and audit.html. Exit code 0: not refuted, which is no
    proof; 4: refuted.
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
        list[str] | None, typer.Argument(metavar="TARGET", help="Figures, such as huang2015/fig1.")
    ] = None,
    paper: Annotated[str | None, typer.Option("--paper", help="All figures of this paper.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All figures of all papers.")] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="List the figures with the time that each takes.")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Take fewer trials; the page says so.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", show_default="reproduction", help="Directory of the pages."),
    ] = None,
    cores: Annotated[
        int | None, typer.Option("--cores", show_default="all cores", help="Number of processes.")
    ] = None,
    json: Json = False,
) -> None:
    """Draw figures of published papers anew, each with a verdict.

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
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file, TOML.")],
    extra: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", "-n", show_default="[run] trials", help="Runs of each cell."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method", "-m", show_default="the study's own", help="Methods, with commas between."
        ),
    ] = None,
    epsilon: Annotated[
        list[str] | None,
        typer.Option(
            "--epsilon",
            "-e",
            show_default="the study's own",
            help="Budgets of one run, with commas between.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-s", help="A key of the study and its values: method.step=0.1,0.2. Repeat it."
        ),
    ] = None,
    measure: Annotated[
        str | None, typer.Option("--measure", help="What the report draws, such as auc.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-w", show_default="all cores", help="Most processes."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="Run on the Dask cluster of this scheduler: tls://host:port or tcp://host:port.",
        ),
    ] = None,
    tls_ca: Annotated[
        Path | None, typer.Option("--tls-ca", help="Certificate of the cluster's authority, PEM.")
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", help="Your certificate, PEM.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", help="Your private key, PEM.")
    ] = None,
    chunk: Annotated[
        int | None,
        typer.Option(
            "--chunk",
            show_default="some seconds' worth",
            help="About how many runs are stored at a time.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", show_default="sweep", help="Directory of the sweep."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace another sweep's table and report.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a study in many settings, with many seeds each.

    Every combination of methods, budgets and settings is a cell of one table and one report. What
    ends is stored in the output directory: the same command goes on where it was interrupted. A
    simulation: to choose a setting
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
