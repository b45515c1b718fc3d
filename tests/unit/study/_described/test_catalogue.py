from typing import Any

import pytest

import tacit.method
from tacit.errors import ConfigError
from tacit.method.phase import AbstractMethod
from tacit.study._described.catalogue import METHODS, Protection
from tacit.study._described.cost import cost_example
from tacit.study._described.describe import asked, document
from tacit.study._grammar.arguments import REQUIRED
from tacit.study.parts import published


def test_every_named_method_of_the_package_is_found() -> None:
    exported = {
        value
        for name in tacit.method.__all__
        if isinstance(value := getattr(tacit.method, name), type)
        and issubclass(value, AbstractMethod)
        and value.name
    }
    assert {entry.build for entry in METHODS.values()} == exported
    papers = {part.build for part in published().values()}
    assert all(build.as_published for build in papers) and not papers & exported
    assert all(name == entry.name for name, entry in METHODS.items())


def test_protection_is_what_the_phases_say() -> None:
    for entry in METHODS.values():
        mechanisms = {
            phase.release.mechanism.name
            for phase in entry.default().phases()
            if phase.release is not None
        }
        bare = mechanisms & {"NoNoise", "Intrinsic"}
        assert bare == (mechanisms if entry.protection is Protection.NONE else set()), entry.name
        assert mechanisms


def test_every_required_parameter_has_an_example() -> None:
    for entry in METHODS.values():
        required = {one.name for one in entry.parameters if one.default is REQUIRED}
        given = {one.name for one in entry.parameters} | set(entry.build.modelled)
        assert required <= set(entry.build.example) <= given, entry.name
        assert entry.when
        assert "privacy" not in {one.name for one in entry.parameters}


@pytest.mark.long
def test_the_status_follows_from_the_arguments() -> None:
    known = {
        "d-zoa": "proved",
        "d-zoa-solver": "none; model with claim",
        "dgd": "none",
        "dpsg": "proved",
        "gradient-descent": "proved with [privacy]; none without",
    }
    assert {name: METHODS[name].status for name in known} == known


def test_a_method_without_protection_takes_no_budget() -> None:
    from tacit.method import DGD
    from tacit.privacy import Privacy

    options: Any = {"privacy": Privacy(clip=1.0, epsilon=1.0)}
    with pytest.raises(ConfigError, match="DGD has no argument 'privacy'"):
        DGD(step=0.1, **options)


def test_a_description_says_who_sends_what_to_whom() -> None:
    found = document(METHODS["gradient-descent"])
    assert found["topology"] == "coordinator"
    iterate, gradient = found["phases"]
    assert (iterate["sender"], iterate["private"], iterate["receiver"]) == (
        "the coordinator",
        "nothing",
        "every site",
    )
    assert gradient["private"].startswith("Sum of the gradients of all units, each clipped")
    assert gradient["private"].endswith("Clip: 1 in the l2 norm.")
    assert gradient["protected_by"].startswith("Gaussian: ")
    assert gradient["receiver"] == "the coordinator"


def test_evaluations_are_counted() -> None:
    vector = document(METHODS["d-zoa"])["phases"][0]
    assert vector["evaluations_in_10_dimensions"] == 11


def test_different_clips_are_shown_as_a_range() -> None:
    import numpy as np

    from tacit.method import DPSG
    from tacit.privacy import Privacy

    privacy = Privacy(clip=np.array([0.5, 2.0]), epsilon=1.0)
    query = DPSG(step=1.0, privacy=privacy).phases()[0].query
    assert asked(query).endswith("Clip: 0.5 to 2 in the l2 norm.")


@pytest.mark.parametrize(
    ("name", "times", "scale"),
    [
        # 100 Gaussian releases at (1, 1e-6) of sensitivity 2 / 2000, by the accountant's multiplier
        ("dpsg", 100, 0.0422),
        # one Laplace release of epsilon 1, whose scale is the sensitivity
        ("functional-perturbation", 1, 0.001),
    ],
)
def test_the_cost_example_is_that_of_the_method(name: str, times: int, scale: float) -> None:
    cost = cost_example(METHODS[name])
    assert cost is not None
    [row] = cost["releases"]
    assert (row["times"], row["sensitivity"]) == (times, 0.001)
    assert row["noise_scale"] == pytest.approx(scale, rel=2e-3) and row["first"] is None
    assert cost_example(METHODS["dgd"]) is None


def test_noise_that_changes_is_described_by_its_first_and_last_scale() -> None:
    cost = cost_example(METHODS["pdop"], rounds=10)
    assert cost is not None
    [row] = cost["releases"]
    assert row["first"] == row["noise_scale"] > row["last"] > 0.0
