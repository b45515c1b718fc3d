"""Pieces of work of figures 4 to 7: D-ZOA as printed, its baselines, and methods with a proof."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.errors import PrivacyError
from tacit.papers.gratton2021.contenders import CERTIFIED, PRINTED, certified, network_of, printed
from tacit.papers.gratton2021.contest import LAST, Contest, errors, final, measure
from tacit.papers.gratton2021.setting import METHODS, Kind, Version, paper_network, paper_problem


def d_zoa(
    kind: Kind,
    epsilon: float,
    delta: float,
    data: int,
    seed: int,
    trials: int,
    rounds: int,
    version: Version = "2021",
) -> dict[str, Any]:
    """D-ZOA as printed in one of its versions, on one data set.

    Returns:
        `rounds` and `errors` (one row per recorded round, one column per trial), `final` (one per
        trial), `directions`, `step` (one per agent), `evaluations` and `optimum`; or `refused`,
        where eq (22) allows less than one direction.
    """
    task, net = paper_problem(kind, data), paper_network()
    reference = task.reference().solution
    optimum = float(np.linalg.norm(reference))
    try:
        method = METHODS[version](task, net, kind, epsilon, delta, optimum=optimum)
    except PrivacyError as refused:
        return {"refused": str(refused)}
    result = measure(task, net, method, reference, rounds=rounds, seed=seed, trials=trials)
    solver = method.solver
    assert solver.step is not None
    directions = np.broadcast_to(solver.directions, task.agents)
    return {
        **errors(result),
        "final": final(result, LAST),
        "directions": directions.tolist(),
        "step": np.broadcast_to(solver.step, task.agents).tolist(),
        # two values per direction, inner step, record and round
        "evaluations": int(2 * directions @ task.counts) * solver.inner_steps * rounds,
        "optimum": optimum,
    }


def published(
    name: str,
    kind: Kind,
    claims: Sequence[Sequence[float]],
    validation: Sequence[int],
    data: Sequence[int],
    seed: int,
    trials: int,
    rounds: int,
) -> dict[str, Any]:
    """A baseline with noise for its claim, tuned for each claim separately.

    Args:
        name: name of the baseline.
        kind: kind of regulariser.
        claims: pairs of epsilon and delta per iteration.
        validation: seeds of the data sets on which tuning is chosen.
        data: seeds of the data sets reported on.
        seed: seed of the noise.
        trials: number of trials per data set.
        rounds: number of rounds of each run.

    Returns:
        `claims`: the result of the `Contest` for each.
    """
    contest = Contest(
        lambda number: paper_problem(kind, number),
        network_of(name),
        validation,
        data,
        seed,
        trials,
        rounds,
    )
    return {
        "claims": [
            contest(
                PRINTED[name],
                lambda setting, claim=claim: printed(name, setting, *claim),
            )
            for claim in claims
        ]
    }


def proved(
    name: str,
    kind: Kind,
    records: int,
    totals: Sequence[Sequence[float]],
    validation: Sequence[int],
    data: Sequence[int],
    seed: int,
    trials: int,
    rounds: int,
) -> dict[str, Any]:
    """A method with a proof, tuned for each total epsilon separately; the loss is a mean.

    Args:
        name: name of the method.
        kind: kind of regulariser.
        records: number of records of each agent.
        totals: pairs of epsilon and delta of the whole run, under replace-one adjacency.
        validation: seeds of the data sets on which tuning is chosen.
        data: seeds of the data sets reported on.
        seed: seed of the noise.
        trials: number of trials per data set.
        rounds: number of rounds of each run.

    Returns:
        `claims`, as for `published`.
    """
    contest = Contest(
        # the sum of losses with eta = 1, stated as a mean
        lambda number: paper_problem(kind, number, "agent", records, strength=1.0 / records),
        network_of(name),
        validation,
        data,
        seed,
        trials,
        rounds,
        last=1,
        require="proved",
    )
    return {
        "claims": [
            contest(CERTIFIED[name], lambda setting, total=total: certified(name, setting, *total))
            for total in totals
        ]
    }
