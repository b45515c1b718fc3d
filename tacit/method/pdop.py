"""PDOP, certified: peers mix noisy iterates, and the noise shrinks with the step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

import equinox as eqx
import numpy as np
from jax.core import Tracer

from tacit import checks
from tacit.errors import ConfigError, NetworkError, PrivacyError, ProblemError
from tacit.method._assumptions import check_projection
from tacit.method._pdop_budget import Schedule, Split
from tacit.method._pdop_step import ProjectedStep, projected_step
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.rounds import Rounds
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.dose import Calibrated
from tacit.privacy.laws import LAWS, NoiseKind
from tacit.privacy.mechanism import Mechanism, Release
from tacit.problem.task import Task
from tacit.ranges import NotNegativeOne, Number, Numbers, PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Role, Unit, Vector


class Mixture(eqx.Module):
    """The state an agent may show: `x`, the point of the set nearest to its last mixture.

    `sent` is its last message (within a round), or the mixture before it is projected.
    """

    x: Vector
    sent: Vector


def _schedule(name: Any) -> Any:
    if isinstance(name, str) and name in get_args(Schedule):
        return name
    raise ConfigError(
        f"schedule={checks.shown(name)} must be 'corrected' or 'optimised'; the schedule as "
        "printed is PDOPPrinted, whose guarantee is another one"
    )


class PDOP(AbstractMethod):
    """Private distributed optimisation with a shrinking step and shrinking noise.

    In round `t`:

        x_i(t) = P_X[v - gamma_t g_i(v)],  v = P_X z_i(t),  gamma_t = c q^(t-1)
        y_i(t+1) = x_i(t) + w_i(t+1)                                                  -> neighbours
        z_i(t+1) = sum_j a_ij y_j(t+1)

    `g_i` is the clipped gradient, `w` Laplace or Gaussian noise of scale `M_t`, and the answer is
    `P_X z_i`, never `x_i`. All agents start at the public `x(0)`, which costs nothing.

    Source: Huang, Mitra, Vaidya (2015), Differentially Private Distributed Optimization, section
    3.2, algorithm 1; section 4.1, algorithms 2 to 4, eqs (5) to (8). Eq (8) is corrected: `y(t+1)`
    carries the step of round `t`, so `M_2` is made for the first step. Deviations: the bound on the
    gradient is enforced by a clip, `z` is projected before the gradient is taken, `w(1) = 0`. As
    printed: `PDOPPrinted`. Theorem: Laplace or Gaussian mechanism; status proved.

    Args:
        step: first step size `c`, positive.
        ratio: factor `q` by which the step shrinks every round, in (0, 1]. The steps sum to at most
            `step / (1 - ratio)`, which must be several times one over the curvature to converge.
        noise_ratio: factor `p` by which the noise shrinks every round, in [ratio, 1]; halfway
            between the two by default.
        schedule: "corrected" is the paper's, `M_t` in proportion to `p^t`; "optimised" has the
            least variance if every cost has the Hessian `curvature` times the identity.
        curvature: public estimate `h` of the costs' curvature, at least 0; for "optimised" and
            `centred`.
        centred: clip the gradient minus `h x`, for whole costs whose private part is linear:
            quadratics around a private point.
        domain: "box" if the constraint and the penalty act on each coordinate separately, else
            "general", which increases Laplace noise by a factor of up to `(1 + sqrt(n)) / 2`.
        one_shot: take one private step, release it once, and then mix without noise: best if
            all costs are quadratics with one Hessian and `step` is one over the curvature.
        privacy: budget, clip and relation; Laplace noise with delta 0 is the paper's.

    Raises:
        ConfigError: an argument out of its range.
        PrivacyError: l2-Laplace noise.

    Example:
        >>> from tacit.method import PDOP
        >>> from tacit.privacy import Privacy
        >>> budget = Privacy(clip=4.0, epsilon=1.0, delta=0.0, noise="laplace")
        >>> [phase.name for phase in PDOP(step=0.1, privacy=budget).phases()]
        ['exchange']
        >>> [phase.name for phase in PDOP(step=0.5, one_shot=True, privacy=budget).phases()]
        ['step', 'consensus']
    """

    name: ClassVar[str] = "pdop"
    when: ClassVar[str] = (
        "peers hold whole costs, pure epsilon is wanted, or the set is bounded and rounds are few"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.5})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    absences: ClassVar[bool] = True
    step: PositiveOne
    privacy: Privacy = eqx.field(kw_only=True)
    ratio: Number = 0.95
    noise_ratio: Number | None = None
    schedule: Schedule = eqx.field(static=True, default="corrected", converter=_schedule)
    curvature: NotNegativeOne = 0.0
    centred: bool = eqx.field(static=True, default=False)
    domain: Literal["box", "general"] = eqx.field(static=True, default="box")
    one_shot: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        self.check_budget()
        for name in ("step", "ratio", "noise_ratio", "curvature"):
            check_number(name, getattr(self, name))
        if self.privacy.noise is NoiseKind.L2_LAPLACE:
            raise PrivacyError(
                "PDOP divides its budget among the rounds for noise='laplace' or 'gaussian'; "
                "'l2_laplace' is not among them"
            )
        check_ratios(self.ratio, self.noise_ratio)
        if not isinstance(self.curvature, Tracer) and not np.all(np.asarray(self.curvature) >= 0.0):
            raise ConfigError(f"curvature={self.curvature!r} must be at least 0")

    def init(self, role: Role, x0: Vector, degree: Index) -> Mixture:
        return Mixture(x0, x0)

    def phases(self) -> tuple[Phase, ...]:
        if self.one_shot:
            release = Release("noised step", self.privacy.mechanism, self.privacy.relation)
            return (
                Phase(
                    name="step",
                    sender=Role.PEER,
                    query=self._query(ratio=1.0),
                    release=release,
                    message=keep,
                    rounds=Rounds(before=True),
                ),
                Phase(
                    name="consensus",
                    sender=Role.PEER,
                    message=send_mixture,
                    receiver=Role.PEER,
                    update=mix,
                ),
            )
        return (
            Phase(
                name="exchange",
                sender=Role.PEER,
                query=self._query(self.ratio),
                release=Release("noised iterate", self._mechanism(), self.privacy.relation),
                message=send_released,
                receiver=Role.PEER,
                update=mix,
            ),
        )

    def solution(self, state: Mixture) -> Vector:
        return state.x

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_network("PDOP", network)
        check_projection("PDOP", problem)
        if self.centred and problem.unit is not Unit.AGENT:
            raise ProblemError(
                "centred=True takes a public part off each whole cost, and this problem protects a "
                f"{problem.unit.value}; leave it out, or put the public part into the regulariser"
            )
        if self.privacy.order == 1 and self.domain == "box" and not coordinatewise(problem):
            raise ProblemError(
                f"{type(problem.regulariser).__name__} on {type(problem.constraint).__name__} does "
                "not act on each coordinate by itself, so the l1 norm may grow; use "
                "domain='general', or Gaussian noise, which does not need to know"
            )

    def _query(self, ratio: Numbers) -> ProjectedStep:
        return projected_step(
            self.privacy,
            self.step,
            ratio,
            known=self.curvature if self.centred else 0.0,
            centred=self.centred,
            coordinatewise=self.domain == "box",
        )

    def _mechanism(self) -> Mechanism:
        laplace = self.privacy.noise is NoiseKind.LAPLACE
        split = Split(
            self.schedule,
            self.ratio,
            self.noise_ratio,
            self.step,
            self.curvature,
            self.privacy.delta,
            laplace,
        )
        given = self.privacy.noise_multiplier
        multiplier = math.nan if given is None else given  # a run calibrates it if not given
        return Mechanism(LAWS[self.privacy.noise], Calibrated(multiplier, split))


def send_released(state: Mixture, released: Vector, context: Context) -> tuple[Mixture, Vector]:
    """Send the noisy iterate."""
    return Mixture(state.x, released), released


def keep(state: Mixture, released: Vector, context: Context) -> tuple[Mixture, None]:
    """Hold the noisy step until the first exchange."""
    return Mixture(state.x, released), None


def send_mixture(state: Mixture, released: None, context: Context) -> tuple[Mixture, Vector]:
    """Pass on the mixture: it consists of released values."""
    return state, state.sent


def mix(state: Mixture, inbox: Inbox, context: Context) -> Mixture:
    """`z_i = sum_j a_ij y_j`, and the point of the set nearest to it."""
    z = inbox.self_weight * state.sent + inbox.mixed
    return Mixture(context.public.project(z), z)


def check_number(name: str, value: Numbers | None) -> None:
    """Refuse an array where the noise needs one number, the same in every coordinate.

    Raises:
        ConfigError: naming the argument.
    """
    if value is not None and np.ndim(value) > 0:
        raise ConfigError(f"{name}={value!r} must be one number, the same for all coordinates")


def check_ratios(ratio: Numbers, noise_ratio: Numbers | None) -> None:
    """Refuse ratios of step and noise that are not `0 < q <= p <= 1`.

    Raises:
        ConfigError: naming the invalid ratio.
    """
    if isinstance(ratio, Tracer) or isinstance(noise_ratio, Tracer):
        return
    if not 0.0 < float(ratio) <= 1.0:
        raise ConfigError(f"ratio={ratio!r} must be in (0, 1]")
    if noise_ratio is not None and not float(ratio) <= float(noise_ratio) <= 1.0:
        raise ConfigError(f"noise_ratio={noise_ratio!r} must be in [ratio, 1] = [{ratio!r}, 1]")


def check_network(name: str, network: AbstractNetwork) -> None:
    """Refuse a network that breaks assumption 2 of Huang, Mitra, Vaidya (2015).

    Weights are doubly stochastic by construction, and connectivity is declared by the network: in
    every round as in the paper, or jointly, which is our extension. What remains to be checked is
    that every agent takes part and gives its own value a positive weight.

    Raises:
        NetworkError: agents that sleep, or that give their own value no weight.
    """
    from tacit.network.randomised import RandomActivation

    if isinstance(network, RandomActivation):
        raise NetworkError(
            f"{name} divides its budget over the rounds in advance, so every agent must take part "
            "in all of them; here agents sleep. Use DPSG, or LinkFailure, where only links do."
        )
    own = np.atleast_2d(getattr(network, "self_weight", 1.0)).min(axis=0)
    if not np.all(own > 0.0):
        raise NetworkError(
            f"{name} needs a positive weight of every agent's own value (assumption 2 of Huang, "
            f"Mitra, Vaidya 2015), and agent {network.names[int(np.argmin(own))]!r} has none; give "
            "other weights"
        )


def coordinatewise(problem: Task) -> bool:
    """Whether the public step acts on each coordinate separately: a box, a separable penalty."""
    from tacit.problem.constraint import Box, Free

    box = isinstance(problem.constraint, Box | Free)
    return box and (problem.regulariser.separable or not problem.public.exact)
