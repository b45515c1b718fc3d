"""The ledger: what was released and what it cost, on disk before anything leaves.

`Ledger` is open for writing: it keeps budgets for owners and datasets across studies, charges runs
or single releases, and stores the bytes of a release so that a retry repeats them. `read`,
`export_json` and `export_csv` show a ledger, `verify` checks one. Its guarantees, one by one:

1. One release per id (agent, run, round, phase, step); a changed input is refused.
2. The budget check, the event, the bytes and the state are committed together, and synced.
3. Bytes are sent only after that; a retry gets the stored bytes.
4. What a crash leaves uncommitted was not released; what is committed remains spent.
5. One id with two payloads is an error.
6. Neither noise nor a generator is stored; sent bytes are deleted when every recipient has them.
7. One writer: a lock, and an epoch that shuts out a writer who lost it. Entries form a hash chain,
   and a peer's mark exposes an older copy.
8. Sums are rational and rounded up.
"""

from __future__ import annotations

from tacit.privacy.ledger.book import Balance
from tacit.privacy.ledger.chain import Mark
from tacit.privacy.ledger.ledger import Charge, Ledger
from tacit.privacy.ledger.outbox import Prepared, ReleaseId
from tacit.privacy.ledger.reading import Statement, export_csv, export_json, read
from tacit.privacy.ledger.verify import Verification, verify

__all__ = [
    "Balance",
    "Charge",
    "Ledger",
    "Mark",
    "Prepared",
    "ReleaseId",
    "Statement",
    "Verification",
    "export_csv",
    "export_json",
    "read",
    "verify",
]
