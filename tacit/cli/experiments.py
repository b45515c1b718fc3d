"""Commands that run a study or a paper many times: audit, reproduce, sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import Force, Json, all_positive, at_least_one

SWEEP_EPILOG = """\b
Examples:
  tacit sweep study.toml --seeds 100 --epsilon 0.5,1,2
  tacit sweep study.toml --seeds 100 --method dpsg,pdop,dgd --set method.step=0.1,0.3
  tacit sweep study.toml --set 'network=ring,{graph="grid",rows=2,columns=2}' --facet network
  tacit sweep study.toml --grid grid.toml
  tacit sweep study.toml --seeds 1000 --cluster tls://head:8786 \\
      --tls-ca ca.pem --tls-cert me.pem --tls-key me.key
"""


def audit(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file (TOML).")],
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner",
            show_default=False,
            help="Owner whose data are attacked.  [default: the first]",
        ),
    ] = None,
    trials: Annotated[
        int,
        typer.Option(
            "--trials",
            help="Number of runs on each of two adjacent data sets.",
        ),
    ] = 20_000,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            "-r",
            show_default=False,
            help="Number of rounds per run.  [default: the study's own]",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", show_default=False, help="Random seed.  [default: the study's own]"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", show_default=False, help="Output directory.  [default: audit]"
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Try to refute the guarantee of a study empirically.

    Runs the method many times on the two worst adjacent data sets, and guesses from the messages
    which one was used. Writes audit.json and audit.html. Exit code 0: not refuted, which is not a
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
        list[str] | None, typer.Argument(metavar="TARGET", help="Figures, e.g. huang2015/fig1.")
    ] = None,
    paper: Annotated[
        str | None, typer.Option("--paper", help="Paper whose figures are all reproduced.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Reproduce all figures of all papers.")
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="List the figures and how long each takes.")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Run fewer trials; the pages say so.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", show_default=False, help="Output directory.  [default: reproduction]"
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(
            "--cores", show_default=False, help="Maximum number of processes.  [default: all cores]"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Reproduce figures of papers and report whether they hold.

    Each figure is followed by the same comparison with proved guarantees. Finished work is stored
    in the output directory: rerun the same command to resume.
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
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file (TOML).")],
    # a value after a space ends up here, and is refused with the remedy
    extra: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            "-n",
            callback=at_least_one,
            show_default=False,
            help="Number of runs per cell.  [default: [run] trials]",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            show_default=False,
            help="Methods, separated by commas.  [default: the study's own]",
        ),
    ] = None,
    epsilon: Annotated[
        list[str] | None,
        typer.Option(
            "--epsilon",
            "-e",
            callback=all_positive,
            show_default=False,
            help="Privacy budgets per run, separated by commas.  [default: the study's own]",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            "-s",
            help="Study key and its values, e.g. method.step=0.1,0.2; repeat for more keys.",
        ),
    ] = None,
    grid: Annotated[
        Path | None,
        typer.Option(
            "--grid",
            "-g",
            help="File of seeds, methods, settings, cases and names; options take precedence.",
        ),
    ] = None,
    measure: Annotated[
        str | None, typer.Option("--measure", help="Metric to plot, e.g. auc.")
    ] = None,
    over: Annotated[
        str | None,
        typer.Option("--over", help="Key of the horizontal axis, e.g. network or method."),
    ] = None,
    facet: Annotated[
        str | None, typer.Option("--facet", help="Key whose values have a panel each.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            "-w",
            show_default=False,
            help="Maximum number of worker processes.  [default: all cores]",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="Address of a Dask scheduler to run on: tls://host:port or tcp://host:port.",
        ),
    ] = None,
    ca: Annotated[
        Path | None, typer.Option("--tls-ca", help="Certificate of the cluster's authority (PEM).")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--tls-cert", help="Your certificate (PEM).")
    ] = None,
    key: Annotated[Path | None, typer.Option("--tls-key", help="Your private key (PEM).")] = None,
    chunk: Annotated[
        int | None,
        typer.Option(
            "--chunk",
            show_default=False,
            help="Approximate number of runs per checkpoint.  [default: a few seconds' worth]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", show_default=False, help="Output directory.  [default: sweep]"
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the table and report of another sweep.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a study with many settings, and many seeds for each.

    Every combination of methods, budgets and settings is a cell of one table and one report.
    Finished work is stored in the output directory: rerun the same command to resume. This is a
    simulation: choosing a setting by looking at private records is itself a release, which no
    single run's guarantee covers.
    """
    from tacit.cli.sweeping import Asked as AskedSweep
    from tacit.cli.sweeping import sweep_study

    asked = AskedSweep(
        extra=extra or (),
        seeds=seeds,
        methods=method or (),
        epsilon=epsilon or (),
        settings=settings or (),
        grid=grid,
        measure=measure,
        over=over,
        facet=facet,
        workers=workers,
        cluster=cluster,
        ca=ca,
        certificate=certificate,
        key=key,
        chunk=chunk,
        output=output,
        force=force,
    )
    raise typer.Exit(sweep_study(study, asked, json=json))
