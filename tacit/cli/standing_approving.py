"""`tacit site propose`, `approve` and `refuse`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.cli.console import guarded, say, table
from tacit.cli.pairs import pairs
from tacit.errors import ConfigError
from tacit.privacy.digits import rounded_down, rounded_up, short

if TYPE_CHECKING:
    from tacit.deploy.standing.approval import Weighed
    from tacit.deploy.standing.entries import Entry
    from tacit.deploy.standing.queue import Queue
    from tacit.deploy.standing.site import Site


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
        from tacit.deploy.identity.parts import admit_pinned
        from tacit.deploy.identity.pinning import trust, trusted
        from tacit.deploy.standing.approval import invite
        from tacit.deploy.standing.members import code_of_run, read_member, remember, remove
        from tacit.deploy.standing.queue import Queue
        from tacit.deploy.standing.site import find
        from tacit.study.read import read_study

        site, told = find(folder), pairs("fingerprint", fingerprints, "NAME=CODE")
        counts = {
            name: _number(text) for name, text in pairs("records", records, "NAME=NUMBER").items()
        }
        if output is not None and output.exists():
            raise ConfigError(f"{output} exists already; give another --output")
        source = read_study(study, admit_pinned)
        new = [read_member(path) for path in members]
        if lost := sorted(set(told) - {each.card.name for each in new}):
            raise ConfigError(f"--fingerprint {lost[0]}: no --member file is of that name")
        with ExitStack() as undone:  # a proposal that comes to nothing leaves nothing behind
            before = set(trusted(site.keys))
            for each in new:
                name, card = each.card.name, each.card
                code = told.get(name) or _asked(
                    f"Fingerprint of {name}, as its owner tells you: ",
                    f"give the fingerprint that the owner of {name} told you over another channel: "
                    f'--fingerprint {name}="ABCD EFGH ..."',
                )
                trust(site.keys, card, code)
                if name not in before:
                    undone.callback(remove, site, name)
                remember(site, [each])
            queue = Queue(site)
            entry = invite(
                site,
                source,
                without=without,
                records=counts,
                dataset=dataset,
                patience=patience,
                silent=silent,
            )
            undone.callback(queue.forget, entry)
            refused = _approved(site, queue, entry, dataset, None, yes=yes)
            if refused:
                return refused
            undone.pop_all()
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


def approve(folder: Path, run: str, dataset: str | None, code: str | None, *, yes: bool) -> int:
    """See `tacit site approve --help`."""

    def command() -> int:
        from tacit.deploy.agreement.manifest import read_manifest
        from tacit.deploy.standing.queue import Queue
        from tacit.deploy.standing.site import find

        site = find(folder)
        queue = Queue(site)
        file = Path(run)
        if file.is_file():
            entry = queue.take(read_manifest(file))
        else:
            try:
                entry = queue.find(run)
            except ConfigError as error:
                raise ConfigError(f"there is no file {run!r}, and {error}") from error
        return _approved(site, queue, entry, dataset, code, yes=yes)

    return guarded(command, as_json=False)


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


def _approved(
    site: Site, queue: Queue, entry: Entry, dataset: str | None, code: str | None, *, yes: bool
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


def _tell(weighed: Weighed) -> None:
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
                "" if promised is None else rounded_up(promised.epsilon),
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
    say(cost(weighed))
    if weighed.misfits:
        say(f"For you alone: {weighed.misfits}")


def cost(weighed: Weighed) -> str:
    """What a run would charge, in a sentence."""
    found = weighed.budget
    if found is None:
        return "It charges nothing here: a coordinator has no records."
    before = f"epsilon {rounded_up(found.spent)} of {rounded_down(found.epsilon, 6)} is spent"
    if found.promised > found.spent:
        before += f", {rounded_up(found.promised)} with the runs that you have approved"
    return (
        f"It charges the dataset {weighed.dataset}: {before}; with this run it would be "
        f"{rounded_up(found.after)} at most (delta {short(found.delta)})."
    )


def _number(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ConfigError(f"--records: {text!r} is not a number of records")
    return int(text)


def _asked(question: str, otherwise: str) -> str:
    """An answer from the terminal, or an error if there is none."""
    if not sys.stdin.isatty():
        raise ConfigError(otherwise)
    answer = _typed(question)
    if not answer:
        raise ConfigError(otherwise)
    return answer


def _confirmed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise ConfigError("nobody is there to say yes; give --yes if you have read the above")
    return _typed(question).lower() == "yes"


def _typed(question: str) -> str:
    try:
        return input(question).strip()
    except EOFError:  # Ctrl-D
        say()
        return ""
