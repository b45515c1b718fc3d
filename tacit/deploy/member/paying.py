"""The account that a member's releases are charged to."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacit.deploy.agreement.declared import Declared, charges
from tacit.deploy.member.checking import Options
from tacit.deploy.messages.outgoing import Account
from tacit.errors import ConfigError
from tacit.privacy.ledger import Ledger


@contextmanager
def account_of(
    options: Options, path: Path, run_: Declared, number: int, nobody: bool
) -> Generator[Account | None, None, None]:
    """The account that is charged, open for writing.

    Raises:
        ConfigError: the run was charged to another dataset before.
    """
    if nobody:
        yield None
        return
    owner = run_.manifest.agents[number].name
    missing = options.ledger is None and not path.exists()
    with Ledger.create(path) if missing else Ledger.open(path) as ledger:
        before = ledger.charged_to(owner, run_.manifest.run.hex())
        if before not in (None, options.dataset):
            raise ConfigError(
                f"--dataset {options.dataset}: what this run has released so far was charged to "
                f"the dataset {before!r} of {path}. With two, neither budget would have all that "
                f"was released about these records; give --dataset {before}"
            )
        mine = run_.guarantee[number]
        if options.ledger is None and not ledger.balances():
            # one run's budget, with room for rounding in the last digit
            ledger.set_budget(
                owner, options.dataset, epsilon=mine.epsilon * (1 + 1e-9), delta=mine.delta
            )
        yield Account(ledger, owner, options.dataset, run_.guarantee[number].neighbours)


def remaining(account: Account, run_: Declared, number: int) -> list[Any]:
    """What remains to be charged: everything, if the run has not begun."""
    begun = account.ledger.latest(account.owner, run_.manifest.run.hex()) is not None
    return [] if begun else charges(run_, number)
