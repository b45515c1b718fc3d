"""The peer-to-peer ADMM skeleton that D-ZOA shares in all its forms.

Agent `k` with neighbours `V_k` minimises, round by round,

    F_k(b) = f_k(b) + (eta/K) R(b) + b' gamma_k + rho sum_{l in V_k} ||b - (b_k + b_l)/2||^2,

sends its new `b_k`, and then takes `gamma_k <- gamma_k + rho sum_l (b_k - b_l)`.

Source: Gratton et al. (2021), section III-B, eqs (4), (5), algorithm 1. Deviation: the dual step
uses the fresh iterates (the printed box uses them before they exist).
"""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float

from tacit.errors import NetworkError, ProblemError
from tacit.method._schedule import tail_average
from tacit.network.base import AbstractNetwork
from tacit.problem.task import Task
from tacit.ranges import Numbers
from tacit.types import Context, Inbox, Index, Vector


class Consensus(eqx.Module):
    """Primal iterate, dual, sum of the neighbours' last iterates, and the tail average."""

    x: Vector
    dual: Vector
    neighbours: Vector
    average: Vector


def start(x0: Vector, degree: Index) -> Consensus:
    """All agents start at the public `x0`, so the neighbours' sum is known without a message."""
    return Consensus(x0, 0.0 * x0, x0 * degree, x0)


def closed(state: Consensus, context: Context) -> tuple[Consensus, Context]:
    """The same in a closed neighbourhood, to which `k` itself belongs (Gratton et al. 2020).

    `F_k` gains `rho ||b - b_k||^2`; the dual step, where `k`'s own difference is 0, does not.
    """
    own = Consensus(state.x, state.dual, state.neighbours + state.x, state.average)
    return own, eqx.tree_at(lambda c: c.degree, context, context.degree + 1)


def linear_part(state: Consensus, penalty: Numbers, context: Context) -> Vector:
    """`gamma_k - rho sum_l (b_k + b_l)`: the linear coefficient of the known part of `F_k`."""
    return state.dual - penalty * (context.degree * state.x + state.neighbours)


def known_part(b: Vector, linear: Vector, penalty: Numbers, context: Context) -> Float[Array, ""]:
    """`F_k(b) - f_k(b)` up to a constant, given `linear_part`."""
    quadratic = (b @ b) * (penalty * context.degree)
    return quadratic + b @ linear + context.public.value(b)


def dual_step(penalty: Numbers, state: Consensus, inbox: Inbox, context: Context) -> Consensus:
    """`gamma_k <- gamma_k + rho sum_l (b_k - b_l)` and the average of the answers."""
    dual = state.dual + penalty * (inbox.degree * state.x - inbox.total)
    return Consensus(state.x, dual, inbox.total, tail_average(state.average, state.x, context))


def check_network(name: str, network: AbstractNetwork) -> None:
    """Refuse a network on which the dual variables would not cancel.

    Raises:
        NetworkError: a coordinator, directed links or links that change between rounds.
    """
    if network.directed:
        raise NetworkError(
            f"{name} keeps a dual variable a link and needs undirected links; this network is "
            "directed. Use DPSG, which needs doubly stochastic weights only."
        )
    if network.varying:
        raise NetworkError(
            f"{name} keeps a dual variable a link and needs the same links in every round; this "
            "network varies. Use DPSG, or a static graph."
        )


def check_prox(name: str, problem: Task) -> None:
    """Refuse a regulariser and constraint whose joint proximal map has no closed form.

    Raises:
        ProblemError: naming both.
    """
    if not problem.public.exact:
        raise ProblemError(
            f"{name} needs the exact proximal map of regulariser plus constraint; there is none in "
            f"closed form for {type(problem.regulariser).__name__} on "
            f"{type(problem.constraint).__name__}. Use DPSG, or drop one of the two."
        )
