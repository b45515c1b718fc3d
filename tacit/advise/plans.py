"""Different arrangements of a study, if its owners agree."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tacit.advise.setting import Setting, changed
from tacit.errors import TacitError
from tacit.network.star import Coordinator
from tacit.privacy import Masks
from tacit.problem.records import Weighting


@dataclass(frozen=True, eq=False)
class Plan:
    """A setting with its arrangement in words.

    Attributes:
        words: description of the change; empty for the study as it stands.
        setting: declared dimensions, with the change.
        sections: lines of the study file that make the change, before those of the method.
        method: name of the only method tried, if not all are.
    """

    words: str
    setting: Setting
    sections: tuple[str, ...] = ()
    method: str | None = None


def changes(setting: Setting, best: str) -> list[Plan]:
    """Arrangements that may lose less to privacy than the study's own.

    Every record counts equally where sites are uneven: otherwise the small ones, whose noise is
    large, dominate. A coordinator with masks lets the sites hide each other.

    Args:
        setting: declared dimensions of the study itself.
        best: name of the method that did best there.
    """
    found: list[Plan] = []
    pooled, weighted = setting, ()
    words = "every record counts the same"
    if setting.uneven and setting.normaliser is None and setting.weighting is Weighting.AGENT:
        pooled = replace(setting, weighting=Weighting.RECORD)
        weighted = ("[problem]", 'weighting = "record"', "")
        found.append(Plan(words, pooled, weighted, best))
    masked = _masked(pooled)
    if masked is not None:
        star = () if setting.network.coordinated else ("[network]", 'graph = "coordinator"', "")
        named = "masks" if setting.network.coordinated else "a coordinator and masks"
        if weighted:
            named += f", and {words}"
        found.append(Plan(named, masked, (*weighted, *star), "gradient-descent"))
    return found


def _masked(setting: Setting) -> Setting | None:
    """With a coordinator, and masks against every single site; `None` where impossible."""
    if setting.budget.hides.summed or setting.network.varying or setting.agents < 3:
        return None
    network = setting.network if setting.network.coordinated else Coordinator(setting.agents)
    try:
        return replace(setting, network=network, budget=changed(setting.budget, masks=Masks()))
    except TacitError:
        return None
