"""The command `tacit`.

Exit codes: 0 all went well; 1 the run itself failed (a black box, a disk, a checkpoint); 2 the
study, its data or an option is wrong; 3 the iterates diverged, results are written; 4 an audit
refuted the claim; 130 interrupted.

Only what `tacit --help` needs is imported here: everything else waits until a command runs.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit import __version__
from tacit.cli import before, experiments, keys, ledgers, manifests, parts, sites
from tacit.cli.console import INTERRUPTED
from tacit.cli.options import Force, Json, Output, Public
from tacit.cli.programs import keep_programs

_EPILOG = """\b
Examples:
  tacit demo                            fit a private model of real records, see the report
  tacit init visits.csv --target visits --site hospital
  tacit run study.toml --output first
  tacit run study.toml --output first --resume
  tacit describe dpsg
  tacit advise --records 200 --parameters 10 --agents 5 --epsilon 1.7
  tacit account study.toml              what it guarantees, without running it
  tacit ledger show clinic.ledger       what each owner has spent of which budget
  tacit audit study.toml                attacks that guarantee, see the report
  tacit sweep study.toml -n 100 -e 1,2  a hundred runs at each of two budgets
  tacit reproduce --list                the figures of the papers, with verdicts

\b
Exit codes:
  0    all went well
  1    the run itself failed: a disk, a checkpoint, a black box
  2    the study, its data or an option is wrong
  3    the iterates diverged; results are written
  4    an audit refuted the claim
  130  interrupted; a run goes on with --resume
"""

app = typer.Typer(
    name="tacit",
    help="Agree without telling: sites fit one model and keep their records.",
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=False,
    # plain help: rich would cost a third of the time that it takes to print
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Agree without telling: sites fit one model and keep their records."""
    if version:
        typer.echo(f"tacit {__version__}")
        raise typer.Exit
    keep_programs()


@app.command()
def demo(
    output: Output = None,
    force: Force = False,
    public: Public = False,
    json: Json = False,
) -> None:
    """Fit a private model of real medical records at eight sites.

    The 20,190 records ship with a library; the sites and the noise are simulated.
    """
    from tacit.cli.running import run_demo

    raise typer.Exit(run_demo(output, force=force, public=public, json=json))


@app.command()
def run(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="Study file, TOML. `tacit init` writes one.")
    ],
    output: Output = None,
    force: Force = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from where an interrupted run stopped.")
    ] = False,
    public: Public = False,
    json: Json = False,
) -> None:
    """Run a study and write results, guarantee and report."""
    from tacit.cli.running import run_study

    raise typer.Exit(run_study(study, output, force=force, resume=resume, public=public, json=json))


@app.command()
def methods(json: Json = False) -> None:
    """List the methods, one a row, with when to choose which."""
    from tacit.cli.showing import show_methods

    raise typer.Exit(show_methods(json=json))


@app.command()
def describe(
    method: Annotated[
        str, typer.Argument(metavar="METHOD", help="Name of a method, as `tacit methods` lists it.")
    ],
    json: Json = False,
) -> None:
    """Say what a method sends, how that is protected and its cost."""
    from tacit.cli.showing import show_method

    raise typer.Exit(show_method(method, json=json))


@app.command()
def init(
    data: Annotated[
        Path, typer.Argument(metavar="TABLE", help="CSV (or .tsv) file with a header line.")
    ],
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", show_default="the last column", help="Column to be predicted."
        ),
    ] = None,
    site: Annotated[
        str | None,
        typer.Option(
            "--site",
            "-s",
            show_default="none: four simulated sites",
            help="Column that says who holds a record.",
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Study file to write.")] = Path(
        "study.toml"
    ),
    bounds_from_data: Annotated[
        bool,
        typer.Option(
            "--bounds-from-data",
            help="Take bounds and levels from the data and declare them public. They leak.",
        ),
    ] = False,
    separator: Annotated[
        str | None,
        typer.Option(show_default="a comma", help="Between the columns of the file, such as ';'."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(show_default="UTF-8", help="Of the file, such as cp1252.")
    ] = None,
    decimal: Annotated[str, typer.Option(help="Decimal mark of its numbers: . or ,")] = ".",
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a commented study file for a table of your own."""
    from tacit.cli.starting import Reading, write_study

    raise typer.Exit(
        write_study(
            data,
            output,
            target=target,
            site=site,
            bounds_from_data=bounds_from_data,
            reading=Reading(separator, encoding, decimal),
            force=force,
            json=json,
        )
    )


app.command()(before.advise)
app.command()(before.check)
app.command(epilog=before.ACCOUNT_EPILOG)(before.account)
app.command()(experiments.audit)
app.command(epilog=experiments.SWEEP_EPILOG)(experiments.sweep)
app.command()(experiments.reproduce)
app.command()(sites.rehearse)
app.command()(sites.agent)
app.command()(sites.coordinator)
app.command()(sites.status)
app.command()(sites.doctor)
app.add_typer(ledgers.app)
app.add_typer(keys.app)
app.add_typer(manifests.app)
app.add_typer(parts.app)


def main() -> None:
    """Entry point of the command `tacit`."""
    # a name that the terminal's character set lacks, as on Windows, is no reason to stop
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            # a compiled loop may still be running, and taking Python down under it crashes
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        raise
