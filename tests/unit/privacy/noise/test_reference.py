"""OpenDP as a source of noise."""

import sys

import numpy as np
import pytest

from tacit.errors import PrivacyError
from tacit.privacy.guarantee import NoiseSource
from tacit.privacy.laws import NoiseKind
from tacit.privacy.noise import OpenDPNoise


@pytest.mark.parametrize(("law", "ratio"), [(NoiseKind.GAUSSIAN, 1.0), (NoiseKind.LAPLACE, 2**0.5)])
def test_it_adds_noise_of_the_scale(law: NoiseKind, ratio: float) -> None:
    pytest.importorskip("opendp", reason="the reference backend opendp is not installed")
    steps = np.full(2000, 10**6)
    added = OpenDPNoise().added(steps, law, 50.0) - steps
    assert added.std() / 50.0 == pytest.approx(ratio, rel=0.25)
    assert OpenDPNoise.source is NoiseSource.SECURE


def test_without_the_package_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(PrivacyError, match=r"tacit\[opendp\]"):
        OpenDPNoise()
