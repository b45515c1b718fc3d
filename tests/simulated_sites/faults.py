"""What goes wrong in a run: drawn before it begins, so that any part of it can be left out."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.simulated_sites.cast import MASKS_LONG, Shape


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        kind: what.
        member: number of the member; of a message, its sender.
        at: virtual time in seconds; or how many commits, publications, changes of names or messages
            of the link come before.
        down: virtual seconds until the member is started again, or until it is over.
        value: what else there is to say: a receiver, seconds, a number of writes.
        more: members of a partition; or what is copied, and who is killed when it is put back.
    """

    kind: str
    member: int
    at: float
    down: float = 0.0
    value: float = 0.0
    more: tuple[int | str, ...] = ()


POINTS = {
    "kill before commit": "commit",
    "kill after commit": "commit",
    "torn commit": "commit",
    "full disk": "commit",
    "kill before publish": "publish",
    "kill after publish": "publish",
    "copy at publish": "publish",
    "cut at publish": "publish",
    "kill before name": "name",
    "lost name": "name",
}
"""Faults that happen where a member is for the nth time, and where that is."""

AT_PUBLISH = " at publish"
"""Ends the kinds that else happen at a time; of a copy, `value` is then how much later."""

MESSAGES = ("lost", "late", "repeated", "damaged")
"""Faults of one message."""

LIES = (
    "second contents",
    "out of bounds",
    "replayed greeting",
    "foreign greeting",
    "garbage",
    "earlier message",
    "silence",
)
"""What a member that lies does, with its keys."""

HORIZON = 5.0
"""Virtual seconds in which faults begin."""

_KILLS = (
    "kill",
    "power cut",
    "kill before commit",
    "kill after commit",
    "torn commit",
    "torn commit",
    "kill before publish",
    "kill after publish",
    "kill before name",
    "lost name",
)


def _known_to_one(seed: int, shape: Shape) -> list[Fault]:
    """A whole machine that is put back behind a message that one neighbour alone has.

    In some rings, and without other faults: it is too rare in a mixture. The neighbour that has the
    message may be killed before it is asked.
    """
    rng = random.Random(f"known to one {seed}")
    if shape.one_model or shape.members < 3 or rng.random() > 0.1:
        return []
    whose, knowing, _ = rng.sample(range(shape.members), 3)
    last, lasts = rng.randrange(2), rng.choice((0.4, 0.8))
    killed = (knowing,) * (rng.random() < 0.5)
    return [
        Fault("copy at publish", whose, last, 0.1, lasts, ("machine", *killed)),
        # the other hears nothing from then on: the noise of a message is drawn, and stored, with
        # the one before it, and who has that one tells by its round that it was sent
        Fault("cut at publish", whose, last + 1, lasts, 0.0, (whose, knowing)),
    ]


def _back_late(seed: int, shape: Shape) -> list[Fault]:
    """A client that is given up, and comes back while the others are some sums further.

    Its disk may be slow, so that it learns where they are, and they are elsewhere when it asks; or
    it is killed again, and the sum that waits for it then was announced while it was away.
    """
    if shape.rounds != MASKS_LONG.rounds:
        return []
    rng = random.Random(f"back late {seed}")
    whose, at = rng.randrange(shape.agents), rng.uniform(0.3, 1.0)
    back = at + shape.patience + rng.uniform(0.0, 0.6)
    again = [
        Fault("kill", whose, back + rng.uniform(0.0, 0.3), rng.uniform(0.0, 0.5))
        for _ in range(rng.randrange(2))
    ]
    stalls = [
        Fault("stall", whose, back + rng.uniform(0.0, 0.5), rng.uniform(0.0, 0.3))
        for _ in range(rng.randrange(3))
    ]
    return [Fault("kill", whose, at, back - at), *again, *stalls]


def _disks_full(seed: int, shape: Shape) -> list[Fault]:
    """Two members of three whose disks are full for long, one after the other.

    The last of them comes back when the others have finished, and are started again for it.
    """
    rng = random.Random(f"disks full {seed}")
    if shape.one_model or shape.silent != "skip" or rng.random() > 0.2:
        return []
    one, other = rng.sample(range(shape.members), 2)
    return [
        Fault("torn commit", one, rng.randrange(14, 26), rng.uniform(0.0, 3.0)),
        Fault("full disk", one, rng.randrange(3, 12), value=rng.choice((2, 4))),
        Fault("full disk", other, rng.randrange(16, 30), value=rng.choice((1, 2, 3))),
    ]


def _another_sum(seed: int, shape: Shape) -> list[Fault]:
    """A coordinator that is put back, and takes a sum again when somebody is away for a moment."""
    rng = random.Random(f"another sum {seed}")
    if not shape.masks or rng.random() > 0.1:
        return []
    taken, down = rng.uniform(0.6, 1.2), rng.choice((0.1, 0.5, 2.5)) * rng.random()
    put, whose = taken + rng.uniform(0.1, 0.6), rng.randrange(shape.agents)
    away = (
        Fault("stall", whose, put + down + rng.uniform(0.0, 0.5), rng.uniform(0.1, 1.0)),
        Fault("kill", whose, put + rng.uniform(-0.2, 0.2), rng.uniform(0.1, 8.0)),
        Fault("full disk", whose, rng.randrange(6, 20), value=rng.choice((1, 2))),
    )
    return [Fault("copy", shape.agents, taken, down, put, ("state",)), rng.choice(away)]


def _away_twice(seed: int, shape: Shape) -> list[Fault]:
    """A client that is away twice, and is there for a moment between.

    The others are patient with a coordinator that waits for it, and must be so for long enough.
    """
    rng = random.Random(f"away twice {seed}")
    if not shape.star or shape.masks or rng.random() > 0.1:
        return []
    whose, at = rng.randrange(shape.agents), rng.uniform(0.3, 0.9)
    first, there = shape.patience * rng.uniform(0.5, 1.0), rng.uniform(0.1, 0.4)
    second = shape.patience * rng.uniform(0.3, 0.9)
    return [Fault("kill", whose, at, first), Fault("kill", whose, at + first + there, second)]


def draw(seed: int, shape: Shape) -> list[Fault]:
    """What goes wrong in a run. Which kinds do at all is drawn first: a mixture hides rare ones.

    Args:
        seed: seed of the run.
        shape: kind of run.
    """
    for rare in (_known_to_one, _back_late, _disks_full, _another_sum, _away_twice):
        if alone := rare(seed, shape):
            return alone
    rng = random.Random(f"faults {seed}")
    found: list[Fault] = []
    members = range(shape.members)

    def member() -> int:
        return rng.choice(members)

    def time() -> float:
        """Mostly while the run is at work."""
        if rng.random() < 0.7:
            return rng.uniform(0.3, 0.3 + 0.5 * min(shape.rounds, 3))
        return rng.uniform(0.0, HORIZON)

    def down() -> float:
        return round(rng.choice((0.05, 0.5, 3.0)) * rng.random(), 3)

    if rng.random() < 0.9:
        for _ in range(rng.choice((1, 1, 2))):
            kind, at = rng.choice(_KILLS), time()
            point = POINTS.get(kind)
            if point is not None:
                most = {"commit": (8, 16, 32), "publish": (4, 8), "name": (12, 24)}[point]
                at = rng.randrange(rng.choice(most))
            found.append(Fault(kind, member(), at, down()))
    if rng.random() < 0.7:
        kinds = rng.sample(MESSAGES, rng.randint(1, len(MESSAGES)))
        for _ in range(rng.choice((3, 10, 30))):
            one = member()
            link = [one, rng.choice(shape.neighbours(one))]
            rng.shuffle(link)
            number = rng.randrange(rng.choice((6, 12, 40)))
            found.append(Fault(rng.choice(kinds), link[0], number, value=link[1]))
    if rng.random() < 0.4:
        for _ in range(rng.randint(1, 3)):
            side = tuple(sorted(rng.sample(members, rng.randint(1, shape.members - 1))))
            lasts = rng.choice((0.5, 0.5, 5.0, 1.5 * shape.patience)) * rng.random()
            at, both = time(), float(rng.random() < 0.6)
            found.append(Fault("cut", side[0], at, lasts, both, side))
    if rng.random() < 0.15:
        for _ in range(rng.randint(1, 2)):
            found.append(
                Fault("full disk", member(), rng.randrange(24), value=rng.choice((1, 1, 2)))
            )
    if rng.random() < 0.2:
        for _ in range(rng.randint(1, 3)):
            jump = rng.choice((-1, 1)) * 10.0 ** rng.uniform(0.0, 8.5)
            found.append(Fault("clock", member(), time(), value=jump))
    if rng.random() < 0.2:
        for _ in range(rng.randint(1, 2)):
            lasts = rng.choice((0.5, 5.0, 1.5 * shape.patience)) * rng.random()
            found.append(Fault("stall", member(), time(), lasts))
    if rng.random() < 0.15:
        found.append(Fault("preempted", 0, 0.0, value=rng.choice((0.003, 0.01, 0.03))))
    if rng.random() < 0.25:
        what = rng.choice(("state", "runs", "empty", "machine", "machine"))
        if what == "machine" and shape.silent == "skip":
            what = "state"  # who may be left out is not asked for longer than patience
        taken = rng.uniform(0.6, 1.6)
        put = taken + rng.choice((0.1, 0.8)) * rng.random() + 0.01
        whose = member()
        if shape.one_model and rng.random() < 0.5:
            whose = members[-1]  # a coordinator has no ledger that notices it
        found.append(Fault("copy", whose, taken, down(), put, (what,)))
        others = [each for each in members if each != whose]
        rng.shuffle(others)
        if rng.random() < 0.5:  # and somebody who may know better is killed
            found.append(Fault("kill", others[0], put + 0.1 * rng.uniform(-1, 1), 0.1))
        if (
            others[1:] and rng.random() < 0.5
        ):  # and somebody has not heard what was sent since the copy
            since, knowing = taken + 0.1 * rng.uniform(-1, 0.5), sorted({*members} - {others[1]})
            found.append(Fault("cut", whose, since, put - since, more=tuple(knowing)))
    if rng.random() < 0.1:
        twice = rng.choice((member(), members[-1]))  # as above
        found.append(Fault("twin", twice, time(), value=float(rng.random() < 0.5)))
    if rng.random() < 0.2:
        liar, first = member(), rng.uniform(0.0, 2.0)
        lies = rng.sample(LIES, rng.randint(1, 2))
        if lies[1:] and rng.random() < 0.25:  # a second content that is out of bounds
            lies = ["second contents", "out of bounds"]
        for lie in lies:
            victim = rng.choice([each for each in members if each != liar])
            found.append(Fault("lie", liar, first, value=victim, more=(lie,)))
    return found
