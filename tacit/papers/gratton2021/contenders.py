"""The methods that Gratton et al. (2021) compare, with the same number of settings for each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.method import DPADMM, DPSG, DZOA, PVP
from tacit.network import AbstractNetwork, Coordinator
from tacit.papers.gratton2021.admm_claim import claimed_multiplier
from tacit.papers.gratton2021.dp_admm import DPADMMPrinted
from tacit.papers.gratton2021.dvp import DVPPrinted
from tacit.papers.gratton2021.pvp import PVPPrinted
from tacit.papers.gratton2021.setting import AGENTS, paper_network
from tacit.privacy import Privacy

Setting = Mapping[str, float]

SETTINGS = 12
"""Number of settings of each method."""

UNREACHED = 1e6
"""A clip far above every gradient here."""

TOLERANCE = 1e-6
"""Tolerance of local solutions: far below the noise."""


def _grid(**axes: Sequence[float]) -> list[Setting]:
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


_PENALTIES = (4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 128.0, 256.0, 512.0)

PRINTED: Mapping[str, Sequence[Setting]] = {
    "DP-ADMM": _grid(penalty=(4.0, 16.0, 64.0, 256.0), step=(0.01, 0.03, 0.1)),
    "DPSG": _grid(step=(0.01, 0.03, 0.1, 0.3), decay=(0.0, 0.5, 1.0)),
    "PVP": _grid(penalty=_PENALTIES),
    "DVP": _grid(penalty=_PENALTIES),
}
"""Settings of the noisy baselines on the sum of losses."""

CERTIFIED: Mapping[str, Sequence[Setting]] = {
    "D-ZOA": _grid(clip=(0.3, 1.0, 2.0), penalty=(0.1, 0.3), proximity=(1.0, 5.0)),
    "DP-ADMM": _grid(clip=(0.3, 1.0, 2.0), penalty=(0.1, 1.0), step=(1.0, 5.0)),
    "DPSG": _grid(clip=(0.3, 1.0, 2.0), step=(0.3, 3.0), decay=(0.0, 0.5)),
    "PVP": _grid(clip=(0.3, 1.0, 2.0), penalty=(0.1, 0.3, 1.0, 3.0)),
}
"""Settings of the methods with a proof, on the mean of losses."""


def network_of(name: str) -> AbstractNetwork:
    """Neighbours as in the paper; DP-ADMM has a coordinator."""
    return Coordinator(AGENTS) if name == "DP-ADMM" else paper_network()


def printed(name: str, setting: Setting, epsilon: float, delta: float) -> Any:
    """A baseline with the noise claimed to be needed per iteration.

    The paper prints no noise for its baselines: it is ours, by analogy with eq (20). The loss is a
    sum, so a record with a gradient of at most `c1 = 1` moves a gradient by 2.

    Args:
        name: name of the baseline.
        setting: setting from its tuning.
        epsilon: epsilon claimed per iteration.
        delta: delta claimed per iteration.
    """
    if name == "DPSG":
        noise = claimed_multiplier(epsilon, delta)
        privacy = Privacy(clip=UNREACHED, noise_multiplier=noise / UNREACHED)
        return DPSG(
            setting["step"],
            privacy=privacy,
            decay=setting["decay"],
            average=False,
            proximal=False,
        )
    if name == "DP-ADMM":
        return DPADMMPrinted(epsilon=epsilon, claimed_delta=delta, **setting)
    kind: Callable[..., Any] = {"PVP": PVPPrinted, "DVP": DVPPrinted}[name]
    return kind(epsilon=epsilon, claimed_delta=delta, tolerance=TOLERANCE, **setting)


def certified(name: str, setting: Setting, epsilon: float, delta: float) -> Any:
    """A method with a proved guarantee for the whole run, under replace-one adjacency."""
    privacy = Privacy(clip=setting["clip"], epsilon=epsilon, delta=delta)
    hyper = {key: value for key, value in setting.items() if key != "clip"}
    if name == "PVP":
        return PVP(hyper["penalty"], TOLERANCE, privacy=privacy)
    kind: Callable[..., Any] = {"D-ZOA": DZOA, "DP-ADMM": DPADMM, "DPSG": DPSG}[name]
    return kind(privacy=privacy, **hyper)
