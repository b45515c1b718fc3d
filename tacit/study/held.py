"""What each site of a study holds, in words: records, or one whole cost.

Sentences about a study ask its source for these, so that nobody without records reads of records.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Held:
    """Words for what sites hold.

    Attributes:
        plural: noun for what all sites hold.
        apart: end of a sentence about what sites did together.
        agent: what a guarantee for one agent protects.
        known: what a guarantee follows from before a run.
        declared: how the manifest declares what a site holds.
        numbers: noun for the numbers of an answer, one of `tacit.report.data.NUMBERS`.
        copies: files in which a rehearsal copies what a member holds; empty if there are none.
    """

    plural: str
    apart: str
    agent: str
    known: str
    declared: str
    numbers: str
    copies: str


RECORDS = Held(
    plural="records",
    apart="without pooling their records",
    agent="the whole cost function of one site, with all of its records",
    known="the study and the number of records per owner",
    declared="as many as declared",
    numbers="coefficients",
    copies="records.*",
)

COSTS = Held(
    plural="costs",
    apart="without showing them to anybody",
    agent="the whole cost function of one site",
    known="the study alone",
    declared="one for each site",
    numbers="parameters",
    copies="",
)
