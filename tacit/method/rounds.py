"""The rounds in which a phase runs: a slice of them, or once before the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.arguments import checked
from tacit.errors import ConfigError


@checked(ConfigError)
@dataclass(frozen=True)
class Rounds:
    """A slice of a run's rounds, as in `range(rounds)[first:last]`, or none of them.

    A run that is too short for the whole slice is refused.

    Attributes:
        first: first round, from 0; from the end if negative.
        last: round before which the slice ends, likewise; `None` for the end of the run.
        before: whether to run once before round 0 instead, by all agents, including any that sleep
            in round 0.

    Raises:
        ConfigError: a slice that has no round in any run, or a slice together with `before`.

    Example:
        >>> [Rounds(*each).of(6) for each in ((), (0, 1), (-1,), (0, -2))]
        [range(0, 6), range(0, 1), range(5, 6), range(0, 4)]
    """

    first: int = 0
    last: int | None = None
    before: bool = False

    def __post_init__(self) -> None:
        first, last = self.first, self.last
        if self.before:
            if (first, last) != (0, None):
                raise ConfigError(f"{self}: what is run before round 0 is run in no round")
        elif last is not None and (last == 0 or first >= last > 0 or 0 > first >= last):
            raise ConfigError(f"{self} has no round in any run; the last one is not included")
        elif last is not None and first < 0 < last:
            raise ConfigError(f"{self}: begin and end are counted from different ends of the run")

    @property
    def every(self) -> bool:
        """Whether the slice has all rounds."""
        return self == EVERY

    @property
    def single(self) -> bool:
        """Whether the phase runs once per run, whatever the number of rounds."""
        end = 0 if self.last is None and self.first < 0 else self.last
        return self.before or (end is not None and end - self.first == 1)

    @property
    def least(self) -> int:
        """The smallest number of rounds that a run must have."""
        first, last = self.first, self.last
        if last is None or first < 0:
            return max(first + 1, -first)
        return last if last > 0 else first - last + 1

    @property
    def words(self) -> str:
        """The rounds in words, for tables."""
        first, last = self.first, self.last
        if self.before:
            return "once, before round 0"
        if last is None and first == 0:
            return "every round"
        if last is None and first > 0:
            return f"from round {first + 1} on"
        if last is None:
            return "the last round" if first == -1 else "the last rounds"
        if first == 0 and last < 0:
            return "every round but the last" + ("" if last == -1 else " ones")
        if first >= 0 and last > 0:
            return f"round {last}" if self.single else f"rounds {first + 1} to {last}"
        begin = f"round {first + 1}" if first >= 0 else f"{-first} rounds before the end"
        return f"from {begin} to {-last} before the end"

    def of(self, rounds: int) -> range:
        """The indices of the slice in a run of `rounds` rounds; -1 for before round 0."""
        return range(-1, 0) if self.before else range(rounds)[self.first : self.last]

    def includes(self, round: Any, rounds: Any) -> Any:
        """Whether a round is in the slice: `True`, or an array if an argument is an array.

        Args:
            round: index of the round, from 0; before round 0, whatever runs there is included.
            rounds: number of rounds.
        """
        if self.before or self.every:
            return True
        first, last = (
            end if end is None or end >= 0 else rounds + end for end in (self.first, self.last)
        )
        begun = None if self.first == 0 else round >= first
        going = None if last is None else round < last
        if begun is None or going is None:
            return going if begun is None else begun
        return begun & going


EVERY = Rounds()
"""All rounds."""
