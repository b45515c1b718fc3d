"""How members must end: watchers of who finishes, who gives up, and who is left behind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tacit.deploy.member.ending import LINGER
from tests.simulated_sites.faults import MESSAGES
from tests.simulated_sites.ran import Ran

SPARE = 5.0
"""Virtual seconds for messages that are lost or late, on top of the patience of a run."""

_SAME = 0.001
"""Virtual seconds, less than which times differ that are the same but for their last digits."""

_LAST = "255"
"""In the place of a phase in the name of a last word."""


def all_end(ran: Ran) -> list[str]:
    """When the faults are over, everybody finishes, unless somebody lied or was begun again."""
    missing = [i for i in range(ran.shape.members) if ran.ended.get(i) != "finished"]
    if not missing or any(each.kind in ("lie", "twin") for each in ran.faults):
        return []
    if any(each[6] == "machine" for each in ran.of("rolled back")):
        return []
    told = {i: ran.ended.get(i, "still runs, or is down") for i in missing}
    return [f"after {ran.seconds:.0f} seconds: {told}"]


def no_needless_timeout(ran: Ran) -> list[str]:
    """Lost and late messages alone make nobody give up."""
    if any(each.kind not in (*MESSAGES, "clock", "preempted") for each in ran.faults):
        return []
    return [
        f"m{each[2]} at {each[0]}: {each[4][:80]}"
        for each in ran.of("ended")
        if each[4].startswith("PeerTimeout")
    ]


def patience_kept(ran: Ran) -> list[str]:
    """Before twice the patience is over, nobody gives up who waits itself, or who is there.

    Who says that it is in an earlier round waits for somebody, whom it gives up after patience. A
    coordinator waits twice as long for a client that waits, and then for enough of them to answer:
    so four times the patience has to be over.
    There is who runs, within reach, all the while: who was started less than `SPARE` before, is
    stalled, or is beyond a partition is not. Time in which the member itself was stalled does not
    count. Runs with members that lie or run twice are excused.
    Who has finished may be left out after patience where that is allowed: nothing is lost by it.
    """
    if any(each.kind in ("lie", "twin") for each in ran.faults):
        return []
    wrong = []
    for time, _, member, start, silent, waited, round in ran.of("silent"):
        above = silent == (ran.shape.agents,)
        if waited > (4 if above else 2) * ran.shape.patience:
            continue
        since = time - waited + _SAME
        earlier = {
            each[6]
            for each in ran.of("believed")
            if each[2:4] == (member, start) and since < each[0] <= time and each[7] < round
        }
        finished = {
            each[4]
            for each in ran.of("accepted")
            if each[2:4] == (member, start) and each[0] <= time and "/255/" in each[7]
        }
        if ran.shape.silent == "skip" and finished.issuperset(silent):
            continue
        for other in silent:
            if other in earlier:
                wrong.append(f"m{member} at {time}: gives up m{other}, which was waiting itself")
            elif _reached(ran, member, other, since, time):
                wrong.append(f"m{member} at {time}: gives up m{other}, which is there")
    return wrong


def _reached(ran: Ran, member: int, other: int, since: float, until: float) -> bool:
    """Whether a neighbour ran all the while, and everything could arrive in both directions."""
    if ran.shape.sums and not _all_there(ran, since, until):
        return False  # it may be reached through others alone
    other = ran.shape.site(other)
    for fault in ran.faults:
        if fault.at < until and fault.at + fault.down > since:
            if fault.kind == "cut" and (member in fault.more) != (other in fault.more):
                return False
            if fault.kind == "stall" and fault.member == other:
                return False
    return _runs(ran, other, since, until)


def _runs(ran: Ran, member: int, since: float, until: float) -> bool:
    """Whether a member ran all the while, and for a moment before."""
    runs = False
    for time, kind, whose, *_ in ran.of("started", "ended", "killed"):
        if whose == member and time <= until:
            runs = kind == "started" and time < since - SPARE
    return runs


def _all_there(ran: Ran, since: float, until: float) -> bool:
    """Whether all members ran all the while, and no link was cut."""
    apart = any(
        fault.kind in ("cut", "stall") and fault.at < until and fault.at + fault.down > since
        for fault in ran.faults
    )
    return not apart and all(_runs(ran, i, since, until) for i in range(ran.shape.members))


def no_traceback(ran: Ran) -> list[str]:
    """A member ends with a model or with an error of tacit."""
    return [ran.traceback] if ran.traceback else []


def nobody_left_behind(ran: Ran) -> list[str]:
    """Who runs beside neighbours that have all finished, and serve it, soon finishes, too.

    That everybody ends at last does not show this: owners start again who waits in vain, and who
    has finished beside it.
    """
    if any(each.kind in ("lie", "twin", "copy") for each in ran.faults):
        return []
    wrong = []
    works, serves = _times(ran)
    for member in range(ran.shape.members):
        both = works[member]
        around = ran.shape.neighbours(member)
        if ran.shape.sums:  # its messages pass through others
            around = tuple(i for i in range(ran.shape.members) if i != member)
        for other in around:
            both = _together(both, serves[other])
        for first, last in both:
            for fault in ran.faults:
                if fault.kind in ("cut", "stall") and fault.at < last:
                    first = max(first, fault.at + fault.down)
            if last - first > ran.shape.patience + SPARE:
                wrong.append(f"m{member} waits from {first} to {last} beside who has finished")
    return wrong


def no_standstill(ran: Ran) -> list[str]:
    """While everybody is at work and within reach, somebody uses a message before patience is over.

    That patience ends at last does not show this: two that wait for each other give each other up.
    """
    if any(each.kind in ("lie", "twin", "copy", "full disk") for each in ran.faults):
        return []
    works, _ = _times(ran)
    together = works[0]
    for member in range(1, ran.shape.members):
        together = _together(together, works[member])
    used, wrong = [each[0] for each in ran.of("used")], []
    for first, last in together:
        for fault in ran.faults:
            if fault.kind in ("cut", "stall") and fault.at < last:
                first = max(first, fault.at + fault.down)
        steps = [first, *(time for time in used if first < time < last), last]
        wrong += [
            f"nobody uses a message from {since} to {until}"
            for since, until in pairwise(steps)
            if until - since > ran.shape.patience
        ]
    return wrong


def all_served(ran: Ran) -> list[str]:
    """Who has finished serves its neighbours until they have finished, too, or for long enough."""
    if any(each.kind in ("lie", "twin", "copy") for each in ran.faults):
        return []
    wrong = []
    first: dict[int, float] = {}
    said: dict[tuple[int, int], float] = {}
    for time, kind, member, start, *what in ran.history:
        if _is_last_word(kind, what):
            first.setdefault(member, time)
            said.setdefault((member, start), time)
        elif kind == "ended" and what[0] == "finished":
            without = ran.left[0 if ran.shape.sums else member].without
            awaited = {*ran.shape.neighbours(member)} - {*first} - without
            served = time - said.get((member, start), time)
            if awaited and served < LINGER - 1.0:
                wrong.append(
                    f"m{member} at {time}: served m{min(awaited)} for {served:.1f} seconds"
                )
    return wrong


def _is_last_word(kind: str, what: Sequence[Any]) -> bool:
    return kind == "left" and what[0].split("/")[2:3] == [_LAST]


_Times = dict[int, list[tuple[float, float]]]
"""By member, from when to when."""


def _times(ran: Ran) -> tuple[_Times, _Times]:
    """When members ran before their last words, and when after them."""
    works: _Times = defaultdict(list)
    serves: _Times = defaultdict(list)
    began: dict[tuple[int, int], float] = {}
    said: dict[tuple[int, int], float] = {}
    for time, kind, member, start, *what in ran.history:
        this = member, start
        if kind == "started":
            began[this] = time
        elif _is_last_word(kind, what):
            said.setdefault(this, time)
        elif kind in ("ended", "killed") and this in began:
            works[member].append((began.pop(this), said.get(this, time)))
            serves[member].append((said.get(this, time), time))
    for this, since in began.items():
        works[this[0]].append((since, said.get(this, ran.seconds)))
        serves[this[0]].append((said.get(this, ran.seconds), ran.seconds))
    return works, serves


def _together(
    some: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """When one of the first is and one of the second."""
    both = [(max(a, c), min(b, d)) for a, b in some for c, d in others]
    return [(first, last) for first, last in both if first < last]
