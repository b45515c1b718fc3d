"""Differential privacy: what is released, what it costs, and what can be guaranteed.

From a clip to a guarantee, one module each: `query` (what is known about an answer),
`sensitivity` (queries and the bounds that they enforce), `laws` (of noise), `dose` (how much of
it), `hiding` (what else hides an agent), `mechanism` (these together), `event` (what was released),
`accounting` (what it costs), `calibration` (how much noise a budget needs), `guarantee` (the
promise with its conditions), `guarantees` (of all owners). `laws` draws the noise of simulations,
`noise` that of sites. Names load when they are first used.
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
    from tacit.privacy.budget import Privacy
    from tacit.privacy.calibration import affordable_rounds, noise_multiplier
    from tacit.privacy.correlated import PairMasks, PairNoise
    from tacit.privacy.dose import AbstractDose, Calibrated
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
        ProtocolClaim,
        Repeated,
    )
    from tacit.privacy.guarantee import Adversary, Guarantee, NoiseSource, Scope, Status
    from tacit.privacy.guarantees import Guarantees
    from tacit.privacy.hiding import ALONE
    from tacit.privacy.laws import GAUSSIAN, L2_LAPLACE, LAPLACE, LAWS, Law, NoiseKind
    from tacit.privacy.masked import Masks, SecureSum
    from tacit.privacy.masks import (
        mask_ratio,
        masked_mu,
        masked_multiplier,
        worst_masked_mu,
    )
    from tacit.privacy.mechanism import (
        NO_NOISE,
        Into,
        Mechanism,
        Release,
        gaussian,
        l2_laplace,
        laplace,
    )
    from tacit.privacy.plan import NoisePlan, at_other_deltas, plan_noise
    from tacit.privacy.plan_shared import GossipPlan, MasksPlan, plan_gossip, plan_masks
    from tacit.privacy.query import AbstractQuery
    from tacit.privacy.sensitivity import ClippedDifferences, ClippedGradient, ClippedUpdate, Exact
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
    "budget": ["Privacy"],
    "calibration": ["affordable_rounds", "noise_multiplier"],
    "correlated": ["PairMasks", "PairNoise"],
    "dose": ["AbstractDose", "Calibrated"],
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
        "ProtocolClaim",
        "Repeated",
    ],
    "guarantee": ["Adversary", "Guarantee", "NoiseSource", "Scope", "Status"],
    "guarantees": ["Guarantees"],
    "hiding": ["ALONE"],
    "laws": ["GAUSSIAN", "L2_LAPLACE", "LAPLACE", "LAWS", "Law", "NoiseKind"],
    "masked": ["Masks", "SecureSum"],
    "masks": ["mask_ratio", "masked_mu", "masked_multiplier", "worst_masked_mu"],
    "mechanism": [
        "NO_NOISE",
        "Into",
        "Mechanism",
        "Release",
        "gaussian",
        "l2_laplace",
        "laplace",
    ],
    "plan": ["NoisePlan", "at_other_deltas", "plan_noise"],
    "plan_shared": ["GossipPlan", "MasksPlan", "plan_gossip", "plan_masks"],
    "query": ["AbstractQuery"],
    "sensitivity": [
        "ClippedDifferences",
        "ClippedGradient",
        "ClippedUpdate",
        "Exact",
    ],
    "views": ["GossipNoise", "gossip_guarantees", "gossip_mu", "gossip_pairs", "linear_mu"],
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "ALONE",
    "GAUSSIAN",
    "L2_LAPLACE",
    "LAPLACE",
    "LAWS",
    "NO_NOISE",
    "AbstractDose",
    "AbstractQuery",
    "Adversary",
    "Calibrated",
    "ClippedDifferences",
    "ClippedGradient",
    "ClippedUpdate",
    "DiscreteGaussianRelease",
    "DiscreteLaplaceRelease",
    "Event",
    "Exact",
    "GaussianRelease",
    "GossipNoise",
    "GossipPlan",
    "Guarantee",
    "Guarantees",
    "Into",
    "LaplaceRelease",
    "Law",
    "Masked",
    "Masks",
    "MasksPlan",
    "Mechanism",
    "ModelClaim",
    "NoRelease",
    "NoiseKind",
    "NoisePlan",
    "NoiseSource",
    "NonPrivate",
    "PairMasks",
    "PairNoise",
    "PerReleaseClaim",
    "PoissonSampled",
    "Privacy",
    "ProtocolClaim",
    "Release",
    "Repeated",
    "Scope",
    "SecureSum",
    "Status",
    "affordable_rounds",
    "at_distance",
    "at_other_deltas",
    "delta",
    "epsilon",
    "epsilon_curve",
    "gaussian",
    "gossip_guarantees",
    "gossip_mu",
    "gossip_pairs",
    "l2_laplace",
    "laplace",
    "linear_mu",
    "mask_ratio",
    "masked_mu",
    "masked_multiplier",
    "noise_multiplier",
    "parallel_epsilon",
    "plan_gossip",
    "plan_masks",
    "plan_noise",
    "profile",
    "worst_masked_mu",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        from tacit.checks import absent

        raise absent(__name__, name, __all__)
    value = getattr(import_module(f"{__name__}.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
