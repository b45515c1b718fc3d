"""What masks would leave of the error, where every site answers a coordinator by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.advise.measure import Bench, Choice
from tacit.advise.measured import Measured
from tacit.advise.setting import changed
from tacit.errors import PrivacyError
from tacit.privacy.masked import Masks


@dataclass(frozen=True)
class MaskGain:
    """A method as it was measured, and with masks: the same rounds, step and clip.

    Attributes:
        method: name in study files.
        coalition: how many sites may pool what they know.
        variance: how many times smaller the variance of the noise in a mean becomes, above 1.
        without: mean error as it was measured, as `Measured.error`.
        error: mean error with masks, on the same records.
    """

    method: str
    coalition: int
    variance: int
    without: float
    error: float


def mask_gain(bench: Bench, measured: Sequence[tuple[Measured, Choice]]) -> MaskGain | None:
    """What masks against any one site would bring to the best method that takes them.

    Args:
        bench: where the methods were measured.
        measured: the methods with their settings, the best first.

    Returns:
        `None` where masks are used already or cannot be: between peers, among fewer than three
        sites or sites that come and go, or where no method that was measured sums at a public
        iterate.
    """
    setting, masks = bench.setting, Masks()
    budget, network = setting.budget, setting.network
    if budget.masks is not None or not network.coordinated or network.varying or setting.agents < 3:
        return None
    try:
        hiding = changed(budget, masks=masks)
    except PrivacyError:
        return None
    for found, choice in measured:
        if choice.candidate.hides(masks):
            again = bench.confirm(choice, replace(setting, budget=hiding))
            return MaskGain(
                method=found.method,
                coalition=masks.coalition,
                variance=masks.hidden(setting.agents),
                without=found.error,
                error=again.error,
            )
    return None
