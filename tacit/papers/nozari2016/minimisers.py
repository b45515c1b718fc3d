"""Largest distance of the minimisers of two close functions: an appendix, in both forms.

Functions `f` and `g` on a convex compact set `D`, minimised over a convex part `X` of it, with
Hessians between `alpha` and `beta`. `functional_bounds.minimiser_distance` is a sharper bound of
our own on boxes.

In appendix A of Nozari, Tallapragada, Cortes (2018) proposition A.2 proves a bound on the *square*
of the L2 distance of `f` and `g`, but states it for the distance; corollary A.3 proves one on the
power `d + 4` of the minimisers' distance, but states it without taking the root.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import ArrayLike, Float

from tacit.arguments import checked
from tacit.checks import whole
from tacit.errors import ConfigError
from tacit.method._schedule import positive
from tacit.method.forms import Form, as_printed, not_negative
from tacit.method.functional_basis import box
from tacit.method.functional_projection import CurvatureBounds


@checked(ConfigError)
@dataclass(frozen=True)
class Domain:
    """The numbers of a convex compact set with an interior that the bounds need.

    Attributes:
        dimension: dimension `d`.
        inradius: radius `r_D` of the largest ball inside.
        circumradius: largest distance `R_D` of a point of the set from that ball's centre.
        diameter: largest distance `d_D` of two points of the set.

    Raises:
        ConfigError: numbers that no set can have.
    """

    dimension: int
    inradius: float
    circumradius: float
    diameter: float

    def __post_init__(self) -> None:
        whole("dimension", self.dimension, 1, ConfigError)
        for name in ("inradius", "circumradius", "diameter"):
            positive(name, getattr(self, name))
        room = 1.0 + 1e-9
        inside, around, across = self.inradius, self.circumradius, self.diameter
        if inside > around * room or 2.0 * inside > across * room or across > 2.0 * around * room:
            raise ConfigError(
                f"inradius={inside!r}, circumradius={around!r}, diameter={across!r} must satisfy "
                "inradius <= circumradius and 2 inradius <= diameter <= 2 circumradius"
            )

    @classmethod
    def box(
        cls,
        lower: Sequence[float] | Float[ArrayLike, " d"],
        upper: Sequence[float] | Float[ArrayLike, " d"],
    ) -> Domain:
        """The domain of a box, with the largest ball at its centre.

        Args:
            lower: corner of the box, shape `(d,)`.
            upper: opposite corner.

        Example:
            >>> square = Domain.box([-5.0, -5.0], [5.0, 5.0])
            >>> square.inradius, round(square.circumradius, 2), round(square.diameter, 2)
            (5.0, 7.07, 14.14)
        """
        low, high = box(lower, upper)
        across = float(np.linalg.norm(high - low))
        return cls(len(low), float(np.min(high - low)) / 2.0, across / 2.0, across)


@checked(ConfigError)
def contained_share(domain: Domain) -> float:
    r"""`lambda_D`: smallest share of a small ball around any point of `D` that lies in `D`.

    For `x` in `D` and `r <= r_D`, the part of `B(x, r)` in `D` has at least `lambda_D` times the
    volume of `B(x, r)`. It is the share of all directions within `atan(r_D / R_D)` of an axis:

    .. math::

        \frac{\Omega_\theta}{\Omega_d}, \qquad \Omega_\theta =
            \frac{2 \pi^{(d-1)/2}}{\Gamma((d-1)/2)} \int_0^\theta \sin^{d-2} \phi \, d\phi

    Source: Nozari, Tallapragada, Cortes (2018), appendix A, lemma A.1, eq (24). In one dimension,
    where that is undefined, one half.

    Args:
        domain: domain `D`.

    Example:
        >>> round(contained_share(Domain.box([-5.0, -5.0], [5.0, 5.0])), 5)
        0.19591
    """
    from scipy.special import betainc

    if domain.dimension == 1:
        return 0.5
    square = 1.0 / (1.0 + (domain.circumradius / domain.inradius) ** 2)  # of the sine
    return 0.5 * float(betainc((domain.dimension - 1) / 2.0, 0.5, square))


@checked(ConfigError)
def argmin_modulus_inverse(distance: float, bounds: CurvatureBounds, domain: Domain) -> float:
    r"""`kappa^-1(r)`: least difference of two functions whose minimisers are `r` apart.

    With `d` the dimension and `lambda_D` of `contained_share`:

    .. math::

        \kappa^{-1}(r) &= \frac{\alpha^2 \pi^{d/2}}{d \, 2^{d+3} \, \Gamma(d/2)} \lambda_D
            \left(\frac{r_D}{d_D}\right)^d r^4 \mu(r)^d \\
        \mu(r) &= \frac{\alpha r^2}{2 \sqrt{\alpha \beta r^2 + 2 (\alpha + \beta) u r + 4 u^2}}

    The square of their L2 distance is at least that, by the proof.

    Source: Nozari, Tallapragada, Cortes (2018), appendix A, proposition A.2, eq (25).

    Args:
        distance: distance `r` of the minimisers, at least 0.
        bounds: bounds `alpha`, `beta` and `u` of both; `alpha` positive, `u` finite.
        domain: domain `D`.

    Raises:
        ConfigError: a number out of its range.
    """
    not_negative(distance=distance)
    return math.exp(_log_inverse(distance, bounds, domain)) if distance > 0.0 else 0.0


@checked(ConfigError)
def argmin_modulus(
    norm: float, bounds: CurvatureBounds, domain: Domain, *, form: Form = "corrected"
) -> float:
    """A bound on the distance of the minimisers of two functions at an L2 distance.

    As printed `kappa(norm)`, which is too small where `norm` exceeds 1; corrected
    `kappa(norm^2)`. `kappa` is the inverse of `argmin_modulus_inverse`; it ignores the diameter and
    may exceed it.

    Source: Nozari, Tallapragada, Cortes (2018), appendix A, proposition A.2, eq (25).

    Args:
        norm: `||f - g||` in L2 of `D`, at least 0.
        bounds: bounds `alpha`, `beta` and `u` of both; `alpha` positive, `u` finite.
        domain: domain `D`.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> square = Domain.box([-5.0, -5.0], [5.0, 5.0])
        >>> bounds = CurvatureBounds(1.0, 51.0, 148.5)
        >>> forms = ("printed", "corrected")
        >>> [round(argmin_modulus(100.0, bounds, square, form=form), 1) for form in forms]
        [25.3, 48.8]
    """
    from scipy.optimize import root_scalar

    printed = as_printed(form)
    not_negative(norm=norm)
    if norm == 0.0:
        return 0.0
    wanted = math.log(norm) if printed else 2.0 * math.log(norm)

    def gap(log_distance: float) -> float:
        return _log_inverse(math.exp(log_distance), bounds, domain) - wanted

    # increasing with a slope between 4 + d and 4 + 2 d, which bounds the root's distance from 0
    reach = abs(gap(0.0)) / 4.0 + 1.0
    found = root_scalar(gap, bracket=(-reach, reach), xtol=1e-13, rtol=1e-14)
    return math.exp(float(found.root))


def _log_inverse(distance: float, bounds: CurvatureBounds, domain: Domain) -> float:
    """Logarithm of `argmin_modulus_inverse`, which itself may be smaller than any float."""
    alpha, beta, u = bounds.strong_convexity, bounds.smoothness, bounds.gradient_bound
    positive("strong_convexity", alpha)
    positive("gradient_bound", u)
    d = domain.dimension
    steep = math.hypot(math.sqrt(alpha * beta) * distance, 2.0 * u)
    steep = math.sqrt(steep**2 + 2.0 * (alpha + beta) * u * distance)
    mu = math.log(alpha / 2.0) + 2.0 * math.log(distance) - math.log(steep)
    logs = 2.0 * math.log(alpha) + d / 2.0 * math.log(math.pi) - math.lgamma(d / 2.0)
    logs -= math.log(d) + (d + 3.0) * math.log(2.0)
    logs += math.log(contained_share(domain)) + d * math.log(domain.inradius / domain.diameter)
    return logs + 4.0 * math.log(distance) + d * mu


@checked(ConfigError)
def interior_radius(strong_convexity: float, smoothness: float, inradius: float) -> float:
    r"""Largest distance of minimisers from the centre of the inball for `argmin_hoelder`.

    The radius is a share of the inradius:

    .. math:: \frac{\beta - \alpha}{\alpha + \beta + 2 \sqrt{\alpha \beta}} \, r_D

    Source: Nozari, Tallapragada, Cortes (2018), appendix A, corollary A.3, eq (28).

    Args:
        strong_convexity: modulus `alpha`, positive.
        smoothness: largest curvature `beta`, above `alpha`.
        inradius: inradius `r_D`.

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> round(interior_radius(1.0, 51.0, 5.0), 2)
        3.77
    """
    _curved(strong_convexity, smoothness)
    positive("inradius", inradius)
    root = math.sqrt(strong_convexity) + math.sqrt(smoothness)
    return (smoothness - strong_convexity) / root**2 * inradius


@checked(ConfigError)
def hoelder_constant(
    strong_convexity: float, smoothness: float, dimension: int, *, form: Form = "corrected"
) -> float:
    r"""The constant `L` of `argmin_hoelder`.

    As printed it is:

    .. math::

        L = \frac{d (d+2) (d+4) (\beta - \alpha)^{d+2} \, \Gamma(d/2)}
            {4 (\alpha \beta)^{d/2 + 2} \pi^{d/2}}

    Corrected it is `L^(1/(d+4))`. The printed constant is too small where it is below 1, and larger
    than necessary where it is above.

    Source: Nozari, Tallapragada, Cortes (2018), appendix A, corollary A.3.

    Args:
        strong_convexity: modulus `alpha`, positive.
        smoothness: largest curvature `beta`, above `alpha`.
        dimension: dimension `d`.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> for form in ("printed", "corrected"):
        ...     print([f"{hoelder_constant(1.0, beta, 2, form=form):.3g}" for beta in (1.5, 51.0)])
        ['0.0707', '180']
        ['0.643', '2.38']
    """
    _curved(strong_convexity, smoothness)
    d = whole("dimension", dimension, 1, ConfigError)
    logs = math.log(d * (d + 2.0) * (d + 4.0) / 4.0) + math.lgamma(d / 2.0)
    logs += (d + 2.0) * math.log(smoothness - strong_convexity)
    logs -= (d / 2.0 + 2.0) * math.log(strong_convexity * smoothness)
    logs -= d / 2.0 * math.log(math.pi)
    return math.exp(logs if as_printed(form) else logs / (d + 4.0))


@checked(ConfigError)
def argmin_hoelder(
    norm: float,
    strong_convexity: float,
    smoothness: float,
    dimension: int,
    *,
    form: Form = "corrected",
) -> float:
    """A bound on the distance of minimisers that lie well inside `D`: `L norm^(2/(d+4))`.

    For minimisers in the interior of `X`, within `interior_radius` of the centre of the inball.

    Source: Nozari, Tallapragada, Cortes (2018), appendix A, corollary A.3.

    Args:
        norm: `||f - g||` in L2 of `D`, at least 0.
        strong_convexity: modulus `alpha` of both, positive.
        smoothness: largest curvature `beta` of both, above `alpha`.
        dimension: dimension `d`.
        form: form of the result, "printed" or "corrected", which decides `hoelder_constant`.

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> forms = ("printed", "corrected")
        >>> [round(argmin_hoelder(0.01, 1.0, 51.0, 2, form=form), 2) for form in forms]
        [38.77, 0.51]
    """
    not_negative(norm=norm)
    constant = hoelder_constant(strong_convexity, smoothness, dimension, form=form)
    return constant * norm ** (2.0 / (dimension + 4.0))


def _curved(strong_convexity: float, smoothness: float) -> None:
    positive("strong_convexity", strong_convexity)
    positive("smoothness", smoothness)
    if not strong_convexity < smoothness:
        raise ConfigError(
            f"smoothness={smoothness!r} must be above strong_convexity={strong_convexity!r}"
        )
