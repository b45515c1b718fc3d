"""What a family of a regression is: a distribution of the target, its link, and its residuals."""

from __future__ import annotations

import abc
import math
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tacit.method._glm_expectations import Each, Scalar


class Linear(NamedTuple):
    """A linear regression of the transformed target, as the first sum gives it.

    Attributes:
        mean: mean of the transformed target.
        residual: variance of it about the fit.
        error: standard error of `residual` due to noise.
    """

    mean: Scalar
    residual: Scalar
    error: Scalar


class Link(NamedTuple):
    """What a linear regression of the transformed target says of the model.

    Attributes:
        predictor: linear predictor at the mean.
        slope: derivative of the mean of the transformed target with respect to the predictor.
        dispersion: dispersion of the target, as far as the family has one.
    """

    predictor: Scalar
    slope: Scalar
    dispersion: Scalar


class Terms(NamedTuple):
    """What the model says of one record at a point.

    Attributes:
        residual: residual in units of `Family.units`, in [-1, 1].
        weight: weight of the record in the information, likewise, in [0, 1].
        excess: whether the residual was clipped, minus the probability of that.
    """

    residual: Each
    weight: Each
    excess: Each


class Family(eqx.Module):
    """A distribution of the target with a link.

    Attributes:
        name: name of the family.
        link: name of the link: "identity", "logit" or "log".
        clips: whether residuals are clipped, so that the number of clipped ones says whether the
            model fits.
        linear: whether the link is the identity, so that the target is fitted as moved to [-1, 1].
        logistic: whether the weight of a record follows from its residual, as for a logit.
        classes: whether the target is one of several classes, each with coefficients of its own.
        measured: whether residuals are measured by a dispersion, for which their mean square is
            released.
        signed: whether it is the mean of moments that is released in its place.
        most: largest declared upper bound of the target.
    """

    name: ClassVar[str]
    link: ClassVar[str]
    clips: ClassVar[bool] = True
    linear: ClassVar[bool] = False
    logistic: ClassVar[bool] = False
    classes: ClassVar[bool] = False
    measured: ClassVar[bool] = False
    signed: ClassVar[bool] = False
    most: ClassVar[float] = math.inf

    def transformed(self, y: Each, largest: float) -> Each:
        """The target as the first sum regresses it: where its mean is nearly linear.

        Args:
            y: target.
            largest: declared upper bound of the target.
        """
        return y

    @abc.abstractmethod
    def linked(self, linear: Linear, least: Scalar) -> Link:
        """A linear regression, taken through the link.

        Args:
            linear: regression of the transformed target.
            least: smallest distance of a mean from the ends of its range.
        """

    @abc.abstractmethod
    def settled(self, link: Link, variance: Scalar) -> Float[Array, " 2"]:
        """Public numbers that residuals are measured by.

        Args:
            link: what the first sum says.
            variance: variance of the linear predictor.
        """

    @abc.abstractmethod
    def terms(self, y: Each, predictor: Each, by: Float[Array, " 2"]) -> Terms:
        """Residual, weight and excess of a record."""

    def moment(self, y: Each, predictor: Each, by: Float[Array, " 2"]) -> Each:
        """Number in [-1, 1] of a record, with mean 0 if the dispersion is right, if `signed`."""
        return jnp.zeros_like(predictor)

    @abc.abstractmethod
    def units(self, by: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        """Units of residuals and of weights."""

    def dispersion(self, square: Scalar, by: Float[Array, " 2"]) -> Float[Array, " 2"]:
        """The numbers again, from the mean square of the residuals in their units, or of moments.

        Args:
            square: mean square of the residuals, or mean moment where `signed`.
            by: numbers by which these were measured.
        """
        return by

    def likely(self, by: Float[Array, " 2"]) -> Scalar:
        """Variance of an excess, roughly: for a clip that is hard, the probability of it."""
        return jnp.zeros_like(by[0])

    def expected(self, by: Float[Array, " 2"], now: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        """Means of a residual, in natural units, and of an excess at the true coefficients.

        Args:
            by: numbers by which residuals were measured.
            now: the best estimates of these numbers; with the same ones both means are 0.
        """
        return jnp.zeros_like(by[0]), jnp.zeros_like(by[0])

    @abc.abstractmethod
    def spread(self, by: Float[Array, " 2"], now: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        """Unit of weights, and mean square of a residual over weight, both in natural units.

        Args:
            by: numbers by which residuals were measured.
            now: the best estimates of these numbers.
        """
