"""A site's folder: its keys, ledger, datasets, members and runs in one place.

site.toml           datasets, and where their records are
NAME.member.toml    what others need to know, to send to whoever proposes a study: no secret
keys                the site's keys, and the cards that its owner has confirmed
ledger              what was spent of each dataset's budget, over all runs
members             how many records other members have declared
runs                a folder per run: manifest, decision, state, log, report and signed bundle
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tacit import checks
from tacit.deploy.agreement.manifest import MOST_RECORDS
from tacit.deploy.files import check_private, make_folder, why, write_text
from tacit.deploy.identity.keys import Keys, create, load
from tacit.deploy.standing.members import MemberFile
from tacit.errors import ConfigError, SiteBusy
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.lock import held
from tacit.study._grammar import toml

_FORMAT = "tacit-site-1"
_LARGEST = 1 << 20
_LOCK_SECONDS = 30.0


@dataclass(frozen=True)
class Site:
    """A site's folder.

    Attributes:
        folder: the folder.
        datasets: file of the records of each dataset, by name; none for a coordinator.
    """

    folder: Path
    datasets: dict[str, Path]

    @property
    def keys(self) -> Path:
        """Folder of the keys."""
        return self.folder / "keys"

    @property
    def ledger(self) -> Path:
        """File of the ledger."""
        return self.folder / "ledger"

    @property
    def runs(self) -> Path:
        """Folder of the runs."""
        return self.folder / "runs"

    @property
    def members(self) -> Path:
        """Folder of what other members have declared."""
        return self.folder / "members"

    def folder_of(self, run: bytes) -> Path:
        """Folder of a run."""
        return self.runs / run.hex()[:16]

    def load_keys(self) -> Keys:
        """The site's keys.

        Raises:
            ConfigError: as `identity.keys.load`.
        """
        return load(self.keys)

    def dataset(self, name: str | None) -> str:
        """The dataset with a name, or the only one.

        Raises:
            ConfigError: no such dataset, or several and no name.
        """
        known = ", ".join(self.datasets) or "none"
        if name is None and len(self.datasets) == 1:
            return next(iter(self.datasets))
        if name is None:
            raise ConfigError(f"say which records the run is about, with --dataset: {known}")
        if name not in self.datasets:
            raise ConfigError(
                f"--dataset {name} is not a dataset of {self.folder} ({known}); add one with "
                "`tacit site budget NAME --data FILE --epsilon NUMBER`"
            )
        return name

    @contextmanager
    def locked(self) -> Generator[None, None, None]:
        """Let one process at a time change the queue.

        Raises:
            SiteBusy: another process has held it for half a minute.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(held(self.folder / "queue.lock", _LOCK_SECONDS))
            except BlockingIOError as error:
                raise SiteBusy(
                    f"{self.folder} is being changed by another command; try again"
                ) from error
            yield


def find(folder: Path) -> Site:
    """The site in a folder.

    Raises:
        ConfigError: there is none, others may read it, or its settings cannot be read.
    """
    path = folder / "site.toml"
    try:
        data = toml.read_bytes(path, _LARGEST)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({why(error)}); make a site with `tacit site join`, or give "
            "its folder with --site"
        ) from error
    check_private(folder)
    found = toml.parse(data, str(path))
    if found.pop("format", None) != _FORMAT or set(found) - {"datasets"}:
        raise ConfigError(
            f"{path} is damaged, or of another version: it has not the format {_FORMAT!r}. Restore "
            "it from a copy of the folder"
        )
    datasets: dict[str, Path] = {}
    for name, each in found.get("datasets", {}).items():
        if not isinstance(each, dict) or set(each) != {"data"} or not isinstance(each["data"], str):
            raise ConfigError(f"{path}: datasets.{name} must be {{ data = FILE }}")
        datasets[name] = folder / each["data"]  # as it is, if absolute
    return Site(folder.absolute(), datasets)


def join(
    folder: Path,
    name: str,
    address: str = "",
    data: Path | None = None,
    dataset: str = "records",
    records: int | None = None,
    epsilon: float | None = None,
    delta: float = 1e-6,
) -> tuple[Site, Path]:
    """Make a site in a new folder: keys, a ledger with a budget, and the file to send.

    Args:
        folder: folder that is new or empty.
        name: name of the member.
        address: `host:port` where it listens; empty if it only dials out.
        data: file of its records; `None` for a coordinator.
        dataset: name of the records in the ledger.
        records: declared number of records, which others will know.
        epsilon: budget of the dataset, for everything ever released about it.
        delta: delta at which epsilon is counted.

    Returns:
        The site, and the file to send.

    Raises:
        ConfigError: a name, address or file that cannot be used, or a folder that is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty; give a new folder with --site")
    if (data is None) != (records is None) or (data is None) != (epsilon is None):
        raise ConfigError(
            "a site with records gives --data, its number of records and --epsilon; a coordinator "
            "gives none of them, and an --address"
        )
    if records is not None and not 1 <= records <= MOST_RECORDS:
        raise ConfigError(f"--records {records} must be from 1 to {MOST_RECORDS:,}")
    if data is None and not address:
        raise ConfigError("a coordinator is dialled by the others: give its --address HOST:PORT")
    _check_file(data)
    make_folder(folder)
    folder.chmod(0o700)
    keys = create(folder / "keys", name, address)
    site = Site(folder.absolute(), {})
    for each in (site.runs, site.members):
        make_folder(each)
    write_settings(site)
    if data is not None and epsilon is not None:
        site = set_budget(site, dataset, epsilon, delta, data)
    path = site.folder / f"{name}.member.toml"
    write_text(path, MemberFile(keys.card, records).toml())
    return site, path


def _check_file(data: Path | None) -> None:
    if data is not None and not data.is_file():
        what = "it is a folder; name the file in it" if data.is_dir() else "there is no such file"
        raise ConfigError(f"--data {data}: {what}")


def set_budget(
    site: Site, dataset: str, epsilon: float, delta: float, data: Path | None = None
) -> Site:
    """Set the budget of a dataset; a new dataset needs its file.

    Args:
        site: the site.
        dataset: name of the dataset.
        epsilon: budget for everything ever released about it.
        delta: delta at which epsilon is counted.
        data: file of its records; `None` leaves it where it is.

    Returns:
        The site as it is then.

    Raises:
        ConfigError: a new dataset without a file.
        LedgerBusy: a run is charging the ledger.
        PrivacyError: a budget out of range.
    """
    if data is None and dataset not in site.datasets:
        hint = checks.hint(dataset, tuple(site.datasets), "give its records with --data")
        raise ConfigError(f"{dataset!r} is a new dataset; {hint}")
    _check_file(data)
    if not site.ledger.exists():
        Ledger.create(site.ledger).close()
    with Ledger.open(site.ledger) as ledger:
        name = site.load_keys().card.name
        ledger.set_budget(name, dataset, epsilon=epsilon, delta=delta)
    if data is None:
        return site
    changed = Site(site.folder, {**site.datasets, dataset: data.resolve()})
    write_settings(changed)
    return changed


def write_settings(site: Site) -> None:
    """Write `site.toml`."""
    lines = ["# A site of runs between sites.", f'format = "{_FORMAT}"']
    for name, path in site.datasets.items():
        lines += ["", f"[datasets.{json.dumps(name)}]", f"data = {json.dumps(str(path))}"]
    write_text(site.folder / "site.toml", "\n".join(lines) + "\n")
