"""Handwritten characters for softmax regression: MNIST, scikit-learn's digits, FEMNIST.

Files are sought in the folder that the environment variable TACIT_DATA names. Data are identified
by a digest of the files, so that stored answers belong to the records from which they were
computed.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, Shaped

from tacit.errors import ConfigError, ProblemError
from tacit.papers.ryu2021 import leaf

Source = Literal["mnist", "digits", "femnist"]

_MNIST = tuple(
    f"{part}-{kind}-ubyte.gz"
    for part in ("train", "t10k")
    for kind in ("images-idx3", "labels-idx1")
)
_HELD_OUT = 297
"""Last of the 1,797 digits, kept for testing; the other 1,500 are dealt evenly to ten agents."""

_PART = "femnist_small_partial.npz"
"""A part of the authors' sample: arrays x_train, y_train, n_train and the same for test, writer by
writer; bytes, already inverted."""

_MISSING = (
    "no images: set TACIT_DATA to a folder that holds mnist/ with "
    + ", ".join(_MNIST)
    + ", or install scikit-learn, which brings smaller ones: pip install 'tacit[digits]'"
)


@dataclass(frozen=True)
class Chosen:
    """Images that were found, before they are read.

    Attributes:
        source: source of the images.
        digest: digest of their files.
    """

    source: Source
    digest: str


@dataclass(frozen=True)
class Images:
    """Records for training, dealt to agents, and others for testing.

    Attributes:
        features: features of every agent, pixels in [0, 1], shape `(n, side * side)`.
        classes: classes of every agent, numbers from 0.
        test_features: test features, shape `(m, side * side)`.
        test_classes: test classes, shape `(m,)`.
        kinds: number of classes.
    """

    features: Sequence[Float[np.ndarray, "_ d"]]
    classes: Sequence[Shaped[np.ndarray, " _"]]
    test_features: Float[np.ndarray, "m d"]
    test_classes: Shaped[np.ndarray, " m"]
    kinds: int

    @property
    def records(self) -> int:
        """Number of training records of all agents."""
        return sum(len(own) for own in self.classes)

    @property
    def side(self) -> int:
        """Pixels along an edge."""
        return round(self.test_features.shape[1] ** 0.5)

    def first(self, records: int) -> Images:
        """The first of every agent's records, about `records` in all; the tests are unchanged."""
        each = max(1, records // len(self.classes))
        return replace(
            self,
            features=[own[:each] for own in self.features],
            classes=[own[:each] for own in self.classes],
        )

    def coarse(self, block: int) -> Images:
        """Means over squares of `block` times `block` pixels; `block` divides the side."""
        few = self.side // block

        def means(pixels: Float[np.ndarray, "_ d"]) -> Float[np.ndarray, "_ c"]:
            squares = pixels.reshape(len(pixels), few, block, few, block)
            return squares.mean(axis=(2, 4)).reshape(len(pixels), few * few)

        return replace(
            self,
            features=[means(own) for own in self.features],
            test_features=means(self.test_features),
        )


def folder() -> Path | None:
    """The folder of the user's data, if given."""
    named = os.environ.get("TACIT_DATA", "")
    return Path(named) if named else None


def chosen() -> Chosen:
    """MNIST if available, else the digits of scikit-learn.

    Raises:
        ConfigError: neither is available, or TACIT_DATA does not name a folder.
    """
    home = folder()
    if home is not None and not home.is_dir():
        raise ConfigError(
            f"TACIT_DATA={str(home)!r} is not a folder; give the one that holds mnist/"
        )
    if home is not None and (home / "mnist").is_dir():
        return Chosen("mnist", digest([home / "mnist" / name for name in _MNIST]))
    return Chosen("digits", digest([_digits()]))


def chosen_femnist() -> Chosen:
    """FEMNIST as LEAF writes it, in `femnist` of the user's folder, or a part of it in one file.

    Raises:
        ConfigError: FEMNIST is not available.
    """
    home = folder()
    if home is not None and not (home / "femnist").is_dir() and (home / _PART).is_file():
        return Chosen("femnist", digest([home / _PART]))
    if home is None or not (home / "femnist").is_dir():
        raise ConfigError(
            "FEMNIST is not there: prepare it with LEAF (a 5 % sample, by writer) and put its "
            "folders train/ and test/, or all_data/, into femnist/ of the folder that TACIT_DATA "
            "names"
        )
    return Chosen("femnist", digest(leaf.files(home / "femnist")))


def read(found: Chosen, agents: int = 10) -> Images:
    """Read the images that were found.

    Args:
        found: images found by `chosen` or `chosen_femnist`.
        agents: number of agents to which the records are dealt, evenly and in the order of the
            file; with FEMNIST every writer is an agent.

    Raises:
        ConfigError: the files are missing, or differ from those found.
        ProblemError: a file that cannot be read.
    """
    now = chosen_femnist() if found.source == "femnist" else chosen()
    if now != found:
        raise ConfigError(
            f"the files of {found.source} are not those that this run began with; run the same "
            "command again"
        )
    if found.source == "femnist":
        home = folder()
        assert home is not None
        return (
            _read_leaf(home)
            if (home / "femnist").is_dir()
            else _read_part(home / _PART, found.digest)
        )
    pixels, numbers, tests, answers = _read_mnist() if found.source == "mnist" else _read_digits()
    return Images(
        np.array_split(pixels, agents), np.array_split(numbers, agents), tests, answers, 10
    )


def _read_leaf(home: Path) -> Images:
    """LEAF writes dark ink on white as small numbers on 1; the authors invert that."""
    train, test = leaf.read(home / "femnist")
    features, classes = zip(*train.values(), strict=True)
    tests, answers = zip(*test.values(), strict=True)
    return Images(
        [1.0 - own for own in features],
        classes,
        1.0 - np.concatenate(tests),
        np.concatenate(answers),
        leaf.KINDS,
    )


@functools.lru_cache(maxsize=1)
def _read_part(path: Path, digest: str) -> Images:
    try:
        with np.load(path, allow_pickle=False) as file:
            x, y, counts = (file[f"{name}_train"] for name in "xyn")
            tests, answers = file["x_test"] / 255.0, file["y_test"]
    except (OSError, ValueError, KeyError) as error:
        raise ProblemError(f"{path}: not the arrays of FEMNIST ({error})") from error
    stops = np.cumsum(counts)
    if len(x) != len(y) or not len(stops) or stops[-1] != len(y):
        raise ProblemError(f"{path}: n_train adds up to {sum(counts)}, and there are {len(y)}")
    return Images(
        np.split(x / 255.0, stops[:-1]), np.split(y, stops[:-1]), tests, answers, leaf.KINDS
    )


@functools.lru_cache(maxsize=1)
def _read_mnist() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    from tacit.data.loaders import load

    home = folder()
    assert home is not None
    found: list[np.ndarray] = []
    for images, labels in (_MNIST[:2], _MNIST[2:]):
        table = load(home / "mnist" / images, labels=home / "mnist" / labels)
        found += [table.drop(columns="label").to_numpy() / 255.0, table["label"].to_numpy()]
    return found[0], found[1], found[2], found[3]


def _read_digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    with gzip.open(_digits(), "rt", encoding="ascii") as file:
        table = np.loadtxt(file, delimiter=",")
    pixels, numbers = table[:, :-1] / 16.0, table[:, -1]
    return (
        pixels[:-_HELD_OUT],
        numbers[:-_HELD_OUT],
        pixels[-_HELD_OUT:],
        numbers[-_HELD_OUT:],
    )


def _digits() -> Path:
    """The file of digits included in scikit-learn; importing the package would take seconds.

    Raises:
        ConfigError: scikit-learn is not installed.
    """
    package = find_spec("sklearn")
    folders = [] if package is None else package.submodule_search_locations or []
    for each in folders:
        path = Path(each) / "datasets" / "data" / "digits.csv.gz"
        if path.exists():
            return path
    raise ConfigError(_MISSING)


def digest(paths: Sequence[Path]) -> str:
    """Digest of the contents of files, whatever their names.

    Raises:
        ProblemError: a file cannot be read.
    """
    try:
        known = tuple((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths)
    except OSError as error:
        raise ProblemError(f"{error.filename}: cannot be read ({error.strerror})") from error
    return _digest(known)


@functools.cache
def _digest(known: tuple[tuple[str, int, int], ...]) -> str:
    total = hashlib.sha256()
    for path, size, _ in known:
        total.update(f"{size} ".encode())
        for block in _blocks(Path(path)):
            total.update(block)
    return total.hexdigest()[:32]


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            yield block
