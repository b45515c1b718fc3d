"""The command `tacit`.

Exit codes: 0 success; 1 the run itself failed (a black box, a disk, a checkpoint); 2 the study, its
data or an option is wrong; 3 the iterates diverged, results are written; 4 an audit refuted the
claim; 5 with --fail-if-useless, the model is not worth having; 130 interrupted.

Only what `tacit --help` needs is imported here: everything else waits until a command runs.
"""

from __future__ import annotations

import contextlib
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
    standing,
    studies,
    tables,
)
from tacit.cli.console import INTERRUPTED, guarded
from tacit.cli.helping import Discreet, OfAFile, OfAStudy, OfATable, Sections
from tacit.cli.programs import keep_programs

_EPILOG = """\b
Examples:
  tacit demo                            fit a table and a model across eight sites
  tacit fit visits.csv "ill ~ age + C(sex)" --family binomial --site clinic --epsilon 1
  tacit table1 visits.csv --by arm --site clinic --epsilon 1
  tacit survival patients.csv years died --by arm --site hospital --epsilon 1
  tacit cox patients.csv years died age arm --site hospital --epsilon 1
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
  5    --fail-if-useless: no answer, no intervals, or no better than the base rate
  6    tacit verify: signatures hold, and the guarantee could not be computed again
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


app.command()(studies.demo)
app.command(cls=OfAFile)(studies.run)
app.command(epilog=tables.FIT_EPILOG, cls=OfATable)(tables.fit)
app.command(epilog=tables.TABLE1_EPILOG, cls=OfATable)(tables.table1)
app.command(epilog=tables.SURVIVAL_EPILOG, cls=OfATable)(tables.survival)
app.command(epilog=tables.COX_EPILOG, cls=OfATable)(tables.cox)
app.command()(studies.predict)
app.command()(studies.report)
app.command()(studies.methods)
app.command()(studies.describe)
app.command()(studies.init)
app.command()(before.advise)
app.command(epilog=experiments.SWEEP_EPILOG, cls=Discreet)(experiments.sweep)
app.command(epilog=before.ACCOUNT_EPILOG, cls=OfAStudy)(before.account)
app.add_typer(planning.app)
app.command(cls=OfAFile)(experiments.audit)
app.add_typer(ledgers.app)
app.command(cls=OfAFile)(sites.rehearse)
app.add_typer(keys.app)
app.command()(before.check)
app.add_typer(manifests.app)
app.add_typer(parts.app)
app.add_typer(creating.app)
app.add_typer(standing.app)
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
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this: no file may take its place
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - until the end
    sys.exit(guarded(_ended, as_json=False))


def _ended() -> int:
    """The exit code of the command."""
    try:
        app()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            # a compiled loop may still be running, and taking Python down under it crashes
            with contextlib.suppress(OSError):
                sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
