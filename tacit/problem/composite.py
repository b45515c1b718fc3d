"""The whole problem as a smooth function plus one with a proximal map, for the reference."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.problem.problem import Problem
from tacit.problem.public import Public
from tacit.problem.regularisers import L1, L2, AbstractRegulariser, ElasticNet, NoRegulariser
from tacit.types import AbstractObjective, Params, Scalar


class Composite(eqx.Module):
    """`F(x) = [sum_k f_k(x) + ridge(x)] + h(x)`, the first part differentiable if the losses are.

    Attributes:
        objectives: the `f_k`, with a leading agent axis.
        ridge: differentiable part of the regulariser.
        rest: `h`, the rest of the regulariser, together with the constraint.
    """

    objectives: AbstractObjective
    ridge: AbstractRegulariser
    rest: Public

    def smooth(self, x: Params) -> Float[Array, ""]:
        """`sum_k f_k(x) + ridge(x)`."""
        values = eqx.filter_vmap(lambda objective: objective.value(x))(self.objectives)
        return jnp.sum(values) + self.ridge.value(x)


def composite(problem: Problem) -> Composite:
    """Split the regulariser of a problem into what is differentiable and what is not."""
    regulariser = problem.regulariser
    ridge, rest = NoRegulariser(), regulariser
    if isinstance(regulariser, L2):
        ridge, rest = regulariser, NoRegulariser()
    elif isinstance(regulariser, ElasticNet):
        ridge = L2(regulariser.l2, unpenalised=regulariser.unpenalised)
        rest = L1(regulariser.l1, unpenalised=regulariser.unpenalised)
    return Composite(problem.objectives, ridge, Public(rest, problem.constraint))


@eqx.filter_jit
def value_and_gradient(whole: Composite, x: Params) -> tuple[Array, Array]:
    """The smooth part and its gradient."""
    return jax.value_and_grad(whole.smooth)(x)


@eqx.filter_jit
def gradient_and_hessian(whole: Composite, x: Params) -> tuple[Array, Array]:
    """The gradient of the smooth part and its matrix of second derivatives."""
    gradient = jax.grad(whole.smooth)
    return gradient(x), jax.jacfwd(gradient)(x)


@eqx.filter_jit
def prox(rest: Public, v: Params, step: Scalar) -> Array:
    """The proximal map of the rest."""
    return rest.prox(v, step)


@eqx.filter_jit
def prox_and_jacobian(rest: Public, v: Params, step: Scalar) -> tuple[Array, Array]:
    """The proximal map of the rest and its (generalised) matrix of derivatives."""
    return rest.prox(v, step), jax.jacfwd(lambda point: rest.prox(point, step))(v)


def total(whole: Composite, x: np.ndarray) -> float:
    """`F(x)`, without the constraint."""
    return float(value_and_gradient(whole, x)[0] + whole.rest.value(x))
