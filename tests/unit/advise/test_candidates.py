"""Which methods are measured, and why others are not."""

from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import pytest

from tacit import network
from tacit.advise import Setting
from tacit.advise.candidates import Candidate, Pace, candidates
from tacit.method import DPSG, DZOA, Phase
from tacit.privacy import Privacy, Release
from tacit.privacy.mechanism import NO_NOISE
from tacit.types import Oracle

PEERS = Setting(20, 4, network.ring(5), Privacy(clip=1.0, epsilon=1.7, delta=1e-6))


def test_every_private_method_is_measured_or_left_out_for_a_reason() -> None:
    found, left_out = candidates(PEERS)
    names = {each.name for each in found}
    assert {"dpsg", "pdop"} <= names
    assert left_out["d-zoa"] == "it makes do with values, and gradients tell more"
    assert not names & set(left_out)
    assert "gradient-descent" in left_out
    assert all(left_out.values())


def test_a_coordinator_has_methods_of_its_own() -> None:
    found, left_out = candidates(replace(PEERS, network=network.Coordinator(5)))
    names = {each.name for each in found}
    assert {"fedavg", "gradient-descent"} <= names
    assert "it needs peers" in left_out["dpsg"]
    assert left_out["dp-fedsgd"] == "it takes the same steps as gradient-descent"
    valued = replace(PEERS, network=network.Coordinator(5), oracle=Oracle.VALUE)
    found, _ = candidates(valued)
    assert {"or-zo", "zoo-admm"} <= {each.name for each in found}
    (split,) = [each for each in found if each.name == "zoo-admm"]
    for step in (0.01, 1.0, 30.0):
        chosen = split.arguments(Pace(step, 1.0))
        assert 0.4 < chosen["step"] * chosen["penalty"] < 0.6


class Leaky(DPSG):
    """Takes a budget and releases its gradients as they are."""

    name: ClassVar[str] = "leaky"

    def phases(self) -> tuple[Phase, ...]:
        (phase,) = super().phases()
        return (replace(phase, release=Release("gradient", NO_NOISE)),)


class Particular(DPSG):
    """Needs an argument that nobody here knows."""

    name: ClassVar[str] = "particular"
    constant: Any = eqx.field(kw_only=True)


def test_methods_without_a_proof_are_not_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.advise.candidates._private", lambda: [DPSG, Leaky, Particular])
    found, left_out = candidates(PEERS)
    assert [each.name for each in found] == ["dpsg"]
    assert left_out["leaky"] == "its guarantee is not proved"
    assert left_out["particular"] == "advice does not know how to set constant"


def test_one_pace_moves_the_mean_of_the_sites_alike() -> None:
    pace = Pace(step=0.4, degree=3.0)
    assert Candidate(DPSG).arguments(pace) == {"step": 0.4}
    made = Candidate(DZOA).arguments(pace)
    step = 1.0 / (1.0 / made["proximity"] + 2.0 * made["penalty"] * 3.0)
    assert step == pytest.approx(0.4, rel=0.02)


def test_values_cost_one_more_than_there_are_parameters() -> None:
    assert Candidate(DPSG).evaluations(10) == 1
    assert Candidate(DZOA).evaluations(10) == 11
