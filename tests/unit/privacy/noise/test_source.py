"""Sources of noise: no seed, no state, no repetition in threads and forked children."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tacit.errors import PrivacyError
from tacit.privacy.guarantee import NoiseSource
from tacit.privacy.laws import NoiseKind
from tacit.privacy.noise import SecureNoise, SeededNoise, source
from tacit.privacy.noise.laplace import discrete_laplace
from tacit.privacy.noise.stream import Stream

ZEROS = np.zeros(8, np.int64)
LAWS = pytest.mark.parametrize("law", [NoiseKind.GAUSSIAN, NoiseKind.LAPLACE])


@pytest.mark.parametrize(
    ("arguments", "options", "named"),
    [((0,), {}, "int"), ((), {"seed": 3}, "seed"), ((), {"key": None}, "key"), ((None,), {}, "")],
)
def test_a_seed_is_refused(
    arguments: tuple[object, ...], options: dict[str, object], named: str
) -> None:
    with pytest.raises(PrivacyError, match=rf"takes no argument \({named}.*given"):
        SecureNoise(*arguments, **options)


def test_a_missing_cipher_is_found_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    with pytest.raises(PrivacyError, match="nothing else is used in its place"):
        SecureNoise()


def test_a_cipher_that_goes_missing_stops_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = SecureNoise()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    with pytest.raises(PrivacyError, match="nothing else is used in its place"):
        noise.added(ZEROS, NoiseKind.LAPLACE, 10.0)


def test_what_a_guarantee_says_of_each() -> None:
    assert SecureNoise.source is NoiseSource.SECURE
    assert SeededNoise.source is NoiseSource.SIMULATED


@LAWS
def test_noise_is_added_to_the_value(law: NoiseKind) -> None:
    steps = np.arange(8) * 1000 - 2**52
    noise = SeededNoise(0).added(ZEROS, law, 10.0)
    assert np.array_equal(SeededNoise(0).added(steps, law, 10.0), steps + noise)
    assert noise.any()


def test_noise_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[np.ndarray] = []

    def watched(stream: Stream, scale: float, count: int) -> np.ndarray:
        drawn.append(discrete_laplace(stream, scale, count))
        return drawn[0]

    monkeypatch.setattr(source, "discrete_laplace", watched)
    noise = SecureNoise()
    total = noise.added(ZEROS + 10**9, NoiseKind.LAPLACE, 10.0)
    assert total is drawn[0]  # overwritten by the sum
    assert total.min() > 10**8
    assert vars(noise) == {}


@LAWS
def test_threads_share_a_source_without_repeating_noise(law: NoiseKind) -> None:
    noise = SecureNoise()
    with ThreadPoolExecutor(8) as pool:
        draws = list(pool.map(lambda _: tuple(noise.added(ZEROS, law, 1e9)), range(64)))
    assert len(set(draws)) == 64
    assert len({entry for draw in draws for entry in draw}) > 500


FORKS = """
import os
import numpy as np
from tacit.privacy.laws import NoiseKind
from tacit.privacy.noise import SecureNoise
from tacit.privacy.noise.laplace import discrete_laplace
noise = SecureNoise()
noise.added(np.zeros(4, np.int64), NoiseKind.LAPLACE, 1e9)
ends = []
for _ in range(4):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, noise.added(np.zeros(4, np.int64), NoiseKind.LAPLACE, 1e9).tobytes())
        os._exit(0)
    os.wait()
    ends.append(os.read(reader, 32))
ends.append(noise.added(np.zeros(4, np.int64), NoiseKind.LAPLACE, 1e9).tobytes())
assert {len(end) for end in ends} == {32}
print(len(set(ends)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_forked_children_draw_their_own_noise() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "5"), done.stderr


@pytest.mark.parametrize("seed", ["x", -1, None, 2.5])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(PrivacyError, match="seed="):
        SeededNoise(seed)  # type: ignore[arg-type]
