"""What the command line prints of a study, from Python: dimensions, a first draft, an audit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacit._engine.planning import Account
from tacit.errors import ConfigError
from tacit.privacy import accounting
from tacit.study import (
    Asked,
    Reading,
    account,
    assemble,
    audit,
    draft,
    parse_study,
    read_study,
    setting,
)
from tests.end_to_end.study import STUDY, changed, visits, write

LISTED = changed(
    'column = "site"\n', 'column = "site"\nsites = ["north", "south", "east", "west"]\n'
)


def test_the_dimensions_of_a_study() -> None:
    found = setting(parse_study(LISTED, folder="."), Asked(records=[40, 50, 60, 70], delta=1e-5))
    assert found.counts.tolist() == [40, 50, 60, 70]
    assert (found.parameters, found.epsilon, float(found.budget.delta)) == (4, 1.0, 1e-5)
    assert len(found.assumed) == 2
    known = setting(parse_study(LISTED, folder="."), Asked(records=9, prevalence=0.5, gain=0.1))
    assert known.assumed == ()
    with pytest.raises(ConfigError, match="give records"):
        setting(parse_study(LISTED, folder="."))
    with pytest.raises(ConfigError, match="give agents"):
        setting(parse_study(STUDY, folder="."), Asked(records=9))


def test_a_draft_names_the_formats_of_dates_that_it_read(tmp_path: Path) -> None:
    frame = visits(60)
    days = pd.Series(pd.date_range("2024-02-01", periods=60))
    frame["iso"], frame["german"] = days.dt.strftime("%Y-%m-%d"), days.dt.strftime("%d.%m.%Y")
    frame["unclear"] = [f"{1 + row % 9:02d}/{1 + row % 7:02d}/2024" for row in range(60)]
    frame.to_csv(tmp_path / "visits.csv", index=False)
    for public in (False, True):
        found = draft(tmp_path / "visits.csv", target="smoker", bounds_from_data=public)
        told = "the format of the dates in column {} was read off the records: assumed public"
        assert told.format("german") in found.text
        assert told.format("unclear") in found.text  # two fit, and the file names both
        assert told.format("iso") not in found.text  # the one that is tried unasked


def test_a_draft_names_columns_and_no_values(tmp_path: Path) -> None:
    visits().to_csv(tmp_path / "visits.csv", index=False)
    found = draft(tmp_path / "visits.csv", folder=tmp_path, target="visits", site="site")
    assert (found.target, found.site, found.columns) == ("visits", "site", 5)
    assert found.to_declare == found.text.count("# declare: ") == 4
    assert 'path = "visits.csv"' in found.text and "89" not in found.text
    public = draft(tmp_path / "visits.csv", target="smoker", bounds_from_data=True)
    assert public.to_declare == 0 and public.site is None and "leak" in public.text
    assert "the values of column smoker were read off the records" in public.text
    number = draft(tmp_path / "visits.csv", target="visits", bounds_from_data=True)
    assert "the bounds of column visits were read off the records" in number.text
    with pytest.raises(ConfigError, match="target='vists'"):
        draft(tmp_path / "visits.csv", target="vists")
    with pytest.raises(ConfigError, match="decimal=';'"):
        draft(tmp_path / "visits.csv", reading=Reading(decimal=";"))


def test_an_audit_needs_one_of_the_owners(tmp_path: Path) -> None:
    assembled = assemble(read_study(write(tmp_path)))
    with pytest.raises(ConfigError, match="did you mean 'north'"):
        audit(assembled, "nort")


def test_an_account_states_its_weakest_guarantee(tmp_path: Path) -> None:
    found: Account = account(assemble(read_study(write(tmp_path))))
    assert found.guarantee[found.weakest] is found.guarantee.worst
    curve = found.curve(3)
    assert [spent.rounds for spent in curve] == [1, 10, 20]
    np.testing.assert_allclose(curve[-1].epsilon, found.epsilon[-1].max())
    events = found.events[found.weakest]
    for stated in found.at_deltas():
        assert stated.epsilon == accounting.epsilon(events, stated.delta)
    for rows in found.releases:
        for row in rows:
            assert row.noise_multiplier is not None
            assert row.sensitivity is not None and row.noise_scale is not None
            np.testing.assert_allclose(row.noise_multiplier * row.sensitivity, row.noise_scale)
    text = STUDY.replace('name = "dpsg"', 'name = "dgd"')
    text = text[: text.index("[privacy]")] + text[text.index("[run]") :]
    assert account(assemble(read_study(write(tmp_path, text)))).at_deltas() == ()
