"""Where the browser is required, its absence fails."""

import pytest

from tests.browser.conftest import missing


def test_without_a_browser_the_tests_are_skipped(monkeypatch):
    monkeypatch.delenv("TACIT_REQUIRE_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no browser"):
        missing("no browser")


def test_where_it_is_required_they_fail(monkeypatch):
    monkeypatch.setenv("TACIT_REQUIRE_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="TACIT_REQUIRE_BROWSER=1, but no browser"):
        missing("no browser")
