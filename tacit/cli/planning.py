"""`tacit plan`: what follows from plain numbers, without a study."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli.options import (
    Agents,
    Delta,
    Epsilon,
    Json,
    LargeDelta,
    Multiplier,
    Rounds,
    at_least_one,
    positive,
    rate,
)
from tacit.privacy.caution import DELTA

_EPILOG = """\b
Examples:
  tacit plan noise --epsilon 1 --rounds 200                           noise needed for a budget
  tacit plan noise --epsilon 1 --rounds 200 --clip 1 --records 2000   ... in units of the answer
  tacit plan rounds --epsilon 1 --noise-multiplier 60                 rounds a budget allows
  tacit plan epsilon --noise-multiplier 60 --rounds 200               what a run costs
  tacit plan gossip --graph ring --agents 8 --steps 20 --noise-multiplier 5
  tacit plan masks --agents 10 --epsilon 1 --rounds 300

\b
`tacit account` answers for a study: its guarantee, without running it.
"""

app = typer.Typer(
    name="plan",
    help="Relate noise, rounds and epsilon from plain numbers.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Law = Annotated[
    str,
    typer.Option(
        "--noise", help="Law of the noise: gaussian, laplace, discrete-gaussian, discrete-laplace."
    ),
]
Sampling = Annotated[
    float,
    typer.Option(
        "--sampling", callback=rate, help="Probability that a record takes part in a round."
    ),
]
Adjacency = Annotated[
    str,
    typer.Option(
        "--relation",
        help="Adjacency: replace-one (the number of records is public) or add-remove.",
    ),
]
Clip = Annotated[
    float | None,
    typer.Option(
        "--clip",
        callback=positive,
        help="Largest norm of one record's contribution; with --records, the answer also gives the "
        "scale of the noise.",
    ),
]
Records = Annotated[
    int | None,
    typer.Option("--records", callback=at_least_one, help="Number of records per site."),
]
Graph = Annotated[str, typer.Option("--graph", help="Network: ring, path, star, complete or tree.")]


@app.command()
def noise(
    epsilon: Epsilon,
    rounds: Rounds,
    delta: Delta = DELTA,
    law: Law = "gaussian",
    sampling: Sampling = 1.0,
    relation: Adjacency = "replace-one",
    clip: Clip = None,
    records: Records = None,
    large_delta: LargeDelta = False,
    json: Json = False,
) -> None:
    """Compute the noise that a budget needs for a number of rounds."""
    from tacit.cli.planned import Released, show_noise

    released = Released(law, delta, sampling, relation, clip, records, large_delta)
    raise typer.Exit(show_noise("noise_multiplier", released, epsilon, rounds, None, json=json))


@app.command()
def rounds(
    epsilon: Epsilon,
    noise_multiplier: Multiplier,
    delta: Delta = DELTA,
    law: Law = "gaussian",
    sampling: Sampling = 1.0,
    relation: Adjacency = "replace-one",
    clip: Clip = None,
    records: Records = None,
    large_delta: LargeDelta = False,
    json: Json = False,
) -> None:
    """Compute how many rounds of given noise a budget allows."""
    from tacit.cli.planned import Released, show_noise

    released = Released(law, delta, sampling, relation, clip, records, large_delta)
    raise typer.Exit(show_noise("rounds", released, epsilon, None, noise_multiplier, json=json))


@app.command()
def epsilon(
    noise_multiplier: Multiplier,
    rounds: Rounds,
    delta: Delta = DELTA,
    law: Law = "gaussian",
    sampling: Sampling = 1.0,
    relation: Adjacency = "replace-one",
    clip: Clip = None,
    records: Records = None,
    large_delta: LargeDelta = False,
    json: Json = False,
) -> None:
    """Compute the epsilon that rounds of given noise cost."""
    from tacit.cli.planned import Released, show_noise

    released = Released(law, delta, sampling, relation, clip, records, large_delta)
    raise typer.Exit(show_noise("epsilon", released, None, rounds, noise_multiplier, json=json))


@app.command()
def gossip(
    graph: Graph,
    agents: Agents,
    steps: Annotated[
        int, typer.Option("--steps", callback=at_least_one, help="Number of averaging steps.")
    ],
    noise_multiplier: Multiplier,
    delta: Delta = DELTA,
    observer: Annotated[
        list[int] | None,
        typer.Option(
            "--observer",
            show_default=False,
            help="Index of the observing agent; repeat it for a coalition.  [default: 0]",
        ),
    ] = None,
    fresh_noise: Annotated[
        bool,
        typer.Option("--fresh-noise", help="Add noise at every averaging step, not only once."),
    ] = False,
    large_delta: LargeDelta = False,
    json: Json = False,
) -> None:
    """Compute what one agent or a coalition learns from gossip.

    A model claim: nothing enforces that the observers see only messages sent to them.
    """
    from tacit.cli.planned_shared import show_gossip

    raise typer.Exit(
        show_gossip(
            graph,
            agents,
            steps,
            noise_multiplier,
            delta,
            observer or [0],
            fresh_noise=fresh_noise,
            large_delta=large_delta,
            json=json,
        )
    )


@app.command()
def masks(
    agents: Agents,
    epsilon: Epsilon,
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds", "-r", callback=at_least_one, help="Number of rounds, one sum each."
        ),
    ],
    delta: Delta = DELTA,
    graph: Annotated[
        str,
        typer.Option(
            "--graph",
            help="Graph whose neighbours share masks: complete, ring, path, star or tree.",
        ),
    ] = "complete",
    coalition: Annotated[
        int, typer.Option("--coalition", help="Number of agents that pool what they know.")
    ] = 1,
    absent: Annotated[
        int, typer.Option("--absent", help="Number of other agents that may miss a sum.")
    ] = 0,
    attempts: Annotated[
        int | None,
        typer.Option(
            "--attempts",
            show_default=False,
            help="Number of masked releases, repeated rounds included.  [default: one per round]",
        ),
    ] = None,
    large_delta: LargeDelta = False,
    json: Json = False,
) -> None:
    """Compare the noise of sums with and without pairwise masks.

    With secure aggregation by pairwise masks the coordinator reads sums only, so each agent needs a
    fraction of its local noise.
    """
    from tacit.cli.planned_shared import show_masks

    raise typer.Exit(
        show_masks(
            graph,
            agents,
            epsilon,
            rounds,
            delta,
            coalition,
            absent,
            attempts,
            large_delta=large_delta,
            json=json,
        )
    )
