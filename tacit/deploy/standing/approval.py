"""What an owner sees before approving a run, and the approval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.deploy.agreement.declared import charges
from tacit.deploy.agreement.own import own_records
from tacit.deploy.agreement.records import read_table, unfit_records
from tacit.deploy.operate.proposal import Review, propose, review
from tacit.deploy.standing.entries import Decision, Entry, now, refusal
from tacit.deploy.standing.members import (
    check_code,
    code_of_run,
    confirm,
    declared_in,
    known,
    read_member,
    remember,
    strangers,
)
from tacit.deploy.standing.queue import Queue
from tacit.deploy.standing.site import Site
from tacit.errors import ConfigError
from tacit.privacy.event import Event
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.encoding import grouped_from_json, grouped_to_json
from tacit.privacy.ledger.forecast import Forecast, forecast
from tacit.study._sections.network import CoordinatorSection
from tacit.study.read import Source


@dataclass(frozen=True, eq=False)
class Weighed:
    """What a run would do, and what it would cost this site.

    Attributes:
        entry: the run.
        review: what all members agree to.
        guarantee: guarantee of this site; `None` for a coordinator.
        dataset: dataset that it is about; `None` for a coordinator.
        events: everything that it may be charged.
        budget: the dataset's budget before and after it; `None` for a coordinator.
        misfits: which records do not fit the study: for the owner alone.
        strangers: members whose cards nobody has confirmed here.
        code: code of all members.
    """

    entry: Entry
    review: Review
    guarantee: Guarantee | None
    dataset: str | None
    events: tuple[Event, ...]
    budget: Forecast | None
    misfits: str
    strangers: tuple[str, ...]
    code: str


def weigh(site: Site, queue: Queue, entry: Entry, dataset: str | None = None) -> Weighed:
    """Lay out a run, and compare it with the site's records and budget.

    Args:
        site: the site.
        queue: its queue.
        entry: the run.
        dataset: dataset that it is about; the only one if `None`.

    Raises:
        TacitError: records that do not fit the run, a budget that it would exceed together with
            the runs that are approved, an approved run that cannot be read, or a run that cannot
            be laid out.
    """
    manifest, own = entry.manifest, site.load_keys().card.name
    number = manifest.number(own)
    unknown = tuple(strangers(site, manifest))
    found, code = review(manifest), code_of_run(manifest)
    if number == len(manifest.agents):
        return Weighed(entry, found, None, None, (), None, "", unknown, code)
    name = site.dataset(dataset)
    queue.check_readable()
    data = site.datasets[name]
    source = manifest.source(data.parent)
    table = None if source.costs else read_table(source, data)  # once: it may be large
    own_records(manifest, number, data, table)
    guarantee, events = found.run.guarantee[number], tuple(charges(found.run, number))
    budget = forecast(
        site.ledger,
        own,
        name,
        approved(queue.entries(), name, but=entry.run),
        events,
        guarantee.neighbours,
    )
    told = "" if table is None else unfit_records(table)
    return Weighed(entry, found, guarantee, name, events, budget, told, unknown, code)


def approved(entries: Sequence[Entry], dataset: str, but: str = "") -> Mapping[str, list[Event]]:
    """What runs that are approved and not over may be charged to a dataset, by run id."""
    return {
        each.run: grouped_from_json(each.decision.charges)
        for each in entries
        if each.open and each.decision and each.decision.dataset == dataset and each.run != but
    }


def check_undecided(site: Site, entry: Entry) -> None:
    """Refuse a run that was approved or refused before; an approval that was killed may go on.

    Raises:
        ConfigError: such a run.
    """
    decided = entry.decision
    if decided is not None and not (decided.approved and _own(site) in entry.unsigned):
        Queue.refuse_again(entry, decided)


def approve(site: Site, queue: Queue, weighed: Weighed, code: str | None = None) -> Entry:
    """Approve a run: from now on the standing agent takes part in it as soon as all have signed.

    Args:
        site: the site.
        queue: its queue.
        weighed: what the owner has seen.
        code: code of all members as the others told it; needed if one is not confirmed here.

    Returns:
        The run, signed.

    Raises:
        ConfigError: it was decided before, a member is not confirmed, the code is another, or an
            approved run cannot be read.
        BudgetExceeded: another run was approved meanwhile, and both exceed the budget.
    """
    keys, own = site.load_keys(), weighed.guarantee
    with site.locked():  # so that two approvals do not count the same budget
        entry = queue.find(weighed.entry.run)
        check_undecided(site, entry)
        if code is not None:
            check_code(entry.manifest, code)
        elif unknown := strangers(site, entry.manifest):
            raise ConfigError(
                f"nobody has confirmed the cards of {', '.join(unknown)} here: give the code of "
                "the members, as they compare it on a call with all of them, with --code"
            )
        if own is not None and weighed.dataset is not None and entry.decision is None:
            queue.check_readable()
            others = approved(queue.entries(), weighed.dataset, but=entry.run)
            name = keys.card.name
            forecast(site.ledger, name, weighed.dataset, others, weighed.events, own.neighbours)
        if code is not None:  # last: where anything is refused, nobody is trusted
            confirm(site, entry.manifest, code)
        if entry.decision is None:
            queue.decide(
                entry,
                Decision(
                    approved=True,
                    time=now(),
                    dataset=weighed.dataset,
                    charges=tuple(grouped_to_json(weighed.events)),
                    neighbours="" if own is None else own.neighbours,
                ),
            )
    remember(site, declared_in(entry.manifest, keys.card.name))
    return queue.sign(entry, keys)


def refuse(site: Site, queue: Queue, entry: Entry) -> None:
    """Refuse a run, or withdraw from one that was approved; the others are told.

    Raises:
        ConfigError: it was refused before.
    """
    keys = site.load_keys()
    with site.locked():
        queue.decide(entry, Decision(approved=False, time=now()))
    queue.note(entry, refusals={keys.card.name: refusal(keys, entry.run)})


def invite(
    site: Site,
    source: Source,
    *,
    without: Sequence[str] = (),
    records: Mapping[str, int] | None = None,
    dataset: str | None = None,
    data: Path | None = None,
    patience: float = 600.0,
    silent: str = "stop",
) -> Entry:
    """Propose a study to the confirmed members: a manifest in one's own queue, not yet signed.

    Args:
        site: the site.
        source: the study.
        without: names of confirmed members that take no part.
        records: numbers of records to declare for members, by name, instead of those before.
        dataset: one's own dataset; the only one if `None`.
        data: table from which names of features are read; one's own records if `None`.
        patience: time to wait for a silent neighbour, in seconds.
        silent: what to do then, "stop" or "skip".

    Returns:
        The proposed run.

    Raises:
        TacitError: a study and members that do not fit each other.
    """
    own, changed = site.load_keys().card.name, dict(records or {})
    members = dict(known(site))
    for name in without:
        if members.pop(name, None) is None:
            raise ConfigError(f"--without {name}: no confirmed member has that name")
    members[own] = read_member(site.folder / f"{own}.member.toml")
    if lost := sorted(set(changed) - set(members)):
        raise ConfigError(f"--records {lost[0]}: no member of this study has that name")
    cards = {name: site.keys / "trusted" / f"{name}.toml" for name in members}
    cards[own] = site.keys / "card.toml"
    agents, above = list[tuple[Path, int]](), list[str]()
    for name in sorted(members):
        count = changed.get(name, members[name].records)
        if count is None:
            above.append(name)
        else:
            agents.append((cards[name], count))
    star = isinstance(source.study.network, CoordinatorSection)
    if star and len(above) != 1:
        raise ConfigError(
            f"the study's network is a coordinator, and {len(above)} of the members have no "
            f"records ({', '.join(above) or 'none'}); exactly one coordinates"
        )
    table = data or site.datasets[site.dataset(dataset)]
    manifest = propose(
        source,
        table,
        agents,
        cards[above[0]] if star else None,
        patience=patience,
        silent=silent,
    )
    return Queue(site).offer(manifest)


def _own(site: Site) -> str:
    return site.load_keys().card.name
