"""Noise fit for deployment: discrete, on a grid, from a stream that nobody can repeat.

Floating-point Laplace and Gaussian noise is not differentially private at the precision of a float:
most outputs that are possible for one data set are impossible for its neighbour. Here a value is
rounded to a grid (`grid`), integer noise whose law is exact up to 2^-133 (`laplace`,
`gaussian`) is drawn from AES under a key of the operating system (`stream`), and the sum is scaled
back (`release`). `reference` draws the same laws with OpenDP. Proof: docs/proofs/safe_noise.md.

Simulated noise is none of this: compiled code draws it in `privacy.laws`, `Mechanism.add` in
`privacy.mechanism` adds it, and `_engine.step.send` calls that. Noise in production is drawn here,
for `deploy.member.session` and, in masked sums, `deploy.member.sum_session`. `pairs` has the masks
that pairs of agents share.
"""

from __future__ import annotations

from tacit.privacy.noise.gaussian import discrete_gaussian
from tacit.privacy.noise.grid import Grid
from tacit.privacy.noise.laplace import discrete_laplace
from tacit.privacy.noise.reference import OpenDPNoise
from tacit.privacy.noise.release import (
    STATISTICAL_DISTANCE,
    GridRelease,
    grid_release,
    on_grid,
    sampling_delta,
)
from tacit.privacy.noise.source import AbstractNoise, SecureNoise, SeededNoise
from tacit.privacy.rounding import sum_error

__all__ = [
    "STATISTICAL_DISTANCE",
    "AbstractNoise",
    "Grid",
    "GridRelease",
    "OpenDPNoise",
    "SecureNoise",
    "SeededNoise",
    "discrete_gaussian",
    "discrete_laplace",
    "grid_release",
    "on_grid",
    "sampling_delta",
    "sum_error",
]
