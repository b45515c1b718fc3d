"""Sources of noise on a grid: unpredictable, or from a seed."""

from __future__ import annotations

import abc
from typing import ClassVar

import numpy as np
from jaxtyping import Int64

from tacit import checks
from tacit.errors import PrivacyError
from tacit.privacy.guarantee import NoiseSource
from tacit.privacy.laws import NoiseKind
from tacit.privacy.noise.gaussian import discrete_gaussian
from tacit.privacy.noise.laplace import discrete_laplace
from tacit.privacy.noise.stream import CipherStream, SeededStream, Stream


class AbstractNoise(abc.ABC):
    """A source of discrete noise. It adds noise and never shows or keeps it.

    Attributes:
        source: name of the source in a guarantee.
    """

    source: ClassVar[NoiseSource]

    @abc.abstractmethod
    def added(
        self, steps: Int64[np.ndarray, " n"], law: NoiseKind, scale: float
    ) -> Int64[np.ndarray, " n"]:
        """`steps` plus independent discrete noise in every coordinate.

        Args:
            steps: value in steps, at most 2^52 in size.
            law: law of the noise, discrete Gaussian or discrete Laplace.
            scale: parameter of the law, in steps.

        Returns:
            Integers below 2^53 in size.

        Raises:
            PrivacyError: a source or a scale that cannot be used.
        """


class SecureNoise(AbstractNoise):
    """Noise from AES-256 under a key that the operating system draws anew for every release.

    It takes no seed, holds no state and has no fallback. One object serves all threads and
    processes.

    Raises:
        PrivacyError: an argument was given, the package `cryptography` is missing, or the operating
            system has no random numbers.

    Example:
        >>> import numpy as np
        >>> noised = SecureNoise().added(np.zeros(1000, np.int64), NoiseKind.LAPLACE, scale=100.0)
        >>> bool(noised.any())
        True
    """

    source = NoiseSource.SECURE

    def __init__(self, *arguments: object, **options: object) -> None:
        if arguments or options:
            given = ", ".join([*(type(each).__name__ for each in arguments), *options])
            raise PrivacyError(
                f"SecureNoise takes no argument ({given} was given): noise that can be drawn again "
                "from a seed can be taken off again, and protects nobody. For repeatable runs use "
                "the simulation, whose results say that their noise is simulated."
            )
        CipherStream()  # so that anything missing is found before a run

    def added(
        self, steps: Int64[np.ndarray, " n"], law: NoiseKind, scale: float
    ) -> Int64[np.ndarray, " n"]:
        return _added(CipherStream(), steps, law, scale)


class SeededNoise(AbstractNoise):
    """The same laws from a seed: for tests and simulations. Results carry no certificate.

    Args:
        seed: seed of the noise, at least 0.

    Raises:
        PrivacyError: another seed.
    """

    source = NoiseSource.SIMULATED

    def __init__(self, seed: int) -> None:
        self._stream = SeededStream(seed)

    def added(
        self, steps: Int64[np.ndarray, " n"], law: NoiseKind, scale: float
    ) -> Int64[np.ndarray, " n"]:
        return _added(self._stream, steps, law, scale)


def law_on_grid(law: object) -> NoiseKind:
    """A law that has a form on a grid, by itself or by its name.

    Raises:
        PrivacyError: another law, or what is none; the message names it.
    """
    if law not in (NoiseKind.GAUSSIAN, NoiseKind.LAPLACE):
        named = checks.shown(str(law) if isinstance(law, str) else law)
        raise PrivacyError(
            f"noise={named} has no form on a grid that is proved here; use 'gaussian' or "
            "'laplace', or simulate it"
        )
    return NoiseKind(law)


def _added(
    stream: Stream, steps: Int64[np.ndarray, " n"], law: NoiseKind, scale: float
) -> Int64[np.ndarray, " n"]:
    gaussian = law_on_grid(law) is NoiseKind.GAUSSIAN
    draw = discrete_gaussian if gaussian else discrete_laplace
    total = draw(stream, scale, steps.size)
    total += steps  # in place: the noise is no longer stored by itself
    return total
