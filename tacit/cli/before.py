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
        Path | None, typer.Argument(help="Study file; or give the dimensions as options.")
    ] = None,
    records: Annotated[
        str | None, typer.Option(help="Records of one site, or of each: 120,40,300.")
    ] = None,
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
        float | None, typer.Option(help="Largest l2 norm of a record's features.")
    ] = None,
    prevalence: Annotated[
        float | None, typer.Option(help="Share of yes among answers; 0.3 is assumed if left out.")
    ] = None,
    gain: Annotated[
        float | None,
        typer.Option(
            help="Share of the base rate's loss that a fit without privacy takes away (R² for "
            "squared loss); 0.2 is assumed if left out."
        ),
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
        oracle=oracle,
        prevalence=prevalence,
        gain=gain,
    )
    raise typer.Exit(show_advice(study, asked, json=json))


def check(
    study: Annotated[Path, typer.Argument(help="Study file, or a manifest that has one.")],
    data: Annotated[Path, typer.Option(metavar="FILE", help="Records of one's own site.")],
    json: Json = False,
) -> None:
    """Say what to declare of one's own records in a manifest; what it prints is for their owner."""
    from tacit.cli.checking import check as look

    raise typer.Exit(look(study, data, json=json))


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
    agents: Annotated[
        int | None, typer.Option("--agents", help="On that graph, or of that sum.")
    ] = None,
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
    masks: Annotated[
        str | None,
        typer.Option(
            "--masks", help="Sums with masks that cancel, between neighbours on this graph."
        ),
    ] = None,
    coalition: Annotated[
        int | None,
        typer.Option(
            "--coalition", help="Agents that pool what they know of masks; 1 if left out."
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
        masks=masks,
        coalition=coalition,
        absent=absent,
        attempts=attempts,
        large_delta=True if large_delta else None,
    )
    raise typer.Exit(answer(study, question, json=json))
