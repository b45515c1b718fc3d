"""The status page: for this machine only, and nothing on it but what the owner may see."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator

import pytest

from tacit.deploy.standing.page import HOST, Page
from tacit.errors import ConfigError
from tests.standing import Three


@pytest.fixture
def page(three: Three) -> Iterator[Page]:
    three.proposed()
    with Page(three.sites["north"]) as running:
        yield running


def answer(
    page: Page, path: str = "/", host: str | None = None, method: str = "GET"
) -> tuple[http.client.HTTPResponse, bytes]:
    """The answer to a request."""
    connection = http.client.HTTPConnection(HOST, page.port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    if host != "":
        connection.putheader("Host", host or f"{HOST}:{page.port}")
    connection.endheaders()
    found = connection.getresponse()
    data = found.read()
    connection.close()
    return found, data


def test_a_request_for_another_host_is_refused(page: Page) -> None:
    for host in ("evil.example", f"evil.example:{page.port}", HOST, "", f"{HOST}:{page.port}."):
        for path in ("/", "/status.json"):
            found, data = answer(page, path, host)
            assert found.status == 421
            assert b"north" not in data
    assert answer(page, host=f"localhost:{page.port}")[0].status == 200


def test_it_listens_on_this_machine_only(page: Page) -> None:
    assert page.address == f"http://127.0.0.1:{page.port}/"
    assert page._server.socket.getsockname()[0] == "127.0.0.1"


def test_its_policy_allows_nothing_from_elsewhere(page: Page) -> None:
    for path, kind in (
        ("/", "text/html"),
        ("/page.js", "text/javascript"),
        ("/page.css", "text/css"),
        ("/status.json", "application/json"),
    ):
        found, data = answer(page, path)
        assert found.status == 200
        assert found.headers["Content-Type"].startswith(kind)
        assert found.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "unsafe" not in found.headers["Content-Security-Policy"]
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert found.headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in found.headers
        if path != "/page.js":  # the name of a name space is no address
            assert b"http:" not in data
            assert b"https:" not in data


def test_nothing_else_is_there_and_nothing_changes(page: Page) -> None:
    for path in ("/nowhere", "/../site.toml", "/page.html", "/status.json?x"):
        assert answer(page, path)[0].status == 404
    assert answer(page, method="POST")[0].status == 501
    found, data = answer(page, method="HEAD")
    assert (found.status, data) == (200, b"")


def test_it_shows_runs_budgets_and_members_and_no_record(page: Page, three: Three) -> None:
    found = json.loads(answer(page, "/status.json")[1])
    (run,) = found["runs"]
    assert (run["title"], run["state"]) == ("A study", "waits for signatures")
    assert run["waits_for"] == ["south", "west"]
    (dataset,) = found["datasets"]
    assert (dataset["epsilon"], dataset["spent"]) == (5.0, 0.0)
    assert 0.0 < dataset["promised"] < 5.0
    assert [each["name"] for each in found["members"]] == ["south", "west"]
    assert found["agent"]["doing"] == "stopped"
    text = json.dumps(found)
    assert "BEGIN" not in text  # no key, no certificate
    table = next(iter(three.sites["north"].datasets.values()))
    assert str(table) not in text
    (three.sites["north"].folder / "site.toml").write_text("format = 1")
    page._made = -1.0
    assert "problem" in json.loads(answer(page, "/status.json")[1])


def test_a_run_that_is_ready_waits_for_those_who_do_not_know(page: Page, three: Three) -> None:
    entry = three.ready("Ready")

    def waits_for() -> list[str]:
        page._made = -1.0
        runs = json.loads(answer(page, "/status.json")[1])["runs"]
        (row,) = [each for each in runs if each["state"] == "ready"]
        return row["waits_for"]

    assert waits_for() == ["south", "west"]
    three.queues["north"].note(entry, informed=["west"])
    assert waits_for() == ["south"]


def test_why_a_run_failed_is_not_for_every_user_of_the_machine(page: Page, three: Three) -> None:
    entry = three.proposed("Another")
    (entry.folder / "failure.json").write_text('{"told": "the table has 387 records"}')
    page._made = -1.0
    text = answer(page, "/status.json")[1]
    (failed,) = [each for each in json.loads(text)["runs"] if each["state"] == "failed"]
    assert failed["failure"] == "failed: tacit site list says why"
    assert b"the table has" not in text


def test_a_port_in_use_is_said(page: Page, three: Three) -> None:
    with pytest.raises(ConfigError, match="choose another --page"):
        Page(three.sites["north"], page.port)
