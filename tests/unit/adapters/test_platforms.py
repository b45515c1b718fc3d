"""Runs inside a platform: the simulation's bits, one answer to a question, and clear refusals."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import pytest

from tacit.adapters import coordinate, step, summary
from tacit.adapters.bag import BUSY, FINISHED, MAIL, REFUSED, WAITING, WHO, Bag
from tacit.adapters.site import read_site
from tacit.deploy.agreement.binding import Binding
from tacit.deploy.identity.keys import load
from tacit.errors import ConfigError, PeerTimeout, RuntimeFailure, WireError
from tacit.privacy.ledger import read, verify
from tacit.testing.sites import charges_hold
from tests.hosted import MASKS, Hosted, InThisProcess


class Unreliable:
    """Between: repeats every task of some sites, and loses their first answers to mail.

    Args:
        places: folders of these sites.
    """

    def __init__(self, places: Collection[Path]) -> None:
        self.places = places
        self.sent: dict[str, set[bytes]] = defaultdict(set)
        self.lost: set[Path] = set()

    def __call__(self, place: Path, bag: bytes, turn: Callable[[], bytes]) -> bytes | None:
        answers = [turn(), turn()] if place in self.places else [turn()]
        for answer in map(Bag.read, answers):
            for key, data in answer.letters.items():
                if "hello" not in key:  # a greeting has the time in it
                    self.sent[key].add(data)
        if Bag.read(bag).status == MAIL and place in self.places and place not in self.lost:
            self.lost.add(place)
            return None
        return answers[-1]

    def hold(self) -> None:
        """Everybody answered, and every message left with the same bytes each time."""
        assert {key.partition("/")[0] for key in self.sent} == {"0", "1", "2"}
        assert {key: len(data) for key, data in self.sent.items() if len(data) > 1} == {}


@pytest.mark.long
def test_masked_sums_are_the_simulations_to_the_bit_though_tasks_are_repeated(
    tmp_path: Path,
) -> None:
    hosted = Hosted(tmp_path, MASKS, rounds=1)
    between = Unreliable(hosted.folders[:1])
    outcome = coordinate(hosted.hub, InThisProcess(hosted, between))
    expected = hosted.expected()
    assert summary(outcome)["answer"] == dict(zip(outcome.names, expected.tolist(), strict=True))
    assert summary(outcome)["files"]["coefficients.csv"].startswith("parameter,value")
    for number in range(3):
        assert np.array_equal(hosted.solution(number), expected)
        state = hosted.folders[number] / "state"
        assert (state / "report.html").exists()
    between.hold()


@pytest.mark.long
@pytest.mark.parametrize("budget", ["", MASKS])
def test_every_release_is_charged_once_though_every_task_is_repeated(
    tmp_path: Path, budget: str
) -> None:
    hosted = Hosted(tmp_path, budget, seed=None)
    between = Unreliable(hosted.folders)
    platform = InThisProcess(hosted, between)
    outcome = coordinate(hosted.hub, platform)
    assert not outcome.simulated
    charges_hold(hosted.rehearsal)
    between.hold()
    # all clients have compared what the coordinator told them
    assert outcome.solution is not None
    for number in range(3):
        assert verify(hosted.rehearsal.ledger(number)).sound
        assert np.array_equal(hosted.solution(number), outcome.solution)
        assert '"other": []' in (hosted.folders[number] / "state" / "result.json").read_text()
    assert {Bag.read(each).status for each in platform.answers[-1].values()} == {FINISHED}


@pytest.mark.long
def test_without_masks_the_bits_are_the_simulations(tmp_path: Path) -> None:
    hosted = Hosted(tmp_path)
    platform = InThisProcess(hosted)
    coordinate(hosted.hub, platform)
    expected = hosted.expected()
    assert all(np.array_equal(hosted.solution(number), expected) for number in range(4))
    # who is there, two rounds, the model, and the others' last words
    assert len(platform.answers) == 5


@pytest.mark.long
def test_a_site_that_refuses_stops_the_run_and_tells_its_owner_alone(tmp_path: Path) -> None:
    hosted = Hosted(tmp_path, rounds=1, seed=None)
    records = hosted.folders[1] / "records.csv"
    kept = records.read_text()
    records.write_text("".join(kept.splitlines(keepends=True)[:-1]))
    platform = InThisProcess(hosted)
    with pytest.raises(RuntimeFailure, match=r"'south' .* refused its task.*run resumes"):
        coordinate(hosted.hub, platform)
    answer = Bag.read(platform.answers[-1][hosted.folders[1]])
    assert answer == Bag("", REFUSED)
    log = (hosted.folders[1] / "state" / "log.txt").read_text()
    assert "39 records" in log and "40 of 'south'" in log
    assert read(hosted.rehearsal.ledger(0)).balances[0].spent > 0.0  # another had answered
    records.write_text(kept)
    outcome = coordinate(hosted.hub, InThisProcess(hosted))  # the same task resumes
    assert outcome.solution is not None
    charges_hold(hosted.rehearsal)


@pytest.mark.long
def test_an_emptied_state_answers_nothing_again(tmp_path: Path) -> None:
    hosted = Hosted(tmp_path, rounds=1, seed=None)
    bags: list[bytes] = []

    def emptied(place: Path, bag: bytes, turn: Callable[[], bytes]) -> bytes:
        answer = turn()
        if place == hosted.folders[0] and Bag.read(answer).letters and not bags:
            bags.append(bag)
            for path in (place / "state").iterdir():
                path.unlink()
            repeated = Bag.read(turn())  # the platform gives the task again, to a new container
            assert repeated.status == REFUSED
        return answer

    with pytest.raises(RuntimeFailure, match=r"'north' .* refused its task"):
        coordinate(hosted.hub, InThisProcess(hosted, emptied))
    assert "was emptied since" in (hosted.folders[0] / "state" / "log.txt").read_text()
    assert bags


@pytest.mark.long
def test_a_silent_site_is_left_out_where_the_manifest_says_so(tmp_path: Path) -> None:
    masks = "masks = { coalition = 1, min_cohort = 2, attempts = 2 }"
    hosted = Hosted(tmp_path, masks, rounds=1, seed=None, silent="skip", patience=4.0)

    def without(place: Path, bag: bytes, turn: Callable[[], bytes]) -> bytes | None:
        return turn() if place != hosted.folders[2] or Bag.read(bag).status == WHO else None

    outcome = coordinate(hosted.hub, InThisProcess(hosted, without))
    assert outcome.solution is not None
    assert [each[0] for each in outcome.absences] == ["west"]


def test_places_are_found_or_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    hosted = Hosted(tmp_path, rounds=1, patience=0.5)

    class Twice(InThisProcess):
        def places(self) -> list[Path]:
            return [hosted.folders[0], tmp_path / "other"]

    (tmp_path / "other").symlink_to(hosted.folders[0])
    with pytest.raises(RuntimeFailure, match=r"two places of the platform .* 'north'"):
        coordinate(hosted.hub, Twice(hosted))

    class Hub(InThisProcess):
        def places(self) -> list[Path]:
            return hosted.folders[2:]

    with pytest.raises(RuntimeFailure, match=r"'north', 'south' cannot be found: .* refused"):
        coordinate(hosted.hub, Hub(hosted))

    class Garbled(InThisProcess):
        def exchange(self, bags: object, seconds: float) -> dict[Path, bytes]:
            return dict.fromkeys(hosted.folders, b"<html>")

    with caplog.at_level(logging.WARNING), pytest.raises(PeerTimeout, match="nothing from 'north'"):
        coordinate(hosted.hub, Garbled(hosted))
    assert "not a bag of mail" in caplog.text


def test_a_site_answers_about_its_own_manifest_only(tmp_path: Path) -> None:
    hosted = Hosted(tmp_path, rounds=1)
    site = hosted.folders[0]
    assert Bag.read(step(site, Bag("00" * 32, WHO).data())).status == REFUSED
    assert "If you agree to the other" in (site / "state" / "log.txt").read_text()
    assert Bag.read(step(site, b"{}")).status == REFUSED
    run = hosted.rehearsal.manifest.run.hex()
    assert Bag.read(step(hosted.hub, Bag(run, WHO).data())).status == REFUSED
    # nothing but the coordinator's signature makes a site answer: here it only asks
    answer = Bag.read(step(site, Bag(run, MAIL, letters={"3/1/0/0": b"forged"}).data()))
    assert answer.status == WAITING and not answer.letters
    assert Counter(key.split("/")[1] for key in answer.asks) == {"1": 1, "hello": 1}
    # a letter beyond UTF-8, which JSON can write
    odd = Bag(run, MAIL, letters={"\ud800": b"x"}, asks=("\ud800", "3/hello/\ud800"))
    assert Bag.read(step(site, odd.data())).status == WAITING


def test_a_task_that_comes_while_another_is_at_it_is_told_so(tmp_path: Path) -> None:
    hosted = Hosted(tmp_path, rounds=1)
    site, manifest = hosted.folders[0], hosted.rehearsal.manifest
    own = read_site(site)
    assert Bag.read(step(site, Bag(manifest.run.hex(), MAIL).data())).status == WAITING
    with Binding(load(own.keys), manifest.run, own.state):
        assert Bag.read(step(site, Bag(manifest.run.hex(), MAIL).data())).status == BUSY


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("keys = 'k'", "has no manifest"),
        ("manifest = 'm'\nkeys = 'k'\nstate = 's'\nseed = 1", "the unknown key 'seed'"),
        ("manifest = 'm'\nkeys = 'k'\nstate = 3", "state = 3 is not a text"),
        ("manifest = ", "cannot be read"),
    ],
)
def test_what_is_wrong_in_a_site_file_is_said(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "hosted.toml").write_text(text)
    with pytest.raises(ConfigError, match=told):
        read_site(tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        Bag("a", MAIL).data().replace(b"bag-1", b"bag-2"),
        Bag("a", MAIL, letters={"k": b"x"}).data().replace(b"eA==", b"e!"),
        Bag("a", MAIL, asks=("k",) * 5000).data(),
    ],
)
def test_what_is_no_bag_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        Bag.read(data)


@pytest.mark.parametrize("written", ["1e999", "1.0", "true", '"3"', "null"])
def test_a_member_of_a_bag_is_a_whole_number(written: str) -> None:
    data = Bag("a", MAIL, 3).data()
    assert Bag.read(data).member == 3
    with pytest.raises(WireError, match=r"a bag of member .*, which is not a whole number"):
        Bag.read(data.replace(b'"member": 3', b'"member": %s' % written.encode()))
