"""What `tacit site` does to the queue: join, propose, list, approve, refuse, remove, budget."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.cli.console import emit, guarded, say, table
from tacit.errors import ConfigError, TacitError
from tacit.privacy.digits import short


def join(
    folder: Path,
    name: str,
    address: str,
    data: Path | None,
    dataset: str,
    records: int | None,
    study: Path | None,
    epsilon: float | None,
    delta: float,
    *,
    json: bool,
) -> int:
    """See `tacit site join --help`."""

    def command() -> int:
        from tacit.deploy.agreement.declare import count
        from tacit.deploy.standing import site as sites
        from tacit.study.read import read_study

        declared, told = records, ""
        if study is not None:
            if data is None or records is not None:
                raise ConfigError("--study counts the records of --data, instead of --records")
            counted = count(read_study(study), data)
            declared, told = counted.declare, counted.unfit
        if data is not None and declared is None:
            raise ConfigError(
                "say how many records your site declares to the others, with --records, or have "
                "them counted for a study with --study"
            )
        if data is not None and epsilon is None:
            raise ConfigError(
                "say what everything that is ever released about these records may cost, with "
                "--epsilon"
            )
        site, path = sites.join(folder, name, address, data, dataset, declared, epsilon, delta)
        card = site.load_keys().card
        if json:
            emit(
                {
                    "format": "tacit-site-join-1",
                    "name": name,
                    "fingerprint": card.fingerprint(),
                    "file": str(path),
                    "records": declared,
                }
            )
            return 0
        say(f"Created {folder}. Send {path} to whoever proposes the study; it holds no secret.")
        say("Fingerprint to tell them over another channel, such as the telephone:")
        say(card.fingerprint(), "  ")
        if declared is not None:
            say(f"It declares {declared:,} records.")
        if told:
            say(f"For you alone: {told}")
        at = "" if folder == Path("site") else f" --site {folder}"
        say(f"Next: tacit site serve{at}")
        return 0

    return guarded(command, as_json=json)


def propose(
    folder: Path,
    study: Path,
    members: Sequence[Path],
    fingerprints: Sequence[str],
    without: Sequence[str],
    records: Sequence[str],
    dataset: str | None,
    patience: float,
    silent: str,
    output: Path | None,
    *,
    yes: bool,
) -> int:
    """See `tacit site propose --help`."""

    def command() -> int:
        from tacit.deploy.files import write_text
        from tacit.deploy.identity.pinning import trust
        from tacit.deploy.standing.approval import invite
        from tacit.deploy.standing.members import code_of_run, read_member, remember
        from tacit.deploy.standing.queue import Queue
        from tacit.deploy.standing.site import find
        from tacit.study.read import read_study

        site, told = find(folder), _pairs(fingerprints, "--fingerprint", "CODE")
        counts = {
            name: _number(text) for name, text in _pairs(records, "--records", "NUMBER").items()
        }
        if output is not None and output.exists():
            raise ConfigError(f"{output} exists already; give another --output")
        source = read_study(study)
        new = [read_member(path) for path in members]
        if lost := sorted(set(told) - {each.card.name for each in new}):
            raise ConfigError(f"--fingerprint {lost[0]}: no --member file is of that name")
        for each in new:
            name, card = each.card.name, each.card
            code = told.get(name) or _asked(
                f"Fingerprint of {name}, as its owner tells you: ",
                f"give the fingerprint that the owner of {name} told you over another channel: "
                f'--fingerprint {name}="ABCD EFGH ..."',
            )
            trust(site.keys, card, code)
            remember(site, [each])
        entry = invite(
            site,
            source,
            without=without,
            records=counts,
            dataset=dataset,
            patience=patience,
            silent=silent,
        )
        queue = Queue(site)
        try:
            code_ = _approved(site, queue, entry, dataset, None, yes=yes)
        except TacitError:
            queue.forget(entry)
            raise
        if code_:
            queue.forget(entry)
            return code_
        entry = queue.find(entry.run)
        if output is not None:
            write_text(output, entry.manifest.toml())
        place = output or entry.folder / "manifest.toml"
        say(f"Members whose agents have met get it by themselves. Send the others {place}.")
        if new or output is not None:
            say(
                "On a call with all members read out the code of the members, which all who are "
                "new to one another have to give; everybody has to hear everybody confirm it:"
            )
            say(code_of_run(entry.manifest), "  ")
        return 0

    return guarded(command, as_json=False)


def show(folder: Path, *, json: bool) -> int:
    """See `tacit site list --help`."""

    def command() -> int:
        from tacit.deploy.standing.approval import weigh
        from tacit.deploy.standing.overview import overview
        from tacit.deploy.standing.queue import Queue, State
        from tacit.deploy.standing.site import find

        site = find(folder)
        queue = Queue(site)
        found = overview(site, queue)
        costs: dict[str, str] = {}
        for each in queue.entries():
            if each.state is not State.PROPOSED:
                continue
            try:
                weighed = weigh(site, queue, each)
                costs[each.run] = _cost(weighed)
            except TacitError as error:
                costs[each.run] = f"cannot be approved: {error}"
        if json:
            for row in found["runs"]:
                row["cost"] = costs.get(row["run"])
            emit(found)
            return 0
        _show(found, costs)
        return 0

    return guarded(command, as_json=json)


def _show(found: dict[str, Any], costs: dict[str, str]) -> None:
    agent = found["agent"]
    doing = {
        "stopped": "not running: tacit site serve",
        "meets": "running, in no run",
        "paused": "paused for an upgrade",
    }
    told = doing.get(agent["doing"]) or f"in run {str(agent['run'])[:12]}"
    say(f"{found['name']}: the agent is {told}.")
    if agent["page"]:
        say(f"Status page: {agent['page']}")
    for each in found["datasets"]:
        if "problem" in each:
            say(f"Budget of {each['name']}: {each['problem']}")
            continue
        promised = each["promised"] - each["spent"]
        more = f"; with approved runs at most {_up(each['promised'])}" if promised > 0 else ""
        say(
            f"Budget of {each['name']}: epsilon {_up(each['spent'])} of {each['epsilon']:g} spent"
            f"{more} (delta {short(each['delta'])})."
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
                "" if each["epsilon"] is None else f"{each['epsilon']:g}",
                ", ".join(each["signed"]),
                _state(each),
            )
            for each in found["runs"]
        ],
    )
    for each in found["runs"]:
        number = each["run"][:12]
        if number and each["run"] in costs:
            say(f"{number}: {costs[each['run']]}")
        if each["failure"]:
            say(f"{number}: {each['failure']}")
        if each["bundle"]:
            say(f"{number}: report {each['report']}, bundle {each['bundle']}")


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
    return str(each["state"])


def approve(folder: Path, run: str, dataset: str | None, code: str | None, *, yes: bool) -> int:
    """See `tacit site approve --help`."""

    def command() -> int:
        from tacit.deploy.agreement.manifest import read_manifest
        from tacit.deploy.standing.queue import Queue
        from tacit.deploy.standing.site import find

        site = find(folder)
        queue = Queue(site)
        file = Path(run)
        entry = queue.take(read_manifest(file)) if file.is_file() else queue.find(run)
        return _approved(site, queue, entry, dataset, code, yes=yes)

    return guarded(command, as_json=False)


def _approved(
    site: Any, queue: Any, entry: Any, dataset: str | None, code: str | None, *, yes: bool
) -> int:
    """Show what a run guarantees and costs, ask, and approve it."""
    from tacit.deploy.standing import approval
    from tacit.deploy.standing.members import check_code

    approval.check_undecided(site, entry)
    weighed = approval.weigh(site, queue, entry, dataset)
    _tell(weighed)
    if weighed.strangers and code is None:
        code = _asked(
            "Code of the members, as you hear it on the call: ",
            f"{', '.join(weighed.strangers)} are new here: give the code of the members, as you "
            "heard it on a call with all of them, with --code",
        )
    if code is not None:
        check_code(weighed.entry.manifest, code)
    if not yes and not _confirmed("Approve this run? Type yes: "):
        say("Not approved; nothing was signed.")
        return 1
    entry = approval.approve(site, queue, weighed, code)
    missing = entry.unsigned
    say(f"Approved run {entry.run[:12]} and signed it.")
    say(
        f"It begins when {', '.join(missing)} {'has' if len(missing) == 1 else 'have'} signed, "
        "too, and the agents have met (tacit site serve)."
        if missing
        else "All have signed; it begins when the agents have met (tacit site serve)."
    )
    return 0


def _tell(weighed: Any) -> None:
    entry, run = weighed.entry, weighed.review.run
    settings, exact = run.source.study, weighed.review.exact
    say(f"{settings.title}: run {entry.run}")
    say(
        f"{entry.study.method}, {settings.run.rounds:,} rounds, "
        f"{run.problem.dimension:,} parameters; a "
        f"member that is silent for {entry.manifest.patience:g} s "
        f"{'is skipped' if entry.manifest.silent == 'skip' else 'stops the run'}."
    )
    table(
        ("Member", "Address", "Records" if exact else "Records (at most)", "Epsilon", "Signed"),
        [
            (
                member.name + (" (new)" if member.name in weighed.strangers else ""),
                member.address or "connects out",
                "coordinates" if promised is None else f"{member.records:,}",
                "" if promised is None else f"{promised.epsilon:.4g}",
                "yes" if member.name in entry.signed else "no",
            )
            for member, promised in weighed.review.members
        ],
    )
    for part in entry.manifest.parts:
        say(f"Uses the {part}: {part.target}, SHA-256 {part.sha256}")
    say("Study:")
    for line in entry.manifest.study.strip().splitlines():
        say(line, "  ")
    guarantee = weighed.guarantee or run.guarantee
    say(guarantee.sentence())
    say(_cost(weighed))
    if weighed.misfits:
        say(f"For you alone: {weighed.misfits}")


def _cost(weighed: Any) -> str:
    found = weighed.budget
    if found is None:
        return "It charges nothing here: a coordinator has no records."
    before = f"epsilon {_up(found.spent)} of {found.epsilon:g} is spent"
    if found.promised > found.spent:
        before += f", {_up(found.promised)} with the runs that you have approved"
    return (
        f"It charges the dataset {weighed.dataset}: {before}; with this run it would be "
        f"{_up(found.after)} at most (delta {short(found.delta)})."
    )


def refuse(folder: Path, run: str) -> int:
    """See `tacit site refuse --help`."""

    def command() -> int:
        from tacit.deploy.standing import approval
        from tacit.deploy.standing.queue import Queue
        from tacit.deploy.standing.site import find

        site = find(folder)
        queue = Queue(site)
        entry = queue.find(run)
        approval.refuse(site, queue, entry)
        say(f"Refused run {entry.run[:12]}; the others are told when the agents meet.")
        return 0

    return guarded(command, as_json=False)


def remove(folder: Path, name: str) -> int:
    """See `tacit site remove --help`."""

    def command() -> int:
        from tacit.deploy.standing.members import remove as distrust
        from tacit.deploy.standing.site import find

        distrust(find(folder), name)
        say(
            f"{name} is no longer trusted. Runs with it that have begun go on; `tacit site refuse` "
            "ends one here."
        )
        return 0

    return guarded(command, as_json=False)


def budget(folder: Path, dataset: str, epsilon: float, delta: float, data: Path | None) -> int:
    """See `tacit site budget --help`."""

    def command() -> int:
        from tacit.deploy.standing.site import find, set_budget

        set_budget(find(folder), dataset, epsilon, delta, data)
        say(f"{dataset} may cost epsilon {epsilon:g} at delta {short(delta)} over all runs.")
        return 0

    return guarded(command, as_json=False)


def _pairs(texts: Sequence[str], option: str, what: str) -> dict[str, str]:
    """Options of the form NAME=VALUE."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise ConfigError(f"{option} {text}: write NAME={what}")
        found[name] = value
    return found


def _number(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ConfigError(f"--records: {text!r} is not a number of records")
    return int(text)


def _asked(question: str, otherwise: str) -> str:
    """An answer from the terminal, or an error if there is none."""
    if not sys.stdin.isatty():
        raise ConfigError(otherwise)
    answer = input(question).strip()
    if not answer:
        raise ConfigError(otherwise)
    return answer


def _confirmed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise ConfigError("nobody is there to say yes; give --yes if you have read the above")
    return input(question).strip().lower() == "yes"


def _up(value: float) -> str:
    """A number rounded up: a smaller one would promise too much."""
    from tacit.privacy.digits import rounded_up

    return rounded_up(value)
