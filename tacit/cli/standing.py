"""`tacit site`: a standing agent for a site, and the runs that its owner approves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import OWN_TABLE, Json
from tacit.privacy.caution import DELTA
from tacit.privacy.digits import short

_EPILOG = """\b
Once, at every site; send the file that `join` writes to whoever proposes the first study, and tell
the fingerprint that it prints over another channel, such as the telephone:
  tacit site join --name north --data visits.csv --records 400 --epsilon 4
  tacit site serve

\b
A study, at one site; the others' files are needed for new members only:
  tacit site propose study.toml --member south.member.toml --fingerprint south="ABCD EFGH ..."

\b
At every other site; a run's file is needed for the first study only, later ones arrive by
themselves:
  tacit site list
  tacit site approve run.toml

\b
Nothing runs that you have not approved. Report and signed bundle of a run are in its folder,
site/runs/ID.
"""

app = typer.Typer(
    name="site",
    help="Keep an agent running at your site, and approve runs.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

SiteFolder = Annotated[
    Path,
    typer.Option("--site", metavar="DIR", envvar="TACIT_SITE", help="Directory of the site."),
]
Run = Annotated[str, typer.Argument(metavar="RUN", help="Run id, or its beginning.")]
Dataset = Annotated[
    str | None,
    typer.Option(
        show_default=False, help="Dataset that the run is about.  [default: the only one]"
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Approve without asking.")]
Delta = Annotated[
    float,
    typer.Option(
        show_default=False, help=f"Delta at which epsilon is counted.  [default: {short(DELTA)}]"
    ),
]
HERE = Path("site")


@app.command()
def join(
    name: Annotated[str, typer.Option(help="Name of the site, as others know it.")],
    address: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT", help="Address to listen on; leave out to connect out only."
        ),
    ] = "",
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help=f"{OWN_TABLE} Leave out for a coordinator.",
        ),
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(min=1, show_default=False, help="Number of records to declare to the others."),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Study to count the records for, instead of --records.",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="Budget of the dataset: what everything ever released about it may cost.",
        ),
    ] = None,
    delta: Delta = DELTA,
    dataset: Annotated[str, typer.Option(help="Name of the dataset.")] = "records",
    site: SiteFolder = HERE,
    json: Json = False,
) -> None:
    """Create a site: keys, a ledger, a file to send.

    Private keys are made here and never leave the directory.
    """
    from tacit.cli import standing_joining

    raise typer.Exit(
        standing_joining.join(
            site, name, address, data, dataset, records, study, epsilon, delta, json=json
        )
    )


@app.command()
def serve(
    site: SiteFolder = HERE,
    page: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            show_default=False,
            help="Port of the status page on this machine.  [default: any free one]",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log more.")] = False,
    json_logs: Annotated[
        bool, typer.Option("--json-logs", help="Log one JSON object per line.")
    ] = False,
) -> None:
    """Run the agent: meet the others, and take part in approved runs.

    Safe to stop or crash at any time: rerun the same command, and it resumes its runs.
    """
    from tacit.cli.standing_agent import serve as run

    raise typer.Exit(run(site, page, verbose=verbose, json_logs=json_logs))


@app.command()
def propose(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file (TOML).")],
    member: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", show_default=False, help="File of a new member; repeatable."),
    ] = None,
    fingerprint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=CODE",
            show_default=False,
            help="Fingerprint of a new member as its owner told you; repeatable.  [default: asked "
            "for]",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", show_default=False, help="Member that takes no part; repeatable."
        ),
    ] = None,
    records: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBER",
            show_default=False,
            help="Number of records of a member, if it has changed; repeatable.",
        ),
    ] = None,
    dataset: Dataset = None,
    patience: Annotated[
        float, typer.Option(help="Seconds to wait for a peer that does not answer.")
    ] = 600.0,
    silent: Annotated[
        str,
        typer.Option(help="When a peer times out: stop, or skip it where the method allows that."),
    ] = "stop",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Also write the signed manifest there, to send to new members.",
        ),
    ] = None,
    yes: Yes = False,
    site: SiteFolder = HERE,
) -> None:
    """Propose a study to all members, and approve it for your site."""
    from tacit.cli import standing_approving

    raise typer.Exit(
        standing_approving.propose(
            site,
            study,
            member or [],
            fingerprint or [],
            without or [],
            records or [],
            dataset,
            patience,
            silent,
            output,
            yes=yes,
        )
    )


@app.command("list")
def show(site: SiteFolder = HERE, json: Json = False) -> None:
    """List runs: who has signed them, what they cost, and where they are."""
    from tacit.cli import standing_listing

    raise typer.Exit(standing_listing.show(site, json=json))


@app.command()
def approve(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Run id, its beginning, or a manifest file.")
    ],
    dataset: Dataset = None,
    code: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="Code of the members as you heard it on a call with all of them; needed when "
            "members are new.  [default: asked for]",
        ),
    ] = None,
    yes: Yes = False,
    site: SiteFolder = HERE,
) -> None:
    """Show what a run guarantees and costs, and approve it."""
    from tacit.cli import standing_approving

    raise typer.Exit(standing_approving.approve(site, run, dataset, code, yes=yes))


@app.command()
def refuse(run: Run, site: SiteFolder = HERE) -> None:
    """Refuse a run, or withdraw from one; the others are told.

    What has been released remains spent.
    """
    from tacit.cli import standing_approving

    raise typer.Exit(standing_approving.refuse(site, run))


@app.command()
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the member.")],
    site: SiteFolder = HERE,
) -> None:
    """Stop trusting a member that has left.

    The agent no longer talks to it, and no new run with it begins.
    """
    from tacit.cli import standing_joining

    raise typer.Exit(standing_joining.remove(site, name))


@app.command()
def budget(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="Name of the dataset.")],
    epsilon: Annotated[
        float, typer.Option(help="Total budget for everything ever released about the dataset.")
    ],
    delta: Delta = DELTA,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Records, for a new dataset."),
    ] = None,
    site: SiteFolder = HERE,
) -> None:
    """Set the budget of a dataset, or add a dataset."""
    from tacit.cli import standing_joining

    raise typer.Exit(standing_joining.budget(site, dataset, epsilon, delta, data))


@app.command()
def stop(site: SiteFolder = HERE) -> None:
    """Stop the agent after the turn that it is in.

    `tacit site serve` resumes its runs.
    """
    from tacit.cli.standing_agent import stop as end

    raise typer.Exit(end(site))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def upgrade(
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="Command that installs it, after --."),
    ],
    site: SiteFolder = HERE,
) -> None:
    """Upgrade between two runs: wait, install, and start the agent again.

    A run ends with the version that it began with, so the agent finishes what has begun first, and
    tells the other sites, which begin nothing with it meanwhile. If the command fails, or what it
    installed does not start, the agent goes on as it was. pip is that of this tacit's environment.

    For example: tacit site upgrade -- pip install -U '.[deploy]'
    """
    from tacit.cli.standing_upgrading import upgrade as renew

    raise typer.Exit(renew(site, command))
