"""How far store-and-forward messages get per phase: many agents at once, one bit per message.

Agent `u` sends to `v` in a phase every message that it holds and that has not passed between the
two before. `tacit.network.relay.flood` does the same with real values, agent by agent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int, UInt64

from tacit.network.links import Links

_WORD = 64
_WORDS = 1 << 21
"""Number of words of 64 messages held at a time, over all links."""


@dataclass(frozen=True)
class Spread:
    """How far the messages of all agents have spread.

    Attributes:
        sent: number of messages that every agent sent in every phase, shape `(phases, agents)`.
        complete: number of phases after which an agent has every message, -1 if it never does,
            shape `(agents,)`; on a fixed graph, its eccentricity.
        missing: pair of an agent whose message does not reach every agent and an agent that lacks
            it, or `None`.
    """

    sent: Int[np.ndarray, "phases agents"]
    complete: Int[np.ndarray, " agents"]
    missing: tuple[int, int] | None


def spread(links: Links, active: Bool[np.ndarray, "phases links"] | None = None) -> Spread:
    """Let a message of every agent spread by store and forward.

    Args:
        links: undirected links.
        active: which links are present in each phase, both directions of an edge alike; `None`: all
            links, for as many phases as needed (the graph is then connected).

    Example:
        >>> from tacit.network import path
        >>> spread(path(3).links).complete.tolist()
        [2, 1, 2]
    """
    reverse = _reverse(links)
    complete = np.zeros(links.agents, dtype=np.int64)
    sent = np.zeros((0 if active is None else len(active), links.agents), dtype=np.int64)
    missing = None
    for origins in _blocks(links):
        counts, done, absent = _spread(links, reverse, origins, active)
        sent = _added(sent, counts)
        complete = np.where((complete < 0) | (done < 0), -1, np.maximum(complete, done))
        missing = missing or absent
    if missing is None:
        # all agents know the graph, and so when every agent has everything
        sent = sent[: complete.max()]
    return Spread(sent, complete, missing)


def _blocks(links: Links) -> Iterator[range]:
    """The agents in ranges whose messages fit into memory on all links."""
    width = _WORD * max(1, _WORDS // max(len(links.receivers), links.agents))
    for first in range(0, links.agents, width):
        yield range(first, min(first + width, links.agents))


def _spread(
    links: Links,
    reverse: Int[np.ndarray, " links"],
    origins: range,
    active: Bool[np.ndarray, "phases links"] | None,
) -> tuple[Int[np.ndarray, "phases agents"], Int[np.ndarray, " agents"], tuple[int, int] | None]:
    """`spread` for the messages of some agents."""
    agents, senders = links.agents, links.senders
    first = np.searchsorted(links.receivers, np.arange(agents))
    places = np.arange(len(origins))
    held = np.zeros((agents, -(-len(origins) // _WORD)), dtype=np.uint64)
    bits = np.left_shift(np.uint64(1), (places % _WORD).astype(np.uint64))
    held[np.asarray(origins), places // _WORD] = bits
    everything = np.bitwise_or.reduce(held, axis=0)
    passed = np.zeros((len(senders), held.shape[1]), dtype=np.uint64)
    complete = np.where((held == everything).all(axis=1), 0, -1)
    counts: list[Int[np.ndarray, " agents"]] = []
    while active is None or len(counts) < len(active):
        send = held[senders] & ~passed
        if active is not None:
            send[~active[len(counts)]] = 0
        elif not send.any():
            break
        passed |= send
        passed |= send[reverse]
        held |= np.bitwise_or.reduceat(send, first, axis=0)
        counts.append(_per_agent(senders, send, agents))
        has = (held == everything).all(axis=1)
        complete = np.where((complete < 0) & has, len(counts), complete)
    return _stacked(counts, agents), complete, _missing(held, origins, everything)


def _missing(
    held: UInt64[np.ndarray, "agents words"],
    origins: range,
    everything: UInt64[np.ndarray, " words"],
) -> tuple[int, int] | None:
    """The first agent that lacks a message, and its origin, as (origin, agent)."""
    lacks = everything & ~held
    without = np.flatnonzero(lacks.any(axis=1))
    if not without.size:
        return None
    agent = int(without[0])
    word = int(np.flatnonzero(lacks[agent])[0])
    bits = int(lacks[agent, word])
    return origins[word * _WORD + (bits & -bits).bit_length() - 1], agent


def _per_agent(
    senders: Int[np.ndarray, " links"], send: UInt64[np.ndarray, "links words"], agents: int
) -> Int[np.ndarray, " agents"]:
    counts = np.bitwise_count(send).sum(axis=1, dtype=np.int64)
    return np.bincount(senders, weights=counts, minlength=agents).astype(np.int64)


def _reverse(links: Links) -> Int[np.ndarray, " links"]:
    """For every link the number of its reverse."""
    keys = links.receivers.astype(np.int64) * links.agents + links.senders
    return np.searchsorted(keys, links.senders.astype(np.int64) * links.agents + links.receivers)


def _added(
    one: Int[np.ndarray, "some agents"], other: Int[np.ndarray, "more agents"]
) -> Int[np.ndarray, "most agents"]:
    """The sum of two tables, the shorter one padded with 0."""
    total = np.zeros((max(len(one), len(other)), one.shape[1]), dtype=np.int64)
    total[: len(one)] += one
    total[: len(other)] += other
    return total


def _stacked(counts: list[Int[np.ndarray, " agents"]], agents: int) -> Int[np.ndarray, "p agents"]:
    return np.array(counts, dtype=np.int64).reshape(-1, agents)
