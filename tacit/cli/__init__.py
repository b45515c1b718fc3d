"""The command `tacit`.

Exit codes: 0 success; 1 the run itself failed (a black box, a disk, a checkpoint); 2 the study, its
data or an option is wrong; 3 the iterates diverged, results are written; 4 an audit refuted the
claim; 5 with --fail-if-useless, the model is not worth having; 130 interrupted.

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
from tacit.cli import (
    before,
    bundling,
    creating,
    experiments,
    keys,
    ledgers,
    manifests,
    parts,
    planning,
    sites,
)
from tacit.cli.console import INTERRUPTED
from tacit.cli.helping import Discreet, OfAStudy, Sections
from tacit.cli.options import (
    Bounds,
    Decimal,
    Delta,
    Encoding,
    Epsilon,
    Force,
    Json,
    Levels,
    Local,
    Output,
    Public,
    Seed,
    Separator,
    Sheet,
    SiteColumn,
    StudyCopy,
    TableFile,
    Useful,
    to_folder,
)
from tacit.cli.programs import keep_programs
from tacit.privacy.caution import DELTA

_EPILOG = """\b
Examples:
  tacit demo                            fit a table and a model across eight sites
  tacit fit visits.csv "ill ~ age + C(sex)" --family binomial --site clinic --epsilon 1
  tacit table1 visits.csv --by arm --site clinic --epsilon 1
  tacit init visits.csv --target visits --site hospital
  tacit run study.toml --output first
  tacit describe dpsg                   what a method releases, and what that costs
  tacit advise --records 200 --parameters 10 --agents 5 --epsilon 1.7
  tacit account study.toml              the guarantee of a study, without running it
  tacit plan noise -e 1 -r 200          the noise that a budget needs
  tacit audit study.toml                try to refute the guarantee, open the report
  tacit sweep study.toml -n 100 -e 1,2  a hundred runs at each of two budgets
  tacit ledger show clinic.ledger       privacy spending per owner
  tacit reproduce --list                figures of the papers, with verdicts

\b
Exit codes:
  0    success
  1    the run itself failed: a disk, a checkpoint, a black box
  2    the study, its data or an option is wrong
  3    the iterates diverged; results are written
  4    an audit refuted the claim
  5    --fail-if-useless: the model is no better than the base rate, or has no intervals
  130  interrupted; resume a run with --resume
"""

app = typer.Typer(
    name="tacit",
    cls=Sections,
    help="Differentially private optimisation across sites that keep their data.",
    epilog=_EPILOG,
    no_args_is_help=True,
    # plain help, see `Sections`
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Differentially private optimisation across sites that keep their data."""
    if version:
        typer.echo(f"tacit {__version__}")
        raise typer.Exit
    keep_programs()


@app.command()
def demo(
    output: Annotated[
        Path | None,
        to_folder(
            "Directory for the model's results; the regression's go to the same name with "
            "-regression behind it.",
            "tacit-demo",
        ),
    ] = None,
    force: Force = False,
    public: Public = False,
    json: Json = False,
) -> None:
    """Fit a table and a model across eight sites on real records.

    First a regression with intervals, then a model in many rounds. The 20,190 medical records come
    with a Python package; the sites and the noise are simulated.
    """
    from tacit.cli.running import run_demo

    raise typer.Exit(run_demo(output, force=force, public=public, json=json))


@app.command()
def run(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="Study file (TOML); `tacit init` writes one.")
    ],
    output: Output = None,
    force: Force = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    public: Public = False,
    fail_if_useless: Useful = False,
    json: Json = False,
) -> None:
    """Run a study; write results, guarantee and report."""
    from tacit.cli.running import run_study

    raise typer.Exit(
        run_study(
            study,
            output,
            force=force,
            resume=resume,
            public=public,
            useful=fail_if_useless,
            json=json,
        )
    )


@app.command()
def fit(
    data: TableFile,
    formula: Annotated[
        str,
        typer.Argument(
            metavar="FORMULA",
            help="Model, e.g. 'visits ~ age + C(sex) + offset(log(days))'.",
        ),
    ],
    family: Annotated[
        str,
        typer.Option(
            "--family",
            "-f",
            help="Distribution of the target: gaussian (a number), binomial (yes or no), "
            "multinomial (one of several levels), poisson or negative_binomial (a count) or gamma "
            "(a positive number).",
        ),
    ],
    site: SiteColumn = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = DELTA,
    bounds: Bounds = None,
    levels: Levels = None,
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            "-w",
            metavar="COLUMN",
            show_default=False,
            help="Column of the records' weights; errors are then robust.",
        ),
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    robust: Annotated[
        bool, typer.Option("--robust", help="Robust (sandwich) standard errors.")
    ] = False,
    sums: Annotated[int, typer.Option("--sums", min=3, max=4, help="Number of sums.")] = 4,
    local: Local = False,
    seed: Seed = 0,
    output: Annotated[
        Path | None, to_folder("Directory for the results.", "fit, or fit-2, ...")
    ] = None,
    study: StudyCopy = None,
    force: Force = False,
    public: Public = False,
    fail_if_useless: Useful = False,
    json: Json = False,
) -> None:
    """Fit a regression over the sites of a table, with intervals.

    The noise is simulated, to see what the sites would get. --study writes what they agree on.
    """
    from tacit.cli.fitting import fit_table
    from tacit.study import Reading

    raise typer.Exit(
        fit_table(
            data,
            formula,
            family=family,
            site=site,
            weights=weights,
            bounds=bounds or [],
            levels=levels or [],
            privacy={"epsilon": epsilon, "delta": delta, "masks": not local},
            method={"sums": sums} | ({"covariance": "robust"} if robust else {}),
            seed=seed,
            reading=Reading(separator, encoding, decimal, sheet),
            output=output,
            study=study,
            force=force,
            public=public,
            useful=fail_if_useless,
            json=json,
        )
    )


@app.command()
def table1(
    ctx: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE", help="CSV, Excel or Parquet file, or a study file (TOML) of a table 1."
        ),
    ],
    columns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COLUMN",
            show_default=False,
            help="Columns to describe.  [default: all but identifiers, dates and long texts]",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", show_default=False, help="Column by whose levels records are grouped."
        ),
    ] = None,
    site: SiteColumn = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = DELTA,
    bounds: Bounds = None,
    levels: Levels = None,
    median: Annotated[
        list[str] | None,
        typer.Option(
            "--median",
            "-m",
            metavar="COLUMN",
            show_default=False,
            help="Number of which median and quartiles are shown, at the cost of a further column; "
            "repeatable.",
        ),
    ] = None,
    bins: Annotated[
        int, typer.Option(min=2, help="Number of intervals that quantiles are read off.")
    ] = 20,
    share: Annotated[
        list[str] | None,
        typer.Option(
            "--share",
            metavar="COLUMN=NUMBER",
            show_default=False,
            help="Relative share of the budget, e.g. age=2; repeatable.  [default: 1 each]",
        ),
    ] = None,
    suppress_below: Annotated[
        int,
        typer.Option(min=0, help="Print '<N' for smaller counts: a rule for readers, no privacy."),
    ] = 0,
    size: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default=False,
            help="Make the number of records private and release it (add/remove adjacency): a "
            "public number near that of a site.",
        ),
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    local: Local = False,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        to_folder("Directory for the results.", "table1, or table1-2, ...; a study's own"),
    ] = None,
    study: StudyCopy = None,
    force: Force = False,
    public: Public = False,
    json: Json = False,
) -> None:
    """Make a table 1 of the sites' records, by group.

    Counts, percentages, means, medians and tests from one private sum. The noise is simulated, to
    see what the sites would get. --study writes what they agree on.
    """
    from tacit.cli.describing import describe_by_study, describe_table
    from tacit.study import Reading

    if data.suffix == ".toml":
        kept = ("data", "output", "force", "public", "json")
        sources = {each: ctx.get_parameter_source(str(each.name)) for each in ctx.command.params}
        given = [
            each.opts[-1]
            for each, source in sources.items()
            if each.name not in kept and source is not None and source.name == "COMMANDLINE"
        ]
        code = describe_by_study(data, given, output, force=force, public=public, json=json)
        raise typer.Exit(code)
    relation = {} if size is None else {"relation": "add_remove"}
    method = {"medians": median} if median else {}
    method |= {} if bins == 20 else {"bins": bins}
    method |= {"suppress_below": suppress_below} if suppress_below else {}
    raise typer.Exit(
        describe_table(
            data,
            columns or [],
            by=by,
            site=site,
            bounds=bounds or [],
            levels=levels or [],
            shares=share or [],
            privacy={"epsilon": epsilon, "delta": delta, "masks": not local, **relation},
            method=method,
            size=size,
            seed=seed,
            reading=Reading(separator, encoding, decimal, sheet),
            output=output,
            study=study,
            force=force,
            public=public,
            json=json,
        )
    )


@app.command()
def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="File regression.json or model.json of a run, or its directory."
        ),
    ],
    data: TableFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", show_default=False, help="CSV file to write.  [default: print it]"
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Nominal coverage of the intervals.")] = 0.95,
    force: Force = False,
    json: Json = False,
) -> None:
    """Predict new records by a fitted regression or model."""
    from tacit.cli.predicting import predict_table

    raise typer.Exit(predict_table(model, data, output, level=level, force=force, json=json))


@app.command()
def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Results of `tacit run`, or the --state directory of a member."
        ),
    ],
    public: Annotated[
        bool,
        typer.Option("--public", help="Write report_public.html, from releases only, instead."),
    ] = False,
    json: Json = False,
) -> None:
    """Write the report of a finished run again."""
    from tacit.cli.reporting import write_again

    raise typer.Exit(write_again(folder, public=public, json=json))


@app.command()
def methods(json: Json = False) -> None:
    """List all methods and when to choose each."""
    from tacit.cli.showing import show_methods

    raise typer.Exit(show_methods(json=json))


@app.command()
def describe(
    method: Annotated[
        str, typer.Argument(metavar="METHOD", help="Name of a method from `tacit methods`.")
    ],
    json: Json = False,
) -> None:
    """Describe a method: what it releases, how, and at which cost."""
    from tacit.cli.showing import show_method

    raise typer.Exit(show_method(method, json=json))


@app.command()
def init(
    data: TableFile,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            show_default=False,
            help="Column to predict.  [default: the last column]",
        ),
    ] = None,
    site: SiteColumn = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Study file to write.")] = Path(
        "study.toml"
    ),
    bounds_from_data: Annotated[
        bool,
        typer.Option(
            "--bounds-from-data",
            help="Derive bounds and levels from the data and treat them as public. This leaks "
            "information.",
        ),
    ] = False,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a commented study file for a table of yours."""
    from tacit.cli.starting import write_study
    from tacit.study import Reading

    raise typer.Exit(
        write_study(
            data,
            output,
            target=target,
            site=site,
            bounds_from_data=bounds_from_data,
            reading=Reading(separator, encoding, decimal, sheet),
            force=force,
            json=json,
        )
    )


app.command()(before.advise)
app.command(epilog=experiments.SWEEP_EPILOG, cls=Discreet)(experiments.sweep)
app.command(epilog=before.ACCOUNT_EPILOG, cls=OfAStudy)(before.account)
app.add_typer(planning.app)
app.command()(experiments.audit)
app.add_typer(ledgers.app)
app.command()(sites.rehearse)
app.add_typer(keys.app)
app.command()(before.check)
app.add_typer(manifests.app)
app.add_typer(parts.app)
app.add_typer(creating.app)
app.command()(sites.agent)
app.command()(sites.coordinator)
app.command()(sites.status)
app.command()(sites.doctor)
app.command(epilog=bundling.BUNDLE_EPILOG)(bundling.bundle)
app.command(epilog=bundling.VERIFY_EPILOG)(bundling.verify)
app.command()(experiments.reproduce)


def main() -> None:
    """Entry point of the command `tacit`."""
    # a name with characters that the terminal lacks, as on Windows, must not stop a command
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
