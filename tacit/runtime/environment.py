"""What a result was computed with."""

from __future__ import annotations

import functools
import os
import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = (
    "tacit",
    "jax",
    "jaxlib",
    "equinox",
    "numpy",
    "scipy",
    "pandas",
    "networkx",
    "dp-accounting",
)


def environment() -> dict[str, str]:
    """Versions and machine, as strings: bitwise repetition needs them equal."""
    import jax

    found = {"python": platform.python_version(), "machine": platform.machine()}
    found["system"] = f"{platform.system()} {platform.release()}"
    found["processors"] = str(os.cpu_count())
    found["devices"] = ", ".join(sorted({device.device_kind for device in jax.devices()}))
    return found | versions()


@functools.cache
def versions() -> dict[str, str]:
    """Of the packages that are there; reading them takes a while."""
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
