import tomllib

import pytest

from tacit.study._grammar.locate import line_of, lines

TEXT = '''\
title = "a # b = c"   # comment = 1

[data]
path = 'x.csv'
[data.features.age]
lower = 0
[data.features."body mass"]
to = [
  0,   # first
  1,
]
[privacy]
clip = { north = 1, "south = x" = 2 }
note = """
epsilon = 3
"""
epsilon = 1.0
run.seed = 4
[[graphs]]
edges = [[0, 1],
         [1, 2]]
[[graphs]]
edges = []
[graphs.sub]
a = 1_000.5e-3
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 1),
        (("data",), 3),
        (("data", "path"), 4),
        (("data", "features", "age"), 5),
        (("data", "features", "age", "lower"), 6),
        (("data", "features", "body mass"), 7),
        (("data", "features", "body mass", "to"), 8),
        (("data", "features", "body mass", "to", 1), 10),
        (("privacy", "clip"), 13),
        (("privacy", "clip", "north"), 13),
        (("privacy", "clip", "south = x"), 13),
        (("privacy", "note"), 14),
        (("privacy", "epsilon"), 17),
        (("privacy", "run"), 18),
        (("privacy", "run", "seed"), 18),
        (("graphs",), 19),
        (("graphs", 0), 19),
        (("graphs", 0, "edges", 1), 21),
        (("graphs", 0, "edges", 1, 0), 21),
        (("graphs", 1), 22),
        (("graphs", 1, "edges"), 23),
        (("graphs", 1, "sub", "a"), 25),
    ],
)
def test_every_key_has_its_line(path: tuple[str | int, ...], line: int) -> None:
    tomllib.loads(TEXT)
    assert lines(TEXT)[path] == line


def test_text_inside_a_string_is_no_key() -> None:
    found = lines(TEXT)
    assert ("comment",) not in found
    assert all(line != 15 for line in found.values())


def test_a_key_that_is_not_there_has_the_line_of_its_table() -> None:
    found = lines(TEXT)
    assert line_of(("privacy", "delta"), found) == 12
    assert line_of(("network", "graph"), found) is None
    assert line_of((), found) is None


def test_line_ends_of_another_system() -> None:
    assert lines("[run]\r\nseed = 1\r\nrounds = 2\r\n")[("run", "rounds")] == 3


def test_an_empty_file() -> None:
    assert lines("") == {}
    assert lines("# nothing\n") == {}
