"""`tacit site join`, `remove` and `budget`."""

from __future__ import annotations

from pathlib import Path

from tacit.cli.budgeting import check_table, warn_of
from tacit.cli.console import emit, guarded, say
from tacit.errors import ConfigError
from tacit.privacy.digits import rounded_down, short


def join(
    folder: Path,
    name: str,
    address: str,
    data: Path | None,
    dataset: str,
    records: int | None,
    study: Path | None,
    epsilon: float | None,
    delta: float,
    *,
    json: bool,
) -> int:
    """See `tacit site join --help`."""

    def command() -> int:
        from tacit.deploy.agreement.declare import count
        from tacit.deploy.identity.parts import admit_pinned
        from tacit.deploy.standing import site as sites
        from tacit.study.read import read_study

        declared, told = records, ""
        if study is not None:
            if data is None or records is not None:
                raise ConfigError("--study counts the records of --data, instead of --records")
            counted = count(read_study(study, admit_pinned), data)
            declared, told = counted.declare, counted.unfit
        elif data is not None:
            check_table(data)
        if data is None and not address:
            raise ConfigError(
                "give the records of your site with --data; a coordinator has none: give its "
                "--address HOST:PORT"
            )
        if data is not None and declared is None:
            raise ConfigError(
                "say how many records your site declares to the others, with --records, or have "
                "them counted for a study with --study"
            )
        if data is not None and epsilon is None:
            raise ConfigError(
                "say what everything that is ever released about these records may cost, with "
                "--epsilon"
            )
        if epsilon is not None:
            warn_of(epsilon, delta)
        site, path = sites.join(folder, name, address, data, dataset, declared, epsilon, delta)
        card = site.load_keys().card
        if json:
            emit(
                {
                    "format": "tacit-site-join-1",
                    "name": name,
                    "fingerprint": card.fingerprint(),
                    "file": str(path),
                    "records": declared,
                }
            )
            return 0
        say(f"Created {folder}. Send {path} to whoever proposes the study; it holds no secret.")
        say("Fingerprint to tell them over another channel, such as the telephone:")
        say(card.fingerprint(), "  ")
        if declared is not None:
            say(f"It declares {declared:,} records.")
        if told:
            say(f"For you alone: {told}")
        at = "" if folder == Path("site") else f" --site {folder}"
        say(f"Next: tacit site serve{at}")
        return 0

    return guarded(command, as_json=json)


def remove(folder: Path, name: str) -> int:
    """See `tacit site remove --help`."""

    def command() -> int:
        from tacit.deploy.standing.members import remove as distrust
        from tacit.deploy.standing.site import find

        distrust(find(folder), name)
        say(
            f"{name} is no longer trusted. Runs with it that have begun go on; `tacit site refuse` "
            "ends one here."
        )
        return 0

    return guarded(command, as_json=False)


def budget(folder: Path, dataset: str, epsilon: float, delta: float, data: Path | None) -> int:
    """See `tacit site budget --help`."""

    def command() -> int:
        from tacit.deploy.standing.site import find, set_budget

        site = find(folder)
        if data is not None:
            check_table(data)
        warn_of(epsilon, delta)
        set_budget(site, dataset, epsilon, delta, data)
        most = f"epsilon {rounded_down(epsilon, 6)} at delta {short(delta)}"
        say(f"{dataset} may cost {most} over all runs.")
        return 0

    return guarded(command, as_json=False)
