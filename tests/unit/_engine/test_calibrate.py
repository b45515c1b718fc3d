"""What a budget says is what the queries and releases of a method do."""

import dataclasses
from typing import Any

import equinox as eqx
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit.errors import PrivacyError
from tacit.method import AbstractMethod, Phase
from tacit.privacy import ClippedGradient, Privacy, Release, gaussian
from tacit.types import Oracle, Relation, Role

TASK = problem.empirical_risk(
    list(np.random.default_rng(0).normal(size=(3, 40, 2))),
    list(np.random.default_rng(1).normal(size=(3, 40))),
    problem.Squared(),
    problem.L2(0.1),
    normaliser=40,
)


ALL = ("rate", "norm", "relation", "mechanism")


class Plain(AbstractMethod):
    """Descent that takes clip and noise from its budget, and what else it is told to."""

    oracle = Oracle.GRADIENT
    privacy: Privacy
    passes: tuple[str, ...] = eqx.field(static=True, default=())

    def init(self, role: Any, x0: Any, degree: Any) -> Any:
        return x0

    def phases(self) -> Any:
        privacy = self.privacy
        given = {"rate": privacy.sampling, "norm": privacy.clip_norm}
        query = ClippedGradient(
            lambda x: x,
            privacy.clip,
            order=privacy.order,
            **{name: given[name] for name in self.passes if name in given},
        )
        relation = privacy.relation if "relation" in self.passes else Relation.REPLACE_ONE
        noise = privacy.mechanism if "mechanism" in self.passes else gaussian(60.0)
        release = Release("gradient", noise, relation)
        return (
            Phase(
                name="step",
                sender=Role.PEER,
                query=query,
                release=release,
                message=self.share,
                receiver=Role.PEER,
                update=self.step,
            ),
        )

    def share(self, x: Any, released: Any, context: Any) -> Any:
        return x - 0.1 * released, x - 0.1 * released

    def step(self, x: Any, inbox: Any, context: Any) -> Any:
        return inbox.self_weight * x + inbox.mixed

    def solution(self, x: Any) -> Any:
        return x


class Halves(Plain):
    """One release of a sample, and one of all records."""

    def phases(self) -> Any:
        (sampled,) = Plain(self.privacy, ALL).phases()
        query = ClippedGradient(lambda x: x, self.privacy.clip)
        return sampled, dataclasses.replace(sampled, name="all", query=query)


def noise(method: AbstractMethod) -> float:
    (owner, *_) = tacit.account(TASK, network.ring(3), method, rounds=4).releases
    return float(owner[0].noise_scale)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("rate", {"sampling": 0.1, "relation": "add_remove"}),
        ("norm", {"clip_norm": 1}),
        ("norm", {"clip_norm": "inf"}),
        ("relation", {"relation": "add_remove"}),
        ("mechanism", {"noise": "l2_laplace"}),
    ],
)
def test_what_a_method_does_not_pass_on_is_refused(name: str, given: dict[str, Any]) -> None:
    budget = Privacy(clip=1.0, epsilon=1.0, delta=1e-3, **given)
    others = tuple(set(ALL) - {name})
    with pytest.raises(PrivacyError, match=rf"no effect on any release of Plain; .*{name}=self"):
        noise(Plain(budget, others))
    assert noise(Plain(budget, (*others, name))) > 0


def test_what_has_to_be_given_instead_is_named() -> None:
    budget = Privacy(clip=1.0, epsilon=1.0, delta=1e-3, relation="add_remove")
    with pytest.raises(PrivacyError, match="of Plain; give relation='replace_one', or let"):
        noise(Plain(budget, ("rate", "norm", "mechanism")))
    budget = Privacy(clip=1.0, epsilon=1.0, delta=1e-3, noise="l2_laplace")
    with pytest.raises(PrivacyError, match="of Plain; give noise='gaussian', or let"):
        noise(Plain(budget, ("rate", "norm", "relation")))


def test_some_release_is_enough() -> None:
    assert noise(Halves(Privacy(clip=1.0, epsilon=1.0, sampling=0.1, relation="add_remove"))) > 0


def test_a_query_of_a_budget_passes_on_all_of_it() -> None:
    budget = Privacy(
        clip=2.0, epsilon=1.0, delta=1e-3, sampling=0.5, clip_norm=1, relation="add_remove"
    )
    query = ClippedGradient.of(budget, lambda x: x)
    assert (query.clip, query.order, query.rate, query.clip_norm) == (2.0, 2, 0.5, 1)
