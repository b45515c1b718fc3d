from typing import Any, Literal, get_args

import pytest
from pydantic import ValidationError

from tacit.method import PDOP, FedAvg
from tacit.ranges import Numbers, Positive
from tacit.study._grammar.arguments import REQUIRED, arguments, described, section
from tacit.study._grammar.section import Number


def build(size: int, rate: float = 0.5, mode: Literal["a", "b"] = "a", step: Any = 1, x=None):
    """Builds something.

    Args:
        size: how large, over
            two lines.
        rate: how fast.
        mode: which.
        step: how far.

    Raises:
        ValueError: never.
    """


def test_arguments_come_from_signature_and_docstring() -> None:
    found = arguments(build)
    assert [(one.name, one.default) for one in found] == [
        ("size", REQUIRED),
        ("rate", 0.5),
        ("mode", "a"),
        ("step", 1),
    ]
    assert found[0].text == "how large, over two lines."


class Base:
    """A base.

    Args:
        size: how large.
        rate: how fast.
    """

    def __init__(self, size: int, rate: float = 0.5) -> None: ...


class Derived(Base):
    """A class that describes what it changes.

    Args:
        rate: how fast now.
    """


def test_descriptions_are_inherited() -> None:
    assert described(Derived) == {"size": "how large.", "rate": "how fast now."}
    assert [one.name for one in arguments(Derived)] == ["size", "rate"]


def test_arguments_said_elsewhere_are_left_out() -> None:
    assert [one.name for one in arguments(build, leave_out=("size", "mode"))] == ["rate", "step"]


def test_a_docstring_without_arguments() -> None:
    assert described(test_a_docstring_without_arguments) == {}


def test_a_section_checks_types() -> None:
    kind = section("A thing.", "kind", "some-thing", arguments(build))
    made = kind.model_validate({"kind": "some-thing", "size": 3})
    assert dict(made) == {"kind": "some-thing", "size": 3, "rate": 0.5, "mode": "a", "step": 1}
    assert kind.__name__ == "SomeThingSection"
    for wrong in (
        {"kind": "some-thing"},
        {"kind": "other", "size": 3},
        {"kind": "some-thing", "size": 3.0},
        {"kind": "some-thing", "size": 3, "rate": "1"},
        {"kind": "some-thing", "size": 3, "mode": "c"},
        {"kind": "some-thing", "size": 3, "colour": 1},
    ):
        with pytest.raises(ValidationError):
            kind.model_validate(wrong)


@pytest.mark.parametrize(("build", "key"), [(FedAvg, "release"), (PDOP, "schedule")])
def test_a_converter_does_not_hide_what_a_field_may_be(build: Any, key: str) -> None:
    (found,) = [one for one in arguments(build) if one.name == key]
    assert found.default in get_args(found.kind)


def test_what_differs_from_site_to_site() -> None:
    kind = section("A thing.", "kind", "thing", arguments(build, per_site=("step",)))
    for given, kept in ((2, 2.0), ([1, 2], (1.0, 2.0)), ({"north": 1}, {"north": 1.0})):
        assert (
            dict(kind.model_validate({"kind": "thing", "size": 1, "step": given}))["step"] == kept
        )


def test_a_number_is_a_number_in_a_file_whatever_it_is_in_a_trace() -> None:
    class Schedule: ...

    def taken(step: Positive, rate: Numbers = 1.0, decay: Numbers | Schedule = 0.5) -> None:
        """Takes numbers.

        Args:
            step: how far.
            rate: how fast.
            decay: how slow.
        """

    taken.__annotations__ = {"step": Positive, "rate": Numbers, "decay": Numbers | Schedule}
    assert [one.kind for one in arguments(taken)] == [Number] * 3
