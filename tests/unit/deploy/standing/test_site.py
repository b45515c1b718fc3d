"""A site's folder: what `join` makes, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit.deploy.standing.members import MemberFile, read_member
from tacit.deploy.standing.site import find, join, set_budget
from tacit.errors import ConfigError, PrivacyError, RuntimeFailure
from tacit.privacy.ledger import read
from tests.sites import records


def test_join_makes_keys_a_budget_and_a_file_without_secrets(tmp_path: Path) -> None:
    table = records(tmp_path)
    site, path = join(tmp_path / "site", "north", "", table, "visits", 20, 4.0, 1e-6)
    assert (tmp_path / "site").stat().st_mode & 0o077 == 0
    assert find(tmp_path / "site") == site
    assert site.datasets == {"visits": table.resolve()}
    (balance,) = read(site.ledger).balances
    assert (balance.owner, balance.dataset, balance.epsilon) == ("north", "visits", 4.0)
    sent = read_member(path)
    assert sent == MemberFile(site.load_keys().card, 20)
    assert "PRIVATE KEY" not in path.read_text()


def test_a_coordinator_has_neither_records_nor_ledger(tmp_path: Path) -> None:
    site, path = join(tmp_path / "hub", "hub", "localhost:7450")
    assert (site.datasets, read_member(path).records) == ({}, None)
    assert not site.ledger.exists()
    with pytest.raises(ConfigError, match=r"say which records .*: none"):
        site.dataset(None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"records": 20, "epsilon": 1.0}, "a site with records gives --data"),
        ({"data": Path("nowhere.csv"), "records": 20, "epsilon": 1.0}, "no such file"),
        ({"data": Path("nowhere.csv"), "records": 20}, "a site with records gives --data"),
        ({}, "give its --address"),
        ({"address": "localhost"}, "must be host:port"),
    ],
)
def test_what_cannot_be_a_site_leaves_nothing(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        join(tmp_path / "site", "north", **given)
    assert not (tmp_path / "site" / "site.toml").exists()


def test_a_site_is_never_overwritten(tmp_path: Path) -> None:
    join(tmp_path / "hub", "hub", "localhost:7450")
    with pytest.raises(ConfigError, match="is not empty"):
        join(tmp_path / "hub", "hub", "localhost:7450")


def test_budgets_are_raised_and_datasets_added(tmp_path: Path) -> None:
    table = records(tmp_path)
    site, _ = join(tmp_path / "site", "north", "", table, "visits", 20, 4.0)
    with pytest.raises(ConfigError, match="'labs' is a new dataset"):
        set_budget(site, "labs", 1.0, 1e-6)
    set_budget(site, "labs", 1.0, 1e-6, table)
    set_budget(find(site.folder), "visits", 5.0, 1e-6)
    site = find(site.folder)
    assert sorted(site.datasets) == ["labs", "visits"]
    assert {each.dataset: each.epsilon for each in read(site.ledger).balances} == {
        "labs": 1.0,
        "visits": 5.0,
    }
    for name, said in ((None, "say which records"), ("other", "is not a dataset")):
        with pytest.raises(ConfigError, match=said):
            site.dataset(name)
    with pytest.raises(PrivacyError, match="must be positive"):
        set_budget(site, "labs", -1.0, 1e-6)


def test_settings_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="make a site with `tacit site join`"):
        find(tmp_path)
    join(tmp_path / "hub", "hub", "localhost:7450")
    path = tmp_path / "hub" / "site.toml"
    for text, said in (
        ('format = "tacit-site-2"\n', "site.toml is damaged, or of another version"),
        ('format = "tacit-site-1"\n[datasets]\nvisits = 3\n', "datasets.visits must be"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=said):
            find(tmp_path / "hub")
    path.write_text('format = "tacit-site-1"\n')
    (tmp_path / "hub").chmod(0o755)
    with pytest.raises(ConfigError, match="can be read or changed by others"):
        find(tmp_path / "hub")


def test_a_members_file_is_checked(tmp_path: Path) -> None:
    _, path = join(tmp_path / "hub", "hub", "localhost:7450")
    text = path.read_text()
    for changed in (
        text.replace("tacit-member-1", "tacit-member-2"),
        text + "records = 0\n",
        text + 'records = "7"\n',
        text + "secret = 1\n",
        'format = "tacit-member-1"\n',
    ):
        path.write_text(changed)
        with pytest.raises(ConfigError, match="is not a member's file"):
            read_member(path)
    with pytest.raises(ConfigError, match="it should be the file that `tacit site join` wrote"):
        read_member(tmp_path / "nowhere")


def test_the_queue_is_changed_by_one_process_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.deploy.standing.site._LOCK_SECONDS", 0.1)
    site, _ = join(tmp_path / "hub", "hub", "localhost:7450")
    with (
        site.locked(),
        pytest.raises(RuntimeFailure, match="is being changed by another command"),
        site.locked(),
    ):
        pass
