"""`tacit plan`: the answers, the tables and every contradiction."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.privacy import accounting
from tacit.privacy.event import GaussianRelease, LaplaceRelease, PoissonSampled, Repeated

RUN = CliRunner()


def said(*arguments: str, code: int = 0) -> str:
    """What `tacit plan` prints on standard output."""
    done = RUN.invoke(app, ["plan", *arguments])
    assert done.exit_code == code, done.output
    return done.stdout


def answered(*arguments: str) -> dict[str, Any]:
    """Its JSON document."""
    document = json.loads(said(*arguments, "--json"))
    assert document["format"] == "tacit-account-1"
    return document


def refused(*arguments: str) -> str:
    """Its error message."""
    done = RUN.invoke(app, ["plan", *arguments])
    assert done.exit_code == 2, done.output
    return " ".join(done.stderr.split())


def test_what_noise_do_i_need() -> None:
    asked = ("noise", "-e", "1", "-r", "20000", "--clip", "1", "--records", "2000")
    found = answered(*asked)
    assert found["noise_multiplier"] == pytest.approx(597.459818)
    assert found["epsilon"] <= 1.0
    assert found["sensitivity"] == pytest.approx(1e-3)
    assert found["noise_scale"] == pytest.approx(0.597459818)
    text = said(*asked)
    assert "597.5" in text, "rounded up"
    assert "replacing one record" in text and "0.001" in text


def test_how_many_rounds_can_i_afford() -> None:
    found = answered("rounds", "-e", "1", "-z", "60")
    event = GaussianRelease(60.0)
    assert accounting.epsilon([Repeated(event, found["rounds"])], 1e-6) <= 1.0
    assert accounting.epsilon([Repeated(event, found["rounds"] + 1)], 1e-6) > 1.0
    assert f"{found['rounds']} rounds" in said("rounds", "-e", "1", "-z", "60")
    none = answered("rounds", "-e", "1", "-z", "0.1")
    assert (none["rounds"], none["epsilon"], none["at_deltas"]) == (0, 0.0, [])
    assert "--noise-multiplier or --epsilon" in said("rounds", "-e", "1", "-z", "0.1")


@pytest.mark.long
def test_what_epsilon_follows() -> None:
    sampled = ("-z", "2", "-r", "100", "--sampling", "0.01", "--relation", "add-remove")
    event = PoissonSampled(0.01, GaussianRelease(2.0))
    assert answered("epsilon", *sampled)["epsilon"] == accounting.epsilon(
        [Repeated(event, 100)], 1e-6
    )
    assert "0.01" in said("epsilon", *sampled)
    pure = answered("epsilon", "-z", "50", "-r", "100", "--noise", "laplace", "--delta", "0")
    assert pure["epsilon"] == pytest.approx(2.0)
    other = accounting.epsilon([Repeated(LaplaceRelease(50.0), 100)], 1e-6)
    assert {row["delta"]: row["epsilon"] for row in pure["at_deltas"]}[1e-6] == other
    discrete = said("epsilon", "-z", "2", "-r", "1", "--noise", "discrete-laplace")
    assert "1 round of discrete Laplace noise" in discrete


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("noise -e 1", "--rounds"),
        ("rounds -e 1", "--noise-multiplier"),
        ("noise -e 1 -r 0", "--rounds 0 "),
        ("noise -e inf -r 2", "--epsilon inf"),
        ("noise -e 1 -r 2 --delta 2", "--delta 2.0"),
        ("noise -e 1 -r 2 --delta 0", "--noise 'laplace'"),
        ("noise -e 1 -r 2 --clip 1", "such as --records "),
        ("noise -e 1 -r 2 --records 10", "--records 10 alone"),
        ("noise -e 1 -r 2 --records 10 --clip -1", "--clip -1"),
        ("noise -e 1 -r 2 --sampling 0.1", "take --relation 'add_remove'"),
        ("noise -e 1 -r 2 --sampling 0", "--sampling 0"),
        ("gossip --graph ring --agents 2 --steps 3 -z 1", "--agents 2: a ring needs"),
        ("gossip --graph ring --agents 2 --steps 3 -z 1", "--graph path"),
        ("noise -e 1 -r 2 --noise gausian", "did you mean gaussian?"),
        ("noise -e 1 -r 2 --noise white", "--noise 'white'"),
        ("noise -e 1 -r 2 --relation replace-on", "did you mean replace-one?"),
        ("gossip --graph ring --agents 5 --steps 3", "--noise-multiplier"),
        ("gossip --steps 3 --agents 5 -z 1", "--graph"),
        ("gossip --graph grid --agents 5 --steps 3 -z 1", "--graph 'grid'"),
        ("gossip --graph ring --agents 5 --steps 3 -z 1 --observer 9", "from 0 to 4"),
        ("gossip --graph ring --agents 5 --steps -3 -z 1", "--steps -3"),
        ("masks -e 1 -r 2", "--agents"),
        ("masks --graph cycle --agents 5 -e 1 -r 2", "--graph 'cycle'"),
        ("masks --agents 5 -e 1 -r 5 --attempts 4", "must be at least --rounds 5"),
        ("masks --agents 5 -e 1 -r 5 --coalition 5", "--coalition 5 and --absent 0"),
    ],
)
def test_contradictions_and_their_remedies(arguments: str, named: str) -> None:
    assert named in refused(*arguments.split())


def test_words_may_be_parted_as_in_python() -> None:
    options = ("noise", "-e", "1", "-r", "2", "--sampling", "0.1", "--relation")
    assert answered(*options, "add_remove") == answered(*options, "add-remove")


def test_errors_are_json_too() -> None:
    document = json.loads(said("noise", "-e", "1", "-r", "0", "--json", code=2))
    assert document["format"] == "tacit-error-1"
    assert document["error"].startswith("--rounds 0 ")


def test_gossip_hides_the_far_only_with_fresh_noise() -> None:
    options = ("gossip", "--graph", "ring", "--agents", "8", "--steps", "20", "-z", "5")
    once, fresh = answered(*options), answered(*options, "--fresh-noise", "--observer", "1")
    assert once["observers"] == [0] and fresh["observers"] == [1]
    local = once["epsilon_to_everybody"]
    assert all(g["epsilon"] == pytest.approx(local) for g in once["guarantee"]["owners"])
    by_owner = {g["owner"]: g["epsilon"] for g in fresh["guarantee"]["owners"]}
    assert by_owner["agent 2"] == pytest.approx(local)
    assert by_owner["agent 5"] < local / 5
    assert {g["status"] for g in fresh["guarantee"]["owners"]} == {"model"}
    assert "--fresh-noise" in said(*options)
    coalition = said(*options, "--fresh-noise", "--observer", "0", "--observer", "4")
    assert "agent 0 and agent 4" in coalition and "--fresh-noise" not in coalition


@pytest.mark.not_quick
def test_masks_cost_little_until_a_coalition_cuts_an_agent_off() -> None:
    asked = ("masks", "--agents", "10", "-e", "1", "-d", "1e-5", "-r", "300")
    alone, masked, central = answered(*asked)["ways"]
    assert [alone["relative_variance"], central["relative_variance"]] == [10.0, 1.0]
    assert masked["relative_variance"] == pytest.approx(10 / 9)
    assert masked["noise_multiplier"] == pytest.approx(alone["noise_multiplier"] / 3)
    more = answered(*asked, "--coalition", "2", "--absent", "1", "--attempts", "330")["ways"][1]
    assert more["relative_variance"] == pytest.approx(1.1 * 10 / 7)
    ring = (*asked, "--graph", "ring", "--coalition", "2")
    assert answered(*ring)["ways"][1]["relative_variance"] == pytest.approx(10.0)
    assert "--graph complete" in said(*ring) and "--graph complete" not in said(*asked)


def test_masks_end_with_the_key_of_a_study() -> None:
    asked = ("masks", "--agents", "10", "-e", "1", "-r", "300")
    assert "masks = { coalition = 1 } in [privacy]" in said(*asked)
    more = ("--graph", "ring", "--coalition", "2", "--absent", "1", "--attempts", "330")
    key = "masks = { coalition = 2, min_cohort = 9, attempts = 330 } in [privacy]"
    assert key in said(*asked, *more)


def test_a_delta_of_one_over_the_records_is_asked_for_by_name() -> None:
    sums = ("epsilon", "-z", "20", "-r", "3", "--clip", "1", "--records", "100")
    options = (*sums, "--delta", "0.01")
    assert "100 records" in refused(*options) and "(--large-delta)" in refused(*options)
    assert answered(*options, "--large-delta")["delta"] == 0.01
    masks = ("masks", "--graph", "ring", "--agents", "9", "-e", "1", "-r", "10")
    assert "9 agents" in refused(*masks, "--delta", "0.2")
    gossip = ("gossip", "--graph", "ring", "--agents", "9", "--steps", "3", "-z", "2")
    assert "9 agents" in refused(*gossip, "--delta", "0.2")


def test_large_epsilons_and_deltas_are_warned_of() -> None:
    assert answered("epsilon", "-z", "0.3", "-r", "3")["warning"]
    assert not answered("epsilon", "-z", "3", "-r", "3")["warning"]
    found = answered("noise", "-e", "1", "-r", "5", "--delta", "0.5")
    assert "2 records" in found["warning"]
    assert found["warning"] in said("noise", "-e", "1", "-r", "5", "--delta", "0.5")
