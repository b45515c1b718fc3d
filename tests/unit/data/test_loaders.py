"""Files as people have them, and as they break."""

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacit.data.csv_files import load_csv
from tacit.data.frames import from_frame
from tacit.data.guessing import guess_kinds
from tacit.data.loaders import load, load_idx, load_npz, load_parquet
from tacit.errors import ProblemError

CSV = "age,smoker,town\n30,yes,Bonn\n\n41,,Köln\n"


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def idx(array: np.ndarray, kind: int = 0x08) -> bytes:
    header = bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.tobytes()


def test_csv_keeps_names_lines_and_missing_values(tmp_path: Path) -> None:
    frame = load(write(tmp_path / "a.csv", CSV))
    assert list(frame.columns) == ["age", "smoker", "town"]
    assert list(frame.index) == [2, 4]
    assert frame.index.name == "line"
    assert frame["smoker"].isna().tolist() == [False, True]
    assert frame["town"].tolist() == ["Bonn", "Köln"]


def test_csv_lines_count_quoted_line_breaks(tmp_path: Path) -> None:
    frame = load_csv(write(tmp_path / "a.csv", 'note,x\n"two\nlines",1\nplain,2\n'))
    assert list(frame.index) == [2, 4]


def test_csv_texts_that_mean_missing_are_declared(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b\nNone,1\nNA,-9\n")
    assert load_csv(path)["a"].isna().tolist() == [False, True]
    assert load_csv(path, missing=["-9"])["b"].isna().tolist() == [False, True]


def test_csv_values_are_texts_whatever_stands_beside_them(tmp_path: Path) -> None:
    frame = load_csv(write(tmp_path / "a.csv", "a,b,c\n1.0,True,01\n2,no,1e5\n,,NA\n"))
    assert frame["a"].tolist()[:2] == ["1.0", "2"]
    assert frame["b"].tolist()[:2] == ["True", "no"]
    assert frame["c"].tolist()[:2] == ["01", "1e5"]
    assert frame.isna().sum().tolist() == [1, 1, 1]


def test_kinds_can_be_guessed_for_a_first_look(tmp_path: Path) -> None:
    text = "whole,real,flag,some,town,none\n1,1.5,True,true,Bonn,\n2,,FALSE,,7,\n"
    frame = guess_kinds(load_csv(write(tmp_path / "a.csv", text)))
    assert [frame[name].dtype.kind for name in ("whole", "real", "flag")] == ["i", "f", "b"]
    assert frame["some"][2] is True
    assert frame["some"].isna().tolist() == [False, True]
    assert frame["town"].tolist() == ["Bonn", "7"]
    assert frame["none"].isna().all()
    assert guess_kinds(from_frame(pd.DataFrame({"a": [1.5]})))["a"].tolist() == [1.5]
    german = load_csv(
        write(tmp_path / "b.csv", "real,code\n1,5;7.1\n".replace("real,", "real;")), ";"
    )
    guessed = guess_kinds(german, ",")
    assert guessed["real"].tolist() == [1.5] and guessed["code"].tolist() == ["7.1"]


def test_compressed_csv_and_tsv(tmp_path: Path) -> None:
    assert len(load(write(tmp_path / "a.csv.gz", gzip.compress(CSV.encode())))) == 2
    assert load(write(tmp_path / "a.tsv", "a\tb\n1\t2\n")).columns.tolist() == ["a", "b"]


def test_csv_with_a_byte_order_mark_or_another_encoding(tmp_path: Path) -> None:
    bom = write(tmp_path / "bom.csv", b"\xef\xbb\xbfage,x\n1,2\n")
    assert load_csv(bom).columns[0] == "age"
    latin = write(tmp_path / "latin.csv", "town,x\nKöln,2\n".encode("latin-1"))
    with pytest.raises(ProblemError, match=r"latin\.csv: not text in encoding='utf-8'"):
        load_csv(latin, encoding="utf-8")
    assert load_csv(latin, encoding="latin-1")["town"][2] == "Köln"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("  \n\n", "the file is empty"),
        ("a,b,a\n1,2,3\n", r"column name 'a' occurs twice \(columns 1 and 3\)"),
        ("a,,b\n1,2,3\n", "column 2 has no name"),
        ("84,84\n1,2\n", "column name '84' occurs twice .* add the line of names"),
        (b"PK\x03\x04" + bytes(99), "not a CSV file but an Excel workbook .* name .* .xlsx"),
        (b"PAR1" + bytes(99), "not a CSV file but a Parquet file"),
        (b"a\x81\x02\x9d" * 9, "not text, but a binary file"),
        ("a,b\n1,2\nNorth\0,3\n", "broken.csv, line 3: a NUL character"),
        ("a,b\n1,2\n3\n", "line 3: 1 values where the header has 2"),
        ("a,b\n1,2\n3,4,5\n", "line 3: 3 values where the header has 2"),
        ("a;b,c,d\n1;2\n", "line 2: 1 values .* or give separator= if it is not ','"),
    ],
)
def test_broken_csv(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(ProblemError, match=message) as caught:
        load_csv(write(tmp_path / "broken.csv", content))
    assert "broken.csv" in str(caught.value)


@pytest.mark.parametrize(("text", "separator"), [("a;b\n1;2\n", ","), ("a\tb\n1\t2\n", ";")])
def test_a_wrong_separator_is_named(tmp_path: Path, text: str, separator: str) -> None:
    with pytest.raises(ProblemError, match=r"a single column 'a.*b'; .* give separator="):
        load_csv(write(tmp_path / "a.csv", text), separator=separator)


@pytest.mark.parametrize("separator", ["::", "", '"', "\n"])
def test_a_separator_must_be_one_character(tmp_path: Path, separator: str) -> None:
    with pytest.raises(ProblemError, match="must be one character"):
        load_csv(write(tmp_path / "a.csv", CSV), separator=separator)


@pytest.mark.parametrize("encoding", ["utf-8", "no-such", "undefined", "base64"])
def test_an_encoding_must_read_the_text(tmp_path: Path, encoding: str) -> None:
    latin = write(tmp_path / "latin.csv", "town,x\nKöln,2\n".encode("latin-1"))
    with pytest.raises(ProblemError, match=f"not text in encoding='{encoding}'"):
        load_csv(latin, encoding=encoding)


@pytest.mark.parametrize(
    ("content", "encoding", "like"),
    [
        (b"town,x\nBonn,2\n", "utf-16", "ascii, or utf-8"),
        ("town,x\nKöln,2\n".encode(), "utf-16-le", "utf-8"),  # any two bytes are a letter
        ("town,x\nKöln,2\n".encode("cp1252"), "utf-8", "cp1252"),
        ("town,x\nKöln,2\n".encode("utf-16"), "ascii", "utf-16"),
    ],
)
def test_a_wrong_encoding_is_told_with_the_likely_one(
    tmp_path: Path, content: bytes, encoding: str, like: str
) -> None:
    wrong = write(tmp_path / "a.csv", content)
    said = f"a.csv: not text in encoding='{encoding}'; it looks like {like}: leave the encoding out"
    with pytest.raises(ProblemError, match=said):
        load_csv(wrong, encoding=encoding)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="no such file"):
        load(tmp_path / "absent.csv")
    with pytest.raises(ProblemError, match="addresses are not read; download the file"):
        load(Path("https://example.org/visits.csv"))
    for read in (load, load_csv):
        with pytest.raises(ProblemError, match="a directory"):
            read(tmp_path)
    with pytest.raises(ProblemError, match="no loader for this suffix"):
        load(tmp_path / "table.sav")
    with pytest.raises(ProblemError, match="standard input is not read"):
        load("-")
    with pytest.raises(ProblemError, match="cannot be read"):
        load_csv(write(tmp_path / "file", "x") / "below.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("name", ["pipe.csv", "pipe"])
def test_a_pipe_is_refused_without_waiting(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(ProblemError, match="a pipe; write the table to a file"):
        load(tmp_path / name)


def test_forbidden_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # File modes do not stop the superuser, as whom tests may run.
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    path = write(tmp_path / "a.csv", CSV)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ProblemError, match="check who may read it"):
        load_csv(path)


def test_truncated_gzip(tmp_path: Path) -> None:
    data = gzip.compress(CSV.encode())
    for broken in (data[:-6], b"plain text"):
        with pytest.raises(ProblemError, match="not a complete gzip file"):
            load(write(tmp_path / "a.csv.gz", broken))


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]}, index=[7, 9]).to_parquet(path)
    frame = load(path)
    assert frame.columns.tolist() == ["a", "b"]
    assert frame.index.tolist() == [0, 1]
    assert frame.index.name == "row"
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:3], b"PAR1" + whole[-8:], b"not parquet"):
        with pytest.raises(ProblemError, match="not a complete Parquet file"):
            load_parquet(write(tmp_path / "b.parquet", broken))


def test_parquet_with_a_name_twice(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ProblemError, match="column name 'a' occurs twice"):
        load_parquet(tmp_path / "a.parquet")


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(12).reshape(3, 2, 2), y=[0, 1, 0])
    frame = load(path)
    assert frame.columns.tolist() == ["x0", "x1", "x2", "x3", "y"]
    assert frame["x3"].tolist() == [3, 7, 11]
    assert "y" not in load_npz(path, target=None)
    assert load_npz(path, names=list("abcd")).columns.tolist() == ["a", "b", "c", "d", "y"]
    with pytest.raises(ProblemError, match="no array 'z'; it holds x, y"):
        load_npz(path, target="z")
    with pytest.raises(ProblemError, match="3 names for 4 columns"):
        load_npz(path, names=list("abc"))
    with pytest.raises(ProblemError, match="'a' occurs twice"):
        load_npz(path, names=list("abca"))
    with pytest.raises(ProblemError, match="also the name of a feature"):
        load_npz(path, names=list("yabc"))
    with pytest.raises(ProblemError, match="not a complete npz archive"):
        load_npz(write(tmp_path / "b.npz", path.read_bytes()[:-40]))


def test_npz_shapes_and_objects(tmp_path: Path) -> None:
    np.savez(tmp_path / "flat.npz", x=np.arange(3), y=np.arange(3))
    with pytest.raises(ProblemError, match=r"shape \(3,\); features need"):
        load_npz(tmp_path / "flat.npz")
    np.savez(tmp_path / "short.npz", x=np.ones((3, 1)), y=np.arange(2))
    with pytest.raises(ProblemError, match="3 records of features, but targets of shape"):
        load_npz(tmp_path / "short.npz")
    np.savez(tmp_path / "none.npz", x=np.ones((0, 1)), y=np.ones(0))
    with pytest.raises(ProblemError, match="no records"):
        load_npz(tmp_path / "none.npz")
    np.savez(tmp_path / "object.npz", x=np.array([[object()]]), y=np.zeros(1))
    with pytest.raises(ProblemError, match="could run code"):
        load_npz(tmp_path / "object.npz")
    np.save(tmp_path / "single.npy", np.ones((2, 2)))
    with pytest.raises(ProblemError, match=r"a single array; save it with numpy\.savez"):
        load_npz(tmp_path / "single.npy")


@pytest.mark.parametrize("zipped", [False, True])
def test_idx(tmp_path: Path, zipped: bool) -> None:
    images = np.arange(2 * 2 * 3, dtype=np.uint8).reshape(2, 2, 3)
    suffix, pack = (".gz", gzip.compress) if zipped else ("", bytes)
    x = write(tmp_path / f"images-idx3-ubyte{suffix}", pack(idx(images)))
    y = write(tmp_path / f"labels-idx1-ubyte{suffix}", pack(idx(np.array([7, 1], np.uint8))))
    frame = load(x, labels=y)
    assert frame["pixel_1_2"].tolist() == [5, 11]
    assert frame["label"].tolist() == [7, 1]
    assert "label" not in load_idx(x)
    with pytest.raises(ProblemError, match="that of labels"):
        load_idx(y)


def test_idx_of_wider_numbers_is_big_endian(tmp_path: Path) -> None:
    path = write(tmp_path / "a.idx", idx(np.array([[1.5, -2.0]], dtype=">f8"), 0x0E))
    assert load(path).to_numpy().tolist() == [[1.5, -2.0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx(np.zeros((2, 2), np.uint8))[:-1], r"shape \(2, 2\), 4 bytes, and 3 follow"),
        (idx(np.zeros((2, 2), np.uint8)) + b"x", "and 5 follow"),
        (b"\x00\x00\x07\x01\x00\x00\x00\x01a", "not an idx file"),
        (b"\x00\x01\x08\x01\x00\x00\x00\x01a", "not an idx file"),
        (b"\x00\x00\x08\x03\x00", "not an idx file"),
        (b"ab", "not an idx file"),
    ],
)
def test_broken_idx(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        load_idx(write(tmp_path / "broken-ubyte", content))


def test_from_frame() -> None:
    frame = pd.DataFrame({"a": [1], 5: [2]}, index=["patient 3"])
    assert from_frame(frame).columns.tolist() == ["a", "5"]
    assert from_frame(frame).index.tolist() == ["patient 3"]
    with pytest.raises(ProblemError, match="'5' occurs twice"):
        from_frame(pd.DataFrame([[1, 2]], columns=[5, "5"]))
    two = pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))
    with pytest.raises(ProblemError, match="2 levels"):
        from_frame(two)
