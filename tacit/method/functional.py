"""Functional perturbation: every cost is released once with noise, and then any method may run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tacit.errors import ConfigError, PrivacyError, ProblemError
from tacit.method._functional_cost import PublicPolynomial
from tacit.method._functional_query import WeightedCoefficients
from tacit.method.dgd import DGD
from tacit.method.functional_basis import AbstractBasis, QuadraticBasis
from tacit.method.functional_projection import CurvatureBounds
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.rounds import Rounds
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.laws import NoiseKind
from tacit.privacy.mechanism import Release
from tacit.privacy.query import own
from tacit.problem.constraint import Box, Free
from tacit.problem.problem import Problem
from tacit.problem.public import Public
from tacit.problem.task import Task
from tacit.ranges import Finite, NotNegative
from tacit.ranges import per_agent as one_or_each
from tacit.types import Context, Inbox, Index, Oracle, Relation, Role, State, Vector


def _numbers(value: Any) -> Any:
    given = value is None or isinstance(value, jax.Array)
    return value if given else np.asarray(value, dtype=np.float64)


class Perturbed(eqx.Module):
    """State of the inner method, and the coefficients released for this agent."""

    inner: State
    coefficients: Any


class FunctionalPerturbation(AbstractMethod):
    """Any method without privacy, run on costs that were perturbed once.

    Before round 0 every agent releases its private cost as coefficients in a polynomial basis:

        c~_k = c_k + b_k,   b_k ~ Lap(gamma / k^p),   then  f~ = nearest of S to sum_k c~_k phi_k

    (noise without `k^p` for a quadratic basis). From then on the method asks the public f~ instead
    of the cost: whatever it does, for however many rounds, is post-processing and costs nothing.

    Source: Nozari, Tallapragada, Cortes (2018), Differentially Private Distributed Convex
    Optimization via Functional Perturbation, section V-A, eqs (9), (10); section V-B, theorem V.2,
    eq (14); section VI-B, eq (20). Deviations: each record's weighted coefficients are clipped in
    the l1 norm, which bounds the effect of one record instead of a distance between costs; the
    constant is not released, as it moves no minimiser; the public regulariser needs no noise and
    is unchanged.

    What leaves: one Laplace release (docs/proofs/functional.md; status proved), of one record or of
    a whole cost. Iterates stay in the box of the basis, to which the constraint is added.

    Args:
        inner: the method to run, without a budget of its own, such as `EXTRA(step=0.1)`; in a study
            `{ name = "extra", step = 0.1 }`.
        basis: `LegendreBasis` (at most 3 parameters) or `QuadraticBasis`, on the box; in a study
            `{ kind = "quadratic", lower = [-1, -1], upper = [1, 1] }`, or "legendre".
        bounds: bounds that every private cost, divided by its normaliser, satisfies, or `None`.
        p: exponent of the noise, at least 0 (the paper: 1/2 < p < q - 1/2); may differ by agent.
        centre: public coefficients without the constant, shape `(m - 1,)`, around which records are
            clipped; 0 when `None`. `record_ball` finds the best one for all possible records, which
            divides the noise by 1.1 to 1.9.
        privacy: Laplace noise; `clip` is the largest l1 distance of one record's weighted
            coefficients from the centre's.

    Raises:
        PrivacyError: a method with a budget, or a budget that is not for one Laplace release.
        ConfigError: an argument out of range.

    Example:
        >>> from tacit.method import DGD, FunctionalPerturbation, QuadraticBasis
        >>> from tacit.privacy import Privacy
        >>> privacy = Privacy(clip=1.0, epsilon=1.0, delta=0.0, noise="laplace")
        >>> basis = QuadraticBasis([-1.0, -1.0], [1.0, 1.0])
        >>> method = FunctionalPerturbation(DGD(step=0.1), basis, privacy=privacy)
        >>> [(phase.name, phase.rounds.words) for phase in method.phases()]
        [('perturb', 'once, before round 0'), ('iterate', 'every round')]
    """

    name: ClassVar[str] = "functional-perturbation"
    when: ClassVar[str] = "costs are nearly quadratic in few parameters, and rounds are many"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"inner": DGD(step=0.1), "basis": QuadraticBasis([-1.0, -1.0], [1.0, 1.0])}
    )
    oracle: ClassVar[Oracle] = Oracle.VALUE
    per_agent: ClassVar[tuple[str, ...]] = ("p",)
    inner: AbstractMethod
    basis: AbstractBasis
    bounds: CurvatureBounds | None = None
    p: NotNegative = eqx.field(default=0.55, converter=one_or_each)
    centre: Finite | None = eqx.field(default=None, converter=_numbers)
    privacy: Privacy | None = eqx.field(kw_only=True)

    def __check_init__(self) -> None:
        self.check_budget()
        if self.inner.privacy is not None:
            raise PrivacyError(
                f"{type(self.inner).__name__} has a budget of its own, and nothing is left to "
                "protect once the costs are perturbed; give it none"
            )
        if isinstance(self.p, int | float | np.ndarray):
            share = np.asarray(self.p)
            if not np.all((share >= 0.0) & (share < math.inf)):
                raise ConfigError(f"p={self.p!r} must be at least 0 and finite")
        if isinstance(self.centre, np.ndarray):
            wanted = (self.basis.size - 1,)
            if self.centre.shape != wanted or not np.isfinite(self.centre).all():
                raise ConfigError(
                    f"centre has shape {self.centre.shape}; it must hold finite numbers, one for "
                    f"each coefficient but the constant's: shape {wanted}"
                )
        if self.privacy is not None:
            _check_budget(self.privacy)

    def init(self, role: Role, x0: Vector, degree: Index) -> Perturbed:
        nothing = None if role is Role.SERVER else jnp.zeros(self.basis.size, x0.dtype)
        return Perturbed(self.inner.init(role, x0, degree), nothing)

    def phases(self) -> tuple[Phase, ...]:
        inner = self.inner.phases()
        senders = {phase.sender for phase in inner}
        if self.privacy is None:
            raise PrivacyError("functional perturbation needs privacy=Privacy(...)")
        query = WeightedCoefficients(self.basis, self.privacy.clip, self.p, self.centre)
        perturb = Phase(
            name="perturb",
            sender=Role.PEER if Role.PEER in senders else Role.CLIENT,
            message=self.adopt,
            query=query,
            release=Release(
                "noised coefficients of the cost", self.privacy.mechanism, self.privacy.relation
            ),
            rounds=Rounds(before=True),
        )
        return perturb, *(self._on_public(phase) for phase in inner)

    def adopt(
        self, state: Perturbed, released: Vector, context: Context
    ) -> tuple[Perturbed, Vector]:
        """Undo the weights, restore convexity: post-processing of released values."""
        noised = released / self.basis.weights(own(self.p, context.agent))[1:]
        coefficients = jnp.concatenate([jnp.zeros(1, noised.dtype), noised])
        if self.bounds is not None:
            coefficients = self.bounds.nearest(self.basis, coefficients)
        return Perturbed(state.inner, coefficients), released

    def solution(self, state: Perturbed) -> Vector:
        return self.inner.solution(state.inner)

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        if problem.dimension != self.basis.dimension:
            raise ProblemError(
                f"the basis has {self.basis.dimension} coordinates and the problem "
                f"{problem.dimension} parameters; build it on a box of as many"
            )
        if np.shape(self.p) not in ((), (problem.agents,)):
            raise ProblemError(
                f"p has shape {np.shape(self.p)}; give one number, or one for each of the "
                f"{problem.agents} agents"
            )
        assert isinstance(problem, Problem)  # it asks for values, which records do not have
        if not isinstance(problem.constraint, Free | Box):
            raise ProblemError(
                "functional perturbation knows the costs on a box only, and keeps iterates there "
                f"by a box; {type(problem.constraint).__name__} with it has no projection in "
                "closed form. Use a Box, or leave the constraint out"
            )
        inside = self._inside(problem.public).constraint
        if not inside.contains(problem.x0, tolerance=1e-9):
            raise ProblemError(
                "x0 lies outside the box of the basis; give a starting point or a box that fit"
            )
        if self.bounds is not None:
            self.bounds.check(self.basis)
        # the costs that the method will see are smooth, whatever the private costs are
        zeros = np.zeros((problem.agents, self.basis.size))
        seen = PublicPolynomial(np.ones(problem.agents), self.basis, zeros)
        self.inner.check(
            replace(problem, objectives=seen, constraint=inside, declared=True), network
        )

    def _inside(self, public: Any) -> Public:
        """The public context, with the iterates kept in the box of the basis."""
        lower, upper = self.basis.lower, self.basis.upper
        box = public.constraint
        if isinstance(box, Box):
            lower, upper = jnp.maximum(lower, box.lower), jnp.minimum(upper, box.upper)
        return Public(public.regulariser, Box(lower, upper))

    def _on_public(self, phase: Phase) -> Phase:
        """The phase, with queries to the released cost instead of the private one."""
        update = None if phase.update is None else partial(self._receive, phase.update)
        message = partial(self._send, phase)
        return replace(phase, message=message, update=update, query=None, release=None)

    def _send(
        self, phase: Phase, state: Perturbed, released: None, context: Context
    ) -> tuple[Perturbed, Any]:
        context = replace(context, public=self._inside(context.public))
        answer = None
        if phase.query is not None:
            one = jnp.ones((), state.coefficients.dtype)
            cost = PublicPolynomial(one, self.basis, state.coefficients)
            answer = phase.query(state.inner, cost, context, context.key)
        inner, payload = phase.message(state.inner, answer, context)
        return Perturbed(inner, state.coefficients), payload

    def _receive(
        self,
        update: Callable[[Any, Inbox, Context], Any],
        state: Perturbed,
        inbox: Inbox,
        context: Context,
    ) -> Perturbed:
        context = replace(context, public=self._inside(context.public))
        return Perturbed(update(state.inner, inbox, context), state.coefficients)


def _check_budget(privacy: Privacy) -> None:
    if privacy.noise is not NoiseKind.LAPLACE:
        raise PrivacyError(
            f"noise={privacy.noise.value!r}: functional perturbation is made for noise='laplace', "
            "which needs no delta (delta = 0)"
        )
    if privacy.clip_norm not in (None, 1):
        raise PrivacyError(
            f"clip_norm={privacy.clip_norm!r}: functional perturbation clips in the l1 norm; leave "
            "clip_norm out"
        )
    if privacy.sampling < 1.0:
        raise PrivacyError(
            f"sampling={privacy.sampling!r}: a cost is released once, with all its records; "
            "leave it at 1"
        )
    if privacy.relation is Relation.METRIC:
        raise PrivacyError(
            "relation='metric' is stated for a distance between gradients, and functional "
            "perturbation protects by one between coefficients, which metric_epsilon accounts for; "
            "use relation='replace_one'"
        )
    if not np.all(np.isfinite(np.asarray(privacy.clip, dtype=float))):
        raise PrivacyError(
            f"clip={privacy.clip!r} bounds nothing; give the largest l1 norm of one record's "
            "weighted coefficients"
        )
