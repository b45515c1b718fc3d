"""OpenDP as a source of noise: another implementation of the same laws, for comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int64

from tacit.errors import PrivacyError
from tacit.privacy.guarantee import NoiseSource
from tacit.privacy.laws import NoiseKind
from tacit.privacy.noise.source import AbstractNoise, law_on_grid

_LARGEST = 2**53 - 1


class OpenDPNoise(AbstractNoise):
    """Noise drawn by OpenDP's exact samplers; about a hundred times slower than `SecureNoise`.

    Raises:
        PrivacyError: the package `opendp` is missing.
    """

    source = NoiseSource.SECURE

    def __init__(self) -> None:
        _library()

    def added(
        self, steps: Int64[np.ndarray, " n"], law: NoiseKind, scale: float
    ) -> Int64[np.ndarray, " n"]:
        law = law_on_grid(law)
        dp = _library()
        values = dp.vector_domain(dp.atom_domain(T="i64"), size=steps.size)
        if law is NoiseKind.GAUSSIAN:
            measurement = dp.m.make_gaussian(values, dp.l2_distance(T="f64"), scale=scale)
        else:
            measurement = dp.m.make_laplace(values, dp.l1_distance(T="i64"), scale=scale)
        return np.clip(np.asarray(measurement(steps.tolist()), np.int64), -_LARGEST, _LARGEST)


def _library() -> Any:
    try:
        import opendp.prelude as dp
        from opendp.mod import enable_features
    except ImportError as error:
        raise PrivacyError(
            "the reference noise needs the package `opendp`, which is not installed: "
            "pip install 'tacit[opendp]', or use SecureNoise"
        ) from error
    enable_features("contrib")
    return dp
