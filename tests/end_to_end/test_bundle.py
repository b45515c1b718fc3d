"""A run between real processes ends in a report, and in a bundle that is verified."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacit.deploy.agreement.manifest import REHEARSAL
from tacit.deploy.operate.archive import unpacked
from tacit.deploy.operate.bundle import write_bundle
from tacit.deploy.operate.rehearse import perform, prepare
from tacit.deploy.operate.verify import verify_bundle
from tests.end_to_end.site_study import STAR, a_study


@pytest.mark.long
def test_sites_end_with_a_report_and_no_record_is_in_a_bundle(tmp_path: Path) -> None:
    source = a_study(tmp_path, STAR, rounds=3, budget="masks = { coalition = 1 }")
    rehearsal = prepare(source, tmp_path / "rehearsal")
    perform(rehearsal, seconds=300.0)
    for number, member in enumerate(rehearsal.manifest.members):
        own = rehearsal.folder / f"member-{number}"
        page = (own / "state" / "report.html").read_text()
        assert f"This is the report of {member.name}." in page
        path = write_bundle(own / "state", own / "keys", own / "run.zip")
        found = verify_bundle(path, fingerprint=member.card.fingerprint())
        assert found.sound, found.problem
        assert found.open[0] == REHEARSAL
        assert (found.guarantee is None) == (member is rehearsal.manifest.coordinator)
        everything = b"\n".join(unpacked(path).values())
        for private in own.glob("*/*.pem"):
            assert private.read_bytes() not in everything
        if (own / "records.parquet").exists():
            for dose in pd.read_parquet(own / "records.parquet")["dose"]:
                assert len(str(dose)) > 10  # long enough to be nothing else
                assert str(dose)[:10].encode() not in everything
                assert np.float64(dose).tobytes() not in everything
