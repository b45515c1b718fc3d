"""The command `tacit`.

Exit codes: 0 all went well; 1 the run itself failed (a black box, a disk, a checkpoint); 2 the
study, its data or an option is wrong; 3 the iterates diverged, results are written; 4 an audit
refuted the claim; 130 interrupted.

Only what `tacit --help` needs is imported here: everything else waits until a command runs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit import __version__
from tacit.cli import keys, ledgers, manifests
from tacit.cli.console import INTERRUPTED

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

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what stands there already.")]
Public = Annotated[
    bool, typer.Option("--public", help="Also write report_public.html, from releases only.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Directory for the results.")]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Agree without telling: sites fit one model and keep their records."""
    if version:
        typer.echo(f"tacit {__version__}")
        raise typer.Exit


@app.command()
def demo(
    output: Output = None,
    force: Force = False,
    public: Public = False,
    json: Json = False,
) -> None:
    """Fit a private model of 20,190 real medical records at eight simulated sites."""
    from tacit.cli.running import run_demo

    raise typer.Exit(run_demo(output, force=force, public=public, json=json))


@app.command()
def run(
    study: Annotated[Path, typer.Argument(help="Study file, TOML. `tacit init` writes one.")],
    output: Output = None,
    force: Force = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from where an interrupted run stopped.")
    ] = False,
    public: Public = False,
    json: Json = False,
) -> None:
    """Run a study and write results, guarantee and report to a directory."""
    from tacit.cli.running import run_study

    raise typer.Exit(run_study(study, output, force=force, resume=resume, public=public, json=json))


ManifestFile = Annotated[
    Path, typer.Option("--manifest", metavar="FILE", help="What all owners have agreed to.")
]
KeysFolder = Annotated[
    Path, typer.Option("--keys", metavar="DIR", help="Keys of this member: `tacit keys new`.")
]
StateFolder = Annotated[
    Path,
    typer.Option(
        "--state", metavar="DIR", help="What must not be forgotten; the same at every start."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check everything, release nothing, and end.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log more.")]
TestSeed = Annotated[int | None, typer.Option("--test-seed", hidden=True)]


@app.command()
def agent(
    manifest: ManifestFile,
    keys: KeysFolder,
    state: StateFolder,
    data: Annotated[Path, typer.Option(metavar="FILE", help="Records of this site.")],
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="That pays for it; one for this run if left out."),
    ] = None,
    dataset: Annotated[
        str, typer.Option(help="Name of the records in the ledger, always the same.")
    ] = "records",
    dry_run: DryRun = False,
    verbose: Verbose = False,
    json: Json = False,
    test_seed: TestSeed = None,
) -> None:
    """Take part in a run between sites, beside the records of this one.

    Stop it at any time, or let it crash: the same command goes on where it was, and nothing is
    released twice.
    """
    from tacit.cli.deploying import take_part
    from tacit.deploy.agent import Options

    options = Options(manifest, keys, state, data, ledger, dataset, test_seed)
    raise typer.Exit(take_part(options, dry_run=dry_run, json=json, verbose=verbose))


@app.command()
def coordinator(
    manifest: ManifestFile,
    keys: KeysFolder,
    state: StateFolder,
    dry_run: DryRun = False,
    verbose: Verbose = False,
    json: Json = False,
    test_seed: TestSeed = None,
) -> None:
    """Coordinate a run of a star: it listens, sites dial in, and it sees noised messages only."""
    from tacit.cli.deploying import take_part
    from tacit.deploy.agent import Options

    options = Options(manifest, keys, state, test_seed=test_seed)
    raise typer.Exit(take_part(options, dry_run=dry_run, json=json, verbose=verbose))


@app.command()
def methods(json: Json = False) -> None:
    """List the methods, one a row, with when to choose which."""
    from tacit.cli.showing import show_methods

    raise typer.Exit(show_methods(json=json))


@app.command()
def describe(
    method: Annotated[str, typer.Argument(help="Name of a method, as `tacit methods` lists it.")],
    json: Json = False,
) -> None:
    """Say of a method what is private, what leaves, how it is protected and what that costs."""
    from tacit.cli.showing import show_method

    raise typer.Exit(show_method(method, json=json))


@app.command()
def audit(
    study: Annotated[Path, typer.Argument(help="Study file, TOML.")],
    owner: Annotated[
        str | None, typer.Option("--owner", help="Whose data to attack; the first owner's.")
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", help="Runs on either of two neighbouring data sets.")
    ] = 20_000,
    rounds: Annotated[
        int | None, typer.Option("--rounds", "-r", help="Of every run; the study's own.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Instead of the study's own.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory for the files; audit.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Attack the guarantee of a study: run it on the worst neighbouring data, see what leaks.

    Writes audit.json and audit.html. Exit code 0: not refuted, which is no proof; 4: refuted.
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


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[TARGET]...", help="Such as huang2015/fig1.")
    ] = None,
    paper: Annotated[str | None, typer.Option("--paper", help="All targets of this paper.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All targets of all papers.")] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="Name the targets and their times.")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Fewer trials; says so on the page.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory of the pages; reproduction.")
    ] = None,
    cores: Annotated[int | None, typer.Option("--cores", help="Processes; all cores.")] = None,
    json: Json = False,
) -> None:
    """Draw the figures of the field's papers anew, each with a verdict.

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


@app.command(
    epilog="""\b
Examples:
  tacit sweep study.toml --seeds 100 --epsilon 0.5,1,2
  tacit sweep study.toml --seeds 100 --method dpsg,pdop,dgd --set method.step=0.1,0.3
  tacit sweep study.toml --seeds 1000 --cluster tls://head:8786 \\
      --tls-ca ca.pem --tls-cert me.pem --tls-key me.key
"""
)
def sweep(
    study: Annotated[Path, typer.Argument(help="Study file, TOML.")],
    extra: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", "-n", help="Runs of each cell; [run] trials.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="Methods, commas between; the study's own."),
    ] = None,
    epsilon: Annotated[
        list[str] | None,
        typer.Option("--epsilon", "-e", help="Budgets of one run, commas between."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-s", help="A key of the study and its values: method.step=0.1,0.2. Repeat it."
        ),
    ] = None,
    measure: Annotated[
        str | None, typer.Option("--measure", help="What the page draws, such as auc.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", help="Processes at most; all cores.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Dask scheduler instead: tls://host:port, or tcp://."),
    ] = None,
    tls_ca: Annotated[
        Path | None, typer.Option("--tls-ca", help="The cluster's authority, PEM.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="Your own, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Your own, PEM.")] = None,
    chunk: Annotated[
        int | None,
        typer.Option("--chunk", help="Runs stored at a time, about; some seconds' worth."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory of the sweep; sweep.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace another sweep's table and report.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a study in many settings, with many seeds: one table, one report.

    Every combination of methods, budgets and settings is a cell. What ends is stored in the output
    directory: the same command goes on where it was interrupted. A simulation: to choose a setting
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


@app.command()
def advise(
    study: Annotated[
        Path | None, typer.Argument(help="Study file; or give the dimensions as options.")
    ] = None,
    records: Annotated[int | None, typer.Option(help="Records of one site.")] = None,
    parameters: Annotated[int | None, typer.Option(help="Number of parameters.")] = None,
    agents: Annotated[int | None, typer.Option(help="Number of sites.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Budget of the whole run.")] = None,
    delta: Annotated[float | None, typer.Option(help="Of the whole run; 1e-6 if left out.")] = None,
    graph: Annotated[
        str | None, typer.Option(help="ring, complete, path, star, tree or coordinator.")
    ] = None,
    loss: Annotated[str | None, typer.Option(help="Of one record; squared if left out.")] = None,
    classes: Annotated[int | None, typer.Option(help="How many, with softmax.")] = None,
    row_norm: Annotated[
        float | None, typer.Option(help="Typical l2 norm of a record's features.")
    ] = None,
    signal: Annotated[
        float | None, typer.Option(help="Standard deviation of the true scores.")
    ] = None,
    oracle: Annotated[
        str | None, typer.Option(help="value: only values of the loss can be had.")
    ] = None,
    json: Json = False,
) -> None:
    """Say whether a study has any hope, and how to set it; reads no records."""
    from tacit.cli.advising import show_advice
    from tacit.cli.dimensions import Asked

    asked = Asked(
        records=records,
        parameters=parameters,
        agents=agents,
        epsilon=epsilon,
        delta=delta,
        graph=graph,
        loss=loss,
        classes=classes,
        row_norm=row_norm,
        signal=signal,
        oracle=oracle,
    )
    raise typer.Exit(show_advice(study, asked, json=json))


@app.command()
def init(
    data: Annotated[Path, typer.Argument(help="CSV (or .tsv) file with a header line.")],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Column to be predicted.")
    ] = None,
    site: Annotated[
        str | None, typer.Option("--site", "-s", help="Column that says who holds a record.")
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
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a commented study file for a table of your own."""
    from tacit.cli.starting import write_study

    raise typer.Exit(
        write_study(
            data,
            output,
            target=target,
            site=site,
            bounds_from_data=bounds_from_data,
            force=force,
            json=json,
        )
    )


@app.command(
    epilog="""\b
Examples:
  tacit account study.toml                                    what does this study guarantee?
  tacit account --epsilon 1 --rounds 200                      what noise do I need?
  tacit account --epsilon 1 --rounds 200 --clip 1 --records 2000    ... in units of the answer?
  tacit account --epsilon 1 --noise-multiplier 60             how many rounds can I afford?
  tacit account --noise-multiplier 60 --rounds 200            what epsilon follows?
  tacit account --graph ring --agents 8 --gossip-rounds 20 --noise-multiplier 5
"""
)
def account(
    study: Annotated[
        Path | None, typer.Argument(help="Study file; leave it out to ask by numbers.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="Budget of the whole run.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option("--rounds", "-r", help="Releases of an owner, one a round.")
    ] = None,
    noise_multiplier: Annotated[
        float | None,
        typer.Option(
            "--noise-multiplier", "-z", help="Noise scale over what one record moves an answer by."
        ),
    ] = None,
    delta: Annotated[
        float | None, typer.Option("--delta", "-d", help="Of the whole run; 1e-6 if left out.")
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise", help="gaussian (default), laplace, discrete-gaussian or discrete-laplace."
        ),
    ] = None,
    sampling: Annotated[
        float | None,
        typer.Option("--sampling", help="Probability with which a record takes part in a round."),
    ] = None,
    relation: Annotated[
        str | None,
        typer.Option("--relation", help="Neighbours: replace-one (default) or add-remove."),
    ] = None,
    clip: Annotated[
        float | None, typer.Option("--clip", help="Largest norm of one record's contribution.")
    ] = None,
    records: Annotated[
        int | None, typer.Option("--records", help="Of one owner; sums are divided by it.")
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option("--graph", help="Average on ring, path, star, complete or tree instead."),
    ] = None,
    agents: Annotated[int | None, typer.Option("--agents", help="On that graph.")] = None,
    gossip_rounds: Annotated[
        int | None, typer.Option("--gossip-rounds", help="Averaging steps on that graph.")
    ] = None,
    observer: Annotated[
        list[int] | None,
        typer.Option("--observer", help="Who looks; 0 if left out. Repeat it for a coalition."),
    ] = None,
    fresh_noise: Annotated[
        bool, typer.Option("--fresh-noise", help="Noise at every averaging step, not only once.")
    ] = False,
    json: Json = False,
) -> None:
    """Say what a study guarantees, what noise it needs or how many rounds it affords; runs nothing.

    Of --epsilon, --noise-multiplier and --rounds, give two: the third is the answer.
    """
    from tacit.cli.accounting import Question
    from tacit.cli.accounting import account as answer

    question = Question(
        epsilon=epsilon,
        delta=delta,
        rounds=rounds,
        noise_multiplier=noise_multiplier,
        noise=noise,
        sampling=sampling,
        relation=relation,
        clip=clip,
        records=records,
        graph=graph,
        agents=agents,
        gossip_rounds=gossip_rounds,
        observer=tuple(observer) if observer else None,
        fresh_noise=True if fresh_noise else None,
    )
    raise typer.Exit(answer(study, question, json=json))


@app.command()
def rehearse(
    study: Annotated[
        Path | None, typer.Argument(help="Study file; that of `tacit demo` if left out.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="A new folder for everything.")
    ] = Path("rehearsal"),
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Fewer rounds than the study has.")
    ] = None,
    json: Json = False,
) -> None:
    """Try a run between sites on this machine: real processes, keys that are thrown away.

    The records are divided as the study says, and every member runs as it will at its site, with
    mutual TLS on loopback, a ledger of its own and secure noise.
    """
    from tacit.cli import rehearsing

    raise typer.Exit(rehearsing.rehearse(study, folder, rounds, json=json))


@app.command()
def status(
    state: Annotated[Path, typer.Argument(metavar="DIR", help="The --state folder of a member.")],
    json: Json = False,
) -> None:
    """Show how far a member of a run between sites is, and for whom it waits."""
    from tacit.cli import rehearsing

    raise typer.Exit(rehearsing.status(state, json=json))


@app.command()
def doctor(
    manifest: ManifestFile,
    keys: KeysFolder,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Records of this site; none to coordinate.")
    ] = None,
    json: Json = False,
) -> None:
    """Find out why a run between sites does not begin: which name, port, certificate or clock.

    Run it while this member's own agent does not run; nothing is released.
    """
    from tacit.cli import rehearsing

    raise typer.Exit(rehearsing.doctor(manifest, keys, data, json=json))


app.add_typer(ledgers.app)
app.add_typer(keys.app)
app.add_typer(manifests.app)


def main() -> None:
    """Entry point of the command `tacit`."""
    try:
        app()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            # a compiled loop may still be running, and taking Python down under it crashes
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        raise
