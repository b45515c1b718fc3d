"""What a run gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from tacit._engine.measures import History
from tacit.method.answer import Answer, Minimiser
from tacit.privacy.guarantee import Guarantees
from tacit.privacy.ledger import Charge


@dataclass(frozen=True)
class ReleaseRow:
    """One row of the table of releases.

    Attributes:
        phase: its name.
        sender: role that sends.
        receiver: role that receives, or "" for a local step.
        released: what leaves the sender's private data, or "" if nothing does.
        mechanism: how it is protected.
        sensitivity: of one release, the largest of all owners; `None` where the noise is scaled to
            the records themselves, and infinite where else nothing bounds it.
        noise_scale: of one release, the largest of all owners; `None` where it follows the records.
        times: how often an owner releases it, the most of all owners.
    """

    phase: str
    sender: str
    receiver: str
    released: str
    mechanism: str
    sensitivity: float | None
    noise_scale: float | None
    times: int

    @property
    def noise_multiplier(self) -> float | None:
        """Noise scale divided by sensitivity; `None` where the noise follows the records."""
        if self.sensitivity is None or self.noise_scale is None:
            return None
        return self.noise_scale / self.sensitivity if self.sensitivity > 0.0 else 0.0


@dataclass(frozen=True)
class Result:
    """The outcome of `tacit.run`. Everything is NumPy or plain Python.

    Attributes:
        solutions: every agent's answer in every trial, shape `(trials, agents, p)`. For a diverged
            trial the last one before.
        diverged: round after which a number of a trial was not finite, or a coordinate of an answer
            further from its start than `Simulation.divergence`; -1 for none; shape `(trials,)`.
        history: measurements along the run.
        guarantee: of the whole run, owner by owner, for one trial.
        releases: the table of phases with what each releases.
        reference: the centralised solution that distances refer to, shape `(p,)`, if there is one
            (simulation only).
        rounds: how many were asked for.
        seed: of the simulated randomness.
        seconds: wall-clock time of the rounds, compilation included.
        environment: versions and machine.
        parameter_names: names of the coordinates.
        charge: the run's entry in the ledger, and what each owner has left; `None` without one.
        answer: what `solution` says: a minimiser, a table, or why there is no answer.
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

    def __str__(self) -> str:
        """What came out and what was promised, for a person; `repr` has every field."""
        if self.answer is not None and not isinstance(self.answer, Minimiser):
            return f"{self.status}; {self.answer.sentence()}\n{self.guarantee}"
        trials, agents, _ = self.solutions.shape
        whose = f"mean answer of {agents} agents" + (" in the first trial" if trials > 1 else "")
        shown = np.array2string(self.solution, precision=4, threshold=12)
        return f"{self.status}; {whose} after {self.rounds} rounds: {shown}\n{self.guarantee}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The same at the end of a notebook's cell."""
        printer.text(str(self))

    @property
    def solution(self) -> Float[np.ndarray, " p"]:
        """The agents' mean answer in the first trial, shape `(p,)`."""
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
