"""The entry of a simulated run in a ledger."""

from __future__ import annotations

from tacit._engine import charging
from tacit._engine.contract import Contract
from tacit.errors import ConfigError, PrivacyError
from tacit.privacy.guarantee import Status
from tacit.privacy.ledger import Charge, Ledger
from tacit.problem.problem import anonymous
from tacit.types import Division


def enter(
    ledger: Ledger, dataset: str, owner: str | None, identity: str, agreed: Contract
) -> Charge:
    """Enter the whole run in the ledger, for all owners or for none.

    Args:
        ledger: open ledger.
        dataset: name of the dataset whose budgets are charged.
        owner: owner whose account is charged for all agents together, or `None`.
        identity: identity of the run; what was entered under it is not charged again.
        agreed: contract of the run.

    Raises:
        ConfigError: no dataset, owners without names or with records that tacit dealt to them, or
            several trials.
        PrivacyError: a guarantee that is not proved.
        BudgetExceeded: some owner has too little left.
    """
    names = agreed.owners.names
    if not dataset:
        raise ConfigError(
            "a ledger keeps one budget for an owner and a data set; give dataset='...', always the "
            "same name for the same records"
        )
    if owner is None and anonymous(names):
        raise ConfigError(
            "a ledger keeps one budget for an owner and a data set, and these agents have numbers "
            "for names: in another study the same records may stand at another number. Name the "
            "agents by their owners (names=... of the problem), or, where records are divided "
            "among the agents anew, give owner=..., which is charged for all of them"
        )
    if owner is None and Division.DEALT in agreed.owners.divided:
        raise ConfigError(
            "a ledger keeps one budget for an owner and a data set, and these records were dealt "
            "to simulated sites, so that in another run a record may be at another site: an "
            "account for each site would not add up its costs. Give owner=..., which is charged "
            "for all of them"
        )
    if agreed.trials > 1:
        raise ConfigError(
            f"trials={agreed.trials} would release everything {agreed.trials} times, and a ledger "
            "charges a run once; set trials=1, or leave the ledger out of an experiment that stays "
            "here"
        )
    weak = next((each for each in agreed.guarantee if each.status is not Status.PROVED), None)
    if weak is not None:
        raise PrivacyError(
            "a simulation charges a ledger for proved guarantees only, and that of "
            f"{weak.owner} is {weak.status.value!r}; choose a method with a proved guarantee, or "
            "leave the ledger out"
        )
    events = dict(zip(names, agreed.events, strict=True))
    if owner is not None:
        events = {owner: charging.of_any(events.values())}
    study = f"{type(agreed.method).__name__}, {agreed.rounds:,} rounds"
    return ledger.charge_run(
        ledger.run_name(identity),
        events,
        dataset=dataset,
        study=study,
        neighbours=agreed.guarantee.worst.neighbours,
        pooled=owner is not None,
    )
