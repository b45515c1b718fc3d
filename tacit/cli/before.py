"""Commands before anything runs: advise, check, account."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import OWN_TABLE, Json, StudyFile, at_least_one, positive, share, small
from tacit.privacy.caution import DELTA
from tacit.privacy.digits import short

ACCOUNT_EPILOG = """\b
Examples:
  tacit account study.toml                guarantee, noise and cost of a study
  tacit account study.toml --rounds 600   the same with another number of rounds

\b
`tacit plan` answers from plain numbers: the noise for a budget, how many rounds a budget allows.
"""


def advise(
    study: Annotated[
        Path | None,
        typer.Argument(metavar="STUDY", help="Study file (TOML), unless options describe one."),
    ] = None,
    records: Annotated[
        str | None,
        typer.Option(help="Number of records per site, one for all or one each: 120,40,300."),
    ] = None,
    parameters: Annotated[
        int | None, typer.Option(callback=at_least_one, help="Number of parameters.")
    ] = None,
    agents: Annotated[int | None, typer.Option(help="Number of sites.")] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Privacy budget of the whole run; several for intervals, such as 0.5,1,2."
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            callback=small,
            show_default=False,
            help=f"Delta for the whole run.  [default: the study's, else {short(DELTA)}]",
        ),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="Network: ring, complete, path, star, tree or coordinator.  [default: ring]",
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            show_default=False, help="Loss of one record, e.g. logistic.  [default: squared]"
        ),
    ] = None,
    classes: Annotated[int | None, typer.Option(help="Number of classes, for softmax.")] = None,
    row_norm: Annotated[
        float | None,
        typer.Option(callback=positive, help="Largest l2 norm of a record's features."),
    ] = None,
    prevalence: Annotated[
        float | None,
        typer.Option(
            "--prevalence",
            "--events",
            callback=share,
            show_default=False,
            help="Share of yes among the answers, or of records whose event is seen.  "
            "[default: 0.3 is assumed]",
        ),
    ] = None,
    gain: Annotated[
        float | None,
        typer.Option(
            callback=share,
            show_default=False,
            help="Share of the base rate's loss that a fit without privacy removes (R² for "
            "squared loss).  [default: 0.2 is assumed]",
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="Forecast the intervals of a regression instead: binomial or gaussian.",
        ),
    ] = None,
    spread: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBER",
            show_default=False,
            help="For intervals of a regression or Cox regression: a public guess of a number's "
            "standard deviation, or of the share of the second of two levels. Repeatable: "
            "--spread age=12.",
        ),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="Oracle: gradient, or value for a black box that returns the loss only.  "
            "[default: gradient]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Estimate whether a study can succeed, and suggest settings.

    Methods are simulated on made-up records of the same shape; none of your records are read. For a
    regression, a table 1, survival and a Cox regression the width of intervals is computed, for
    whole costs the noise in the answer.
    """
    from tacit.cli.advising import show_advice
    from tacit.cli.dimensions import Options

    options = Options(
        records=records,
        parameters=parameters,
        agents=agents,
        epsilon=epsilon,
        delta=delta,
        graph=graph,
        loss=loss,
        classes=classes,
        row_norm=row_norm,
        oracle=oracle,
        prevalence=prevalence,
        gain=gain,
        family=family,
        spread=spread or None,
    )
    raise typer.Exit(show_advice(study, options, json=json))


def check(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file, or manifest.")],
    data: Annotated[Path, typer.Option(metavar="FILE", help=OWN_TABLE)],
    json: Json = False,
) -> None:
    """Count your records, and show what to declare in a manifest.

    The output is not differentially private: it is for the owner of the records only. Exit code
    2 if a record does not fit the study.
    """
    from tacit.cli.checking import check as look

    raise typer.Exit(look(study, data, json=json))


def account(
    study: StudyFile,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            "-r",
            min=1,
            show_default=False,
            help="Number of rounds.  [default: the study's own]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compute the guarantee of a study without running it."""
    from tacit.cli.accounting import account as answer

    raise typer.Exit(answer(study, rounds, json=json))
