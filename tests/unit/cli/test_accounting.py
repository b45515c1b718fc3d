"""`tacit account`: the answers, the tables and every contradiction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.privacy import accounting
from tacit.privacy.event import GaussianRelease, LaplaceRelease, PoissonSampled, Repeated
from tacit.study import assemble, execute, read_study
from tacit.study._output.words import protection
from tacit.types import Unit
from tests.end_to_end.study import STUDY, changed, write

RUN = CliRunner()


def said(*arguments: str | Path, code: int = 0) -> str:
    """What `tacit account` prints on standard output."""
    done = RUN.invoke(app, ["account", *(str(argument) for argument in arguments)])
    assert done.exit_code == code, done.output
    return done.stdout


def answered(*arguments: str | Path) -> dict[str, Any]:
    """Its JSON document."""
    document = json.loads(said(*arguments, "--json"))
    assert document["format"] == "tacit-account-1"
    return document


def refused(*arguments: str | Path) -> str:
    """Its error message."""
    done = RUN.invoke(app, ["account", *(str(argument) for argument in arguments)])
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("error: ")
    return done.stderr


@pytest.mark.slow
def test_a_study_may_protect_all_data_of_a_site(tmp_path: Path) -> None:
    text = changed('graph = "ring"', 'graph = "coordinator"\nprobability = 0.5')
    text = changed('name = "dpsg"', 'name = "fedavg"\nrelease = "update"', text)
    text = changed("rounds = 20", "rounds = 4", text)
    study = write(tmp_path, text)
    shown = said(study)
    assert "all data of that owner together" in shown and "A record stands" not in shown
    outcome = execute(assemble(read_study(study)))
    assert {each.unit for each in outcome.result.guarantee} == {Unit.AGENT}
    assert "whole cost function of one site" in protection(outcome)[0]


def test_a_study_is_told_what_a_run_of_it_guarantees(tmp_path: Path) -> None:
    study = write(tmp_path)
    found = answered(study)
    outcome = execute(assemble(read_study(study)))
    assert found["question"] == "study"
    assert found["guarantee"] == outcome.result.guarantee.to_dict()
    releases = {row.phase: row for row in outcome.result.releases if row.released}
    assert {row["phase"] for row in found["owners"]} == set(releases)
    scales = [row["noise_scale"] for row in found["owners"]]
    assert max(scales) == releases[found["owners"][0]["phase"]].noise_scale
    for row in found["owners"]:
        assert row["noise_multiplier"] == pytest.approx(row["noise_scale"] / row["sensitivity"])
    assert found["curve"][-1] == {"rounds": 20, "epsilon": pytest.approx(1.0)}
    spent = [row["epsilon"] for row in found["curve"]]
    assert spent[0] > 0.0 and spent == sorted(spent)
    assert {row["delta"]: row["epsilon"] for row in found["at_deltas"]}[1e-6] <= 1.0


def test_a_study_in_words(tmp_path: Path) -> None:
    text = said(write(tmp_path))
    for words in (
        "Nothing was run",
        "north",
        "proved",
        "do not add up",
        "other deltas",
        "For each of the 4 agents",
        "(1, 1e-6)-DP",
    ):
        assert words in text
    assert not (tmp_path / "results").exists()


def test_other_rounds_may_be_tried_out(tmp_path: Path) -> None:
    study = write(tmp_path)
    few, many = answered(study, "--rounds", "5"), answered(study, "--rounds", "50")
    assert few["rounds"] == 5 and many["rounds"] == 50
    assert few["owners"][0]["noise_scale"] < many["owners"][0]["noise_scale"]


def test_a_study_without_protection_says_so(tmp_path: Path) -> None:
    text = STUDY.replace('name = "dpsg"', 'name = "dgd"')
    text = text[: text.index("[privacy]")] + text[text.index("[run]") :]
    study = write(tmp_path, text)
    assert "No guarantee" in said(study)
    found = answered(study)
    assert found["owners"][0]["epsilon"] == "inf" and found["at_deltas"] == []


def test_a_person_at_several_sites_is_not_told_that_owners_do_not_add_up(tmp_path: Path) -> None:
    study = write(tmp_path, changed("clip = 1.0", "clip = 1.0\nsites_per_person = 2"))
    assert "do not add up" not in said(study)


def test_a_study_says_its_own_numbers(tmp_path: Path) -> None:
    message = refused(write(tmp_path), "--epsilon", "2")
    assert "--epsilon cannot be given beside" in message and "leave the file out" in message


def test_what_noise_do_i_need() -> None:
    found = answered("--epsilon", "1", "--rounds", "20000", "--clip", "1", "--records", "2000")
    assert found["noise_multiplier"] == pytest.approx(597.459818)
    assert found["epsilon"] <= 1.0
    assert found["sensitivity"] == pytest.approx(1e-3)
    assert found["noise_scale"] == pytest.approx(0.597459818)
    text = said("--epsilon", "1", "--rounds", "20000", "--clip", "1", "--records", "2000")
    assert "needs a multiplier of 597.5" in text, "rounded up"
    assert "replacing one record moves an answer by at most 0.001" in text


def test_how_many_rounds_can_i_afford() -> None:
    found = answered("-e", "1", "-z", "60")
    assert found["rounds"] == 200 or found["rounds"] == 201
    event = GaussianRelease(60.0)
    assert accounting.epsilon([Repeated(event, found["rounds"])], 1e-6) <= 1.0
    assert accounting.epsilon([Repeated(event, found["rounds"] + 1)], 1e-6) > 1.0
    assert f"affords {found['rounds']} rounds" in said("-e", "1", "-z", "60")
    assert "Not even one round" in said("-e", "1", "-z", "0.1")


def test_what_epsilon_follows() -> None:
    found = answered("-z", "2", "-r", "100", "--sampling", "0.01", "--relation", "add-remove")
    event = PoissonSampled(0.01, GaussianRelease(2.0))
    assert found["epsilon"] == accounting.epsilon([Repeated(event, 100)], 1e-6)
    pure = answered("-z", "50", "-r", "100", "--noise", "laplace", "--delta", "0")
    assert pure["epsilon"] == pytest.approx(2.0)
    other = accounting.epsilon([Repeated(LaplaceRelease(50.0), 100)], 1e-6)
    assert {row["delta"]: row["epsilon"] for row in pure["at_deltas"]}[1e-6] == other
    assert "1 round of discrete Laplace noise" in said(
        "-z", "2", "-r", "1", "--noise", "discrete-laplace"
    )
    assert "Poisson sample of rate 0.01" in said(
        "-z", "2", "-r", "3", "--sampling", "0.01", "--relation", "add-remove"
    )


def test_sampling_makes_one_record_weigh_more() -> None:
    options = ("-z", "2", "-r", "3", "--clip", "1", "--records", "100", "--relation", "add-remove")
    assert answered(*options)["sensitivity"] == pytest.approx(0.01)
    assert answered(*options, "--sampling", "0.1")["sensitivity"] == pytest.approx(0.1)
    assert "adding or removing one record" in said(*options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "give a study file, or two of"),
        ("-e 1", "give a study file, or two of"),
        ("-e 1 -r 1 -z 1", "leave one out"),
        ("-e 1 -r 0", "--rounds=0 must be positive"),
        ("-e inf -r 2", "--epsilon=inf must be positive and finite"),
        ("-e 1 -r 2 --delta 2", "delta=2.0 must be"),
        ("-e 1 -r 2 --delta 0", "take --noise laplace"),
        ("-e 1 -r 2 --clip 1", "only together with --records"),
        ("-e 1 -r 2 --records 10", "only together with --clip"),
        ("-e 1 -r 2 --records 10 --clip -1", "--clip=-1 must be positive"),
        ("-e 1 -r 2 --sampling 0.1", "add --relation add-remove"),
        ("-e 1 -r 2 --sampling 0", "must be a probability"),
        ("-e 1 -r 2 --noise gausian", "did you mean gaussian?"),
        ("-e 1 -r 2 --noise white", "one of gaussian, laplace"),
        ("-e 1 -r 2 --relation replace_one", "did you mean replace-one?"),
        ("-e 1 -r 2 --fresh-noise", "is about averaging on a graph"),
        ("-e 1 -r 2 --observer 1", "is about averaging on a graph"),
        ("--graph ring --agents 5 --gossip-rounds 3", "--noise-multiplier is missing"),
        ("--gossip-rounds 3 -z 1", "--graph is missing"),
        ("--graph ring --agents 5 --gossip-rounds 3 -z 1 -e 1", "--epsilon does not go with"),
        ("--graph grid --agents 5 --gossip-rounds 3 -z 1", "must be one of ring, path"),
        ("--graph ring --agents 5 --gossip-rounds 3 -z 1 --observer 9", "from 0 to 4"),
        ("--graph ring --agents 5 --gossip-rounds -3 -z 1", "steps=-3"),
        ("-e 1 -r 2 --coalition 1", "is about masks"),
        ("--graph ring --agents 5 --gossip-rounds 3 -z 1 --absent 1", "--absent does not go with"),
        ("--masks complete -e 1 -r 2", "--agents is missing"),
        ("--masks cycle --agents 5 -e 1 -r 2", "must be one of ring, path"),
        ("--masks complete --agents 5 -e 1 -r 2 -z 1", "--noise-multiplier does not go with"),
        ("--masks complete --agents 5 -e 1 -r 5 --attempts 4", "is below --rounds=5"),
        ("--masks complete --agents 5 -e 1 -r 5 --coalition 5", "leaves none of 5 agents"),
        ("nowhere.toml", "nowhere.toml"),
    ],
)
def test_contradictions_and_their_remedies(arguments: str, message: str) -> None:
    assert message in refused(*arguments.split())


def test_errors_are_json_too() -> None:
    document = json.loads(said("-e", "1", "--json", code=2))
    assert document["format"] == "tacit-error-1"


def test_gossip_hides_the_far_only_with_fresh_noise() -> None:
    options = ("--graph", "ring", "--agents", "8", "--gossip-rounds", "20", "-z", "5")
    once, fresh = answered(*options), answered(*options, "--fresh-noise", "--observer", "1")
    assert once["observers"] == [0] and fresh["observers"] == [1]
    local = once["epsilon_to_everybody"]
    assert all(g["epsilon"] == pytest.approx(local) for g in once["guarantee"]["owners"])
    by_owner = {g["owner"]: g["epsilon"] for g in fresh["guarantee"]["owners"]}
    assert by_owner["agent 2"] == pytest.approx(local)
    assert by_owner["agent 5"] < local / 5
    assert {g["status"] for g in fresh["guarantee"]["owners"]} == {"model"}
    assert "Compare --fresh-noise" in said(*options)
    coalition = said(*options, "--fresh-noise", "--observer", "0", "--observer", "4")
    assert "seen by agent 0 and agent 4" in coalition
    assert "Compare" not in coalition


def test_masks_cost_little_until_a_coalition_cuts_an_agent_off() -> None:
    asked = ("--masks", "complete", "--agents", "10", "-e", "1", "-d", "1e-5", "-r", "300")
    alone, masked, central = answered(*asked)["ways"]
    assert [alone["relative_variance"], central["relative_variance"]] == [10.0, 1.0]
    assert masked["relative_variance"] == pytest.approx(10 / 9)
    assert masked["noise_multiplier"] == pytest.approx(alone["noise_multiplier"] / 3)
    more = answered(*asked, "--coalition", "2", "--absent", "1", "--attempts", "330")["ways"][1]
    assert more["relative_variance"] == pytest.approx(1.1 * 10 / 7)
    assert "nothing here" not in said(*asked)
    ring = ("--masks", "ring", *asked[2:], "--coalition", "2")
    assert answered(*ring)["ways"][1]["relative_variance"] == pytest.approx(10.0)
    assert "Masks bring nothing here" in said(*ring)


def test_a_delta_of_one_over_the_records_is_asked_for_by_name() -> None:
    options = ("-z", "20", "-r", "3", "--clip", "1", "--records", "100", "--delta", "0.01")
    assert "not below one over the 100 records" in refused(*options)
    assert "--large-delta" in refused(*options)
    assert answered(*options, "--large-delta")["delta"] == 0.01
    masks = ("--masks", "ring", "--agents", "9", "-e", "1", "-r", "10", "--delta", "0.2")
    assert "9 agents" in refused(*masks)
    gossip = ("--graph", "ring", "--agents", "9", "--gossip-rounds", "3", "-z", "2")
    assert "9 agents" in refused(*gossip, "--delta", "0.2")


def test_a_large_epsilon_is_warned_of() -> None:
    assert "Warning: an epsilon of 10 or more" in said("-z", "0.3", "-r", "3")
    assert "Warning" not in said("-z", "3", "-r", "3")
    assert answered("-z", "0.3", "-r", "3")["warning"]


def test_a_large_delta_is_warned_of_where_the_number_of_records_is_not_known() -> None:
    asked = ("--epsilon", "1", "--rounds", "5", "--delta", "0.5")
    assert "Warning: publishing one of every 2 records whole" in said(*asked)
    assert "one of every 2 records" in answered(*asked)["warning"]
    assert "Warning" not in said("--epsilon", "1", "--rounds", "5", "--delta", "1e-6")
