"""A history by member: what an engineer reads of a failing seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.simulated_sites.faults import Fault
from tests.simulated_sites.run import Ran

_QUIET = {"opened", "name", "used", "stored", "greeted", "believed", "masked", "forged"}
_WIDTH = 30


def told(fault: Fault) -> str:
    """A fault in words."""
    words = [f"{fault.kind:20}m{fault.member}", f"at {fault.at:g}"]
    if fault.down:
        words.append(f"for {fault.down:g} s")
    if fault.value:
        words.append(f"value {fault.value:g}")
    if fault.more:
        words.append(" ".join(map(str, fault.more)))
    return "  ".join(words)


def timeline(ran: Ran, *, verbose: bool = False) -> str:
    """The faults of a run and what happened, one column a member.

    Args:
        ran: what became of the run.
        verbose: whether to tell what is rarely of use, too.
    """
    members = range(ran.shape.members)
    rows = [f"seed {ran.seed}, {ran.shape.name}, {len(ran.faults)} faults:"]
    rows += [f"  {told(each)}" for each in ran.faults]
    rows += ["", " " * 10 + "".join(f"m{each}".ljust(_WIDTH) for each in members).rstrip()]
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
