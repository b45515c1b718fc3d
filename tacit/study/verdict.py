"""Whether the answer of a simulated run is worth having.

The yardstick of a model is the base rate, the best constant answer; that of a table is whether its
intervals may be printed. Scores are computed from private records without noise: a verdict by them
exists in simulations only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.method.answer import Answer, Minimiser, Refused
from tacit.method.coefficients import CoefficientTable
from tacit.method.cox_answer import HazardRatios

_PASSED = "its intervals passed their checks."


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is worth having.

    Attributes:
        useful: whether it is; `None` if there is nothing to judge it by.
        reason: what decided it, in a sentence.
        released: whether that follows from released values alone; otherwise it was computed from
            private records without noise, and is for simulations only.
    """

    useful: bool | None
    reason: str
    released: bool

    def __str__(self) -> str:
        begins = {None: "No verdict", True: "Verdict", False: "Not worth having"}[self.useful]
        only = "" if self.released or self.useful is None else " (simulation only)"
        return f"{begins}{only}: {self.reason}"


def judged(
    answer: Answer | None, agreed: Mapping[str, float] | None, base: Mapping[str, float] | None
) -> Verdict:
    """The verdict on an answer.

    Args:
        answer: answer of the run.
        agreed: scores of the agreed model on held-out records, if there are any.
        base: scores of the base rate on the same records.

    Example:
        >>> print(judged(None, {"loss": 0.71}, {"loss": 0.69}))
        Not worth having (simulation only): the agreed model is worse than knowing the base rate, \
the best constant answer: mean loss 0.7100 against 0.6900 on held-out records.
    """
    if isinstance(answer, Refused):
        return Verdict(False, f"{answer.reason}; {answer.needs}.", released=True)
    if isinstance(answer, CoefficientTable):
        if answer.refusal is not None:
            reason = f"no intervals: {answer.refusal.reason}; {answer.refusal.needs}."
            return Verdict(False, reason, released=True)
        return Verdict(True, _PASSED, released=True)
    if isinstance(answer, HazardRatios):
        return Verdict(True, _PASSED, released=True)  # others are refused whole
    if not (answer is None or isinstance(answer, Minimiser)):
        return Verdict(None, "there is no yardstick for an answer of this kind.", released=True)
    if agreed is None or base is None:
        return Verdict(None, "no records are held out to judge by (hold_out in [run]).", True)
    loss, least = agreed["loss"], base["loss"]
    # a loss that is not a number is no better, either
    useful = bool(loss < least)
    compared = "better" if useful else "worse" if loss != least else "no better"
    return Verdict(
        useful,
        f"the agreed model is {compared} than knowing the base rate, the best constant answer: "
        f"mean loss {loss:.4f} against {least:.4f} on held-out records.",
        released=False,
    )
