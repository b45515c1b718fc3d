"""Differential privacy: what is released, what it costs, and what can be promised.

The way from a clip to a promise, one module each: `sensitivity` (queries and the bounds that they
enforce), `mechanism` (noise), `event` (what was released), `accounting` (what it costs),
`calibration` (how much noise a budget needs), `guarantee` (the promise with its conditions). Names
load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.privacy.accounting import (
        delta,
        epsilon,
        epsilon_curve,
        parallel_epsilon,
        profile,
    )
    from tacit.privacy.adjacency import at_distance
    from tacit.privacy.budget import NoiseKind, Privacy
    from tacit.privacy.calibration import affordable_rounds, noise_multiplier
    from tacit.privacy.correlated import CorrelatedGaussian, PairMasks
    from tacit.privacy.event import (
        DiscreteGaussianRelease,
        DiscreteLaplaceRelease,
        Event,
        GaussianRelease,
        LaplaceRelease,
        Masked,
        ModelClaim,
        NonPrivate,
        NoRelease,
        PerReleaseClaim,
        PoissonSampled,
        Repeated,
    )
    from tacit.privacy.guarantee import (
        Adversary,
        Guarantee,
        Guarantees,
        NoiseSource,
        Scope,
        Status,
    )
    from tacit.privacy.masked import MaskedGaussian, Masks
    from tacit.privacy.masks import (
        mask_ratio,
        masked_mu,
        masked_multiplier,
        worst_masked_mu,
    )
    from tacit.privacy.mechanism import (
        AbstractMechanism,
        Gaussian,
        Intrinsic,
        L2Laplace,
        Laplace,
        Release,
    )
    from tacit.privacy.sensitivity import (
        AbstractQuery,
        ClippedDifferences,
        ClippedGradient,
        ClippedUpdate,
        Exact,
    )
    from tacit.privacy.views import (
        GossipNoise,
        gossip_guarantees,
        gossip_mu,
        gossip_pairs,
        linear_mu,
    )

_HOME = {
    "accounting": ["delta", "epsilon", "epsilon_curve", "parallel_epsilon", "profile"],
    "adjacency": ["at_distance"],
    "budget": ["NoiseKind", "Privacy"],
    "calibration": ["affordable_rounds", "noise_multiplier"],
    "correlated": ["CorrelatedGaussian", "PairMasks"],
    "event": [
        "DiscreteGaussianRelease",
        "DiscreteLaplaceRelease",
        "Event",
        "GaussianRelease",
        "LaplaceRelease",
        "Masked",
        "ModelClaim",
        "NoRelease",
        "NonPrivate",
        "PerReleaseClaim",
        "PoissonSampled",
        "Repeated",
    ],
    "guarantee": ["Adversary", "Guarantee", "Guarantees", "NoiseSource", "Scope", "Status"],
    "masked": ["MaskedGaussian", "Masks"],
    "masks": ["mask_ratio", "masked_mu", "masked_multiplier", "worst_masked_mu"],
    "mechanism": [
        "AbstractMechanism",
        "Gaussian",
        "Intrinsic",
        "L2Laplace",
        "Laplace",
        "Release",
    ],
    "sensitivity": [
        "AbstractQuery",
        "ClippedDifferences",
        "ClippedGradient",
        "ClippedUpdate",
        "Exact",
    ],
    "views": ["GossipNoise", "gossip_guarantees", "gossip_mu", "gossip_pairs", "linear_mu"],
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "AbstractMechanism",
    "AbstractQuery",
    "Adversary",
    "ClippedDifferences",
    "ClippedGradient",
    "ClippedUpdate",
    "CorrelatedGaussian",
    "DiscreteGaussianRelease",
    "DiscreteLaplaceRelease",
    "Event",
    "Exact",
    "Gaussian",
    "GaussianRelease",
    "GossipNoise",
    "Guarantee",
    "Guarantees",
    "Intrinsic",
    "L2Laplace",
    "Laplace",
    "LaplaceRelease",
    "Masked",
    "MaskedGaussian",
    "Masks",
    "ModelClaim",
    "NoRelease",
    "NoiseKind",
    "NoiseSource",
    "NonPrivate",
    "PairMasks",
    "PerReleaseClaim",
    "PoissonSampled",
    "Privacy",
    "Release",
    "Repeated",
    "Scope",
    "Status",
    "affordable_rounds",
    "at_distance",
    "delta",
    "epsilon",
    "epsilon_curve",
    "gossip_guarantees",
    "gossip_mu",
    "gossip_pairs",
    "linear_mu",
    "mask_ratio",
    "masked_mu",
    "masked_multiplier",
    "noise_multiplier",
    "parallel_epsilon",
    "profile",
    "worst_masked_mu",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
