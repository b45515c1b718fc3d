"""Rate of convergence of DP-IADMM with a proximal term: the paper's theorem, printed and corrected.

For convex costs `f_p` on a compact convex set `W`, steps `eta_t = 1 / sqrt t`, penalties that never
fall, and noise of mean 0 in every subproblem.

After section 3.2 of Ryu, Kim (2021), and the proofs in its appendix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import ArrayLike, Float

from tacit.arguments import checked
from tacit.checks import whole
from tacit.errors import ConfigError
from tacit.method._schedule import positive
from tacit.method.forms import Form, as_printed, not_negative
from tacit.papers.ryu2021.bounds import global_l1_sensitivity
from tacit.types import Relation


@checked(ConfigError)
@dataclass(frozen=True)
class ConvergenceConstants:
    """The theorem's constants of the costs and the set: three maxima, or bounds on them.

    Source: Ryu, Kim (2021), section 3.2, eq (16).

    Attributes:
        gradient: largest l2 norm `U1` of any agent's gradient on `W`.
        diameter: largest distance `U2` of two points of `W`.
        sensitivity: largest l1 movement `U3` of any agent's gradient on `W` due to one record.

    Raises:
        ConfigError: a number that is negative or not finite.
    """

    gradient: float
    diameter: float
    sensitivity: float

    def __post_init__(self) -> None:
        not_negative(gradient=self.gradient, diameter=self.diameter, sensitivity=self.sensitivity)

    @classmethod
    def softmax(
        cls,
        *,
        features: int,
        classes: int,
        total: float,
        largest: float,
        agents: int,
        half_width: float,
        regulariser: float = 0.0,
        relation: Relation | str = "add_remove",
    ) -> ConvergenceConstants:
        """Bounds for the model of the paper, with features in [0, 1] and the box [-h, h]^(J K).

        `U1 <= (I_p / I) sqrt(2 J) + (2 beta / P) h sqrt(J K)`, as a record's gradient is a row of
        length at most `sqrt J` times a residual of length at most `sqrt 2`;
        `U2 = 2 h sqrt(J K)`; `U3 <= 2 J / I`, or twice that where a record is replaced.

        Source: Ryu, Kim (2021), appendix A.8, eq (37).

        Args:
            features: number of features `J`.
            classes: number of classes `K`.
            total: number of records of all agents, `I`.
            largest: largest number of records of one agent, `I_p`.
            agents: number of agents `P`.
            half_width: half width `h` of the box, positive.
            regulariser: strength `beta` of the regulariser, at least 0.
            relation: adjacency, "add_remove" or "replace_one".

        Raises:
            ConfigError: a number out of its range.

        Example:
            >>> mnist = ConvergenceConstants.softmax(
            ...     features=784, classes=10, total=6e4, largest=6e3, agents=10, half_width=1.0
            ... )
            >>> round(mnist.gradient, 2), round(mnist.diameter, 1), round(mnist.sensitivity, 4)
            (3.96, 177.1, 0.0261)
        """
        whole("classes", classes, 2, ConfigError)
        whole("agents", agents, 1, ConfigError)
        for name, value in (("total", total), ("largest", largest), ("half_width", half_width)):
            positive(name, value)
        not_negative(regulariser=regulariser)
        if largest > total:
            raise ConfigError(f"largest={largest!r} must be at most total={total!r}")
        corner = half_width * math.sqrt(features * classes)
        return cls(
            gradient=largest / total * math.sqrt(2.0 * features)
            + 2.0 * regulariser / agents * corner,
            diameter=2.0 * corner,
            sensitivity=global_l1_sensitivity(features, total, relation),
        )


@checked(ConfigError)
def server_condition(
    w: Float[ArrayLike, " n"],
    copies: Float[ArrayLike, "agents n"],
    duals: Float[ArrayLike, "agents n"],
    penalty: float,
) -> Float[np.ndarray, " n"]:
    """`sum_p lam_p + rho (w - z_p)`, which is 0 for the `w` of a round.

    Source: Ryu, Kim (2021), section 3.2, eq (17).

    Args:
        w: iterate `w` of the server, shape `(n,)`.
        copies: copies `z_p` from which `w` was computed, shape `(agents, n)`.
        duals: duals `lam_p` from which it was computed.
        penalty: ADMM penalty `rho`, positive.

    Raises:
        ConfigError: a penalty that is not positive and finite.

    Example:
        >>> copies, duals = np.array([[1.0], [3.0]]), np.array([[1.0], [0.0]])
        >>> server_condition(np.array([1.5]), copies, duals, penalty=1.0)
        array([0.])
    """
    positive("penalty", penalty)
    moved = np.asarray(w)[None] - np.asarray(copies)
    return np.sum(np.asarray(duals) + penalty * moved, axis=0)


@checked(ConfigError)
def step_inequality(
    *,
    before: float,
    there: float,
    gradient: Float[ArrayLike, " n"],
    noise: Float[ArrayLike, " n"],
    z: Float[ArrayLike, " n"],
    after: Float[ArrayLike, " n"],
    dual: Float[ArrayLike, " n"],
    point: Float[ArrayLike, " n"],
    proximity: float,
) -> tuple[float, float]:
    r"""Both sides of the inequality for one agent's step; the left never exceeds the right.

    For any point `x` of the set:

    .. math::

        & f_p(z_t) - f_p(x) - \langle \lambda_{t+1}, z_{t+1} - x\rangle \\
        & \quad \le \frac{\eta}{2} \lVert f_p'(z_t) + \xi\rVert^2
            + \frac{\lVert x - z_t\rVert^2 - \lVert x - z_{t+1}\rVert^2}{2 \eta}
            + \langle \xi, x - z_t\rangle

    Source: Ryu, Kim (2021), section 3.2, proposition 3, eq (18).

    Args:
        before: cost `f_p(z_t)` before the step.
        there: cost `f_p(x)` at the point.
        gradient: gradient `f_p'(z_t)`, shape `(n,)`.
        noise: noise `xi` of the step.
        z: copy `z_t` before the step.
        after: copy `z_(t+1)`, the solution of eq (8).
        dual: dual `lam_(t+1)` after the step.
        point: any point `x` in `W`.
        proximity: proximity `eta`, positive.

    Raises:
        ConfigError: a proximity that is not positive and finite.
    """
    positive("proximity", proximity)
    g, xi, old, new, lam, x = (
        np.asarray(each, dtype=np.float64) for each in (gradient, noise, z, after, dual, point)
    )
    left = before - there - float(lam @ (new - x))
    right = proximity / 2.0 * float(np.sum((g + xi) ** 2)) + float(xi @ (x - old))
    right += float(np.sum((x - old) ** 2) - np.sum((x - new) ** 2)) / (2.0 * proximity)
    return left, right


@checked(ConfigError)
def convergence_bound(
    constants: ConvergenceConstants,
    *,
    rounds: int,
    agents: int,
    parameters: int,
    epsilon: float,
    first_penalty: float,
    largest_penalty: float,
    violation_weight: float = 1.0,
    first_dual: float = 0.0,
    form: Form = "corrected",
) -> float:
    r"""A bound on `E[F(z) - F(z*) + g ||A w - z||]` for the means `w` and `z` over `T` rounds.

    `F` adds up the agents' costs, each at its own copy; `A w` has `P` copies of `w`. As printed:

    .. math::

        \frac{1}{T} \left(\left(P U_1^2 + \frac{2 P n U_3^2}{\varepsilon^2} + \frac{U_2}{2}\right)
            \sqrt{T} + g U_2 + \frac{U_2 \rho_{\max}}{2}
            + \frac{(g + \lVert \lambda_1\rVert)^2}{2 \rho_1}\right)

    The proof bounds squared distances of stacked copies by `U2`, and their distance by the same.
    In the corrected form, `P U2^2` replaces `U2` in `U2 / 2` and `U2 rho_max / 2`, and `sqrt(P) U2`
    replaces it in `g U2`. The printed bound fails where copies start far apart. Both are of order
    `1 / (sqrt(T) epsilon^2)`.

    Source: Ryu, Kim (2021), section 3.2, theorem 2, eq (19a); appendix A.7, eqs (33), (34a), (36).
    The error is in the appendix.

    Args:
        constants: constants `U1`, `U2` and `U3`.
        rounds: number of rounds `T`.
        agents: number of agents `P`.
        parameters: number of parameters `n = J K`.
        epsilon: epsilon per iteration, as the paper counts it; infinite without noise.
        first_penalty: first penalty `rho_1`, positive.
        largest_penalty: largest penalty `rho_max`, at least `rho_1`.
        violation_weight: weight `g` of the violation, positive.
        first_dual: norm `||lam_1||` of all agents' duals, stacked.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> mnist = ConvergenceConstants.softmax(
        ...     features=784, classes=10, total=6e4, largest=6e3, agents=10, half_width=1.0
        ... )
        >>> setting = dict(agents=10, parameters=7840, first_penalty=7.0, largest_penalty=7.88)
        >>> for form in ("printed", "corrected"):
        ...     bound = convergence_bound(mnist, rounds=20_000, epsilon=1.0, form=form, **setting)
        ...     print(form, round(bound, 2))
        printed 2.54
        corrected 1172.42
    """
    t = whole("rounds", rounds, 1, ConfigError)
    p, n = whole("agents", agents, 1, ConfigError), whole("parameters", parameters, 1, ConfigError)
    for name, value in (
        ("first_penalty", first_penalty),
        ("largest_penalty", largest_penalty),
        ("violation_weight", violation_weight),
    ):
        positive(name, value)
    not_negative(first_dual=first_dual)
    if not epsilon > 0.0:
        raise ConfigError(f"epsilon={epsilon!r} must be positive, or inf for no noise")
    if largest_penalty < first_penalty:
        raise ConfigError(
            f"largest_penalty={largest_penalty!r} must be at least first_penalty={first_penalty!r}:"
            " penalties never fall"
        )
    # bounds on a squared distance of stacked copies, and on a distance
    squared, apart = constants.diameter, constants.diameter
    if not as_printed(form):
        squared, apart = p * constants.diameter**2, math.sqrt(p) * constants.diameter
    growing = p * constants.gradient**2 + squared / 2.0
    growing += 2.0 * p * n * (constants.sensitivity / epsilon) ** 2
    fixed = violation_weight * apart + squared * largest_penalty / 2.0
    fixed += (violation_weight + first_dual) ** 2 / (2.0 * first_penalty)
    return (growing * math.sqrt(t) + fixed) / t
