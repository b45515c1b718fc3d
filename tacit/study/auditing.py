"""An attack on the guarantee of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacit import checks
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.study.run import Assembled

if TYPE_CHECKING:
    from tacit.audit.result import Audit
    from tacit.audit.sequential import Progress


@checked(ConfigError)
def audit(
    assembled: Assembled,
    owner: str | None = None,
    *,
    trials: int = 20_000,
    rounds: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Run a study's method on neighbouring data, and try to refute its guarantee.

    Args:
        assembled: result of `assemble`.
        owner: owner whose data to attack; the first by default.
        trials: number of runs on each of the two data sets.
        rounds: number of rounds per run; the study's own by default.
        seed: random seed; the study's own by default.
        progress: function called with the number of runs done and the number of all runs.

    Raises:
        ConfigError: an owner that the study does not have, or a study that cannot be audited, with
            the line of the file.
    """
    from tacit.audit.method import audit_method
    from tacit.audit.sequential import FEWEST

    settings = assembled.source.study.run
    number = _owner(assembled.problem.names, owner)
    if trials < FEWEST:
        raise ConfigError(f"trials={trials!r} must be at least {FEWEST}")
    with assembled.source.blamed():
        return audit_method(
            assembled.problem,
            assembled.network,
            assembled.method,
            rounds=settings.rounds if rounds is None else rounds,
            owner=number,
            trials=trials,
            seed=settings.shared_seed if seed is None else seed,
            progress=progress,
        )


def _owner(names: Sequence[str], owner: str | None) -> int:
    if owner is None:
        return 0
    if owner in names:
        return list(names).index(owner)
    hint = checks.hint(owner, names, f"they are {', '.join(names[:8])}")
    raise ConfigError(f"owner {owner!r} is not one of the {len(names)} owners; {hint}")
