"""The other commands: help, methods, describe, init, demo."""

import json
import os
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.study._described.catalogue import METHODS
from tests.end_to_end.study import visits

RUN = CliRunner()


def invoke(*arguments: str | Path, code: int = 0) -> str:
    """What a command prints on standard output."""
    done = RUN.invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done.stdout


def test_help_teaches_by_example() -> None:
    text = invoke("--help")
    for command in ("demo", "run", "methods", "describe", "init"):
        assert f"  {command} " in text
    assert "tacit run study.toml" in text
    for code in ("0 ", "1 ", "2 ", "3 ", "130 "):
        assert f"  {code}" in text


@pytest.mark.parametrize("command", ["demo", "run", "methods", "describe", "init"])
def test_every_command_has_help_and_json(command: str) -> None:
    assert "--json" in invoke(command, "--help")


@pytest.mark.parametrize("group", [("plan",), ("keys",), ("ledger",), ("manifest",), ("parts",)])
def test_a_list_of_commands_cuts_no_sentence_off(group: tuple[str, ...]) -> None:
    listed = RUN.invoke(app, [*group, "--help"], env={"COLUMNS": "80"}).stdout
    commands = listed.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert len(commands) >= 3
    for line in commands:
        assert line.endswith(".") and not line.endswith("..."), line


def test_help_needs_no_heavy_import() -> None:
    code = (
        "import sys\n"
        "try:\n"
        "    sys.argv = ['tacit', '--help']\n"
        "    from tacit.cli import main\n"
        "    main()\n"
        "except SystemExit:\n"
        "    pass\n"
        "heavy = {'jax', 'numpy', 'pandas', 'pydantic', 'rich', 'plotly', 'networkx', 'scipy'}\n"
        "print('imported:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "imported: []" in done.stdout


@pytest.mark.parametrize(
    ("typed", "meant"), [("tacit rehe", "rehearse"), ("tacit run study.toml --pu", "--public")]
)
def test_a_shell_completes_commands_and_options_without_jax(typed: str, meant: str) -> None:
    code = (
        "import sys\n"
        "try:\n"
        "    sys.argv = ['tacit']\n"
        "    from tacit.cli import main\n"
        "    main()\n"
        "except SystemExit:\n"
        "    pass\n"
        "print('imported:', sorted({'jax', 'numpy', 'pandas', 'scipy'} & set(sys.modules)))"
    )
    asked = {
        "_TACIT_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(typed.count(" ")),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **asked},
    )
    assert done.stdout.split("\n")[:2] == [meant, "imported: []"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_of_a_shell_is_printed(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: shell)
    assert "_TACIT_COMPLETE" in RUN.invoke(app, ["--show-completion"], prog_name="tacit").stdout


HELP = """
import atexit, runpy, sys, time
atexit.register(lambda: print(time.process_time(), file=sys.stderr))
sys.argv = ["tacit", "--help"]
runpy.run_module("tacit", run_name="__main__")
"""
"""Ends by saying how much processor time it took, whatever else the machine did."""


@pytest.mark.slow
def test_help_is_quick() -> None:
    times = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", HELP], capture_output=True, check=True, text=True
        )
        assert "Usage: tacit" in done.stdout
        times.append(float(done.stderr))
    assert statistics.median(times) < 0.5


def test_the_version() -> None:
    import tacit

    assert invoke("--version").strip() == f"tacit {tacit.__version__}"


@pytest.mark.slow
def test_methods_are_listed() -> None:
    text = invoke("methods")
    for name in METHODS:  # whole, in each of the three tables
        assert text.count(f"\n {name} ") == 3
    rows = json.loads(invoke("methods", "--json"))["methods"]
    assert [row["name"] for row in rows] == list(METHODS)
    private = {row["name"]: row["privacy"] for row in rows}
    assert private["dpsg"] == "required"
    assert private["dgd"] == "none"


@pytest.mark.long
@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_described(name: str) -> None:
    text = invoke("describe", name)
    found = json.loads(invoke("describe", name, "--json"))
    assert found["name"] == name
    for phase in found["phases"]:
        assert phase["phase"] in text
        assert phase["leaves"]
    for parameter in found["parameters"]:
        assert parameter["name"] in text
        assert parameter["meaning"]
    assert ("The cost of privacy, for example" in text) == ("cost_example" in found)
    assert found["privacy"] != "none" or "cost_example" not in found


def test_an_unknown_method_is_not_described() -> None:
    done = RUN.invoke(app, ["describe", "dpgs"])
    assert done.exit_code == 2
    assert "did you mean 'dpsg'?" in done.stderr
    family = RUN.invoke(app, ["describe", "dp-iadmm"])
    assert "did you mean 'dp-iadmm-prox' or 'dp-iadmm-trust'?" in " ".join(family.stderr.split())
    told = " ".join(RUN.invoke(app, ["describe", "nope"]).stderr.split())
    assert "as loss: squared, logistic" in told and "as regulariser: none, l1" in told
    for name in ("dgd", "small_world", "coordinator", "dirichlet"):
        assert name in told


def test_one_evaluation_is_singular() -> None:
    assert "evaluates 1 gradient per record" in invoke("describe", "dgd")
    assert "evaluates 20 values per record" in invoke("describe", "or-zo")


def test_graphs_and_losses_are_described_too() -> None:
    for given, meant in (("Ring", "ring"), ("ErdosRenyi", "erdos_renyi"), ("DPSG", "dpsg")):
        done = RUN.invoke(app, ["describe", given])
        assert done.exit_code == 2 and f"did you mean '{meant}'?" in done.stderr
    assert "rows" in invoke("describe", "grid") and 'graph = "grid"' in invoke("describe", "grid")
    assert "threshold" in invoke("describe", "huber")
    coordinator = json.loads(invoke("describe", "coordinator", "--json"))
    assert [each["name"] for each in coordinator["parameters"]] == ["probability", "dropout"]
    assert "edges" in invoke("describe", "edges") and "repeat" in invoke("describe", "sequence")


@pytest.mark.slow
def test_init_writes_a_study_without_bounds(tmp_path: Path) -> None:
    visits().to_csv(tmp_path / "visits.csv", index=False)
    study = tmp_path / "study.toml"
    data = tmp_path / "visits.csv"
    text = invoke("init", data, "--target", "visits", "--site", "site", "-o", study)
    assert "4 lines are marked '# declare:'" in text
    written = study.read_text()
    assert written.count("# declare: ") == 4
    assert "89" not in written, "the largest age must not stand in the study"
    unfinished = RUN.invoke(app, ["run", str(study)])
    assert unfinished.exit_code == 2
    assert "does not say what is predicted" in unfinished.stderr

    declared = written.replace("# declare: ", "").replace('["a", "b"]', '["f", "m"]')
    study.write_text(declared.replace("rounds = 100", "rounds = 5"))
    assert "4 sites fitted" in invoke("run", study)


@pytest.mark.slow
def test_init_with_bounds_from_the_data_says_that_they_leak(tmp_path: Path) -> None:
    frame = visits()
    frame["note"] = [f"text {i}" for i in range(len(frame))]
    frame.to_csv(tmp_path / "visits.csv", index=False)
    study = tmp_path / "study.toml"
    text = invoke(
        "init", tmp_path / "visits.csv", "-t", "smoker", "-o", study, "--bounds-from-data"
    )
    assert "WARNING" in text
    assert '"note" is left out' in study.read_text()
    study.write_text(study.read_text().replace("rounds = 100", "rounds = 5"))
    found = json.loads(invoke("run", study, "--json"))
    assumed = " ".join(found["guarantee"]["owners"][0]["assumptions"])
    assert "the maximum of column age was taken from the data" in assumed
    assert "the values of column smoker were read off the records" in assumed


def test_init_suggests_an_answer_of_the_kind_of_the_target(tmp_path: Path) -> None:
    visits().to_csv(tmp_path / "visits.csv", index=False)
    study = tmp_path / "study.toml"
    for target, answer in (("visits", 'positive = "> 0"'), ("smoker", "positive = true")):
        invoke("init", tmp_path / "visits.csv", "-t", target, "-o", study, "--force")
        assert f"# declare: {answer}" in study.read_text()


def test_init_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    visits().to_csv(tmp_path / "visits.csv", index=False)
    data, study = tmp_path / "visits.csv", tmp_path / "study.toml"
    for arguments, words in (
        (("init", str(data), "-t", "visit", "-o", str(study)), "did you mean 'visits'?"),
        (("init", str(tmp_path / "no.csv")), "no such file"),
        (("init", str(data), "-o", str(data / "study.toml")), "cannot be written"),
        (("init", str(data), "-o", str(data)), "choose another name"),
    ):
        done = RUN.invoke(app, arguments)
        assert done.exit_code == 2
        assert words in done.stderr
    narrow = tmp_path / "narrow.csv"
    pd.DataFrame({"a": [1, 2]}).to_csv(narrow, index=False)
    done = RUN.invoke(app, ["init", str(narrow), "-o", str(study)])
    assert "two are needed" in done.stderr


GERMAN = """\
Patienten-ID;Größe (cm);Raucher;Aufnahme;Befund;Klinik;erkrankt
P1;183,5;Ja;31.12.2024;unauffällig;Köln;Ja
P2;NA;Nein;01.02.2024;auffällig;Bonn;Nein
P2;171;Ja;02.02.2024;auffällig;Bonn;Ja
"""


def test_init_reads_what_a_german_excel_writes(tmp_path: Path) -> None:
    data, study = tmp_path / "visits.csv", tmp_path / "study.toml"
    data.write_bytes(GERMAN.replace("\n", "\r\n").encode("cp1252"))
    told = invoke("init", data, "-s", "Klinik", "-o", study)
    assert "Left out, because they say who a record is about: Patienten-ID." in told
    assert "several records have the same Patienten-ID" in told
    found = tomllib.loads(study.read_text(encoding="utf-8").replace("# declare: ", ""))
    assert found["data"]["decimal"] == "," and "separator" not in found["data"]
    assert found["data"]["features"] == {
        "Größe (cm)": {"lower": 0, "upper": 100},
        "Raucher": {"kind": "boolean"},
        "Aufnahme": {
            "kind": "date",
            "format": "%d.%m.%Y",
            "lower": "2020-01-01",
            "upper": "2025-12-31",
        },
        "Befund": {"kind": "categorical", "levels": ["a", "b"]},
    }
    assert found["data"]["target"] == {"column": "erkrankt", "positive": True, "missing": "drop"}
    assert found["partition"]["column"] == "Klinik" and "Klinik" in study.read_text("utf-8")
    assert found["data"]["assumed"] == [
        "the decimal mark ',' was read off the records: assumed public",
        "the kinds of the columns were read off the records: assumed public",
        "the format of the dates in column Aufnahme was read off the records: assumed public",
    ]
    assert "183" not in study.read_text("utf-8") and "auffällig" not in study.read_text("utf-8")
    told = invoke("init", data, "-o", study, "--force", "--decimal", ",", "--json")
    assert json.loads(told)["left_out"] == ["Patienten-ID"]
    assert "decimal mark" not in study.read_text("utf-8")


def test_init_leaves_columns_out_that_number_the_records(tmp_path: Path) -> None:
    data, study = tmp_path / "visits.csv", tmp_path / "study.toml"
    frame = visits()
    frame["token"] = [f"{i:x}-{i}" for i in range(len(frame))]
    frame.to_csv(data, index=False)
    told = invoke("init", data, "-t", "visits", "-o", study)
    assert "who a record is about: token." in told and "several records" not in told
    text = study.read_text()
    assert '# "token" is left out' in text and "[data.features.token]" not in text
    assert "that no two records have the same token was read off the records" in text


def test_init_says_which_columns_a_decimal_comma_would_make_numbers(tmp_path: Path) -> None:
    data, study = tmp_path / "doses.csv", tmp_path / "study.toml"
    data.write_text("dose;weight;cured\n1,5;80.5;yes\n2,25;71.0;no\n0,5;66.1;yes\n")
    asked = ("init", data, "-t", "cured", "-o", study, "--force")
    assert "dose" in invoke(*asked) and "--decimal ," in invoke(*asked)
    assert json.loads(invoke(*asked, "--json"))["decimal_commas"] == ["dose"]
    assert "--decimal" not in invoke(*asked, "--decimal", ",")
    assert 'decimal = ","' in study.read_text()


def test_init_as_json(tmp_path: Path) -> None:
    visits().to_csv(tmp_path / "visits.csv", index=False)
    study = tmp_path / "study.toml"
    found = json.loads(invoke("init", tmp_path / "visits.csv", "-o", study, "--json"))
    assert found["target"] == "visits"
    assert found["site"] is None
    assert found["to_declare"] == study.read_text().count("# declare: ")


@pytest.mark.long
def test_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("statsmodels", reason="the demo's records come with statsmodels")
    monkeypatch.chdir(tmp_path)
    text = invoke("demo")
    assert "eight sites are drawn at random" in text
    assert "a record, not a person" in text
    assert "One assumption of the guarantee is false here" in text
    assert "the hyper-parameters were not chosen on these data" in text
    assert "epsilon = 1 at delta = 1e-6" in text
    assert "Status: proved" in text
    table, curves = text.split("Then a model fitted in many rounds")
    assert "any_visit ~ lncoins" in table and "No intervals" not in table
    assert all(name in table for name in ("[0.025", "idp[T.true]", "Status: proved"))
    assert "AUC" in curves and "[0.025" not in curves
    assert "Reports: tacit-demo-regression/report.html (table), tacit-demo/report.html" in text
    page = (tmp_path / "tacit-demo-regression" / "report.html").read_text()
    assert "effects-figure" in page and "calibration-figure" in page and "roc-figure" in page
    page = (tmp_path / "tacit-demo" / "report.html").read_text()
    assert "eight sites are drawn at random" in page
    assert "One assumption of the guarantee is false here" in page
    assert "The agreed model keeps" in page
    found = json.loads((tmp_path / "tacit-demo" / "result.json").read_text())
    scores = found["simulation_only"]["scores"]
    assert scores["agreed by the sites"]["auc"] > scores["pooled, no privacy"]["auc"] - 0.03
    assert max(owner["epsilon"] for owner in found["guarantee"]["owners"]) <= 1.0 + 1e-9
    again = json.loads(invoke("demo", "--json"))
    assert again["output"] == "tacit-demo-2"
    assert again["solution"] == found["solution"]
    assert again["regression"]["output"] == "tacit-demo-2-regression"
    assert "refused" not in again["regression"]["answer"]
    owners = again["regression"]["guarantee"]["owners"]
    assert {(each["status"], round(each["epsilon"], 6)) for each in owners} == {("proved", 1.0)}


@pytest.mark.parametrize("command", ["demo", "run"])
def test_an_interrupted_command_says_what_to_do(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.end_to_end.study import write

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.cli.running.assemble", interrupt)
    monkeypatch.chdir(tmp_path)
    arguments = ["demo"] if command == "demo" else ["run", str(write(tmp_path))]
    done = RUN.invoke(app, arguments)
    assert done.exit_code == 130
    assert "interrupted; " in done.stderr
    assert not list(tmp_path.glob("*results*")) + list(tmp_path.glob("*demo*"))
