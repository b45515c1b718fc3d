"""Grids from options and from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import ConfigError
from tacit.sweep import Grid, read_grid
from tacit.sweep.written import parse_setting, parse_value, split

FILE = """\
seeds = 20
methods = ["dpsg", "dgd"]

[settings]
privacy.epsilon = [0.5, 1]
network = ["ring", { graph = "grid", rows = 2, columns = 3 }]

[settings.method]
step = [0.1]
"""


def test_a_file_holds_a_grid(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(FILE)
    settings = {
        "privacy.epsilon": (0.5, 1),
        "network": ("ring", {"graph": "grid", "rows": 2, "columns": 3}),
        "method.step": (0.1,),
    }
    assert read_grid(path) == Grid(20, ("dpsg", "dgd"), settings)
    path.write_text(FILE + '\n[names]\ndpsg = "Ours"\n"grid (rows 2, columns 3)" = "Grid"\n')
    assert read_grid(path).names == {"dpsg": "Ours", "grid (rows 2, columns 3)": "Grid"}
    path.write_text("")
    assert read_grid(path) == Grid()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed = 3", "grid.toml: a grid has no key 'seed'; did you mean 'seeds'?"),
        ("seeds = 2.5", "seeds=2.5 must be a whole number"),
        ("seeds = true", "seeds=True must be a whole number"),
        ("methods = 'dpsg'", "methods='dpsg' must be a list of names"),
        ("settings = 3", "settings=3 must be a table"),
        ("settings.privacy.epsilon = 1", "privacy.epsilon=1 must be a list of values"),
        ("settings.run.rounds = []", "grid.toml: run.rounds has no value"),
        ("settings.method = ['dpsg', 'dgd']", "(methods = [...] at the top of a grid file, --met"),
        ("names = 3", "grid.toml: names=3 must be a table"),
        ("names.ring = 3", "names['ring']=3 must be text"),
        ("names.ring = ''", "names['ring']='' is empty; give a name, or leave it out"),
        ("seeds =", "grid.toml: not valid TOML"),
        (None, "no such file of a grid"),
    ],
)
def test_a_wrong_file_is_refused_with_a_remedy(text: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError) as error:
        read_grid(path)
    assert said in str(error.value)


def test_values_are_written_as_in_a_study_file() -> None:
    assert [parse_value(text) for text in ("1", "1.5", "true", "'a,b'", "ring", "[1, 2]")] == [
        1,
        1.5,
        True,
        "a,b",
        "ring",
        [1, 2],
    ]
    assert split("1,'a,b',[1,2],{x = 1, y = 2}") == ["1", "'a,b'", "[1,2]", "{x = 1, y = 2}"]
    assert parse_setting("run.exact=true,false") == ("run.exact", (True, False))
    for text in ("run.rounds", "run.rounds=", "=5"):
        with pytest.raises(ConfigError, match="must be a key, an equals sign and values"):
            parse_setting(text)
