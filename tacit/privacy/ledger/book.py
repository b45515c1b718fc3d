"""The state that the entries of a ledger imply: budgets, spending, and the runs it holds.

A book is made by reading all entries in order and is never stored, so it cannot disagree with them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit.errors import BudgetExceeded, LedgerDamaged, LedgerError
from tacit.privacy.digits import rounded_down, rounded_up
from tacit.privacy.ledger.chain import START, Entry, Mark
from tacit.privacy.ledger.encoding import event_from_json, grouped_from_json
from tacit.privacy.ledger.spending import GRID_ERROR, SLACK, Spending
from tacit.privacy.tally import Tally

FORMAT = "tacit-ledger-1"
"""Format named by the first entry."""


@dataclass(frozen=True)
class Balance:
    """The balance of one owner's budget for one dataset, over all studies.

    Attributes:
        owner: owner of the records.
        dataset: name of the dataset.
        epsilon: budget for everything ever released about the dataset.
        delta: delta at which epsilon is counted.
        spent: epsilon of everything charged so far, at this delta, rounded up.
        runs: number of runs that contributed to it.
        releases: number of values released.
        entry: number of the last entry that charged the account.
        time: time of that entry, UTC; empty when nothing was charged.
        about: what epsilon is about, as `Guarantee.neighbours`; empty when nothing was charged.
    """

    owner: str
    dataset: str
    epsilon: float
    delta: float
    spent: float
    runs: int
    releases: int
    entry: int
    time: str
    about: str = ""

    @property
    def left(self) -> float:
        """Budget less what was spent, rounded down, at least 0.

        A sum, not a limit: several releases together may cost less than the sum of their costs.
        """
        left = self.epsilon - self.spent
        if math.isfinite(left) and Fraction(left) > Fraction(self.epsilon) - Fraction(self.spent):
            left = math.nextafter(left, -math.inf)
        return max(left, 0.0)


RECORD = "record, replace_one"
"""Adjacency of an epsilon if nothing else is stated."""


class Account:
    """One owner's budget for one dataset and everything charged to it."""

    def __init__(self, owner: str, dataset: str) -> None:
        self.owner, self.dataset = owner, dataset
        self.budget: tuple[float, float] | None = None
        self.budget_entry = 0
        self.spending = Spending()
        self.runs: set[str] = set()
        self.neighbours = ""
        self.releases = 0
        self.entry, self.time = 0, ""

    def require(self, more: Tally, neighbours: str) -> None:
        """Refuse what would exceed the budget, what has none, or what cannot be added to it.

        Raises:
            BudgetExceeded: a charge above the budget, or no budget at all; the message gives the
                numbers.
            LedgerError: epsilons about other neighbours have already been charged.
        """
        whose = f"owner {self.owner!r}, dataset {self.dataset!r}"
        if self.budget is None:
            raise BudgetExceeded(
                f"{whose}: no budget is set in this ledger, so nothing may be released; set one "
                "with Ledger.set_budget or `tacit ledger budget`"
            )
        if self.neighbours not in ("", neighbours):
            raise LedgerError(
                f"{whose}: an epsilon about neighbours of another kind ({neighbours}) cannot be "
                f"added to those charged so far ({self.neighbours}): a record that is replaced may "
                "count twice where one that is added counts once, and an epsilon against some "
                "readers says nothing about others. Nothing was released; state the study's "
                "guarantee as before, or share the budget out between two dataset names"
            )
        epsilon, delta = self.budget
        if self.spending.fits(epsilon, delta, more):
            return
        releases = _number(more)
        plural = "1 release was" if releases == 1 else f"{releases:,} releases were"
        raise BudgetExceeded(
            f"{whose}: {plural} not made. Spent so far: epsilon {rounded_up(self.spent())}; it "
            f"would have become {rounded_up(self.spending.epsilon(delta, more))}; the budget is "
            f"{rounded_down(epsilon, 15)} at delta {rounded_up(delta)}, and nothing is ever "
            "refunded. Ask for less: fewer rounds, more noise or a smaller epsilon for this study; "
            "or let whoever answers for these records raise the budget"
        )

    def charge(self, more: Tally, run: str, neighbours: str, entry: Entry) -> None:
        """Record what was released."""
        if self.neighbours not in ("", neighbours):
            raise ValueError(f"({neighbours}) added to ({self.neighbours})")
        self.neighbours = neighbours
        self.spending.add(more)
        self.releases += _number(more)
        self.runs.add(run)
        self.entry, self.time = entry.sequence, entry.time

    def exceeded(self) -> bool:
        """Whether more was charged than the budget in force allowed.

        Lowering a budget below what has been spent does not by itself exceed it.
        """
        if self.budget is None or self.entry < self.budget_entry:
            return False
        epsilon, delta = self.budget
        slack = SLACK if self.spending.is_exact(delta) else GRID_ERROR
        return self.spending.epsilon(delta) > epsilon * (1.0 + slack)

    def spent(self) -> float:
        """Epsilon of everything so far, at the budget's delta."""
        assert self.budget is not None
        epsilon, delta = self.budget
        value = self.spending.epsilon(delta)
        return epsilon if epsilon < value <= epsilon * (1.0 + SLACK) else value

    def balance(self) -> Balance:
        """The account's balance, as a statement."""
        assert self.budget is not None
        return Balance(
            self.owner,
            self.dataset,
            *self.budget,
            self.spent(),
            len(self.runs),
            self.releases,
            self.entry,
            self.time,
            self.neighbours,
        )


@dataclass
class Book:
    """Everything that follows from the entries so far.

    Attributes:
        head: the last entry.
        ledger: identity of the ledger, drawn when it was created.
        created: time of its creation, UTC.
        epoch: epoch of the last writer.
        accounts: accounts with budgets, by owner and dataset.
        runs: entry and content of each run that was charged as a whole.
        pooled: owner whose account alone is charged for all records of a dataset, by dataset.
    """

    head: Mark = START
    ledger: str = ""
    created: str = ""
    epoch: int = 0
    accounts: dict[tuple[str, str], Account] = field(default_factory=dict[Any, Account])
    runs: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict[str, Any])
    pooled: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, entries: Iterable[tuple[Entry, Mark]]) -> Book:
        """Read all entries.

        Raises:
            LedgerDamaged: the first entry that breaks the chain or makes no sense, by its number.
        """
        book = cls()
        for entry, mark in entries:
            book.enter(entry, mark)
        return book

    def account(self, owner: str, dataset: str) -> Account:
        """The account of this owner and dataset; a new one has no budget."""
        return self.accounts.get((owner, dataset)) or Account(owner, dataset)

    def check_owners(self, dataset: str, owners: Collection[str], *, pooled: bool) -> None:
        """Refuse to charge records by site in one run and as a whole in another.

        Args:
            dataset: dataset whose budget is charged.
            owners: owners whose accounts are charged.
            pooled: whether a record may be at any site, so that one account is charged for all.

        Raises:
            LedgerError: a record's releases would be spread over accounts that are not added
                together.
        """
        charged = {
            owner
            for (owner, name), account in self.accounts.items()
            if name == dataset and account.entry
        }
        whole = self.pooled.get(dataset)
        if pooled and charged - set(owners):
            raise LedgerError(
                f"dataset {dataset!r} was charged to other accounts before "
                f"({', '.join(sorted(charged))}), and all of its records are to be charged to "
                f"{next(iter(owners))!r} now: the cost of one record would be split between two "
                "accounts. Nothing was released; charge the accounts that were charged before, or "
                "share the budget out between two dataset names"
            )
        if not pooled and whole is not None and set(owners) != {whole}:
            raise LedgerError(
                f"dataset {dataset!r} is charged as a whole, to owner {whole!r}: the cost of one "
                "record would be split between accounts if sites were charged too. Nothing was "
                f"released; name owner={whole!r} for this run, too"
            )

    def balances(self) -> tuple[Balance, ...]:
        """Balances of all owners and datasets, sorted."""
        return tuple(self.accounts[key].balance() for key in sorted(self.accounts))

    def enter(self, entry: Entry, mark: Mark) -> None:
        """Add the next entry to the book.

        Raises:
            LedgerDamaged: an entry that makes no sense here.
        """
        try:
            self._enter(entry)
        except (AttributeError, KeyError, TypeError, ValueError, LedgerError) as error:
            raise LedgerDamaged(
                f"entry {entry.sequence} ({entry.kind}) makes no sense: {error}"
            ) from error
        self.head = mark

    def _enter(self, entry: Entry) -> None:
        what = entry.what
        if (entry.sequence == 1) != (entry.kind == "created"):
            raise ValueError("a ledger begins with the entry that says so, and no other")
        if entry.epoch != self.epoch + (entry.kind == "writer"):
            raise ValueError(f"epoch {entry.epoch} after {self.epoch}")
        match entry.kind:
            case "created":
                if what["format"] != FORMAT:
                    raise ValueError(f"format {what['format']!r} is not {FORMAT!r}")
                self.ledger, self.created = what["ledger"], entry.time
            case "writer":
                self.epoch = entry.epoch
            case "budget":
                key = (what["owner"], what["dataset"])
                account = self.accounts.setdefault(key, Account(*key))
                account.budget = (float(what["epsilon"]), float(what["delta"]))
                account.budget_entry = entry.sequence
            case "release":
                self.check_owners(what["dataset"], [what["owner"]], pooled=False)
                account = self.accounts[what["owner"], what["dataset"]]
                more = Tally.of([event_from_json(what["event"])])
                account.charge(more, what["run"], what["neighbours"], entry)
            case "run":
                pooled = bool(what.get("pooled"))
                self.check_owners(what["dataset"], what["charges"], pooled=pooled)
                if pooled:
                    (self.pooled[what["dataset"]],) = what["charges"]
                for owner, rows in what["charges"].items():
                    account = self.accounts[owner, what["dataset"]]
                    more = Tally.of(grouped_from_json(rows))
                    account.charge(more, what["run"], what["neighbours"], entry)
                self.runs[what["run"]] = (entry.sequence, what)
            case "acknowledged" | "delivered":
                pass
            case other:
                raise ValueError(f"kind {other!r} is unknown")


def _number(releases: Tally) -> int:
    return sum(count for _, count in releases.releases) + releases.exposed
