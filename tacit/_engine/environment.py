"""The environment in which a result was computed."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import tacit

_PACKAGES = (
    "jax",
    "jaxlib",
    "equinox",
    "numpy",
    "scipy",
    "pandas",
    "networkx",
    "dp-accounting",
    "cvxpy",
    "clarabel",
)


@functools.cache
def processor() -> str:
    """Name and features of the processor: compilers choose instructions by it, and so last bits."""
    kept = ("model name", "flags", "CPU part", "Features")
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(line for line in lines if line.startswith(kept))


HOME = Path(str(tacit.__file__)).parent
"""Directory of tacit's source."""

_COMPUTING = (
    *("_engine", "arguments", "audit", "data", "method"),
    *("network", "papers", "privacy", "problem"),
)
"""Packages of tacit whose code decides the answers of a run, besides its top-level modules."""


def environment() -> dict[str, str]:
    """Versions and machine, as strings: bitwise repetition needs them to be equal."""
    import jax

    found = {"python": platform.python_version(), "machine": platform.machine()}
    found["system"] = f"{platform.system()} {platform.release()}"
    found["processors"] = str(os.cpu_count())
    found["devices"] = ", ".join(sorted({device.device_kind for device in jax.devices()}))
    return found | versions()


@functools.cache
def versions() -> dict[str, str]:
    """Versions of tacit and of the installed packages; reading them takes a while."""
    found = {"tacit": str(tacit.__version__)}  # the installed version may be older than a checkout
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def computing() -> set[Path]:
    """The source files of tacit that decide the answers of a run."""
    files = {file for package in _COMPUTING for file in (HOME / package).rglob("*.py")}
    return files | set(HOME.glob("*.py"))


def source_digest() -> str:
    """A digest of these files: one version number may cover many states of a checkout."""
    now = _digest()
    return now if now == _LOADED else f"{_LOADED}, edited to {now}"


def edited() -> bool:
    """Whether these files have changed since they were loaded.

    What such a process computes with is unknown: each module may or may not have been reloaded.
    """
    return _digest() != _LOADED


def _digest() -> str:
    digest = hashlib.sha256()
    for file in sorted(computing()):
        digest.update(str(file.relative_to(HOME)).encode() + file.read_bytes())
    return digest.hexdigest()


_LOADED: str = globals().get("_LOADED") or _digest()
"""Digest at the start of the process, even after this module itself was reloaded."""
