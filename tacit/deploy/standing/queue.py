"""The queue of a site: signed manifests, and what their owner decided about each.

A run's folder is named after the beginning of its id. What others say (signatures, refusals) is
added to it as it comes; a decision is the owner's alone.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from tacit.deploy.agreement.manifest import Manifest, parse_manifest
from tacit.deploy.files import make_folder, write_json, write_text
from tacit.deploy.identity.keys import Card, Keys
from tacit.deploy.standing.entries import Decision, Entry, State, Studied
from tacit.deploy.standing.merging import merged, written
from tacit.deploy.standing.proposing import check_room, proposers
from tacit.deploy.standing.site import Site
from tacit.errors import ConfigError

_MOST_STUDIES = 1000


class _Read(NamedTuple):
    """What was read off a manifest's file, as long as that has one mark."""

    mark: tuple[int, int, int]
    run: str
    manifest: Manifest
    study: Studied
    unsigned: tuple[str, ...]


class Queue:
    """The runs of a site.

    Args:
        site: the site.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._read: dict[Path, _Read] = {}
        self._studied: dict[bytes, Studied] = {}
        self.problems: dict[str, str] = {}
        """What is wrong with runs that cannot be read, by the name of their folder."""

    def study(self, manifest: Manifest) -> Studied:
        """What is read off a manifest's study, once for each run.

        Raises:
            ConfigError: a study that cannot be run between its members, or not here.
        """
        run = manifest.run
        if run not in self._studied:
            if len(self._studied) >= _MOST_STUDIES:  # others can propose what is not taken
                self._studied.clear()
            self._studied[run] = Studied.of(manifest)
        return self._studied[run]

    def entries(self) -> list[Entry]:
        """All runs that can be read, by id: an order that is the same at every site.

        What is wrong with the others is in `problems`.
        """
        found, problems = list[Entry](), dict[str, str]()
        for path in sorted(self._site.runs.glob("*/manifest.toml")):
            try:
                found.append(self._entry(path.parent))
            except ConfigError as error:  # a file that was changed, a part that is not pinned
                problems[path.parent.name] = str(error)
        self.problems = problems
        return found

    def check_readable(self) -> None:
        """Refuse to count promised budgets while an approved run cannot be read.

        Raises:
            ConfigError: such a run.
        """
        self.entries()
        for name, told in self.problems.items():
            folder = self._site.runs / name
            over = (folder / "state" / "result.json").exists()
            try:
                decided = _json(folder / "decision.json")
            except ConfigError:
                decided = {"approved": True}
            if decided.get("approved") and not over:
                raise ConfigError(
                    f"the run in {folder} was approved and cannot be read ({told}), so its share "
                    "of the budget is unknown. Put its file back, or delete the folder to give the "
                    "run up; until then nothing else is approved"
                )

    def find(self, run: str) -> Entry:
        """The run whose id begins like this.

        Raises:
            ConfigError: none, or several.
        """
        found = [each for each in self.entries() if run and each.run.startswith(run.lower())]
        if len(found) > 1:
            told = ", ".join(each.run[:12] for each in found)
            raise ConfigError(
                f"{run!r} begins the ids of {len(found)} runs of {self._site.folder}: {told}; give "
                "more of the id"
            )
        if not found:
            told = ", ".join(each.run[:12] for each in self.entries())
            known = f"it has the runs {told}" if told else "it has no runs yet"
            broken = "".join(
                f". {name} cannot be read: {why}" for name, why in self.problems.items()
            )
            raise ConfigError(
                f"no run of {self._site.folder} has an id that begins with {run!r}; {known}{broken}"
            )
        return found[0]

    def _entry(self, folder: Path) -> Entry:
        path = folder / "manifest.toml"
        about = path.stat()
        mark = about.st_mtime_ns, about.st_size, about.st_ino
        if path not in self._read or self._read[path].mark != mark:
            manifest = parse_manifest(path.read_bytes(), str(path), studied=False)
            run = manifest.run
            if self._site.folder_of(run) != folder:
                raise ConfigError(
                    f"{path} is the manifest of run {run.hex()[:12]}, not of this folder's: "
                    "somebody changed it. Delete the folder, or put the file back"
                )
            study = self.study(manifest)
            unsigned = tuple(manifest.unsigned(masked=study.masked))
            self._read[path] = _Read(mark, run.hex(), manifest, study, unsigned)
        read = self._read[path]
        decided = _json(folder / "decision.json")
        known = _json(folder / "known.json")
        return Entry(
            read.run,
            folder,
            read.manifest,
            read.study,
            read.unsigned,
            None if not decided else Decision(**decided),
            dict(known.get("refusals", {})),
            frozenset(known.get("informed", ())),
            frozenset(known.get("met", ())),
            str(_json(folder / "failure.json").get("told", "")),
        )

    def take(self, manifest: Manifest, *, trusted: Mapping[str, Card] | None = None) -> Entry:
        """Add a manifest to the queue, or its signatures to the one that is there.

        Args:
            manifest: manifest with at least one signature.
            trusted: cards of members whose signature counts, by name; any member's if `None`.

        Raises:
            ConfigError: this site takes no part in it, its card is another, nobody who counts has
                signed it, it was changed after that, it is too large, or too many runs wait for a
                decision.
        """
        own = self._site.load_keys().card
        number = manifest.number(own.name)
        if manifest.members[number].card != own:
            raise ConfigError(
                f"the manifest has another card for {own.name!r} than {self._site.keys}: somebody "
                "else's, or an outdated one. Send your member file again"
            )
        proposers(manifest, manifest.unsigned(masked=False), trusted)  # of whom it is read
        by = proposers(manifest, manifest.unsigned(masked=self.study(manifest).masked), trusted)
        folder = self._site.folder_of(manifest.run)
        with self._site.locked():
            if (folder / "manifest.toml").exists():
                before = self._entry(folder)
                if before.run != manifest.run.hex():
                    raise ConfigError(f"another run is in {folder}; propose it under another title")
                both = self._merged(before.manifest, manifest)
                if both != before.manifest:
                    write_text(folder / "manifest.toml", written(both))
                return self._entry(folder)
            if trusted is not None:
                check_room(self.entries(), by)
            text = written(self._merged(manifest, manifest))
            make_folder(folder)
            write_text(folder / "manifest.toml", text)
            return self._entry(folder)

    def _merged(self, one: Manifest, other: Manifest) -> Manifest:
        return merged(one, other, masked=self.study(one).masked)

    def offer(self, manifest: Manifest) -> Entry:
        """Add a manifest of one's own, which nobody has signed yet."""
        folder = self._site.folder_of(manifest.run)
        with self._site.locked():
            if (folder / "manifest.toml").exists():
                raise ConfigError(
                    f"this study was proposed to these members before, as run "
                    f"{manifest.run.hex()[:12]}; change its title to run it once more"
                )
            text = written(manifest)
            make_folder(folder)
            write_text(folder / "manifest.toml", text)
        return self._entry(folder)

    def decide(self, entry: Entry, decision: Decision) -> None:
        """Record a decision; whoever makes it has locked the site. Only an approval can be changed,
        by a refusal.

        Raises:
            ConfigError: it was decided before.
        """
        before = self._entry(entry.folder).decision
        if before is not None and not (before.approved and not decision.approved):
            self.refuse_again(entry, before)
        document = {**vars(decision), "charges": list(decision.charges)}
        write_json(entry.folder / "decision.json", document)

    @staticmethod
    def refuse_again(entry: Entry, before: Decision) -> NoReturn:
        """Say what was decided.

        Raises:
            ConfigError: always.
        """
        told = "approved" if before.approved else "refused"
        raise ConfigError(
            f"run {entry.run[:12]} was {told} on {before.time[:10]} already"
            + ("" if before.approved else "; for another decision agree on a new manifest")
        )

    def sign(self, entry: Entry, keys: Keys) -> Entry:
        """Sign a run that was approved, or does it again: the same bytes come of it.

        Raises:
            ConfigError: it was not approved, or is too large with the signature.
        """
        with self._site.locked():
            now = self._entry(entry.folder)
            if now.decision is None or not now.decision.approved:
                raise ConfigError(f"run {entry.run[:12]} is not approved, so it is not signed")
            if keys.card.name in now.unsigned:
                signed = now.manifest.signed_by(keys)
                write_text(now.folder / "manifest.toml", written(signed))
            return self._entry(entry.folder)

    def note(self, entry: Entry, **more: Any) -> None:
        """Add to what is known of others: `informed`, `met` (names) or `refusals` (signatures)."""
        with self._site.locked():
            known = _json(entry.folder / "known.json")
            for key, value in more.items():
                if isinstance(value, dict):
                    known[key] = {**known.get(key, {}), **value}
                else:
                    known[key] = sorted({*known.get(key, ()), *value})
            write_json(entry.folder / "known.json", known)

    def forget(self, entry: Entry) -> None:
        """Delete a run's folder.

        Raises:
            ConfigError: it has begun and is not over, so its state is needed.
        """
        with self._site.locked():
            if self._entry(entry.folder).state in (State.BEGUN, State.FAILED):
                raise ConfigError(
                    f"run {entry.run[:12]} has begun; refuse it first: its state is needed as "
                    "long as it may be resumed"
                )
            shutil.rmtree(entry.folder)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is damaged ({error}); restore it, or delete the run") from error
    return found if isinstance(found, dict) else {}
