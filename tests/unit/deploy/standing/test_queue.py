"""The queue: who may propose, what is approved once, and what is kept of others' words."""

from __future__ import annotations

import json
import shutil

import pytest

from tacit.deploy.agreement.manifest import Manifest
from tacit.deploy.identity.keys import Card
from tacit.deploy.standing import proposing
from tacit.deploy.standing.approval import approved, check_undecided, refuse
from tacit.deploy.standing.entries import Decision, State, Studied, now, refusal, refused_by
from tacit.deploy.standing.queue import Queue
from tacit.errors import ConfigError
from tests.standing import Three


def cards(three: Three, *names: str) -> dict[str, Card]:
    """Cards of some of the three."""
    return {name: three.sites[name].load_keys().card for name in names}


def test_a_run_goes_from_proposed_to_ready_as_all_approve(three: Three) -> None:
    entry = three.proposed()
    assert (entry.state, entry.unsigned) == (State.SIGNING, ("south", "west"))
    south = three.approved("south", entry)
    west = three.approved("west", south)
    assert (west.state, west.unsigned) == (State.READY, ())
    north = three.queues["north"].take(west.manifest)
    assert north.state is State.READY
    assert {each.run for each in (north, south, west)} == {entry.run}
    assert (north.study.title, north.study.rounds, north.study.epsilon) == ("A study", 5, 4.0)


def test_nothing_is_approved_twice_and_a_refusal_is_final(three: Three) -> None:
    site, queue = three.sites["north"], three.queues["north"]
    entry = three.proposed()
    again = Decision(approved=True, time=now())
    with pytest.raises(ConfigError, match="was approved on"):
        queue.decide(entry, again)
    with pytest.raises(ConfigError, match="was approved on"):
        check_undecided(site, entry)
    refuse(site, queue, entry)
    assert queue.find(entry.run).state is State.REFUSED
    with pytest.raises(ConfigError, match="was refused on"):
        refuse(site, queue, entry)
    with pytest.raises(ConfigError, match="agree on a new manifest"):
        queue.decide(entry, again)


def test_an_approval_that_was_killed_before_it_signed_goes_on(three: Three) -> None:
    site, queue = three.sites["south"], three.queues["south"]
    entry = queue.take(three.proposed().manifest)
    queue.decide(entry, Decision(approved=True, time=now(), dataset="records"))
    assert "south" in queue.find(entry.run).unsigned
    check_undecided(site, queue.find(entry.run))
    assert "south" not in queue.sign(entry, site.load_keys()).unsigned


def test_what_is_not_approved_is_not_signed(three: Three) -> None:
    queue = three.queues["south"]
    entry = queue.take(three.proposed().manifest)
    with pytest.raises(ConfigError, match="is not approved"):
        queue.sign(entry, three.sites["south"].load_keys())
    assert entry.state is State.PROPOSED


def test_only_members_who_count_propose(three: Three) -> None:
    entry = three.proposed()
    queue = three.queues["south"]
    unsigned = entry.manifest.model_copy(update={"signatures": {}})
    west = cards(three, "west")
    swapped = {"north": west["west"]}  # the name is north's, and the card is not
    for manifest, trusted in ((unsigned, None), (entry.manifest, west), (entry.manifest, swapped)):
        with pytest.raises(ConfigError, match="nobody has signed this manifest"):
            queue.take(manifest, trusted=trusted)
    forged = {"signatures": {"north": entry.manifest.signatures["north"][::-1]}}
    with pytest.raises(ConfigError, match="nobody has signed this manifest"):
        queue.take(entry.manifest.model_copy(update=forged))
    assert queue.entries() == []


def test_a_manifest_with_another_card_for_this_site_is_refused(three: Three) -> None:
    manifest = three.proposed().manifest
    agents = [
        each.model_copy(update={"signing_key": manifest.agents[0].signing_key[::-1]})
        if each.name == "south"
        else each
        for each in manifest.agents
    ]
    with pytest.raises(ConfigError, match="another card for 'south'"):
        three.queues["south"].take(manifest.model_copy(update={"agents": tuple(agents)}))


def test_an_invalid_signature_never_displaces_a_valid_one(three: Three) -> None:
    entry = three.proposed()
    south = three.approved("south", entry)
    spoilt = south.manifest.model_copy(
        update={"signatures": {**south.manifest.signatures, "north": "AAAA", "west": "AAAA"}}
    )
    merged = three.queues["north"].take(spoilt)
    assert merged.signed == ("north", "south")
    assert "west" not in merged.manifest.signatures


def test_proposals_of_others_cannot_fill_the_queue(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposing, "MOST_UNDECIDED", 1)
    queue, north = three.queues["south"], cards(three, "north")
    first, second = three.proposed("One"), three.proposed("Two")
    queue.take(first.manifest, trusted=north)
    with pytest.raises(ConfigError, match="1 runs wait to be approved"):
        queue.take(second.manifest, trusted=north)
    assert queue.take(second.manifest).state is State.PROPOSED  # by hand its owner may


def test_one_member_cannot_take_the_room_of_the_others(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposing, "MOST_OF_ONE", 1)
    queue, both = three.queues["south"], cards(three, "north", "west")
    first, second = three.proposed("One"), three.proposed("Two")
    queue.take(first.manifest, trusted=both)
    with pytest.raises(ConfigError, match="1 runs that north signed wait"):
        queue.take(second.manifest, trusted=both)
    west = three.queues["west"]
    other = west.offer(three.offered("Three").manifest)
    assert queue.take(three.approved("west", other).manifest, trusted=both)


def test_the_study_of_whoever_does_not_count_is_not_read(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading one takes longer than all the rest, and a study names parts to be imported."""
    manifest = three.proposed().manifest
    queue, read = three.queues["south"], list[Manifest]()
    monkeypatch.setattr(Studied, "of", read.append)
    with pytest.raises(ConfigError, match="nobody has signed this manifest"):
        queue.take(manifest, trusted=cards(three, "west"))
    assert read == []


def test_a_refusal_counts_only_with_its_members_signature(three: Three) -> None:
    entry = three.proposed()
    south = three.sites["south"].load_keys()
    signed = refusal(south, entry.run)
    assert refused_by(entry.manifest, {"south": signed}) == {"south": signed}
    assert refused_by(entry.manifest, {"west": signed, "elsewhere": signed}) == {}
    assert refused_by(entry.manifest, {"south": refusal(south, "0" * 64)}) == {}


def test_a_run_whose_files_were_changed_is_left_out_and_the_others_go_on(three: Three) -> None:
    entry, other, good = (three.proposed(title) for title in ("One", "Two", "Three"))
    (entry.folder / "manifest.toml").write_text((other.folder / "manifest.toml").read_text())
    (other.folder / "decision.json").write_text("{")
    queue = Queue(three.sites["north"])
    assert [each.run for each in queue.entries()] == [good.run]
    assert "not of this folder's" in queue.problems[entry.folder.name]
    assert "is damaged" in queue.problems[other.folder.name]


def test_a_run_is_found_by_the_beginning_of_its_id(three: Three) -> None:
    entry = three.proposed()
    queue = three.queues["north"]
    assert queue.find(entry.run[:6].upper()).run == entry.run
    for wrong in ("", "zzz"):
        with pytest.raises(
            ConfigError, match=rf"begins with '{wrong}'; it has the runs {entry.run[:12]}"
        ):
            queue.find(wrong)
    shutil.rmtree(entry.folder)
    with pytest.raises(ConfigError, match="it has no runs yet"):
        queue.find("zzz")


def test_a_proposal_is_forgotten_unless_it_has_begun(three: Three) -> None:
    entry = three.proposed()
    queue = three.queues["north"]
    entry.state_folder.mkdir()
    west = three.approved("west", three.approved("south", entry))
    queue.take(west.manifest)
    (entry.state_folder / "journal.db").touch()
    assert queue.find(entry.run).state is State.BEGUN
    with pytest.raises(ConfigError, match="has begun"):
        queue.forget(entry)
    (entry.state_folder / "journal.db").unlink()
    queue.forget(entry)
    assert queue.entries() == []


def test_states_follow_from_the_files(three: Three) -> None:
    entry = three.proposed()
    (entry.folder / "failure.json").write_text(json.dumps({"told": "no records"}))
    failed = three.queues["north"].find(entry.run)
    assert (failed.state, failed.failure, failed.open) == (State.FAILED, "no records", True)
    (entry.folder / "failure.json").unlink()
    entry.state_folder.mkdir()
    (entry.state_folder / "result.json").write_text("{}")
    over = three.queues["north"].find(entry.run)
    assert (over.state, over.open) == (State.FINISHED, False)


def test_a_run_that_a_member_refused_gives_its_share_of_the_budget_back(three: Three) -> None:
    """A refusal is final, so it cannot begin; one that has begun may still be charged."""
    entry, queue = three.ready(), three.queues["north"]
    assert queue.find(entry.run).open
    south = three.sites["south"].load_keys()
    queue.note(entry, refusals={"south": refusal(south, entry.run)})
    assert not queue.find(entry.run).open
    assert approved(queue.entries(), "records") == {}
    entry.state_folder.mkdir()
    (entry.state_folder / "journal.db").touch()
    assert queue.find(entry.run).open
    assert list(approved(queue.entries(), "records")) == [entry.run]


def test_the_same_study_is_proposed_once(three: Three) -> None:
    three.proposed()
    with pytest.raises(ConfigError, match="change its title"):
        three.offered()
