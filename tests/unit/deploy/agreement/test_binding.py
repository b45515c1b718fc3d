"""One member, one state: what stands beside the keys refuses every other, and every older one."""

from __future__ import annotations

import errno
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.data.schema import Prepared
from tacit.deploy.agreement.binding import Binding, digest_of, folder_of
from tacit.deploy.agreement.manifest import read_manifest
from tacit.deploy.identity import keys
from tacit.deploy.member.adding import ADDING, check_state
from tacit.deploy.member.checking import Options
from tacit.deploy.member.process import run
from tacit.deploy.messages.journal import Journal
from tacit.deploy.messages.outgoing import Made, Outgoing
from tacit.errors import ConfigError, RuntimeFailure, SiteBusy
from tacit.privacy.ledger import read
from tests.sites import STUDY, a_manifest, member, records

RUN, OTHER = bytes(32), bytes(31) + b"1"
MASKED = STUDY.replace("clip = 1.0", "clip = 1.0\nmasks = true").replace(
    'graph = "ring"', 'graph = "coordinator"'
).replace('name = "dpsg"', 'name = "gradient-descent"')  # fmt: skip


@pytest.fixture
def own(tmp_path: Path) -> keys.Keys:
    return keys.create(tmp_path / "north", "north", "127.0.0.1:1")


def folder(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir(mode=0o700, exist_ok=True)
    return tmp_path / name


def test_only_an_empty_state_may_be_restored(own: keys.Keys, tmp_path: Path) -> None:
    """Of a coordinator: what its clients have goes before what its keys know."""
    one, other = folder(tmp_path, "one"), folder(tmp_path, "other")
    started(own, one, 0, 1, 2)
    with Binding(own, RUN, other, restore=True) as binding:
        binding.bind("")  # and it is killed before it has asked anybody
    with pytest.raises(RuntimeFailure, match="messages left that it does not know of"):
        started(own, other)
    with pytest.raises(RuntimeFailure, match="begun with another --state folder"):
        started(own, one)  # the state that was lost and is found again is not the run's any more
    with Binding(own, RUN, other, restore=True) as binding:
        binding.bind("")
        outgoing = Outgoing(
            other / "journal.db", RUN.hex(), None, {}, 0, lambda a: a.round, binding
        )
        # the message of position 2 left nobody's hands
        outgoing.restore(Made(1, "0/1/0/0", b"1 of one"), np.ones(2), [])
        outgoing.close()
    started(own, other, 2)
    with (
        Binding(own, RUN, one, restore=True) as binding,
        pytest.raises(RuntimeFailure, match="begun with another --state folder"),
    ):
        binding.check("")


def started(own: keys.Keys, state: Path, *positions: int, of: bytes = RUN) -> None:
    """A start that makes messages at these positions, and ends as a killed process does."""
    with Binding(own, of, state) as binding:
        binding.bind("")
        outgoing = Outgoing(state / "journal.db", of.hex(), None, {}, 0, lambda a: a.round, binding)
        for position in positions:
            data = f"{position} of {state}".encode()
            outgoing.commit(Made(position, f"0/{position}/0/0", data), np.zeros(2), ["south"])
        outgoing.close()


def test_a_run_is_bound_to_the_state_that_it_began_with(own: keys.Keys, tmp_path: Path) -> None:
    one, other = folder(tmp_path, "one"), folder(tmp_path, "other")
    started(own, one, 0, 1)
    started(own, one, 2)  # an honest restart
    with pytest.raises(RuntimeFailure, match=r"begun with another --state folder than .*other"):
        started(own, other)
    one.rename(tmp_path / "moved")
    started(own, tmp_path / "moved", 3)
    shutil.copytree(tmp_path / "moved", tmp_path / "copy")
    for path in (tmp_path / "moved").iterdir():
        path.unlink()
    with pytest.raises(RuntimeFailure, match="emptied since"):
        started(own, tmp_path / "moved")
    started(own, tmp_path / "copy", 4)
    started(own, other, 0, of=OTHER)  # another run is another matter


def test_two_processes_of_one_member_are_one_too_many(own: keys.Keys, tmp_path: Path) -> None:
    one, other = folder(tmp_path, "one"), folder(tmp_path, "other")
    with Binding(own, RUN, one) as first:
        first.bind("")
        for state in (one, other):
            with pytest.raises(SiteBusy, match="takes part in run 000000000000 already"):
                started(own, state)
        started(own, other, of=OTHER)
    started(own, one)


@pytest.mark.parametrize("after", [(), (2,)])
def test_an_older_copy_is_refused_without_any_neighbour(
    own: keys.Keys, tmp_path: Path, after: tuple[int, ...]
) -> None:
    state = folder(tmp_path, "state")
    started(own, state, 0, 1)
    shutil.copytree(state, tmp_path / "older")
    started(own, state, *after)  # even if it sent nothing
    shutil.move(state, tmp_path / "newest")
    shutil.copytree(tmp_path / "older", state)
    with pytest.raises(RuntimeFailure, match="is an older copy: it was started 1 times"):
        started(own, state, 3)
    shutil.rmtree(state)
    shutil.move(tmp_path / "newest", state)
    started(own, state, 3)


def test_a_copy_that_was_taken_while_the_member_ran_is_refused(
    own: keys.Keys, tmp_path: Path
) -> None:
    state = folder(tmp_path, "state")
    with Binding(own, RUN, state) as binding:
        binding.bind("")
        outgoing = Outgoing(
            state / "journal.db", RUN.hex(), None, {}, 0, lambda a: a.round, binding
        )
        outgoing.commit(Made(0, "0/0/0/0", b"first"), np.zeros(2), ["south"])
        shutil.copytree(state, tmp_path / "older")
        outgoing.commit(Made(1, "0/1/0/0", b"second"), np.zeros(2), ["south"])
        outgoing.close()
    state.rename(tmp_path / "newest")
    shutil.move(tmp_path / "older", state)
    with pytest.raises(RuntimeFailure, match="messages left that it does not know of"):
        started(own, state)
    # what was refused has changed nothing
    shutil.rmtree(state)
    shutil.move(tmp_path / "newest", state)
    started(own, state, 2)


def test_one_position_has_one_message(own: keys.Keys, tmp_path: Path) -> None:
    with Binding(own, RUN, folder(tmp_path, "state")) as binding:
        binding.bind("")
        for _ in range(2):
            binding.record(5, b"an answer")
        for position in (5, 4):
            with pytest.raises(RuntimeFailure, match="the last message that left is another"):
                binding.record(position, b"another")
            with pytest.raises(RuntimeFailure, match="older copy"):
                binding.catch_up(position, b"another")
        shutil.move(binding.folder, tmp_path / "elsewhere")
        with pytest.raises(RuntimeFailure, match="was deleted or replaced"):
            binding.record(6, b"the next")


def test_a_kill_between_commit_and_head_loses_nothing(
    own: keys.Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = folder(tmp_path, "state")
    with Binding(own, RUN, state) as binding:
        binding.bind("")
        outgoing = Outgoing(
            state / "journal.db", RUN.hex(), None, {}, 0, lambda a: a.round, binding
        )
        monkeypatch.setattr(binding, "record", lambda *more: None)
        outgoing.commit(Made(7, "0/7/0/0", b"kept"), np.zeros(2), ["south"])
        outgoing.close()
    started(own, state)
    with Binding(own, RUN, state) as binding:
        assert binding._head is not None and binding._head[0] == 7


def noted(binding: Binding) -> None:
    binding.bind("")
    binding.start()


@pytest.mark.parametrize("killed", [1, 2])
def test_a_kill_while_a_start_is_noted_is_no_reason_to_refuse(
    own: keys.Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: int
) -> None:
    """Any number of times in a row, before the first start and before a later one."""
    state = folder(tmp_path, "state")
    for _ in range(2):
        for _ in range(killed):
            with Binding(own, RUN, state) as binding, monkeypatch.context() as patched:
                patched.setattr(binding, "_written", None)
                with pytest.raises(TypeError):
                    noted(binding)
        started(own, state, 0)
        with pytest.raises(RuntimeFailure, match="another --state"):
            started(own, folder(tmp_path, "other"))


def test_a_kill_before_the_second_record_and_one_after_the_journal_lose_nothing(
    own: keys.Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = folder(tmp_path, "state")
    with Binding(own, RUN, state) as binding, monkeypatch.context() as patched:
        patched.setattr(binding, "_written", None)
        with pytest.raises(TypeError):
            noted(binding)  # the folder is marked, and the keys know nothing of it
    with Binding(own, RUN, state) as binding:
        binding.bind("")
        Journal(state / "journal.db", RUN.hex()).close()  # and it is killed
    started(own, state, 0)


def test_who_adds_up_leaves_no_journal_where_it_was_killed_as_it_began(
    own: keys.Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its agent, started again, looks at that state first: a journal would be refused for ever."""
    state = folder(tmp_path, "state")
    with Binding(own, RUN, state, part=ADDING) as binding, monkeypatch.context() as patched:
        patched.setattr(binding, "_written", None)
        with pytest.raises(TypeError):
            noted(binding)  # between the two records
    check_state(own, RUN, state, 3)
    assert not (state / "journal.db").exists()
    with Binding(own, RUN, state, part=ADDING) as binding:
        binding.bind("")


def test_keys_that_know_less_than_the_state_are_refused(own: keys.Keys, tmp_path: Path) -> None:
    """As where somebody starts a stand-by with copies of different age."""
    state, runs = folder(tmp_path, "state"), own.folder / "runs"
    started(own, state, 0)
    shutil.copytree(runs, tmp_path / "runs")
    started(own, state, 1)
    started(own, state, 2)
    shutil.move(runs, tmp_path / "newest")
    with pytest.raises(RuntimeFailure, match="Move the folder of keys, with `runs` in it"):
        started(own, state)
    shutil.rmtree(runs)
    shutil.move(tmp_path / "runs", runs)
    with pytest.raises(RuntimeFailure, match="folder of keys is an older copy"):
        started(own, state)
    shutil.rmtree(runs)
    shutil.move(tmp_path / "newest", runs)
    started(own, state, 3)


def test_keys_that_cannot_be_written_are_told_with_the_remedy(
    own: keys.Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*given: object, **named: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(own.folder / "runs"))

    state = folder(tmp_path, "state")
    monkeypatch.setattr(Path, "mkdir", read_only)  # as root no mode would be in the way
    with pytest.raises(ConfigError, match=r"ReadWritePaths=.* mount of its own"):
        started(own, state)


def prepared(first: float) -> Prepared:
    return Prepared(np.array([[first, 1.0], [0.5, 1.0]]), np.zeros(2), ("age", "intercept"))


def test_records_that_changed_between_starts_are_refused(own: keys.Keys, tmp_path: Path) -> None:
    state, before = folder(tmp_path, "state"), digest_of(own, prepared(0.25))
    with Binding(own, RUN, state) as binding:
        binding.bind(before)
    with Binding(own, RUN, state) as binding:
        binding.bind(digest_of(own, prepared(0.25)))
        with pytest.raises(RuntimeFailure, match="records are others than those"):
            binding.check(digest_of(own, prepared(0.26)))
    # nobody who knows the records can compare them with it
    other = keys.create(tmp_path / "south", "south")
    assert digest_of(other, prepared(0.25)) != before
    assert digest_of(own, None) == "" != before
    assert before not in (folder_of(own.folder, RUN) / "head.db").read_bytes().hex()


@pytest.mark.parametrize(
    ("what", "mode"), [("state", 0o750), ("journal.db", 0o640), ("bound.json", None)]
)
def test_what_others_may_read_and_what_leads_elsewhere_is_refused(
    own: keys.Keys, tmp_path: Path, what: str, mode: int | None
) -> None:
    state = folder(tmp_path, "state")
    started(own, state, 0)
    for path in state.iterdir():
        if path.name.startswith("journal"):
            assert path.stat().st_mode & 0o077 == 0
    path = state if what == "state" else state / what
    if mode is None:
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.chmod(mode)
    with pytest.raises(ConfigError, match="is a link" if mode is None else "chmod"):
        started(own, state, 1)


@pytest.fixture(params=[STUDY, MASKED], ids=["peers", "masked"])
def options(tmp_path: Path, request: pytest.FixtureRequest) -> Options:
    made = [
        keys.create(tmp_path / name, name, "127.0.0.1:1")
        for name in ("north", "south", "west", "hub")
    ]
    star: dict[str, Any] = {"coordinator": member(made[3])} if request.param == MASKED else {}
    manifest = a_manifest(made, request.param, **star)
    for each in made[: 4 if star else 3]:
        manifest = manifest.signed_by(each)
    (tmp_path / "run.toml").write_text(manifest.toml())
    if star:
        from tacit.deploy.identity.pinning import trust

        for other in made[1:3]:
            trust(made[0].folder, other.card)
    return Options(tmp_path / "run.toml", made[0].folder, tmp_path / "state", records(tmp_path))


@pytest.mark.slow
def test_an_agent_with_another_state_is_refused_before_anything(
    options: Options, tmp_path: Path
) -> None:
    """Also with masks; a dry run sees it, and binds nothing itself."""
    run(replace(options, state=tmp_path / "tried"), only_check=True)
    identity = read_manifest(options.manifest).run
    with Binding(keys.load(options.keys), identity, folder(tmp_path, "state")) as binding:
        from tacit.deploy.member.checking import check

        binding.bind(digest_of(keys.load(options.keys), check(options)[3]))
        with pytest.raises(RuntimeFailure, match="already"):
            run(options, only_check=True)
    for only_check in (True, False):
        with pytest.raises(RuntimeFailure, match="another --state folder"):
            run(replace(options, state=tmp_path / "other"), only_check=only_check)
    other = records(tmp_path / "other", 20)
    other.write_text(other.read_text().replace("yes", "no", 1))
    with pytest.raises(RuntimeFailure, match="records are others"):
        run(replace(options, data=other))
    run(options, only_check=True)
    (balance,) = read(folder_of(options.keys, identity) / "ledger").balances
    assert balance.releases == 0
