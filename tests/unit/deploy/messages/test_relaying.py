"""Messages that pass from site to site: over trees and around broken links, once, and unread."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tacit.deploy.identity.keys import Card, Keys
from tacit.deploy.messages.carrier import Endpoint, Link
from tacit.deploy.messages.handshake import Question
from tacit.deploy.messages.relaying import Place, Relay

Edges = Sequence[tuple[int, int]]
RING: Edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
ABOVE = 5
CARD = Card("site", "site.example:7447", "", "")


class Wires:
    """Connects neighbours within a process, and counts what passes; broken links lose all."""

    ask_every = 0.01

    def __init__(self) -> None:
        self.ends: dict[int, Endpoint] = {}
        self.broken: set[frozenset[int]] = set()
        self.passed: Counter[tuple[int, int]] = Counter()
        self.asked = 0

    def connect(self, endpoint: Endpoint) -> Link:
        self.ends[endpoint.number] = endpoint
        return Wire(self, endpoint)

    def doing(self, endpoint: Endpoint) -> str:
        return ""

    def whole(self, one: int, other: int) -> bool:
        return other in self.ends and frozenset((one, other)) not in self.broken


class Wire:
    def __init__(self, wires: Wires, own: Endpoint) -> None:
        self.connections = {"let_in": 1}
        self._wires, self._own = wires, own

    def publish(self, key: str, data: bytes) -> None:
        here, hop = self._own.number, int(key.split("/")[1])
        assert hop in self._own.neighbours and int(key.split("/")[0]) == here
        if self._wires.whole(here, hop):
            self._wires.passed[here, hop] += 1
            self._wires.ends[hop].accept(here, key, data)

    def request(self, sender: int, keys: Iterable[str]) -> None:
        here = self._own.number
        assert sender in self._own.neighbours
        for key in keys:
            self._wires.asked += 1
            data = self._wires.ends[sender].serve(key) if self._wires.whole(here, sender) else None
            if data is not None:
                self._wires.passed[sender, here] += 1
                self._own.accept(sender, key, data)

    def question(self, asked: int, asker: int) -> Question:
        return Question(asked, asker)

    def close(self) -> None:
        del self._wires.ends[self._own.number]


class Graph:
    """Sites on a graph: all that a party gets, and what it has to give."""

    def __init__(self, edges: Edges, parents: Sequence[int], *, tree: bool = True) -> None:
        self.wires, agents = Wires(), len(parents)
        self.got: dict[int, list[tuple[int, str, bytes]]] = {}
        self.has: dict[int, dict[str, bytes]] = {}
        self.links: dict[int, Link] = {}
        self.relays: list[Relay] = []
        for number in range(agents):
            around = [b if a == number else a for a, b in edges if number in (a, b)]
            root = parents[number] < 0
            children = tuple(i for i, parent in enumerate(parents) if parent == number)
            towards = () if root else (parents[number],) if tree else tuple(around)
            place = Place(
                number,
                agents,
                dict.fromkeys(around, CARD),
                towards,
                children if tree else tuple(around),
            )
            self.relays.append(Relay(self.wires, place))
            for party in (number, agents) if root else (number,):
                self.join(number, party)

    def join(self, site: int, party: int) -> None:
        self.got.setdefault(party, [])
        has = self.has.setdefault(party, {})

        def accept(sender: int, key: str, data: bytes) -> None:
            self.got[party].append((sender, key, data))

        keys: Any = Keys(Path(), CARD, None, None, None)  # type: ignore[arg-type]
        end = Endpoint(keys, "", party, {}, Path(), listen=False, serve=has.get, accept=accept)
        self.links[party] = self.relays[site].connect(end)

    def send(self, party: int, key: str, data: bytes) -> None:
        self.has[party][key] = data
        self.links[party].publish(key, data)


@pytest.fixture
def ring() -> Callable[..., Graph]:
    def made(**more: Any) -> Graph:
        return Graph(RING, [-1, 0, 1, 4, 0], **more)

    return made


def test_answers_go_up_the_tree_and_announcements_down_it_once(ring: Callable[..., Graph]) -> None:
    graph = ring()
    graph.send(2, "2/1/1/0", b"answer")
    assert graph.got[ABOVE] == [(2, "2/1/1/0", b"answer")]
    assert graph.wires.passed == {(2, 1): 1, (1, 0): 1}
    graph.send(ABOVE, "5/1/0/0", b"model")
    assert all(graph.got[agent] == [(ABOVE, "5/1/0/0", b"model")] for agent in range(5))
    assert graph.wires.passed.total() == 2 + 4 and graph.wires.asked == 0


def test_flooded_messages_need_no_link_twice_and_survive_a_broken_one(
    ring: Callable[..., Graph],
) -> None:
    graph = ring(tree=False)
    graph.wires.broken.add(frozenset((1, 0)))
    graph.send(1, "1/1/1/0", b"answer")
    assert graph.got[ABOVE] == [(1, "1/1/1/0", b"answer")]
    graph.send(ABOVE, "5/1/0/0", b"model")
    assert all((ABOVE, "5/1/0/0", b"model") in graph.got[agent] for agent in range(5))
    assert max(graph.wires.passed.values()) <= 2


@pytest.mark.parametrize("lost", [(1, 0), (1, 2)])
def test_what_a_broken_link_lost_is_fetched_the_other_way_round(
    ring: Callable[..., Graph], lost: tuple[int, int]
) -> None:
    graph = ring()
    graph.wires.broken.add(frozenset(lost))
    graph.send(2, "2/1/1/0", b"answer")
    graph.send(ABOVE, "5/1/0/0", b"model")
    assert not graph.got[ABOVE] and not graph.got[2]
    graph.links[ABOVE].request(2, ["2/1/1/0"])
    graph.links[2].request(ABOVE, ["5/1/0/0"])
    assert graph.got[ABOVE] == [(2, "2/1/1/0", b"answer")]
    assert graph.got[2] == [(ABOVE, "5/1/0/0", b"model")]


def test_what_is_asked_for_before_it_is_made_comes_when_it_is(ring: Callable[..., Graph]) -> None:
    graph = ring()
    graph.wires.broken.add(frozenset((1, 0)))
    graph.links[ABOVE].request(2, ["2/1/1/0"])
    assert not graph.got[ABOVE]
    graph.send(2, "2/1/1/0", b"answer")
    assert graph.got[ABOVE] == [(2, "2/1/1/0", b"answer")]


def test_who_begins_later_answers_what_it_was_asked(ring: Callable[..., Graph]) -> None:
    graph = ring()
    graph.has[2]["2/hello/5/0"] = b"here"
    graph.relays[2]._parties.clear()  # as before its agent has compiled
    graph.links[ABOVE].request(2, ["2/hello/5/0"])
    assert not graph.got[ABOVE]
    graph.relays[2].connect(
        Endpoint(
            *(graph.wires.ends[2].keys, "", 2, {}, Path()),
            listen=False,
            serve=graph.has[2].get,
            accept=lambda *told: None,
        )
    )
    assert set(graph.got[ABOVE]) == {(2, "2/hello/5/0", b"here")}  # it comes both ways round


def test_a_question_is_passed_on_seldom_while_nobody_answers(ring: Callable[..., Graph]) -> None:
    graph = ring()
    for _ in range(50):
        graph.links[ABOVE].request(2, ["2/1/1/0"])
    assert graph.wires.asked < 12  # each way over each link, once


def test_a_forged_content_does_not_keep_the_right_one_away(ring: Callable[..., Graph]) -> None:
    graph = ring()
    graph.links[ABOVE].request(2, ["2/1/1/0"])
    graph.wires.ends[0].accept(4, "4/0/2/1/1/0", b"forged")
    graph.wires.broken.add(frozenset((1, 0)))
    graph.send(2, "2/1/1/0", b"right")
    assert [data for _, _, data in graph.got[ABOVE]] == [b"forged", b"right"]


def test_nobody_speaks_for_a_party_at_its_own_site_nor_for_one_that_is_not_there(
    ring: Callable[..., Graph],
) -> None:
    graph = ring()
    graph.wires.ends[0].accept(1, "1/0/5/1/0/0", b"another model")
    graph.wires.ends[1].accept(2, "2/1/9/1/0/0", b"of nobody")
    graph.wires.ends[1].accept(2, "2/1/x/1/0/0", b"of nobody")
    graph.wires.ends[1].accept(2, "4/1/4/1/1/0", b"in the name of another neighbour")
    graph.wires.ends[1].accept(3, "3/1/3/1/1/0", b"of who is no neighbour")
    assert not graph.wires.passed and not any(graph.got.values())
    assert graph.wires.ends[0].serve("0/3/0/1/1/0") is None
    graph.has[0]["0/1/1/0"] = b"answer"
    assert graph.wires.ends[0].serve("0/1/0/1/1/0") == b"answer"
    assert graph.wires.ends[0].serve("0/3/0/1/1/0") is None  # 3 is no neighbour of 0
    assert graph.wires.ends[0].serve(f"0/{'1' * 5000}/0/1/1/0") is None  # int() would raise


def test_no_name_is_looked_for_that_no_message_has(ring: Callable[..., Graph]) -> None:
    """A neighbour that asks for long names would fill the memory of all."""
    graph = ring()
    assert graph.wires.ends[0].serve(f"0/1/3/1/1/{'0' * 200}") is None
    assert graph.wires.asked == 0
    greeting = Question(3, 999_999_999).key()  # as long as any is
    assert graph.wires.ends[0].serve(f"0/1/{greeting}") is None
    assert graph.wires.asked > 0


def test_sites_pass_on_messages_until_it_is_over(ring: Callable[..., Graph]) -> None:
    graph = ring()
    graph.links[1].close()
    graph.send(2, "2/6/255/0", b"last word")
    assert graph.got[ABOVE] == [(2, "2/6/255/0", b"last word")] and not graph.got[1]
    assert not graph.relays[2].wait_until_over(0.05, lambda: False)
    graph.wires.broken |= {frozenset((0, 1)), frozenset((0, 4))}
    graph.relays[0].finish()
    assert not graph.relays[2].wait_until_over(10.0, lambda: True)  # told to stop
    graph.wires.broken.clear()  # it was lost, and is asked for
    waiting = threading.Thread(target=graph.relays[2].wait_until_over, args=(10.0, lambda: False))
    waiting.start()
    assert graph.relays[1].wait_until_over(10.0, lambda: False)
    waiting.join(10)
    assert not waiting.is_alive()


def test_a_site_tells_which_neighbours_it_has_heard(ring: Callable[..., Graph]) -> None:
    graph = ring()
    assert graph.relays[1].silence() == {0: None, 2: None} and graph.relays[1].near() == []
    graph.send(2, "2/1/1/0", b"answer")
    assert graph.relays[1].near() == [2] and graph.relays[1].silence()[0] is None
    assert graph.links[1].connections == {"let_in": 1}
    for relay in graph.relays:
        relay.close()
    assert not graph.wires.ends
