"""Commands about studies, methods and results: demo, init, run, report, predict, ..."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import (
    Decimal,
    Encoding,
    Force,
    Json,
    Maps,
    MissingValues,
    Output,
    Public,
    Separator,
    Sheet,
    SiteColumn,
    TableFile,
    Useful,
    to_folder,
)


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


def methods(json: Json = False) -> None:
    """List all methods and when to choose each."""
    from tacit.cli.showing import show_methods

    raise typer.Exit(show_methods(json=json))


def describe(
    method: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of a method, graph, loss or other part.")
    ],
    json: Json = False,
) -> None:
    """Describe a method and what it costs, or another part."""
    from tacit.cli.showing import show_method

    raise typer.Exit(show_method(method, json=json))


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
    formula: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="Model of a regression with intervals, such as 'visits ~ age + C(sex)', in place "
            "of --target.",
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="Distribution of its target.  [default: gaussian for a number, binomial for 0 and "
            "1 or other levels]",
        ),
    ] = None,
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
    maps: Maps = None,
    missing_values: MissingValues = None,
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
            formula=formula,
            family=family,
            bounds_from_data=bounds_from_data,
            reading=Reading(separator, encoding, decimal, sheet),
            missing_values=[] if missing_values is None else missing_values.split(","),
            maps=maps or [],
            force=force,
            json=json,
        )
    )


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
    at: Annotated[
        str | None,
        typer.Option(
            metavar="T,T,...",
            show_default=False,
            help="Times at which a Cox regression predicts survival, too.",
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            show_default=False,
            help="Value of the record whose hazard is 1 in a Cox regression; repeatable.  "
            "[default: 0, or the first level]",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            help="Column of the table to write before the predictions, such as an identifier; "
            "repeatable.",
        ),
    ] = None,
    maps: Maps = None,
    missing_values: MissingValues = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="Decimal mark of numbers stored as text: . or ,  [default: that of the fit]",
        ),
    ] = None,
    sheet: Sheet = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Predict new records by a fitted regression or model.

    Each row of the output is the record in the same place of the table; --keep names columns that
    say which one it is.
    """
    from tacit.cli.predicting import NewTable, predict_table
    from tacit.study.reading import Reading

    table = NewTable(
        data,
        Reading(separator, encoding, decimal, sheet),
        [] if missing_values is None else missing_values.split(","),
        maps or [],
        keep or [],
    )

    raise typer.Exit(
        predict_table(
            model,
            table,
            output,
            level=level,
            force=force,
            json=json,
            at=at,
            reference=reference or [],
        )
    )
