"""What an owner sees of a site: its agent, members, budgets and runs. No private value is in it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import tacit
from tacit.deploy.identity.pinning import trusted
from tacit.deploy.operate.status import read_status
from tacit.deploy.standing.approval import approved
from tacit.deploy.standing.asking import last_said, runs, serving
from tacit.deploy.standing.choosing import neighbours_of, others
from tacit.deploy.standing.entries import Entry, State
from tacit.deploy.standing.queue import Queue
from tacit.deploy.standing.site import Site
from tacit.errors import ConfigError, LedgerError, PrivacyError
from tacit.privacy.ledger.forecast import forecast
from tacit.privacy.wording import FOLLOWED, claim

SEE_LIST = "tacit site list says why"
"""Why a run failed may count records, so only its owner reads it, in a terminal."""

_PROGRESS = ("state", "round", "rounds", "round_seconds", "waiting_for", "without", "neighbours")


def overview(site: Site, queue: Queue) -> dict[str, Any]:
    """The site as a JSON document (`"format": "tacit-site-1"`).

    Args:
        site: the site.
        queue: its queue.

    Raises:
        ConfigError: keys or a run's files that cannot be read.
    """
    agent, entries = serving(site), queue.entries()
    silent = not agent and _runs(site)
    card = site.load_keys().card
    heard: Mapping[str, float] = agent.get("heard", {})
    versions: Mapping[str, str] | None = agent.get("versions")
    return {
        "format": "tacit-site-1",
        "name": card.name,
        "folder": str(site.folder.absolute()),
        "agent": {
            "doing": agent.get("doing", "silent" if silent else "stopped"),
            "process": last_said(site).get("pid") if agent or silent else None,
            "run": agent.get("run"),
            "page": agent.get("page", ""),
            "version": agent.get("version", ""),
        },
        "members": [
            {
                "name": name,
                "address": each.address,
                "heard_seconds": heard.get(name),
                "version": (versions or {}).get(name),
                "fingerprint": each.fingerprint(),
            }
            for name, each in trusted(site.keys).items()
        ],
        "datasets": [_dataset(site, card.name, name, entries) for name in site.datasets],
        "runs": [_run(each, card.name, agent, versions) for each in entries],
        "problems": queue.problems,
    }


def _runs(site: Site) -> bool:
    with suppress(OSError):  # a lock that cannot be looked at
        return runs(site)
    return False


def _dataset(site: Site, owner: str, name: str, entries: list[Entry]) -> dict[str, Any]:
    try:
        found = forecast(site.ledger, owner, name, approved(entries, name), [], None)
    except (LedgerError, PrivacyError) as error:
        return {"name": name, "problem": str(error)}
    return {
        "name": name,
        "epsilon": found.epsilon,
        "delta": found.delta,
        "spent": found.spent,
        "promised": found.promised,
        "claim": claim(found.about),
    }


def _run(
    entry: Entry, own: str, agent: Mapping[str, Any], versions: Mapping[str, str] | None
) -> dict[str, Any]:
    running = agent.get("run") == entry.run
    begun: Mapping[str, str] = agent.get("begun", {}).get(entry.run, {})
    open_ = entry.state in (State.READY, State.BEGUN)
    # that of the agent, and not of this command
    version = entry.began_with or agent.get("version") or tacit.__version__
    study, decision = entry.study, entry.decision
    status = _status(entry) if entry.state in (State.BEGUN, State.FINISHED) else {}
    return {
        "run": entry.run,
        "title": study.title,
        "method": study.method,
        "rounds": study.rounds,
        "epsilon": study.epsilon,
        "claim": claim(FOLLOWED) if study.claimed else "",
        "dataset": None if decision is None else decision.dataset,
        "state": "running" if running else entry.state.value,
        "signed": list(entry.signed),
        "waits_for": _waits_for(entry, own, status if running else {}, versions),
        "other_versions": others(entry, versions or {}, version) if open_ else {},
        "began_with": entry.began_with,
        "begun_by": begun if entry.state is State.READY else {},
        "failed_at": _failed_at(entry, agent, status if running else {}) if open_ else [],
        "refused_by": sorted(entry.refusals),
        "failure": f"failed: {SEE_LIST}" if entry.failure else "",
        "progress": {key: status[key] for key in _PROGRESS if key in status},
        "report": str(entry.report) if entry.report.exists() else None,
        "bundle": str(entry.bundle) if entry.bundle.exists() else None,
        "log": str(entry.folder / "log.txt"),
    }


def _failed_at(entry: Entry, agent: Mapping[str, Any], status: Mapping[str, Any]) -> list[str]:
    """Members at which a run has failed, as they last said: those heard in it go on."""
    around, failed = status.get("neighbours", {}), agent.get("failed", {})
    return [
        name
        for name in entry.manifest.names
        if entry.run in failed.get(name, ()) and around.get(name, {}).get("silent_seconds") is None
    ]


def _waits_for(
    entry: Entry, own: str, status: Mapping[str, Any], versions: Mapping[str, str] | None
) -> list[str]:
    """Whom a run waits for: to sign, to be told of it, to be heard, or to send a message."""
    match entry.state:
        case State.PROPOSED:
            return ["you"]
        case State.SIGNING:
            return list(entry.unsigned)
        case State.READY:
            around = neighbours_of(entry, own)
            unheard = frozenset[str]() if versions is None else around - set(versions)
            return sorted((around - entry.informed - entry.met) | unheard)
        case _:
            return list(status.get("waiting_for", ()))


def _status(entry: Entry) -> dict[str, Any]:
    with suppress(ConfigError):  # it has not been started
        return read_status(entry.state_folder)
    return {}
