"""Commands to be asked before anything runs: advise, check, account."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import Json

ACCOUNT_EPILOG = """\b
Examples:
  tacit account study.toml                                    what does this study guarantee?
  tacit account --epsilon 1 --rounds 200                      what noise do I need?
  tacit account --epsilon 1 --rounds 200 --clip 1 --records 2000    ... in units of the answer?
  tacit account --epsilon 1 --noise-multiplier 60             how many rounds can I afford?
  tacit account --noise-multiplier 60 --rounds 200            what epsilon follows?
  tacit account --graph ring --agents 8 --gossip-rounds 20 --noise-multiplier 5
"""


def advise(
    study: Annotated[
        Path | None,
        typer.Argument(metavar="STUDY", help="Study file; or give the dimensions as options."),
    ] = None,
    records: Annotated[
        str | None, typer.Option(help="Records of one site, or of each: 120,40,300.")
    ] = None,
    parameters: Annotated[int | None, typer.Option(help="Number of parameters.")] = None,
    agents: Annotated[int | None, typer.Option(help="Number of sites.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon of the whole run.")] = None,
    delta: Annotated[
        float | None, typer.Option(show_default="1e-6", help="Delta of the whole run.")
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(show_default="ring", help="ring, complete, path, star, tree or coordinator."),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(show_default="squared", help="Loss of one record, such as logistic."),
    ] = None,
    classes: Annotated[int | None, typer.Option(help="Number of classes, with softmax.")] = None,
    row_norm: Annotated[
        float | None, typer.Option(help="Largest l2 norm of a record's features.")
    ] = None,
    prevalence: Annotated[
        float | None,
        typer.Option(show_default="0.3, assumed", help="Share of yes among the answers."),
    ] = None,
    gain: Annotated[
        float | None,
        typer.Option(
            show_default="0.2, assumed",
            help="Share of the base rate's loss that a fit without privacy takes away (R² for "
            "squared loss).",
        ),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(
            show_default="gradient",
            help="gradient, or value where only values of the loss can be had.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Say whether a study has any hope and which settings to take.

    Methods are tried on made-up records of the same shape; no record of yours is read.
    """
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
        oracle=oracle,
        prevalence=prevalence,
        gain=gain,
    )
    raise typer.Exit(show_advice(study, asked, json=json))


def check(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="Study file, or a manifest that has one.")
    ],
    data: Annotated[Path, typer.Option(metavar="FILE", help="Records of your own site.")],
    json: Json = False,
) -> None:
    """Say what to declare of your own records in a manifest.

    What it prints is not private: it is for the owner of the records only.
    """
    from tacit.cli.checking import check as look

    raise typer.Exit(look(study, data, json=json))


def account(
    study: Annotated[
        Path | None,
        typer.Argument(metavar="STUDY", help="Study file; leave it out to ask by numbers."),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="Epsilon of the whole run.")
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
        float | None,
        typer.Option("--delta", "-d", show_default="1e-6", help="Delta of the whole run."),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise",
            show_default="gaussian",
            help="gaussian, laplace, discrete-gaussian or discrete-laplace.",
        ),
    ] = None,
    sampling: Annotated[
        float | None,
        typer.Option("--sampling", help="Probability with which a record takes part in a round."),
    ] = None,
    relation: Annotated[
        str | None,
        typer.Option(
            "--relation",
            show_default="replace-one",
            help="Neighbouring data sets: replace-one or add-remove.",
        ),
    ] = None,
    clip: Annotated[
        float | None, typer.Option("--clip", help="Largest norm of one record's contribution.")
    ] = None,
    records: Annotated[
        int | None,
        typer.Option("--records", help="Number of records of one owner; sums are divided by it."),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            help="Account for gossip instead: averaging on ring, path, star, complete or tree.",
        ),
    ] = None,
    agents: Annotated[
        int | None, typer.Option("--agents", help="Number of agents on that graph, or in that sum.")
    ] = None,
    gossip_rounds: Annotated[
        int | None, typer.Option("--gossip-rounds", help="Averaging steps on that graph.")
    ] = None,
    observer: Annotated[
        list[int] | None,
        typer.Option(
            "--observer", show_default="0", help="Agent that looks on; repeat it for a coalition."
        ),
    ] = None,
    fresh_noise: Annotated[
        bool, typer.Option("--fresh-noise", help="Noise at every averaging step, not only once.")
    ] = False,
    masks: Annotated[
        str | None,
        typer.Option(
            "--masks", help="Sums with masks that cancel, between neighbours on this graph."
        ),
    ] = None,
    coalition: Annotated[
        int | None,
        typer.Option(
            "--coalition",
            show_default="1",
            help="Number of agents that pool what they know of masks.",
        ),
    ] = None,
    absent: Annotated[
        int | None, typer.Option("--absent", help="Others that may be missing from a masked sum.")
    ] = None,
    attempts: Annotated[
        int | None,
        typer.Option(
            "--attempts", help="Masked releases in all, rounds that are repeated included."
        ),
    ] = None,
    large_delta: Annotated[
        bool,
        typer.Option(
            "--large-delta", help="Accept a delta of one over --records (--agents) or more."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Compute epsilon, noise or rounds of a study; run nothing.

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
        masks=masks,
        coalition=coalition,
        absent=absent,
        attempts=attempts,
        large_delta=True if large_delta else None,
    )
    raise typer.Exit(answer(study, question, json=json))
