"""The run manifest: what all owners agree to before a run, and the source of the run's id.

It holds the study as text (method, rounds, network, bounds, budget), every agent's card and
declared number of records, and nothing else about anyone's data. Its digest is the run's id, which
every message carries: changing a byte makes it a different run. Owners sign the id; signatures are
kept beside it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tacit.arguments import checked, remedy
from tacit.deploy.agreement.admissible import check_study
from tacit.deploy.identity.certificates import check_authority
from tacit.deploy.identity.keys import Card, Keys, check_name, sign, verify
from tacit.deploy.identity.pair_keys import offer, offered
from tacit.deploy.identity.parts import AgreedPart, admit
from tacit.deploy.messages.address import host_and_port
from tacit.errors import ConfigError
from tacit.study._grammar import toml
from tacit.study._grammar.explain import explain
from tacit.study._sections.network import CoordinatorSection
from tacit.study.build import shares_keys
from tacit.study.read import Source, parse_study

FORMATS = ("tacit-manifest-1", "tacit-manifest-2")
"""Without parts of other packages, and with."""

REHEARSAL = (
    "This is a rehearsal: one person made the keys of all members, which ran on one machine with "
    "the records of all sites. It says nothing about who took part."
)
"""The note in the study of a rehearsal's manifest."""

_CONTEXTS = (b"tacit manifest 1\n", b"tacit manifest 2\n")


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


MOST_RECORDS = 10**9
"""Records that a member may declare."""

_DECLARED = {"name", "address", "signing_key", "authority", "records"}

# What the owners sign in each format. With one more field no signature is valid any longer, and a
# field that is in the manifest but not here is not signed: a new field needs a new format.
_FIRST: Any = {
    **dict.fromkeys(("format", "study", "features", "classes", "patience", "silent"), True),
    "agents": {"__all__": _DECLARED},
    "coordinator": _DECLARED,
}
_AGREED: Any = (_FIRST, {**_FIRST, "parts": True})


class Member(_Strict):
    """An agent of the run: its card, and what it declares about its data.

    Attributes:
        name: name of the agent.
        address: `host:port` where it listens; empty if it only dials out.
        signing_key: public Ed25519 key, in base64.
        authority: certificate of the authority that signed the agent's certificate, PEM.
        records: number of its records; where that number is private (`tacit.privacy.facts`: under
            add/remove, and where a whole agent is protected), an upper bound.
    """

    name: str
    address: str
    signing_key: str
    authority: str
    records: Annotated[int, Field(ge=1, le=MOST_RECORDS)] = 1

    @property
    def card(self) -> Card:
        """The agent's card."""
        return Card(self.name, self.address, self.signing_key, self.authority)


@remedy("give the result of tacit.deploy.read_manifest(path)")
class Manifest(_Strict):
    """What all owners agree to.

    Attributes:
        format: version of this format; the second lists `parts`.
        study: text of the study file.
        features: names of the features that every site's columns become.
        classes: number of classes of the target, 0 for none.
        agents: agents in the order of their numbers.
        coordinator: coordinator of a star; `None` between peers.
        patience: time for which a run waits for a silent neighbour, in seconds.
        silent: what it does then: "stop", or "skip" to continue without the neighbour, where the
            method allows it.
        signatures: signatures of the owners, by name; not part of what they sign.
        mask_keys: public keys of the agents for masks in this run, by name, each signed by its
            agent.
        vouchers: vouchers of an authority for members' cards, by name.
        parts: parts of other packages that the study names, with the digests of their code.
    """

    format: Literal["tacit-manifest-1", "tacit-manifest-2"]
    study: Annotated[str, Field(max_length=1 << 20)]
    features: Annotated[tuple[str, ...], Field(min_length=1, max_length=100_000, strict=False)]
    classes: Annotated[int, Field(ge=0, le=100_000)] = 0
    agents: Annotated[tuple[Member, ...], Field(min_length=2, max_length=65_000, strict=False)]
    coordinator: Member | None = None
    patience: Annotated[float, Field(gt=0, le=30 * 86400, strict=False)] = 600.0
    silent: Literal["stop", "skip"] = "stop"
    signatures: dict[str, str] = {}
    mask_keys: dict[str, str] = {}
    vouchers: dict[str, str] = {}
    parts: Annotated[tuple[AgreedPart, ...], Field(max_length=100, strict=False)] = ()

    @property
    def rehearsal(self) -> bool:
        """Whether all members are one person's, as the signed study says."""
        return REHEARSAL in self.study

    @property
    def _version(self) -> int:
        return FORMATS.index(self.format)

    @property
    def _said(self) -> bytes:
        """What a member signs."""
        return _CONTEXTS[self._version] + self.run

    @property
    def run(self) -> bytes:
        """Digest of everything but signatures and vouchers: the run's id, 32 bytes."""
        agreed = self.model_dump(include=_AGREED[self._version])
        text = json.dumps(agreed, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).digest()

    @property
    def members(self) -> tuple[Member, ...]:
        """The agents by number, and the coordinator, if any, after them."""
        return self.agents if self.coordinator is None else (*self.agents, self.coordinator)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the agents."""
        return tuple(agent.name for agent in self.agents)

    def number(self, name: str) -> int:
        """The number of a member.

        Raises:
            ConfigError: no member has that name.
        """
        names = [member.name for member in self.members]
        if name not in names:
            raise ConfigError(f"{name!r} takes no part in this run; {', '.join(names)} do")
        return names.index(name)

    def source(self, folder: Path) -> Source:
        """The study, with paths relative to a local folder.

        Raises:
            ConfigError: parts of other packages that are not installed or not pinned here; they
                are not imported then.
        """
        admitted = partial(admit, agreed=self.parts)
        return parse_study(self.study, "the manifest's study", folder, admitted)

    @property
    def summed(self) -> bool:
        """Whether the agents' releases are seen in sums only."""
        privacy = self.source(Path()).study.privacy
        return privacy is not None and privacy.summed

    @property
    def relayed(self) -> bool:
        """Whether peers add up over a graph, on which messages pass from site to site."""
        return getattr(self.source(Path()).study.network, "exact_sum", None) is not None

    @property
    def masked(self) -> bool:
        """Whether pairs of agents have keys for masks, in sums or in noise."""
        return shares_keys(self.source(Path()), self.names)

    def unsigned(self, *, masked: bool | None = None) -> list[str]:
        """Members that have not signed, or whose signature or key for masks is not theirs.

        Args:
            masked: whether keys for masks are needed, as in the property; if `None`, the study is
                read for it.
        """
        said = self._said
        missing = {
            member.name
            for member in self.members
            if not verify(member.card, said, self.signatures.get(member.name, ""))
        }
        if self.masked if masked is None else masked:
            given = self.offers()
            missing |= {name for number, name in enumerate(self.names) if number not in given}
        return [member.name for member in self.members if member.name in missing]

    def offers(self) -> dict[int, bytes]:
        """The public keys for masks of those agents that gave one, 32 bytes each, by number."""
        run = self.run
        found = {
            number: offered(each.card, run, self.mask_keys.get(each.name, ""))
            for number, each in enumerate(self.agents)
        }
        return {number: public for number, public in found.items() if public is not None}

    def changed(self) -> list[str]:
        """Members whose signature exists but does not fit: something was changed since."""
        return [name for name in self.unsigned() if name in self.signatures]

    def signed_by(self, keys: Keys) -> Manifest:
        """The manifest with one more signature.

        Raises:
            ConfigError: the keys do not belong to a member of this run.
        """
        member = self.members[self.number(keys.card.name)]
        if member.card != keys.card:
            raise ConfigError(
                f"the manifest has another card for {keys.card.name!r} than {keys.folder}; put the "
                "new card.toml in with `tacit manifest new`, and let everybody sign again"
            )
        name, run = keys.card.name, self.run
        signatures = {**self.signatures, name: sign(keys.identity, self._said)}
        mask_keys = dict(self.mask_keys)
        if self.masked and name in self.names:
            mask_keys[name] = offer(keys, run)
        return self.model_copy(update={"signatures": signatures, "mask_keys": mask_keys})

    def with_signatures_of(self, other: Manifest) -> Manifest:
        """The manifest with the signatures from another copy of it."""
        return self.model_copy(
            update={
                "signatures": {**other.signatures, **self.signatures},
                "mask_keys": {**other.mask_keys, **self.mask_keys},
                "vouchers": {**self.vouchers, **other.vouchers},
            }
        )

    def toml(self) -> str:
        """The manifest as a file."""
        parts = [
            "# A run that several owners agree to. `tacit manifest check` explains it.",
            f'format = "{self.format}"',
            f"patience = {self.patience!r}",
            f"silent = {json.dumps(self.silent)}",
            f"study = {_text(self.study)}",
            f"features = {json.dumps(self.features, ensure_ascii=False)}",
            f"classes = {self.classes}",
        ]
        for part in self.parts:
            entries = part.model_dump().items()
            parts += ["", "[[parts]]", *(f"{key} = {json.dumps(value)}" for key, value in entries)]
        for member in self.agents:
            parts += ["", "[[agents]]", *_entries(member)]
        if self.coordinator is not None:
            parts += ["", "[coordinator]", *_entries(self.coordinator)]
        parts += ["", "[signatures]"]
        parts += [
            f"{json.dumps(name)} = {json.dumps(text)}" for name, text in self.signatures.items()
        ]
        for beside in ("mask_keys", "vouchers"):
            texts: dict[str, str] = getattr(self, beside)
            if texts:
                parts += ["", f"[{beside}]"]
                parts += [
                    f"{json.dumps(name)} = {json.dumps(text)}" for name, text in texts.items()
                ]
        return "\n".join(parts) + "\n"


@checked(ConfigError)
def agreed(
    source: Source,
    features: Sequence[str],
    classes: int,
    agents: Sequence[Member],
    coordinator: Member | None = None,
    patience: float = 600.0,
    silent: str = "stop",
    vouchers: Mapping[str, str] | None = None,
) -> Manifest:
    """A manifest of a study.

    Args:
        source: the study.
        features: names of the features that columns become.
        classes: number of classes of the target, 0 for none.
        agents: agents in the order of their numbers.
        coordinator: coordinator of a star.
        patience: time to wait for a silent neighbour, in seconds.
        silent: what to do then, "stop" or "skip".
        vouchers: vouchers of an authority for members' cards, by name.

    Raises:
        ConfigError: a study and members that do not fit each other.
    """
    parts = [AgreedPart.of(part).model_dump() for part in source.foreign]
    return _checked(
        {
            "format": FORMATS[bool(parts)],
            **({"parts": parts} if parts else {}),
            "study": source.text,
            "features": list(features),
            "classes": classes,
            "agents": [member.model_dump() for member in agents],
            "coordinator": None if coordinator is None else coordinator.model_dump(),
            "patience": patience,
            "silent": silent,
            "vouchers": dict(vouchers or {}),
        },
        "the manifest",
    )


@checked(ConfigError)
def read_manifest(path: Path) -> Manifest:
    """Read and check a manifest.

    Raises:
        ConfigError: it cannot be read, or describes something that cannot be run.
    """
    try:
        data = toml.read_bytes(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); check the path") from error
    return parse_manifest(data, path.name)


def parse_manifest(data: bytes, name: str = "the manifest", *, studied: bool = True) -> Manifest:
    """Check the bytes of a manifest.

    Args:
        data: bytes of the file.
        name: name of the file in messages.
        studied: whether to check the study, too, for which parts of other packages that it names
            must be here.

    Raises:
        ConfigError: as `read_manifest`.
    """
    document = toml.parse(data, name)
    return _checked(document, name) if studied else _members(document, name)


def _checked(document: dict[str, Any], name: str) -> Manifest:
    manifest = _members(document, name)
    check_runnable(manifest, name)
    return manifest


def _members(document: dict[str, Any], name: str) -> Manifest:
    """The manifest, with its members and all but its study checked."""
    if "format" not in document and "method" in document:
        raise ConfigError(
            f"{name} is a study, not a manifest; make one of it with `tacit manifest new`"
        )
    if not str(document.get("format")).startswith("tacit-manifest-"):
        raise ConfigError(
            f"{name} is {toml.other_than('a manifest', document)}; `tacit manifest new` makes one"
        )
    if document.get("format") not in FORMATS:
        raise ConfigError(
            f"{name} has the format {document.get('format')!r}; this version of tacit reads "
            f"{' and '.join(map(repr, FORMATS))}"
        )
    try:
        manifest = Manifest.model_validate(document)
    except ValidationError as error:
        told = [
            f"{'.'.join(map(str, path))}: {words}"
            for path, words in explain(error, document, Manifest)[:5]
        ]
        raise ConfigError(f"{name}: " + "; ".join(told)) from error
    if bool(manifest.parts) != (manifest.format == FORMATS[1]):
        raise ConfigError(f"{name}: [[parts]] belong to the format {FORMATS[1]!r}, and make it one")
    for member in manifest.members:
        check_name(member.name, f"{name}: ")
        member.card.public_key()
        check_authority(member.authority, f"{name}: {member.name!r}: ")
        if member.address:
            host_and_port(member.address, f"{name}: {member.name!r}: ")
    for what in ("name", "signing_key"):
        value, times = Counter(getattr(m, what) for m in manifest.members).most_common(1)[0]
        if times > 1:
            raise ConfigError(
                f"{name}: {times} members have the {what} {value!r}; give each its own"
            )
    return manifest


def check_runnable(manifest: Manifest, name: str = "the manifest") -> None:
    """Refuse a study that cannot be run between the members.

    Args:
        manifest: the manifest.
        name: name of the file in messages.

    Raises:
        ConfigError: such a study, or parts of other packages that are not installed or pinned here.
    """
    source = manifest.source(Path())
    check_study(source, name)
    star = isinstance(source.study.network, CoordinatorSection)
    if star != (manifest.coordinator is not None):
        raise ConfigError(
            f"{name}: the study's network is a coordinator and nobody coordinates; add one"
            if star
            else f"{name}: a coordinator takes part in a run between peers; leave it out"
        )
    listening = [manifest.coordinator] if manifest.coordinator is not None else manifest.agents
    for member in listening:
        if not member.address:
            raise ConfigError(
                f"{name}: {member.name!r} has no address for others to dial; give one"
            )


def _entries(member: Member) -> list[str]:
    return [
        f"name = {json.dumps(member.name)}",
        f"address = {json.dumps(member.address)}",
        f"records = {member.records}",
        f"signing_key = {json.dumps(member.signing_key)}",
        f"authority = {_text(member.authority)}",
    ]


def _text(text: str) -> str:
    """A text in TOML: on several lines where possible, and always exact."""
    if "'''" in text or text.endswith("'") or any(ord(c) < 32 and c not in "\n\t" for c in text):
        return json.dumps(text)
    return f"'''\n{text}'''"
