"""`tacit.privacy` names everything and loads little."""

import subprocess
import sys

import pytest

import tacit.privacy


def test_every_name_is_there() -> None:
    for name in tacit.privacy.__all__:
        assert getattr(tacit.privacy, name) is not None
        assert name in dir(tacit.privacy)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Bribe'"):
        _ = tacit.privacy.Bribe


def test_accounting_of_gaussians_loads_neither_jax_nor_dp_accounting() -> None:
    code = (
        "import sys\n"
        "from tacit.privacy import GaussianRelease, epsilon\n"
        "assert epsilon([GaussianRelease(1.0)], 1e-6) > 0\n"
        "print(sorted({'jax', 'dp_accounting', 'scipy.stats'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
