"""A history by member: what an engineer reads of a failing seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.simulated_sites.faults import MESSAGES, POINTS, Fault
from tests.simulated_sites.ran import Ran

_QUIET = {"opened", "name", "used", "stored", "greeted", "believed", "masked", "forged"}
_WIDTH = 30


_LEGEND = (
    "seconds; START: number of the start; > leaves, < arrives: sender/round/phase/step, digest"
)


def told(fault: Fault) -> str:
    """A fault in words."""
    return f"{fault.kind:20} m{fault.member} {_circumstances(fault)}"


def _circumstances(fault: Fault) -> str:
    at, down, value = fault.at, fault.down, fault.value
    if fault.kind in MESSAGES:
        return f"to m{value:.0f}, message {at:.0f}"
    if fault.kind == "full disk":
        return f"at commit {at:.0f}, {value:.0f} writes fail"
    if fault.kind in POINTS:
        return f"at {POINTS[fault.kind]} {at:.0f}, down for {down:g} s"
    when = f"at {at:.3f} s"
    if fault.kind == "cut":
        side = " ".join(f"m{each}" for each in fault.more)
        ways = "in both directions" if value else "what they send"
        return f"{when} for {down:.3f} s: {side} from all others, {ways}"
    if fault.kind == "copy":
        return f"{when}, of {fault.more[0]}, put back at {value:.3f} s, down for {down:g} s"
    if fault.kind == "twin":
        return f"{when}, with {'another' if value else 'the same'} folder of state"
    if fault.kind == "lie":
        return f"{when}, {fault.more[0]}, to m{value:.0f}"
    if fault.kind == "clock":
        return f"{when}, by {value:.0f} s"
    if fault.kind == "preempted":
        return f"with probability {value:g}, and all others, wherever the machine is asked"
    return f"{when} for {down:g} s"


def timeline(ran: Ran, *, verbose: bool = False) -> str:
    """The faults of a run and what happened, one column a member.

    Args:
        ran: what became of the run.
        verbose: whether to tell what is rarely of use, too.
    """
    members = range(ran.shape.members)
    rows = [f"seed {ran.seed}, {ran.shape.name}, {len(ran.faults)} faults:"]
    rows += [f"  {told(each)}" for each in ran.faults]
    rows += [
        "",
        _LEGEND,
        "",
        " " * 10 + "".join(f"m{each}".ljust(_WIDTH) for each in members).rstrip(),
    ]
    before, repeated = "", 0
    for each in ran.history:
        if each[1] in _QUIET and not verbose:
            continue
        column, words = _words(each)
        if words + str(column) == before:
            repeated += 1
            continue
        if repeated:
            rows.append(f"{'':10}... {repeated} times more")
        before, repeated = words + str(column), 0
        if column in members:
            rows.append(f"{each[0]:9.3f} {' ' * _WIDTH * column}{words}")
        else:
            rows.append(f"{each[0]:9.3f} -- {words}")
    rows += ["", *(f"m{who} {how[:150]}" for who, how in sorted(ran.ended.items()))]
    return "\n".join(rows)


def _words(each: Sequence[Any]) -> tuple[int, str]:
    _, kind, member, start, *what = each
    if kind == "arrived":
        return member, f"< m{what[0]} {what[1][:22]} {what[2][:4]}"
    if kind == "left":
        return member, f"> {what[0]} {what[2][:4]}"
    if kind == "started":
        return member, f"START {start + 1}"
    return member, " ".join([kind, *map(str, what)])[:120]
