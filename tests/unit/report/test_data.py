import pytest

from tacit.errors import ConfigError
from tacit.network import ring
from tacit.report import NetworkPicture, released_only
from tests.unit.report.sample import sample


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"guarantee_status": "certain"}, "guarantee_status='certain'.*'proved'"),
        ({"noise": "loud"}, "noise='loud'.*'secure'"),
        ({"history": {"round": [0, 1], "epsilon": [0.0]}}, "differ in length.*'round': 2"),
        ({"history": {"epsilon": [0.0]}}, "needs the column 'round'"),
    ],
)
def test_what_cannot_be_shown_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        sample(**changes)


def test_an_edge_needs_both_its_agents():
    with pytest.raises(ConfigError, match=r"edge \(0, 2\).*0\.\.1"):
        NetworkPicture(["a", "b"], [(0, 2)], "path")


def test_positions_are_one_an_agent():
    with pytest.raises(ConfigError, match="1 positions for 2 agents"):
        NetworkPicture(["a", "b"], [(0, 1)], "path", positions=[(0.0, 0.0)])


def test_a_public_report_keeps_releases_only():
    public = released_only(sample())
    assert public.public
    assert list(public.history) == ["round", "consensus", "evaluations", "bytes", "epsilon"]
    assert public.accuracy is None
    assert public.findings == ()
    assert public.coefficients[0] == {"feature": "log coinsurance", "agreed": -0.3125}
    assert "Seed" not in public.environment
    assert public.environment["tacit"] == "0.2.0.dev5"
    assert public.guarantee_table == sample().guarantee_table


def test_a_column_nobody_thought_about_is_held_back():
    data = sample(history={"round": [0], "held_out_auc": [0.7]})
    assert list(released_only(data).history) == ["round"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seconds": -1.0}, "seconds=-1.0 must be at least 0"),
        ({"summary": "a sentence"}, "summary='a sentence' must be a list"),
        ({"guarantee_table": [1, 2]}, r"guarantee_table\[0\]=1 must be a dict"),
        ({"network": ring(3)}, "network is a Graph; give NetworkPicture"),
        ({"public": "no"}, "public='no' must be True or False"),
    ],
)
def test_attributes_of_other_kinds_are_named(changes, message):
    with pytest.raises(ConfigError, match=message):
        sample(**changes)


def test_a_duration_may_be_left_out():
    assert sample(seconds=None).seconds is None
