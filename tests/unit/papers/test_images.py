import gzip
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import ConfigError, ProblemError
from tacit.papers import Scale
from tacit.papers.ryu2021 import images, leaf, setting


def idx(array: np.ndarray) -> bytes:
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + shape + array.astype(np.uint8).tobytes())


@pytest.fixture
def mnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twenty images for training and five for testing, whose pixels are all 51."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    for part, count in (("train", 20), ("t10k", 5)):
        pixels, labels = np.full((count, 28, 28), 51), np.arange(count) % 10
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(idx(pixels))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(idx(labels))
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    images._read_mnist.cache_clear()
    return folder


def test_mnist_is_dealt_in_the_order_of_the_file(mnist: Path) -> None:
    found = images.chosen()
    assert found.source == "mnist"
    read = images.read(found)
    assert [list(own) for own in read.classes[:2]] == [[0, 1], [2, 3]]
    assert (read.records, read.side, len(read.test_classes)) == (20, 28, 5)
    assert np.all(read.features[0] == 0.2)
    assert read.first(10).records == 10 and list(read.first(10).classes[1]) == [2]


def test_other_files_are_other_images(mnist: Path) -> None:
    found = images.chosen()
    (mnist / "t10k-labels-idx1-ubyte.gz").write_bytes(idx(np.zeros(5)))
    assert images.chosen().digest != found.digest
    with pytest.raises(ConfigError, match=r"not those that this run began with"):
        images.read(found)


def test_a_truncated_or_missing_file_is_named(mnist: Path) -> None:
    path = mnist / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ProblemError, match=r"train-images.*truncated"):
        images.read(images.chosen())
    path.unlink()
    with pytest.raises(ProblemError, match=r"train-images.*cannot be read"):
        images.chosen()


def test_digits_stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    found = images.chosen()
    assert found.source == "digits"
    read = images.read(found)
    assert (read.records, read.side, len(read.test_classes)) == (1500, 8, 297)
    assert all(own.min() >= 0.0 and own.max() == 1.0 for own in read.features)
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))  # without a folder mnist
    assert images.chosen() == found
    monkeypatch.setenv("TACIT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match=r"TACIT_DATA=.*nowhere' is not a folder"):
        images.chosen()


def test_without_any_images_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    monkeypatch.setattr(images, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"set TACIT_DATA .*'tacit\[digits\]'"):
        images.chosen()


def written(folder: Path, name: str, **writers: Any) -> Path:
    """A file as LEAF writes it, of writers with their classes."""
    data = {who: {"x": [[0.25] * 784 for _ in y], "y": list(y)} for who, y in writers.items()}
    document = {
        "users": list(data),
        "num_samples": [len(own["y"]) for own in data.values()],
        "user_data": data,
    }
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_writers_are_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    with pytest.raises(ConfigError, match=r"FEMNIST is not there.*LEAF"):
        images.chosen_femnist()
    written(tmp_path / "femnist", "train/a.json", north=[1, 61], south=[7])
    written(tmp_path / "femnist", "train/b.json", west=[3, 4, 5])
    written(tmp_path / "femnist", "test/a.json", north=[0], west=[2, 9])
    read = images.read(images.chosen_femnist())
    assert [list(own) for own in read.classes] == [[1, 61], [7], [3, 4, 5]]
    assert list(read.test_classes) == [0, 2, 9] and read.kinds == 62
    # the authors invert pixels
    assert all(np.all(own == 0.75) for own in (*read.features, read.test_features))


def test_a_part_of_the_sample_is_read_and_called_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    arrays: dict[str, Any] = {
        "x_train": np.full((3, 784), 51, np.uint8),
        "y_train": np.array([1, 61, 7]),
        "n_train": np.array([2, 1]),
        "x_test": np.full((1, 784), 255, np.uint8),
        "y_test": np.array([5]),
    }
    path = tmp_path / "femnist_small_partial.npz"
    np.savez(path, **arrays)
    read = images.read(images.chosen_femnist())
    assert [list(own) for own in read.classes] == [[1, 61], [7]]
    # bytes that are inverted already
    assert np.all(read.features[0] == 0.2) and np.all(read.test_features == 1.0)
    for scale in Scale:
        at = setting.femnist(scale)
        assert "2 of 195 writers with 3 of 36,708 records; tested on 1" in at.data
        assert at.images == "FEMNIST (0 %)"
        assert at.instead == "on 0 % of the sample"
        assert not at.exact
    arrays["n_train"] = np.array([2, 2])
    np.savez(path, **arrays)
    with pytest.raises(ProblemError, match=r"n_train adds up to 4, and there are 3"):
        images.read(images.chosen_femnist())
    path.write_bytes(b"PK")
    with pytest.raises(ProblemError, match=r"not the arrays of FEMNIST"):
        images.read(images.chosen_femnist())


def test_all_data_is_split_by_writer(tmp_path: Path) -> None:
    written(tmp_path, "all_data/a.json", north=range(10), south=[1, 2])
    train, test = leaf.read(tmp_path)
    assert list(train["north"][1]) == [0, 1, 2, 3, 5, 6, 7, 8]
    assert {who: list(own[1]) for who, own in test.items()} == {"north": [4, 9]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("users"), "no lists 'users'"),
        (lambda d: d["users"].append("west"), "2 users, and num_samples of 1"),
        (lambda d: d["user_data"].clear(), "writer 'north': no 'x' and 'y'"),
        (lambda d: d["num_samples"].__setitem__(0, 3), "num_samples says 3"),
        (lambda d: d["user_data"]["north"]["x"][0].pop(), "rows of unequal length"),
        (lambda d: d["user_data"]["north"]["x"][0].__setitem__(0, 7.0), r"outside \[0, 1\]"),
        (lambda d: d["user_data"]["north"]["y"].__setitem__(0, 62), "none of 0 .. 61"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, change: Any, said: str) -> None:
    path = written(tmp_path, "all_data/a.json", north=[1, 2])
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ProblemError, match=rf"a.json.*{said}"):
        leaf.read(tmp_path)


def test_truncated_and_doubled_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"no \.json"):
        leaf.read(tmp_path)
    path = written(tmp_path, "all_data/a.json", north=[1, 2])
    whole = path.read_text()
    path.write_text(whole[:-30])
    with pytest.raises(ProblemError, match=r"a.json: not complete JSON.*truncated"):
        leaf.read(tmp_path)
    path.write_text("[]")
    with pytest.raises(ProblemError, match=r"its top is list"):
        leaf.read(tmp_path)
    path.write_text(whole)
    written(tmp_path, "all_data/b.json", north=[3])
    with pytest.raises(ProblemError, match=r"b.json: writer 'north' is in another file"):
        leaf.read(tmp_path)
