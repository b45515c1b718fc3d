"""The planner stands on the site with its scripts and with what it asks of tacit."""

import json
import re
from pathlib import Path

import planner_facts
import pytest


@pytest.mark.site
def test_the_site_has_the_planner_and_what_it_computes_from(site: Path) -> None:
    text = (site / "planner.html").read_text(encoding="utf-8")
    told = re.search(r'<script type="application/json" id="planner-facts">(.*?)</script>', text)
    assert told is not None
    assert json.loads(told[1]) == json.loads(planner_facts.facts())
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    for name in re.findall(r'(?:src|href)="(_static/planner\w*\.\w+)"', text):
        assert (site / name).is_file()
