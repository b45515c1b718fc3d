"""What a query states about its answer, a flat vector: its size, sensitivity and rounding errors.

Queries are the only code that sees private data.
"""

from __future__ import annotations

import abc
import math
from enum import Enum
from typing import Annotated, Any, ClassVar, NamedTuple, TypeAlias, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from tacit.arguments import checked
from tacit.arguments.answers import Fits, answer, anything, number
from tacit.arguments.own import is_own
from tacit.errors import PrivacyError
from tacit.privacy.rounding import DOUBLE, sum_error
from tacit.ranges import Numbers, Range
from tacit.types import Context, Index, Oracle, Order, PublicContext, Relation

OneOrTwo: TypeAlias = Annotated[int, Range(least=1.0, most=2.0)]
"""A norm in which noise needs a bound."""

Share: TypeAlias = Annotated[float, Range(above=0.0, most=1.0)]
"""A positive probability."""

Norm: TypeAlias = Annotated[Order, Range(least=1.0, infinite=True)]
"""A norm of a clip: 1, 2 or infinity."""

Clip: TypeAlias = Annotated[Numbers, Range(above=0.0, infinite=True)]
"""A positive number, or one per agent; infinite for no clipping."""

PerAgent: TypeAlias = Numbers
"""A number for all agents, or one per agent as an array of shape `(agents,)`."""


def own(value: PerAgent, agent: Index) -> Numbers:
    """The agent's own entry of a number that may differ per agent."""
    return value if jnp.ndim(value) == 0 else jnp.asarray(value)[agent]


def own_public(value: PerAgent, agent: int) -> float:
    """`own` in plain Python, for accounting."""
    array = np.asarray(value, dtype=float)
    return float(array if array.ndim == 0 else array[agent])


class Sums(Enum):
    """What the answer is a sum of, over the normaliser."""

    RECORDS = "a vector a record, each within a clip"
    ONE = "one vector within a clip, whatever the records behind it"
    UNKNOWN = "of nothing that is known"


class Computed(NamedTuple):
    """What is known about an answer as floating-point arithmetic computes it.

    Attributes:
        sensitivity: sensitivity of the computed answer, rounding errors included.
        largest: bound on the size of every coordinate.
    """

    sensitivity: float
    largest: float


@checked(PrivacyError)
class AbstractQuery(eqx.Module):
    """One question to a private objective.

    A query states everything about its answer, a flat vector: the number of coordinates (`size`),
    how far it moves between neighbours (`sensitivity`), and its properties when computed
    (`computed`). What a class outside tacit states is a model claim, even if the class is derived
    from one of tacit's: nothing proves that its answers keep the bound.

    Attributes:
        oracle: kind of question that it asks the objective.
        order: norm in which its sensitivity is bounded, 1 or 2.
        rate: probability with which each unit is sampled, 1 for all of them.
        projects: whether its bound rests on projections and proximal maps being non-expansive.
        solves: whether its bound rests on the convexity and the curvature that losses declare.
        sums: what its answer is a sum of, so that rounding errors in it have a bound.
        unbounded: reason why they have none, if it is not such a sum.
    """

    projects: ClassVar[bool] = False
    solves: ClassVar[bool] = False
    sums: ClassVar[Sums] = Sums.UNKNOWN
    unbounded: ClassVar[str] = (
        "nothing bounds how large its computed answer and the rounding errors in it may be. Bound "
        "both and use grid_release, or simulate it"
    )
    oracle: eqx.AbstractVar[Oracle]
    order: eqx.AbstractVar[int]
    rate: eqx.AbstractVar[float]

    @abc.abstractmethod
    def __call__(self, state: Any, objective: Any, context: Context, key: PRNGKeyArray) -> Any:
        """The private answer, computed from an `AbstractPrivate`.

        `key` draws the sample of records and reaches nothing else.
        """

    @abc.abstractmethod
    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        """Largest movement of the answer between neighbours, in norm `order`; may be infinite."""

    @abc.abstractmethod
    def evaluations(self, dimension: int) -> int:
        """Maximum number of function values (or gradients) asked of each unit in one call."""

    def assumes(self, relation: Relation) -> tuple[str, ...]:
        """What the sensitivity assumes about the data, in words; nothing by default."""
        return ()

    @property
    def clip_norm(self) -> Order:
        """Norm of the clip; `order` unless a query has another."""
        return self.order

    def size(self, dimension: int) -> int:
        """Number of coordinates of the answer: by default one for each parameter."""
        return dimension

    def beside(self, public: PublicContext) -> float:
        """Length of what is added to every vector after its clip, as it enters the answer."""
        return 0.0

    @final
    def computed(
        self,
        public: PublicContext,
        relation: Relation,
        most_records: int | None = None,
        roundoff: float = DOUBLE,
    ) -> Computed:
        """Sensitivity and size of the computed answer. Proof: docs/proofs/safe_noise.md.

        Args:
            public: declared constants of the owner; `dimension` among them.
            relation: adjacency of the data sets.
            most_records: public upper bound on the number of records, at least 1, which the caller
                of the query must enforce. Needed by a sum under add/remove, where their number is
                private; otherwise the number in `public` counts where it is larger.
            roundoff: unit roundoff of the arithmetic.

        Raises:
            PrivacyError: there is no such bound; the message gives the reason.
        """
        if self.sums is Sums.UNKNOWN:
            raise PrivacyError(f"{type(self).__name__} has no secure form: {self.unbounded}")
        if relation is Relation.METRIC:
            raise PrivacyError(
                "relation='metric' has no secure form: its bound holds between two costs and says "
                "nothing of how large an answer may be, which a grid needs to know; use "
                "relation='replace_one' with a clip, or simulate it"
            )
        if public.dimension is None:
            raise PrivacyError(
                "rounding errors grow with the number of parameters; give PublicContext.dimension"
            )
        sensitivity = sensitivity_of(self, public, relation)
        if not math.isfinite(sensitivity):
            raise PrivacyError(
                f"{type(self).__name__} of agent {public.agent} has no finite sensitivity, so "
                "nothing bounds its answers. Set a finite clip, or declare bounds of the records "
                "that imply one"
            )
        # replacing moves a sum by two vectors within the clip; adding or removing, by one
        replaces = relation is Relation.REPLACE_ONE
        longest = sensitivity / 2 + self.beside(public) if replaces else sensitivity
        terms = 1 if self.sums is Sums.ONE else _summed(public, relation, most_records)
        error = sum_error(terms, longest, self.size(public.dimension), roundoff)
        return Computed(sensitivity + error, 2 * terms * longest)

    def evaluations_of(self, agent: int, dimension: int) -> int:
        """`evaluations` of one agent's units: the same for all agents by default."""
        return self.evaluations(dimension)


def sensitivity_of(query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
    """The sensitivity that a query states, which may be infinite.

    Raises:
        PrivacyError: something else than a positive number, or 0: what no data move needs no query,
            so 0 is a number only where tacit derives it from bounds that are 0.
    """
    words = "give a positive number: how far the answer moves between neighbours"
    stated = answer(
        query.sensitivity,
        public,
        relation,
        named=f"{type(query).__name__}.sensitivity",
        takes="public, relation",
        fits=number(words, zero=is_own(type(query))),
        error=PrivacyError,
        public=True,
    )
    return float(stated)


def asked(
    query: AbstractQuery, part: str, *given: object, takes: str, fits: Fits = anything
) -> Any:
    """What a function that a query was given answers.

    Args:
        query: the query.
        part: name of the attribute with the function.
        given: arguments of the function.
        takes: their names.
        fits: says what is wanted instead of an answer.

    Raises:
        PrivacyError: a function of other arguments, or another answer.
    """
    function, named = getattr(query, part), f"{type(query).__name__}: {part}"
    return answer(function, *given, named=named, takes=takes, fits=fits, error=PrivacyError)


def _summed(public: PublicContext, relation: Relation, most_records: int | None) -> int:
    """Maximum number of records that are summed, whatever their sum is divided by."""
    if relation is Relation.REPLACE_ONE:
        return max(public.count, most_records or 1)
    if most_records is None or most_records < 1:
        raise PrivacyError(
            f"most_records={most_records!r}: under add/remove the number of records is private, "
            "and rounding errors of their sum grow with it; declare one that is never exceeded"
        )
    return most_records
