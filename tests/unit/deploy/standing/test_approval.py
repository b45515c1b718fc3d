"""Approvals: the budget of a dataset over runs that wait, and members who are new."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tacit.data import loaders
from tacit.deploy.identity.pinning import trusted
from tacit.deploy.standing.approval import approve, invite, refuse, weigh
from tacit.deploy.standing.members import (
    code_of,
    code_of_run,
    known,
    read_member,
    remove,
    strangers,
)
from tacit.deploy.standing.queue import Queue
from tacit.deploy.standing.site import join, set_budget
from tacit.errors import BudgetExceeded, ConfigError, ProblemError
from tacit.study.read import parse_study
from tests.sites import records
from tests.standing import Three


def test_approved_runs_keep_their_share_of_the_budget(three: Three) -> None:
    """A budget of 5 has room for 4, not for two runs of 4, and again if one is refused."""
    site, queue = three.sites["north"], three.queues["north"]
    first = invite(site, three.study("One"))
    second = three.offered("Two")
    signed = approve(site, queue, weigh(site, queue, first))
    assert signed.decision is not None
    assert (signed.decision.dataset, len(signed.decision.charges)) == ("records", 1)
    with pytest.raises(BudgetExceeded, match="the budget is 5"):
        weigh(site, queue, second)
    refuse(site, queue, first)
    weighed = weigh(site, queue, second)
    assert weighed.budget is not None
    assert (weighed.budget.spent, weighed.budget.promised) == (0.0, 0.0)
    assert weighed.budget.after == pytest.approx(4.0, rel=1e-2)
    approve(site, queue, weighed)


def test_two_approvals_at_once_do_not_count_the_same_budget(three: Three) -> None:
    site, queue = three.sites["north"], three.queues["north"]
    one = weigh(site, queue, three.offered("a"))
    both = [one, replace(one, entry=three.offered("b"))]
    failed: list[Exception] = []

    def decide(number: int) -> None:
        try:
            approve(site, Queue(site), both[number])
        except BudgetExceeded as error:
            failed.append(error)

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(failed) == 1
    assert sum(each.decision is not None for each in queue.entries()) == 1


def test_a_new_member_needs_the_code_and_another_code_trusts_nobody(three: Three) -> None:
    entry = three.proposed()
    folder, table = three.folder / "own", records(three.folder)
    site = three.sites["south"]
    for name in ("north", "west"):
        remove(site, name)
    queue = three.queues["south"]
    weighed = weigh(site, queue, queue.take(entry.manifest))
    assert weighed.strangers == ("north", "west")
    with pytest.raises(ConfigError, match="nobody has confirmed the cards of north, west"):
        approve(site, queue, weighed)
    wrong = weighed.code[:-1] + ("A" if weighed.code[-1] != "A" else "B")
    with pytest.raises(ConfigError, match="Nobody is trusted, and nothing is approved"):
        approve(site, queue, weighed, wrong)
    assert trusted(site.keys) == {}
    assert queue.find(entry.run).decision is None
    signed = approve(site, queue, weighed, weighed.code.lower().replace(" ", ""))
    assert signed.signed == ("north", "south")
    assert sorted(known(site)) == ["north", "west"]
    stranger, _ = join(folder, "east", "localhost:7459", table, records=20, epsilon=1.0)
    with pytest.raises(ConfigError, match="'east' takes no part"):
        Queue(stranger).take(entry.manifest)


def test_an_approved_run_that_cannot_be_read_keeps_its_share(three: Three) -> None:
    """What it may cost is unknown then, so nothing else is approved until it is given up."""
    site, queue = three.sites["north"], three.queues["north"]
    second = three.offered("Two")
    weighed = weigh(site, queue, second)
    first = three.proposed("One")
    (first.folder / "manifest.toml").write_text("")
    for decide in (lambda: approve(site, queue, weighed), lambda: weigh(site, queue, second)):
        with pytest.raises(ConfigError, match="was approved and cannot be read"):
            decide()
    assert queue.find(second.run).decision is None
    (first.folder / "decision.json").write_text("{")
    with pytest.raises(ConfigError, match="delete the folder to give the run up"):
        approve(site, queue, weighed)
    first.state_folder.mkdir()
    (first.state_folder / "result.json").write_text("{}")  # over: what it cost is in the ledger
    approve(site, queue, weighed)


def test_an_approval_that_is_refused_trusts_nobody(three: Three) -> None:
    """Whatever refuses it: the budget, or an earlier decision."""
    site, queue = three.sites["south"], three.queues["south"]
    entry = queue.take(three.proposed("One").manifest)
    other = queue.take(three.proposed("Two").manifest)
    for name in ("north", "west"):
        remove(site, name)
    weighed, second = weigh(site, queue, entry), weigh(site, queue, other)
    set_budget(site, "records", 0.1, 1e-6)
    with pytest.raises(BudgetExceeded):
        approve(site, queue, weighed, weighed.code)
    set_budget(site, "records", 5.0, 1e-6)
    refuse(site, queue, other)
    with pytest.raises(ConfigError, match="was refused on"):
        approve(site, queue, second, second.code)
    assert trusted(site.keys) == {}
    approve(site, queue, weighed, weighed.code)
    assert sorted(trusted(site.keys)) == ["north", "west"]


def test_the_code_says_who_the_members_are(three: Three) -> None:
    cards = [site.load_keys().card for site in three.sites.values()]
    assert code_of(cards) == code_of(reversed(cards)) == code_of_run(three.proposed().manifest)
    assert len({code_of(cards), code_of(cards[:2]), code_of(cards[1:])}) == 3


def test_a_card_that_was_swapped_is_refused_though_the_code_is_new(three: Three) -> None:
    """South has pinned west; a list with another west, and its own code, is refused."""
    site, queue = three.sites["south"], three.queues["south"]
    swapped, _ = join(
        three.folder / "other", "west", "localhost:7459", records(three.folder), "records", 20, 1.0
    )
    manifest = three.proposed().manifest
    card = swapped.load_keys().card
    agents = [
        each.model_copy(
            update={
                "signing_key": card.signing_key,
                "authority": card.authority,
                "address": card.address,
            }
        )
        if each.name == "west"
        else each
        for each in manifest.agents
    ]
    changed = manifest.model_copy(update={"agents": tuple(agents), "signatures": {}})
    entry = queue.take(changed.signed_by(three.sites["north"].load_keys()))
    with pytest.raises(ConfigError, match="another card of 'west'"):
        strangers(site, entry.manifest)
    with pytest.raises(ConfigError, match="another card of 'west'"):
        weigh(site, queue, entry)


def test_records_that_are_not_as_declared_are_noticed_before_a_yes(three: Three) -> None:
    site, queue = three.sites["north"], three.queues["north"]
    offered = three.offered().manifest
    agents = [each.model_copy(update={"records": 21}) for each in offered.agents]
    entry = queue.offer(offered.model_copy(update={"agents": tuple(agents)}))
    with pytest.raises(ProblemError, match="has 20 records, and the manifest says 21"):
        weigh(site, queue, entry)


def test_an_owners_table_is_read_once(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    site, queue = three.sites["north"], three.queues["north"]
    table = site.datasets["records"]
    table.write_text(re.sub(r"\n\d+,", "\nold,", table.read_text(), count=1))
    entry, read = three.offered(), list[Path]()
    loading = loaders.load

    def load(path: Path, **options: Any) -> Any:
        read.append(path)
        return loading(path, **options)

    monkeypatch.setattr(loaders, "load", load)
    weighed = weigh(site, queue, entry)
    assert read == [table]
    assert weighed.misfits.startswith("1 of 20 records do not fit")


def test_who_takes_part_is_said_by_name(three: Three) -> None:
    site = three.sites["north"]
    assert (
        invite(site, three.study("Changed"), records={"south": 7}).manifest.agents[1].records == 7
    )
    with pytest.raises(ConfigError, match="--without east"):
        invite(site, three.study(), without=["east"])
    with pytest.raises(ConfigError, match="--records east"):
        invite(site, three.study(), records={"east": 1})
    star = three.study().text.replace('graph = "ring"', 'graph = "coordinator"')
    star = star.replace('name = "dpsg"', 'name = "gradient-descent"')
    with pytest.raises(ConfigError, match="0 of the members have no records"):
        invite(site, parse_study(star, folder=three.folder))
    remove(site, "south")
    with pytest.raises(ConfigError, match="'south' is not a member"):
        remove(site, "south")
    assert read_member(site.folder / "north.member.toml").records == 20
