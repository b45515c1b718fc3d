"""`tacit ledger`: privacy budgets and spending per owner, and their verification."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tacit.cli.options import Json
from tacit.privacy.caution import DELTA
from tacit.privacy.digits import short

_EPILOG = """\b
Examples:
  tacit ledger new clinic.ledger
  tacit ledger budget clinic.ledger --owner clinic --dataset visits --epsilon 1 --delta 1e-6
  tacit ledger show clinic.ledger
  tacit ledger verify clinic.ledger --at-least 57
  tacit ledger export clinic.ledger --format csv --output clinic.csv

\b
Exit codes:
  0    success; `verify` found no problem
  1    the ledger is damaged, older than a peer knows, locked or not writable
  2    an option is wrong
"""

_HEADINGS = (
    "Owner",
    "Dataset",
    "Budget",
    "Spent",
    "Left",
    "Delta",
    "Runs",
    "Releases",
    "Last charged",
)

app = typer.Typer(
    name="ledger",
    help="Set budgets, and inspect privacy spending per owner.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="Ledger file.")]


@app.command()
def new(file: File, json: Json = False) -> None:
    """Create a ledger without budgets."""
    from tacit.cli.console import emit, guarded, say
    from tacit.privacy.ledger import Ledger, read

    def command() -> int:
        Ledger.create(file).close()
        if json:
            emit({"format": "tacit-ledger-new-1", "file": str(file), "ledger": read(file).ledger})
        else:
            say(f"Created {file}. Set a budget before anything is released:")
            say(f"tacit ledger budget {file} --owner NAME --dataset NAME --epsilon 1", "  ")
        return 0

    raise typer.Exit(guarded(command, as_json=json))


@app.command()
def budget(
    file: File,
    owner: Annotated[str, typer.Option(help="Owner of the records.")],
    dataset: Annotated[str, typer.Option(help="Name of the dataset.")],
    epsilon: Annotated[
        float, typer.Option(help="Total budget for everything ever released about the dataset.")
    ],
    delta: Annotated[
        float,
        typer.Option(
            show_default=False, help=f"Delta at which epsilon is stated.  [default: {short(DELTA)}]"
        ),
    ] = DELTA,
    json: Json = False,
) -> None:
    """Set the total budget of a dataset over all studies.

    Earlier budgets stay on record.
    """
    from tacit.cli.console import emit, guarded, say
    from tacit.errors import ConfigError
    from tacit.privacy.ledger import Ledger

    def command() -> int:
        from tacit.cli.budgeting import hint_of, warn_of

        for option, name in (("--owner", owner), ("--dataset", dataset)):
            if not name:
                raise ConfigError(f"{option} is empty; give a name")
        with Ledger.open(file) as ledger:
            known = [(each.owner, each.dataset) for each in ledger.balances()]
            ledger.set_budget(owner, dataset, epsilon=epsilon, delta=delta)
            warn_of(epsilon, delta)
            others = [each for who, each in known if who == owner]
            for what, name, all_ in (
                ("owner", owner, [who for who, _ in known]),
                ("dataset", dataset, others),
            ):
                if hint := hint_of(name, all_):
                    print(
                        f"NOTE: {name!r} is a new {what}, with a budget of its own{hint} The same "
                        "records must not go by two names.",
                        file=sys.stderr,
                    )
            found = ledger.balance(owner, dataset)
        if json:
            emit({"format": "tacit-ledger-budget-1", **_document(found)})
        else:
            say(
                f"{owner} may spend epsilon {_down(found.epsilon)} at delta {short(found.delta)} "
                f"on {dataset} over all studies; {_up(found.spent)} of it is spent."
            )
        return 0

    raise typer.Exit(guarded(command, as_json=json))


@app.command()
def show(file: File, json: Json = False) -> None:
    """Show budget, spending and remainder per owner."""
    from tacit.cli.console import emit, guarded, say, table
    from tacit.privacy.digits import rounded_down
    from tacit.privacy.ledger import read
    from tacit.privacy.wording import claim

    def command() -> int:
        found = read(file)
        if json:
            emit(
                {
                    "format": "tacit-ledger-show-1",
                    "file": str(file),
                    "ledger": found.ledger,
                    "created": found.created,
                    "last_entry": {**asdict(found.mark), "time": found.time},
                    "releases_waiting": found.waiting,
                    "balances": [_document(one) for one in found.balances],
                }
            )
            return 0
        say(f"Ledger {file}, created {_when(found.created)}")
        if found.balances:
            table(
                _HEADINGS,
                [
                    [
                        one.owner,
                        one.dataset,
                        _down(one.epsilon),
                        _up(one.spent),
                        rounded_down(one.left),
                        short(one.delta),
                        f"{one.runs:,}",
                        f"{one.releases:,}",
                        f"{_when(one.time)}, entry {one.entry}" if one.time else "never",
                    ]
                    for one in found.balances
                ],
            )
            say(
                "Budget, Spent and Left are epsilons for everything ever released about the "
                "dataset. Spent is rounded up and Left rounded down; nothing is ever refunded."
            )
            for one in found.balances:
                if told := claim(one.about):
                    say(f"Spent of {one.owner}, {one.dataset}: a {told} ({one.about}).")
        else:
            say("No budget is set, so nothing may be released: set one with `tacit ledger budget`.")
        if found.waiting:
            count = found.waiting
            are = "1 release is" if count == 1 else f"{count:,} releases are"
            say(f"{are} kept for recipients that may ask again; sites delete 64 at a time.")
        say(
            f"Last entry: {found.mark.sequence}, {_when(found.time)}, hash {found.mark.hash}. "
            "Keep both elsewhere: with them `verify` detects an older copy."
        )
        return 0

    raise typer.Exit(guarded(command, as_json=json))


@app.command()
def verify(
    file: File,
    at_least: Annotated[
        int | None, typer.Option(min=1, help="Number of the last entry known to a peer.")
    ] = None,
    hash: Annotated[
        str | None, typer.Option(help="Hash of that entry (detects rewritten history).")
    ] = None,
    json: Json = False,
) -> None:
    """Verify the file, all entries, budgets and stored bytes."""
    from tacit.cli.console import FAILED, emit, guarded, say
    from tacit.errors import ConfigError
    from tacit.privacy.ledger import Mark
    from tacit.privacy.ledger import verify as check

    def command() -> int:
        if hash is not None and at_least is None:
            raise ConfigError("--hash needs --at-least, the number of that entry")
        known = Mark(at_least, hash) if at_least is not None and hash is not None else at_least
        found = check(file, at_least=known)
        if json:
            emit(
                {
                    "format": "tacit-ledger-verify-1",
                    "file": str(file),
                    "sound": found.sound,
                    "problem": found.problem,
                    "entry": found.entry,
                    "checked": list(found.checked),
                    "last_entry": asdict(found.mark),
                    "balances": [_document(one) for one in found.balances],
                }
            )
        else:
            say(f"{file}: {'sound' if found.sound else 'NOT SOUND'}")
            for line in found.checked:
                say(f"ok      {line}", "  ")
            if not found.sound:
                say(f"broken  {found.problem}", "  ")
            elif known is None:
                say(
                    "The file itself cannot show whether it is the newest copy: give --at-least "
                    "(and --hash) of the last entry known to a peer or to an earlier "
                    "`tacit ledger show`."
                )
        return 0 if found.sound else FAILED

    raise typer.Exit(guarded(command, as_json=json))


@app.command()
def export(
    file: File,
    format: Annotated[
        Literal["json", "csv"],
        typer.Option(help="Output format: json is verifiable, csv is for spreadsheets."),
    ] = "json",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", show_default=False, help="Output file.  [default: print]"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing output file.")
    ] = False,
) -> None:
    """Export all entries for an auditor, without released bytes."""
    from tacit.cli.console import guarded, say
    from tacit.cli.writing import check_free, write_text
    from tacit.privacy.ledger import export_csv, export_json

    def command() -> int:
        text = export_json(file) if format == "json" else export_csv(file)
        if output is None:
            typer.echo(text, nl=False)
            return 0
        check_free("output", output, force=force, read={"the ledger": file})
        write_text("output", output, text)
        say(f"Wrote {output}.")
        return 0

    raise typer.Exit(guarded(command, as_json=False))


def _document(balance: Any) -> dict[str, Any]:
    # JSON has no infinity
    spent = balance.spent if math.isfinite(balance.spent) else "inf"
    return {**asdict(balance), "spent": spent, "left": balance.left}


def _up(epsilon: float) -> str:
    from tacit.privacy.digits import rounded_up

    return rounded_up(epsilon)


def _down(budget: float) -> str:
    from tacit.privacy.digits import rounded_down

    return rounded_down(budget, 6)


def _when(time: str) -> str:
    """`2026-03-01T12:00:00+00:00` for a person."""
    return time[:16].replace("T", " ") + " UTC"
