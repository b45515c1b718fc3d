"""What must hold of every run, told from its history and from what is on the members' disks."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tacit.deploy.agreement.declared import declared
from tests.simulated_sites import cast
from tests.simulated_sites.endings import (
    all_end,
    all_served,
    no_needless_timeout,
    no_standstill,
    no_traceback,
    nobody_left_behind,
    patience_kept,
)
from tests.simulated_sites.ran import Ran
from tests.simulated_sites.run import simulate


def _lying(ran: Ran) -> set[int]:
    return {each.member for each in ran.faults if each.kind == "lie"}


@functools.cache
def releasing(shape: cast.Shape) -> set[int]:
    """Numbers of the phases in which agents release something private."""
    run = declared(cast.manifest(shape))
    return {index for index, phase in enumerate(run.contract.phases) if phase.release is not None}


@functools.cache
def models(shape: cast.Shape) -> dict[int, str]:
    """Digests of the members' models in a run without faults, where noise is the same."""
    return simulate(0, shape, equal=True).models


def one_answer(ran: Ran) -> list[str]:
    """Nothing leaves a member under one name with two contents, over all of its starts.

    Where a whole machine was put back, keys included, only neighbours can know: then no second
    content leaves after a neighbour has the first on its disk.
    """
    wrong = []
    restored = {each[5] for each in ran.of("rolled back") if each[6] == "machine"}
    stored: dict[tuple[int, str], float] = {}
    for time, _, _, _, sender, _, contents in ran.of("stored"):
        stored.setdefault((sender, contents), time)
    first: dict[tuple[int, str], tuple[str, str]] = {}
    for time, _, member, start, key, digest, contents in ran.of("left"):
        before = first.setdefault((member, key), (digest, contents))
        if before[0] == digest:
            continue
        known = stored.get((member, before[1]), time)
        if ran.shape.site(member) not in restored or known < time:
            wrong.append(f"m{member} start {start} at {time}: {key} left with another content")
    return wrong


def committed_first(ran: Ran) -> list[str]:
    """What leaves a member is on its disk."""
    return [
        f"m{each[2]} at {each[0]}: {each[4]} left and is not on its disk"
        for each in ran.of("not on disk")
    ]


def charged_once(ran: Ran) -> list[str]:
    """Every release that left is charged, once, in a ledger that is sound and not overspent."""
    wrong, phases = [], releasing(ran.shape)
    sent: dict[int, set[str]] = defaultdict(set)
    for _, _, member, _, key, digest, _ in ran.of("left"):
        parts = key.split("/")
        if "word" not in parts and int(parts[2]) in phases and member < ran.shape.agents:
            sent[member].add(digest)
    restored = {each[5] for each in ran.of("rolled back") if each[6] == "machine"}
    for member, left in ran.left.items():
        if left.unsound:
            wrong.append(f"m{member}: its ledger is not sound: {left.unsound}")
        if left.over:
            wrong.append(f"m{member}: more was spent than its budget")
        missing = sent[member] - set(left.releases)
        if missing and member not in restored:
            wrong.append(f"m{member}: {len(missing)} releases left that its ledger did not charge")
        if len(set(left.releases)) < len(left.releases):
            wrong.append(f"m{member}: a release was charged twice")
    return wrong


def one_content(ran: Ran) -> list[str]:
    """Nobody uses two contents of one message; who was offered a second one keeps both."""
    wrong, lying = [], _lying(ran)
    used: dict[tuple[int, int, int], str] = {}
    # what follows from a message is nothing until it is stored, or something is sent
    taken: dict[tuple[int, int], list[tuple[Any, ...]]] = defaultdict(list)
    for each in ran.of("used", "stored", "left"):
        if each[1] == "used":
            taken[each[2], each[3]].append(each)
            continue
        for time, _, member, _, sender, position, contents in taken.pop((each[2], each[3]), ()):
            if used.setdefault((member, sender, position), contents) != contents:
                wrong.append(
                    f"m{member} at {time}: uses a second content of m{sender} at {position}"
                )
    if any(each.kind == "lie" and each.more == ("second contents",) for each in ran.faults):
        wrong += _not_kept(ran, lying)
    return wrong


def _not_kept(ran: Ran, lying: set[int]) -> list[str]:
    """Second contents with a liar's signature that came to a member after the first, and went."""
    if any(each.kind == "copy" for each in ran.faults):
        return []  # what was kept may have been put back, too
    signed = {(each[5], each[4]) for each in ran.of("forged")}
    signed |= {(each[4], each[6]) for each in ran.of("left") if each[2] in lying}
    stopped = any(each.kind == "preempted" for each in ran.faults)
    until: dict[tuple[int, int], float] = {}  # what comes later may not be kept
    for time, kind, member, start, *_ in ran.of("ended", "killed", "full"):
        # what comes is kept before anything else happens, unless threads are stopped
        late = 0.0 if kind == "ended" and not stopped else 0.5
        until.setdefault((member, start), time - late)
    wrong = []
    accepted: dict[tuple[int, int, str], str] = {}
    for each in ran.history:
        if each[1] == "accepted" and each[4] in lying:
            accepted.setdefault((each[2], each[3], each[7]), each[6])
        if each[1] == "arrived" and each[4] in lying and each[5:7] in signed:
            first = accepted.get((each[2], each[3], each[5]), each[6])
            here = each[0] < until.get((each[2], each[3]), ran.seconds)
            if first != each[6] and here and not ran.left[each[2]].evidence:
                wrong.append(f"m{each[2]} at {each[0]}: a second {each[5]} came, and is not kept")
    return wrong


def nothing_invented(ran: Ran) -> list[str]:
    """What is used has left its sender, or was made with the sender's key."""
    made = {(each[2], each[6]) for each in ran.of("left")}
    forged = {each[4] for each in ran.of("forged")}
    return [
        f"m{each[2]} at {each[0]}: uses what m{each[4]} never sent at {each[5]}"
        for each in ran.of("used")
        if (each[4], each[6]) not in made and each[6] not in forged
    ]


def heard_first(ran: Ran) -> list[str]:
    """When a member sends something, all that it used before is on its disk."""
    wrong = []
    open_: dict[tuple[int, int], set[str]] = defaultdict(set)
    stored: dict[int, set[str]] = defaultdict(set)
    for each in ran.history:
        if each[1] == "used" and (not ran.shape.sums or each[4] == ran.shape.agents):
            # who adds up at a site releases nothing
            open_[each[2], each[3]].add(each[6])
        elif each[1] == "stored":
            stored[each[2]].add(each[6])
        elif each[1] == "commit" and each[4] == "ledger":
            missing = open_[each[2], each[3]] - stored[each[2]]
            if missing:
                wrong.append(f"m{each[2]} at {each[0]}: releases after what it has not stored")
                open_[each[2], each[3]].clear()
    return wrong


def window_kept(ran: Ran) -> list[str]:
    """Nobody holds more than a round of messages that came too early."""
    return [f"m{each[2]} at {each[0]}: holds {each[4:]} messages" for each in ran.of("overfull")]


def same_model(ran: Ran) -> list[str]:
    """Models are those of a run without faults, where noise is the same; clients have one model."""
    if _lying(ran):
        return []
    wrong, shape = [], ran.shape
    if shape.one_model and len({ran.models[i] for i in ran.models if i < shape.agents}) > 1:
        wrong.append("clients of one coordinator have different models")
    if ran.equal and shape.silent == "stop":
        for member, model in ran.models.items():
            if model != models(shape)[member]:
                wrong.append(f"m{member} has another model than without faults")
    return wrong


def absences_kept(ran: Ran) -> list[str]:
    """Who was left out and came back has sent nothing for the rounds between."""
    wrong = []
    for member, left in ran.left.items():
        rounds = {
            int(each[4].split("/")[1]) - 1
            for each in ran.of("left")
            if each[2] == member and "word" not in each[4]
        }
        for agent, first, back in left.absences:
            if agent == member and back is not None and not ran.shape.masks:
                between = rounds & set(range(first + 1, back))
                if between:
                    wrong.append(f"m{member} was away from {first} to {back}, and sent {between}")
    return wrong


def one_mask(ran: Ran) -> list[str]:
    """A mask hides one answer: of one sum, cohort and announcement."""
    wrong = []
    seen: dict[tuple[int, str], tuple[Any, ...]] = {}
    for each in ran.of("masked"):
        place, what = (each[4], each[5]), each[6:]
        if seen.setdefault(place, what) != what:
            wrong.append(f"m{each[4]} at {each[0]}: a mask is used twice: {what}, {seen[place]}")
    return wrong


def mask_keys_gone(ran: Ran) -> list[str]:
    """A key for masks is there until there is a result, and not after the end."""
    if not ran.shape.masks:
        return []
    wrong = []
    for member in range(ran.shape.agents):
        left = ran.left[member]
        if not left.mask_key and not left.result:
            wrong.append(f"m{member} has neither its key for masks nor a result")
        if left.mask_key and ran.ended.get(member) == "finished":
            wrong.append(f"m{member} has finished, and keeps its key for masks")
    return wrong


def greetings_fresh(ran: Ran) -> list[str]:
    """A greeting that is believed was given to this member, to this question."""
    given = {(each[4], each[5]) for each in ran.of("greeted")}
    return [
        f"m{each[2]} at {each[0]}: believes a greeting that nobody gave to {each[4]}"
        for each in ran.of("believed")
        if (each[4], each[5]) not in given
    ]


WATCHERS: tuple[Callable[[Ran], list[str]], ...] = (
    one_answer,
    committed_first,
    charged_once,
    one_content,
    nothing_invented,
    heard_first,
    window_kept,
    same_model,
    absences_kept,
    one_mask,
    mask_keys_gone,
    all_end,
    all_served,
    nobody_left_behind,
    no_standstill,
    no_needless_timeout,
    patience_kept,
    no_traceback,
    greetings_fresh,
)


def broken(ran: Ran) -> dict[str, list[str]]:
    """What does not hold of a run, by watcher."""
    found = {each.__name__: each(ran) for each in WATCHERS}
    return {name: wrong for name, wrong in found.items() if wrong}
