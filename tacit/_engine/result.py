"""The result of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from tacit._engine.doubts import doubts, public
from tacit._engine.measures import History
from tacit.arguments import remedy
from tacit.method.answer import Answer, Minimiser, Printed
from tacit.method.citation import bibtex
from tacit.method.latex import noted, tabular
from tacit.privacy.digits import rounded_up
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.ledger import Charge

if TYPE_CHECKING:
    import pandas as pd

_SHORTER = (
    "the step is too large, or the clip and with it the noise, or the columns are; take a smaller "
    "step or clip, or scale the columns"
)
"""Why a run diverges, and what to do."""


@dataclass(frozen=True)
class ReleaseRow:
    """One row of the table of releases.

    Attributes:
        phase: name of the phase.
        sender: role that sends.
        receiver: role that receives, or "" for a local step.
        released: value derived from the sender's private data that is released, or "" if none is.
        mechanism: mechanism that protects it.
        sensitivity: sensitivity of one release, the largest over all owners; `None` if the noise
            scales with the records themselves, and infinite if otherwise unbounded.
        noise_scale: noise scale of one release, the largest over all owners and rounds; `None` if
            it follows the records.
        times: number of times that an owner releases it, the largest over all owners.
        noise_range: noise scales of the first and the last release, each the largest over all
            owners, where the noise changes from round to round; else `None`.
        sensitivity_range: the same of the sensitivity.
    """

    phase: str
    sender: str
    receiver: str
    released: str
    mechanism: str
    sensitivity: float | None
    noise_scale: float | None
    times: int
    noise_range: tuple[float, float] | None = None
    sensitivity_range: tuple[float, float] | None = None

    @property
    def noise_multiplier(self) -> float | None:
        """Noise scale over sensitivity; `None` if the noise follows the records.

        Where both change from round to round, the smaller of that of the first and the last.
        """
        if self.sensitivity is None or self.noise_scale is None:
            return None
        if self.noise_range is not None and self.sensitivity_range is not None:
            ends = zip(self.noise_range, self.sensitivity_range, strict=True)
            return min(noise / most if most > 0.0 else 0.0 for noise, most in ends)
        return self.noise_scale / self.sensitivity if self.sensitivity > 0.0 else 0.0

    @property
    def scale(self) -> str:
        """The noise scale in words, with first and last where it changes from round to round."""
        if self.noise_scale is None:
            return "follows the records"
        if self.noise_range is None:
            return rounded_up(self.noise_scale)  # with less, a run would cost more
        first, last = map(rounded_up, self.noise_range)
        return f"{first} first, {last} last"

    @property
    def moved(self) -> str:
        """The sensitivity in words, with first and last where it changes from round to round."""
        if self.sensitivity is None:
            return "follows the records"
        if self.sensitivity_range is None:
            return rounded_up(self.sensitivity)
        first, last = map(rounded_up, self.sensitivity_range)
        return f"{first} first, {last} last"


@remedy("give the result of tacit.run(...)")
@dataclass(frozen=True)
class Result:
    """The outcome of `tacit.run`. Everything is NumPy or plain Python, and `pickle` keeps it.

    Attributes:
        solutions: every agent's answer in every trial, shape `(trials, agents, p)`; for a diverged
            trial, the last one before it diverged.
        diverged: round after which a number of a trial was not finite, or a coordinate of an answer
            was further from its start than `Simulation.divergence`; -1 for none; shape `(trials,)`.
        history: measurements along the run.
        guarantee: guarantee of the whole run, owner by owner, for one trial.
        releases: table of phases with the release of each, one row a phase, with the largest
            numbers over all owners; `tacit.account` has one table per owner.
        reference: centralised solution that distances refer to, shape `(p,)`, if there is one
            (simulation only).
        rounds: number of rounds requested.
        seed: seed of the simulated randomness.
        seconds: wall-clock time of the rounds, compilation included.
        environment: versions and machine.
        parameter_names: names of the coordinates.
        charge: entry of the run in the ledger, and each owner's remaining budget; `None` without
            one.
        answer: what `solution` is: a minimiser, a table, or why there is no answer.
        answers: answers of all trials, if they are no minimisers (simulation only).
        papers: names of the papers that describe the method; `cite` has them as BibTeX.
        skipped: numbers of points that agents' black boxes skipped, by name (simulation only).
        failures: what the first of these failed with, and where, by name (simulation only).
        lost: how many losses of an agent's records a black box gave no finite number for, and where
            first, by name (simulation only).
        silent: agents of which every evaluation failed and was skipped, and what the first failed
            with (simulation only).
        constant: agents whose black boxes answered the same at all points (simulation only).
        changed: how an agent's black box, not declared random, answered another value at the start
            than before the run, by name (simulation only).
        ends: objective at the start and at the mean answer of the first trial, if it is a black
            box, which a run does not evaluate to measure; two evaluations of every agent beside
            those of the run, NaN where one has no value (simulation only).
        inwards: lowest objective that was found further inside a box, where that answer is on its
            bounds (simulation only).
        shortened: what the clip shortens at the answers of the first trial, and of which share of
            the records, if that is counted (simulation only).
    """

    solutions: Float[np.ndarray, "trials agents p"]
    diverged: Int[np.ndarray, " trials"]
    history: History
    guarantee: Guarantees
    releases: tuple[ReleaseRow, ...]
    reference: Float[np.ndarray, " p"] | None
    rounds: int
    seed: int
    seconds: float
    environment: dict[str, str]
    parameter_names: tuple[str, ...]
    charge: Charge | None = None
    answer: Answer | None = None
    answers: tuple[Answer, ...] = ()
    papers: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[str, str] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    constant: tuple[str, ...] = ()
    changed: Mapping[str, str] = field(default_factory=dict)
    ends: tuple[float, float] | None = None
    inwards: float | None = None
    shortened: tuple[str, float] | None = None

    def __repr__(self) -> str:
        trials, agents, _ = self.solutions.shape
        many = f", {trials} trials" if trials > 1 else ""
        run = f"{agents} agents, {self.rounds} rounds{many}, {self.status}"
        return f"<Result of {run}: {self.guarantee.brief()}>"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The outcome and the guarantee with all its conditions, as text."""
        if self.answer is not None and not isinstance(self.answer, Minimiser):
            return f"{self.status}; {self.answer.sentence()}\n{self.guarantee}"
        if self.diverged[0] >= 0:
            return f"{self.status}; no answer: {_SHORTER}\n{self.guarantee}"
        trials, agents, _ = self.solutions.shape
        whose = f"mean answer of {agents} agents" + (" in the first trial" if trials > 1 else "")
        shown = np.array2string(self.solution, precision=4, threshold=12)
        answer = f"{self.status}; {whose} after {self.rounds} rounds: {shown}"
        return "\n".join([answer, *doubts(self), str(self.guarantee)])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The summary, where IPython has no page to draw on."""
        printer.text(self.summary())

    def _repr_html_(self) -> str:
        """The answer as a table, and the guarantee, at the end of a notebook cell."""
        said = f"{self.status} after {self.rounds} rounds"
        if self.answer is not None and not isinstance(self.answer, Minimiser):
            said += f"; {self.answer.sentence()}"
        elif self.diverged[0] >= 0:
            said = f"{self.status}; no answer: {_SHORTER}"
            return f"<p>{escape(said)}</p><p>{escape(str(self.guarantee))}</p>"
        said_too = "".join(f"<p>{escape(each)}</p>" for each in doubts(self))
        table = self.frame().to_html(index=False)
        return f"<p>{escape(said)}</p>{table}{said_too}<p>{escape(str(self.guarantee))}</p>"

    def frame(self) -> pd.DataFrame:
        """The answer as a frame: one row per parameter, or the table or refusal that it is."""
        import pandas as pd

        if self.answer is not None and not isinstance(self.answer, Minimiser):
            return self.answer.frame()
        return pd.DataFrame({"parameter": self.parameter_names, "value": self.solution})

    def to_latex(self) -> str:
        """The answer in the first trial as a table in LaTeX, for the booktabs package.

        The line below it is the guarantee: epsilon, delta, unit, adjacency, status and kind of
        noise.
        """
        trials = len(self.solutions)
        note = f"% the first of {trials} trials\n" if trials > 1 else ""
        if self.diverged[0] >= 0:
            note += f"% {self.status}: no answer\n"
        # a paper's source is published, so private records decide on no line of it
        note += "".join(f"% {each}\n" for each in public(self))
        answer = self.answer
        table = answer.to_latex() if isinstance(answer, Printed) else tabular(self.frame())
        return note + noted(table, self.guarantee.brief())

    def cite(self) -> str:
        """What to cite, as BibTeX: the papers that describe the method, and tacit.

        Example:
            >>> import numpy as np
            >>> import tacit
            >>> from tacit import network, problem
            >>> task = problem.empirical_risk([np.eye(2)] * 3, [np.ones(2)] * 3, problem.Squared())
            >>> found = tacit.run(task, network.ring(3), tacit.DGD(step=0.1), rounds=2)
            >>> found.cite().splitlines()[:2]
            ['@article{nedicozdaglar2009,', '  author = {Nedic, Angelia and Ozdaglar, Asuman},']
        """
        return bibtex(self.papers)

    @property
    def stationary(self) -> bool:
        """Whether the reference is known to be a stationary point only, as of a loss that is not
        convex: the objective may be smaller elsewhere.
        """
        return self.history.stationary

    @property
    def solution(self) -> Float[np.ndarray, " p"]:
        """The agents' mean answer in the first trial, shape `(p,)`; NaN if that diverged."""
        if self.diverged[0] >= 0:
            return np.full(self.solutions.shape[2], np.nan)
        return self.solutions[0].mean(axis=0)

    @property
    def finished(self) -> Bool[np.ndarray, " trials"]:
        """Which trials did not diverge."""
        return self.diverged < 0

    @property
    def status(self) -> str:
        """Either "finished", or which trial diverged and when."""
        gone = np.flatnonzero(self.diverged >= 0)
        if not len(gone):
            return "finished"
        if len(self.diverged) == 1:
            return f"diverged at round {self.diverged[0]}"
        first = int(self.diverged[gone].min())
        return f"{len(gone)} of {len(self.diverged)} trials diverged, the first at round {first}"
