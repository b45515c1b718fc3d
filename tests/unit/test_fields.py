import copy
import inspect
import pickle
from dataclasses import dataclass, field
from typing import Any, ClassVar

import networkx as nx
import pytest

from tacit.data import AbstractFeature, AbstractMap, AbstractPartition, AbstractTarget
from tacit.errors import ConfigError
from tacit.network import AbstractTopology
from tacit.study._grammar.arguments import arguments


class Lollipop(AbstractTopology):
    """A complete graph with a path.

    Args:
        tail: number of agents on the path.
    """

    tail: int = 2
    kind: ClassVar[str] = "lollipop"

    def graph(self, agents: int) -> Any:
        return nx.lollipop_graph(agents - self.tail, self.tail)


class Longer(Lollipop):
    """With a longer path.

    Args:
        tail: number of agents on the path.
        more: additional agents on it.
    """

    more: int = 1


@dataclass
class Decorated(AbstractTopology):
    tail: int = 2
    names: list[str] = field(default_factory=list)

    def graph(self, agents: int) -> Any:
        return nx.path_graph(agents)


@dataclass(frozen=True)
class Frozen(AbstractTopology):
    tail: int = 2
    more: int = 3

    def graph(self, agents: int) -> Any:
        return nx.path_graph(agents)


class BelowFrozen(Frozen):
    end: int = 0


class Below(Decorated):
    more: int = 4


class Written(AbstractTopology):
    def __init__(self, hub: int = 0) -> None:
        self.hub = hub

    def graph(self, agents: int) -> Any:
        return nx.star_graph(agents - 1)


class Both(Lollipop):
    """An `__init__` of its own below a class with fields."""

    def __init__(self, hubs: int) -> None:
        super().__init__(tail=hubs + 1)
        self.hubs = hubs


class Kept(Written):
    kind: ClassVar[str] = "kept"

    def graph(self, agents: int) -> Any:
        return nx.path_graph(agents)


def test_fields_are_arguments_without_a_decorator() -> None:
    assert list(inspect.signature(Lollipop).parameters) == ["tail"]
    assert Lollipop(3).tail == Lollipop(tail=3).tail == 3
    assert Lollipop() == Lollipop(2) and hash(Lollipop()) == hash(Lollipop(2))
    assert repr(Lollipop(tail=3)) == "Lollipop(tail=3)"
    assert len(Lollipop(tail=3).graph(5)) == 5
    with pytest.raises(TypeError, match="tial"):
        Lollipop(tial=3)  # pyright: ignore[reportCallIssue]


def test_fields_are_keys_of_studies() -> None:
    [tail] = arguments(Lollipop)
    assert (tail.name, tail.default, tail.text) == ("tail", 2, "number of agents on the path.")
    assert [each.name for each in arguments(Longer)] == ["tail", "more"]


def test_fields_of_a_derived_class_follow_those_of_its_base() -> None:
    # whichever of the two is used first
    assert Longer(3, 4) == Longer(tail=3, more=4) != Longer(3)


@pytest.mark.parametrize("kind", [Decorated, Frozen, Below, BelowFrozen])
def test_a_decorator_goes_on_working(kind: Any) -> None:
    made = kind(tail=5)
    assert made.tail == 5 and kind().tail == 2
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made


def test_a_decorated_class_keeps_what_its_decorator_says() -> None:
    first, second = Decorated(), Decorated()
    first.names.append("north")
    assert second.names == []
    first.tail = 7  # not frozen
    assert Frozen(more=5).more == 5 and Below(more=6).more == 6 and BelowFrozen(end=7).end == 7
    with pytest.raises(AttributeError):
        BelowFrozen().end = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_attributes_can_be_assigned_as_of_any_class() -> None:
    made = Lollipop()
    made.tail = 1
    assert made == Lollipop(1)
    assert (Both(2).hubs, Both(2).tail) == (2, 3)


def test_an_init_goes_on_working() -> None:
    assert Written(hub=2).hub == Kept(hub=2).hub == 2
    assert str(inspect.signature(Kept)) == str(inspect.signature(Written))


def test_a_class_without_fields_takes_no_arguments() -> None:
    class Line(AbstractTopology):
        def graph(self, agents: int) -> Any:
            return nx.path_graph(agents)

    assert not inspect.signature(Line).parameters
    assert not inspect.signature(AbstractTopology).parameters
    assert len(Line().graph(3)) == 3


def test_a_class_without_its_method_cannot_be_made() -> None:
    class Nothing(AbstractTopology):
        tail: int = 2

    with pytest.raises(TypeError, match="abstract"):
        Nothing()  # pyright: ignore[reportAbstractUsage]


def test_a_default_that_cannot_be_one_is_told_by_class() -> None:
    class Listed(AbstractTopology):
        hubs: list[int] = []  # noqa: RUF012

        def graph(self, agents: int) -> Any:
            return nx.path_graph(agents)

    with pytest.raises(ConfigError, match=r"the fields of Listed cannot be arguments: .*hubs"):
        Listed()


def test_columns_maps_and_divisions_take_fields_too() -> None:
    class Cyclic(AbstractFeature):
        period: float

        def names(self, column: str) -> tuple[str, ...]:
            return (column,)

        def numbers(self, value: str) -> tuple[float, ...]:
            return (float(value) % self.period,)

    class AtLeast(AbstractTarget):
        name: str
        threshold: float
        binary: ClassVar[bool] = True

        def number(self, value: str) -> float:
            return float(float(value) >= self.threshold)

    class Powers(AbstractMap):
        highest: int = 2

        def names(self, schema: Any, columns: tuple[str, ...]) -> tuple[str, ...]:
            return columns

        def row(self, schema: Any, row: Any) -> Any:
            return row**self.highest

    class Turns(AbstractPartition):
        sites: int
        first: int = 0

        def owners(self, prepared: Any) -> Any:
            return self.first

    assert Cyclic(24.0).numbers("25") == (1.0,) and Cyclic(24.0).missing is None
    assert AtLeast("visits", 3.0).number("4") == 1.0
    assert Powers(highest=3).highest == 3
    assert Turns(4, first=1).first == 1
