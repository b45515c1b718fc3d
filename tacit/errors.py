"""The exceptions of tacit.

::

    TacitError
    ├── ConfigError           a study file or an option is wrong
    ├── ProblemError          data, loss, regulariser or constraint
    ├── NetworkError          graph, weights, connectivity
    ├── OracleError           the user's black box raised or returned nonsense
    ├── PrivacyError          a guarantee cannot be given
    │   ├── BudgetExceeded
    │   ├── UnsupportedEvent
    │   └── NonPrivateRelease
    └── RuntimeFailure        the run itself
        ├── EnvironmentMismatch
        ├── SiteBusy          another process of this site is at it
        ├── TransportError    messages between sites
        │   ├── WireError         a malformed or unexpected message
        │   └── PeerTimeout       nothing from a neighbour for too long
        └── LedgerError       the ledger cannot be used; nothing was released
            ├── LedgerBusy        another writer has it
            ├── LedgerUnwritable  a full disk, a read-only file
            ├── LedgerDamaged     a broken file or chain
            ├── LedgerRolledBack  older than a peer knows it to be
            └── ReleaseConflict   two different releases under one id

Every message names the value that was wrong, where it came from, and what to do.
"""


class TacitError(Exception):
    """Base of every error that tacit raises on purpose."""


class ConfigError(TacitError):
    """A study file, an option or an argument is wrong."""


class ProblemError(TacitError):
    """The optimisation problem is ill-posed: data, loss, regulariser or constraint."""


class NetworkError(TacitError):
    """The network cannot carry the method: graph, weights or connectivity."""


class OracleError(TacitError):
    """A user's black box raised an exception or returned something that is not a finite number."""


class PrivacyError(TacitError):
    """A privacy guarantee cannot be given."""


class BudgetExceeded(PrivacyError):
    """A release would spend more than the budget allows; it was not made."""


class UnsupportedEvent(PrivacyError):
    """The accountant has no proved rule for what would be released."""


class NonPrivateRelease(PrivacyError):
    """A guarantee was asked of a method that releases private values without noise."""


class RuntimeFailure(TacitError):
    """A run could not continue: a checkpoint, a file or the machine."""


class EnvironmentMismatch(RuntimeFailure):
    """A checkpoint was written by another version or with other settings."""


class SiteBusy(RuntimeFailure):
    """Another process of this site takes part in the run, serves the site, or changes its files."""


class TransportError(RuntimeFailure):
    """Messages between sites cannot be sent or received: keys, addresses, the network."""


class WireError(TransportError):
    """Bytes that are not a message with the required sender, round and shape."""


class PeerTimeout(TransportError):
    """A neighbour has been silent for longer than the run's time limit."""


class LedgerError(RuntimeFailure):
    """The ledger cannot be used as requested; nothing was released."""


class LedgerBusy(LedgerError):
    """Another process writes to the ledger, or has taken it over."""


class LedgerUnwritable(LedgerError):
    """The ledger cannot be written: a full disk, a read-only file, a failing device."""


class LedgerDamaged(LedgerError):
    """The file is broken, or an entry does not follow from the one before."""


class LedgerRolledBack(LedgerError):
    """The file is older than the version a peer has seen: an earlier copy was put back."""


class ReleaseConflict(LedgerError):
    """One id was requested for two different releases."""
