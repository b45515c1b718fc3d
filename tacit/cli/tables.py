"""Commands on a table of records: fit, table1, survival, cox."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.of_a_table import Given, of_a_table
from tacit.cli.options import Edges, Size, TableFile

FIT_EPILOG = """\b
Example:
  tacit fit visits.csv "ill ~ age + C(sex)" --family binomial --site clinic \\
      --bounds age=18:90 --levels sex=f,m --levels ill=false,true --study fit.toml
"""

TABLE1_EPILOG = """\b
Example:
  tacit table1 visits.csv age sex --by arm --site clinic --bounds age=18:90 \\
      --levels sex=f,m --levels arm=drug,placebo --study table1.toml
"""

SURVIVAL_EPILOG = """\b
Example: years until a death, up to 10, by arm
  tacit survival patients.csv years died --by arm --site hospital \\
      --bounds years=0:10 --levels arm=placebo,drug --study survival.toml
"""

COX_EPILOG = """\b
Example: how the hazard of a death depends on age and arm
  tacit cox patients.csv years died age arm --site hospital --bounds years=0:10 \\
      --bounds age=20:80 --levels arm=placebo,drug --study cox.toml
"""

_By = Annotated[
    str | None,
    typer.Option("--by", show_default=False, help="Column by whose levels records are grouped."),
]
_Time = Annotated[
    str,
    typer.Argument(
        metavar="TIME",
        help="Column of the time until the event or the censoring; follow-up ends at its upper "
        "bound.",
    ),
]
_Event = Annotated[
    str,
    typer.Argument(
        metavar="EVENT",
        help="Column of two levels, the second of which is the event: true, or 1.",
    ),
]


@of_a_table
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
    robust: Annotated[
        bool, typer.Option("--robust", help="Robust (sandwich) standard errors.")
    ] = False,
    sums: Annotated[int, typer.Option("--sums", min=3, max=4, help="Number of sums.")] = 4,
    *,
    given: Given,
) -> int:
    """Fit a regression over the sites of a table, with intervals.

    The noise is simulated, to see what the sites would get. --study writes what they agree on.
    """
    from tacit.cli.fitting import fit_table

    method = {"sums": sums} | ({"covariance": "robust"} if robust else {})
    return fit_table(
        data,
        formula,
        given,
        family=family,
        weights=weights,
        method=method,
    )


@of_a_table
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
    by: _By = None,
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
        int, typer.Option(min=2, max=1000, help="Number of intervals that quantiles are read off.")
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
    size: Size = None,
    *,
    given: Given,
) -> int:
    """Make a table 1 of the sites' records, by group.

    Counts, percentages, means, medians and tests from one private sum. The noise is simulated, to
    see what the sites would get. --study writes what they agree on.
    """
    from tacit.cli.describing import describe_by_study, describe_table

    if data.suffix == ".toml":
        kept = ("data", "output", "force", "public", "json")
        sources = {each: ctx.get_parameter_source(str(each.name)) for each in ctx.command.params}
        typed = [
            each.opts[-1]
            for each, source in sources.items()
            if each.name not in kept and source is not None and source.name == "COMMANDLINE"
        ]
        return describe_by_study(data, typed, given)
    return describe_table(
        data,
        columns or [],
        given,
        by=by,
        median=median or [],
        bins=None if bins == 20 else bins,
        shares=share or [],
        suppress_below=suppress_below,
        size=size,
    )


@of_a_table
def survival(
    data: TableFile,
    time: _Time,
    event: _Event,
    by: _By = None,
    edges: Edges = None,
    intervals: Annotated[
        int | None,
        typer.Option(
            min=1, show_default=False, help="Number of intervals of equal length.  [default: 40]"
        ),
    ] = None,
    until: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="Time up to which means are restricted, an end of an interval.  [default: the "
            "last that all curves reach]",
        ),
    ] = None,
    size: Size = None,
    *,
    given: Given,
) -> int:
    """Estimate survival curves of the sites' records, by group.

    Kaplan-Meier curves, medians, restricted means and the log-rank test from one private sum. The
    noise is simulated, to see what the sites would get. --study writes what they agree on.
    """
    from tacit.cli.describing import survival_table

    return survival_table(
        data,
        time,
        event,
        given,
        by=by,
        edges=edges,
        intervals=intervals,
        until=until,
        size=size,
    )


@of_a_table
def cox(
    data: TableFile,
    time: _Time,
    event: _Event,
    columns: Annotated[
        list[str],
        typer.Argument(
            metavar="COLUMN",
            help="Columns that the hazard depends on: numbers, or levels against the first.",
        ),
    ],
    edges: Edges = None,
    pieces: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default=False,
            help="Number of pieces of time of equal length, in each of which the baseline hazard "
            "is constant.  [default: 6]",
        ),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="Cumulative hazard up to which a record is followed.  [default: 1]",
        ),
    ] = None,
    strata: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            help="Column whose levels have baseline hazards of their own, such as that of the "
            "sites.",
        ),
    ] = None,
    periods: Annotated[
        str | None,
        typer.Option(
            metavar="T,T,...",
            show_default=False,
            help="Inner ends of periods of time with effects of their own, each the end of a "
            "piece; a test of proportional hazards compares them.",
        ),
    ] = None,
    size: Size = None,
    *,
    given: Given,
) -> int:
    """Fit a Cox regression over the sites, with intervals.

    Hazard ratios from four private sums. The noise is simulated, to see what the sites would get.
    --study writes what they agree on.
    """
    from tacit.cli.describing import cox_table

    return cox_table(
        data,
        time,
        event,
        columns,
        given,
        edges=edges,
        pieces=pieces,
        limit=limit,
        strata=strata,
        periods=periods,
        size=size,
    )
