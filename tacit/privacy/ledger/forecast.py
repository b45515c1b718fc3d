"""What a ledger would have spent after runs that were approved and have not ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tacit.privacy.event import Event, Repeated
from tacit.privacy.ledger import store
from tacit.privacy.ledger.book import Book
from tacit.privacy.ledger.encoding import event_from_json
from tacit.privacy.tally import Tally


@dataclass(frozen=True)
class Forecast:
    """A dataset's budget before and after a run.

    Attributes:
        epsilon: budget of the dataset.
        delta: delta at which epsilon is counted.
        spent: what has been spent.
        promised: what will have been spent when all approved runs have ended, at most.
        after: the same with the run in question.
        about: what epsilon is about, as `Guarantee.neighbours`; empty when nothing was charged.
    """

    epsilon: float
    delta: float
    spent: float
    promised: float
    after: float
    about: str = ""


def forecast(
    path: Path,
    owner: str,
    dataset: str,
    approved: Mapping[str, Sequence[Event]],
    events: Sequence[Event],
    neighbours: str | None,
) -> Forecast:
    """What approved runs and one more would leave of a dataset's budget. Safe beside a writer.

    Args:
        path: path of the ledger.
        owner: owner of the records.
        dataset: name of the dataset.
        approved: everything that each approved run may be charged, by run id; what it has been
            charged so far counts once.
        events: everything that the run in question may be charged.
        neighbours: what its epsilon is about; `None` to refuse nothing.

    Raises:
        BudgetExceeded: all of it together exceeds the budget, or there is none.
        LedgerError: a ledger that cannot be read, or an epsilon about other neighbours.
    """
    book, released = Book(), {run: Counter[Event]() for run in approved}
    with closing(store.connect(path, write=False)) as file, store.reported(path):
        file.execute("BEGIN")
        for entry, mark in store.entries(file):
            book.enter(entry, mark)
            what = entry.what
            mine = (what.get("owner"), what.get("dataset")) == (owner, dataset)
            if entry.kind == "release" and mine and what.get("run") in released:
                released[what["run"]].update(_counts([event_from_json(what["event"])]))
    left = Counter[Event]()
    for run, all_ in approved.items():
        left += _counts(all_) - released[run]
    account = book.account(owner, dataset)
    more = Tally.of([*_events(left), *events])
    if neighbours is not None:
        account.require(more, neighbours)
    if account.budget is None:
        account.require(more, "")
    assert account.budget is not None
    epsilon, delta = account.budget
    spending = account.spending
    return Forecast(
        epsilon,
        delta,
        account.spent(),
        spending.epsilon(delta, Tally.of(_events(left))),
        spending.epsilon(delta, more),
        account.neighbours,
    )


def _counts(events: Sequence[Event]) -> Counter[Event]:
    return Counter(dict(Tally.of(events).releases))


def _events(counts: Mapping[Event, int]) -> list[Event]:
    return [Repeated(event, count) for event, count in counts.items()]
