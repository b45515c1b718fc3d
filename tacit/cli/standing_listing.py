"""`tacit site list`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tacit
from tacit.cli.console import emit, guarded, say, table
from tacit.cli.standing_approving import cost
from tacit.errors import TacitError
from tacit.privacy.digits import rounded_down, rounded_up, short

_AGAIN = ". It is tried again when the agent is started: tacit site stop, then tacit site serve"


def show(folder: Path, *, json: bool) -> int:
    """See `tacit site list --help`."""

    def command() -> int:
        from tacit.deploy.standing.approval import weigh
        from tacit.deploy.standing.child import last_error
        from tacit.deploy.standing.entries import State
        from tacit.deploy.standing.overview import SEE_LIST, overview
        from tacit.deploy.standing.queue import Queue
        from tacit.deploy.standing.site import find

        site = find(folder)
        queue = Queue(site)
        found = overview(site, queue)
        rows = {row["run"]: row for row in found["runs"]}
        costs: dict[str, str] = {}
        told: dict[str, str] = {}  # what may count records: not for other programs
        for each in queue.entries():
            if each.failure:
                told[each.run] = each.failure + (_AGAIN if each.state is State.FAILED else "")
            row = rows.get(each.run, {})
            waits = row.get("state") == State.BEGUN or row.get("waits_for")
            if each.state is State.BEGUN and waits and (error := last_error(each)):
                told[each.run] = f"last stopped with: {error}"
            if each.state is not State.PROPOSED:
                continue
            try:
                weighed = weigh(site, queue, each)
                costs[each.run] = cost(weighed)
            except TacitError as error:
                costs[each.run] = f"cannot be approved: {SEE_LIST}"
                told[each.run] = f"cannot be approved: {error}"
        if json:
            for row in found["runs"]:
                row["cost"] = costs.get(row["run"])
            emit(found)
            return 0
        _show(found, {**costs, **told})
        return 0

    return guarded(command, as_json=json)


def _show(found: dict[str, Any], told_of: dict[str, str]) -> None:
    agent = found["agent"]
    doing = {
        "stopped": "not running: tacit site serve",
        "meets": "running, in no run",
        "pausing": "about to pause for an upgrade",
        "paused": "paused for an upgrade",
    }
    if agent["doing"] == "silent":
        process = f" (process {agent['process']})" if agent["process"] else ""
        doing["silent"] = (
            f"running{process}, and says nothing: it starts or stops, it hangs or its disk is full"
        )
    told = doing.get(agent["doing"]) or f"in run {str(agent['run'])[:12]}"
    version = f" (tacit {agent['version']}{_other(agent['version'])})" if agent["version"] else ""
    say(f"{found['name']}: the agent is {told}{version}.")
    if agent["page"]:
        say(f"Status page: {agent['page']}")
    for each in found["datasets"]:
        if "problem" in each:
            say(f"Budget of {each['name']}: {each['problem']}")
            continue
        spent, promised = each["spent"], each["promised"]
        more = f"; with approved runs at most {rounded_up(promised)}" if promised > spent else ""
        say(
            f"Budget of {each['name']}: epsilon {rounded_up(spent)} of "
            f"{rounded_down(each['epsilon'], 6)} spent"
            f"{more} (delta {short(each['delta'])}){_claim(each)}."
        )
    for number, told in found["problems"].items():
        say(f"Run {number[:12]} cannot be read: {told}")
    if not found["runs"]:
        say("No runs.")
        return
    table(
        ("Run", "Study", "Method", "Epsilon", "Signed by", "State"),
        [
            (
                each["run"][:12],
                each["title"],
                each["method"],
                "" if each["epsilon"] is None else rounded_up(each["epsilon"], 6) + _claim(each),
                ", ".join(each["signed"]),
                _state(each),
            )
            for each in found["runs"]
        ],
    )
    for each in found["runs"]:
        number = each["run"][:12]
        if each["run"] in told_of:
            say(f"{number}: {told_of[each['run']]}")
        if each["failed_at"]:
            say(f"{number}: failed at {', '.join(each['failed_at'])}, where its owner sees why")
        if told := _versions(each, agent["version"]):
            say(f"{number}: {told}")
        if each["bundle"]:
            say(f"{number}: report {each['report']}, bundle {each['bundle']}")


def _other(version: str) -> str:
    own = tacit.__version__
    return "" if version == own else f"; this command is of {own}"


def _claim(each: dict[str, Any]) -> str:
    return f" ({each['claim']})" if each["claim"] else ""


def _versions(each: dict[str, Any], own: str) -> str:
    """What has to be done where members have other versions; empty if nothing."""
    begun = {name: said for name, said in each["begun_by"].items() if said != own}
    if begun:
        name, version = next(iter(begun.items()))
        return (
            f"{name} began it with tacit {version}: install that here, in a copy of the repository "
            f"of that version (tacit site upgrade -- pip install '.[deploy]'), or withdraw (tacit "
            f"site refuse {each['run'][:12]})"
        )
    if not each["other_versions"]:
        return ""
    told = ", ".join(f"{name} has {said}" for name, said in each["other_versions"].items())
    if each["began_with"]:
        return (
            f"ends with tacit {each['began_with']}, with which it began; {told}. Let it end with "
            f"that there, or withdraw (tacit site refuse {each['run'][:12]})"
        )
    return f"begins when all have one version of tacit; {told}"


def _state(each: dict[str, Any]) -> str:
    progress = each["progress"]
    if each["refused_by"] and each["state"] != "refused":
        return f"refused by {', '.join(each['refused_by'])}"
    if each["state"] == "running" and progress:
        told = f"round {progress['round']} of {progress['rounds']}"
        waits = each["waits_for"]
        return told + (f", waits for {', '.join(waits)}" if waits else "")
    if each["state"] == "waits for signatures":
        return f"to be signed by {', '.join(each['waits_for'])}"
    if each["other_versions"] and each["state"] == "ready":
        return f"waits for one version: {', '.join(each['other_versions'])}"
    return str(each["state"])
