"""What a member checks before it sends anything: keys, manifest, records and versions."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path

from tacit._engine.environment import versions
from tacit.data.schema import Prepared
from tacit.deploy.agreement.manifest import Manifest, read_manifest
from tacit.deploy.agreement.own import own_records
from tacit.deploy.files import write_json
from tacit.deploy.identity.keys import WARN_DAYS, Keys, load
from tacit.deploy.identity.pinning import check_trusted
from tacit.deploy.messages.address import host_and_port
from tacit.errors import ConfigError
from tacit.study.costs import OwnCost

log = logging.getLogger("tacit.site")

_VERSIONS = "versions.json"


@dataclass(frozen=True)
class Options:
    """Where a member's files are.

    Attributes:
        manifest: file of the agreed manifest.
        keys: folder of its keys.
        state: folder for its persistent state; the same at every start.
        data: file of its records; `None` for a coordinator.
        ledger: file of the ledger that its releases are charged to; if `None`, the run's own ledger
            beside the keys.
        dataset: name of the records in that ledger.
        test_seed: seed of simulated noise, for rehearsals; never for real records.
        metrics: port on this machine for Prometheus; none by default.
        restore: whether a coordinator's empty `state` is restored from its clients.
        adding: whether this is the part that adds up for all peers, at one agent's site.
    """

    manifest: Path
    keys: Path
    state: Path
    data: Path | None = None
    ledger: Path | None = None
    dataset: str = "records"
    test_seed: int | None = None
    metrics: int | None = None
    restore: bool = False
    adding: bool = False


def check(options: Options) -> tuple[Manifest, Keys, int, Prepared | OwnCost | None]:
    """Check everything that can be checked without sending anything.

    Raises:
        ConfigError: keys, manifest or records that do not fit each other, or are not agreed on.
        ProblemError: records beyond the declared numbers.
    """
    manifest, keys = read_manifest(options.manifest), load(options.keys)
    number = manifest.number(keys.card.name)
    if manifest.members[number].card != keys.card:
        raise ConfigError(
            f"{options.manifest} has another card for {keys.card.name!r} than {options.keys}; one "
            "of the two is out of date"
        )
    if options.adding:
        number = len(manifest.agents)
    unknown = set(check_trusted(manifest, options.keys, keys.card.name)) & set(manifest.names)
    unsigned, altered = manifest.unsigned(), manifest.changed()
    if altered:
        raise ConfigError(
            f"{options.manifest} was changed after {', '.join(map(repr, altered))} signed it: the "
            "signatures do not fit what it says now. Take the copy that was signed (its run id is "
            "another), or let everybody look at this one and sign again"
        )
    if unsigned:
        raise ConfigError(
            f"{options.manifest} is not signed by {', '.join(map(repr, unsigned))}; a run begins "
            "when everybody has agreed to it. Each signs with: tacit manifest sign"
        )
    if manifest.masked and unknown and number < len(manifest.agents):
        raise ConfigError(
            f"nobody has compared the cards of {', '.join(map(repr, sorted(unknown)))} on this "
            "machine, and under masks the others' noise hides this member: with invented members "
            "it would stand alone. Compare fingerprints with their owners and pin the cards: tacit "
            f"keys trust {options.keys} CARD"
        )
    left, ahead = keys.days_left(), keys.hours_until()
    if ahead > 0:
        raise ConfigError(
            f"the certificate in {options.keys} begins in {ahead:.1f} hours: this machine's clock "
            "is behind, so it and its neighbours would refuse each other. Set the clock"
        )
    if left <= 0:
        raise ConfigError(
            f"the certificate in {options.keys} ended {-left:.0f} days ago; renew it with "
            f"{keys.renewal}. If the card changes, agree on a manifest with the new one"
        )
    if left < WARN_DAYS:
        log.warning(
            "the certificate in %(keys)s ends in %(days).0f days; renew it before the next run "
            "with %(renewal)s",
            {"keys": str(options.keys), "days": left, "renewal": keys.renewal},
        )
    coordinates = number == len(manifest.agents)
    if coordinates != (options.data is None):
        raise ConfigError(
            f"{keys.card.name!r} coordinates this run and has no records; use `tacit coordinator`"
            if coordinates
            else f"{keys.card.name!r} is an agent of this run: use `tacit agent`, and give "
            "its records with --data"
        )
    prepared = None if options.data is None else own_records(manifest, number, options.data)
    return manifest, keys, number, prepared


def check_rehearsal(manifest: Manifest) -> None:
    """Refuse a seed if values may leave this machine."""
    hosts = {host_and_port(member.address)[0] for member in manifest.members if member.address}
    if hosts - {"127.0.0.1", "::1", "localhost"}:
        raise ConfigError(
            "noise from a seed can be drawn again and taken off, so it protects nobody: "
            "--test-seed is for rehearsals, where every address is on this machine"
        )


def changed_versions(state: Path) -> list[str]:
    """What has another version than a run was begun with; nothing if that is not known."""
    try:
        before = json.loads((state / _VERSIONS).read_bytes())
    except FileNotFoundError:
        return []
    now = versions()
    return [
        f"{key} {before.get(key)} -> {now[key]}"
        for key in sorted(now)
        if before.get(key) != now[key]
    ]


def check_versions(state: Path) -> None:
    """Refuse to resume with other versions, whose stored states may have another meaning.

    As long as there is no journal the run begins, with the versions of now.

    Raises:
        ConfigError: other versions.
    """
    path = state / _VERSIONS
    if not path.exists() or not (state / "journal.db").exists():
        write_json(path, versions())
        return
    if changed := changed_versions(state):
        raise ConfigError(
            f"{state} was begun with other versions ({', '.join(changed)}), and what it holds is "
            "for those. "
            + (
                "It has ended here; members that have not need the versions that began it"
                if (state / "result.json").exists()
                else "Finish the run with the versions that began it"
            )
        )
