"""Options that name one of several things, or a number of them."""

from __future__ import annotations

from collections.abc import Collection

from tacit import checks
from tacit.errors import ConfigError


def one_of(option: str, value: str, known: Collection[str]) -> str:
    """The known value that is given, with `_` or `-` between words.

    Raises:
        ConfigError: it is not; the message names the option and what is close.
    """
    same = {each.replace("_", "-"): each for each in known}
    if (found := same.get(value.replace("_", "-"))) is not None:
        return found
    close = checks.close(value, known)
    hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(known)}"
    raise ConfigError(f"{option} {value!r} is unknown; {hint}")


_MOST_AGENTS = 5_000
"""Agents of whose pairs a matrix is made."""


def check_agents(agents: int) -> None:
    """Refuse more agents than are computed with.

    Raises:
        ConfigError: such a number.
    """
    if agents > _MOST_AGENTS:
        raise ConfigError(
            f"--agents {agents} is more than the {_MOST_AGENTS:,} that are computed with here; "
            "take fewer"
        )
