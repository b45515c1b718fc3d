"""Members of simulated runs, with keys, records and manifest: the same in every process."""

from __future__ import annotations

import base64
import datetime as dt
import functools
import hashlib
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from tacit.deploy.agreement.manifest import Manifest, Member, agreed
from tacit.deploy.identity.keys import Card, Keys
from tacit.deploy.identity.pair_keys import offer
from tacit.privacy.ledger import Ledger
from tacit.study.read import parse_study
from tests.sites import STUDY

ENDS = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
_BEGINS = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Shape:
    """A kind of run.

    Attributes:
        name: name of it.
        graph: graph of the study.
        method: method of the study.
        agents: number of agents; a coordinator comes on top.
        rounds: number of rounds.
        silent: what a run does when a member is silent.
        masks: settings of secure aggregation; none if empty.
        patience: virtual seconds to wait for a silent member.
        own_ledger: whether agents charge a ledger that their owner keeps, elsewhere than the keys.
        sums: how peers of a ring make exact sums; they do not if empty. Member 0 adds up for all.
    """

    name: str
    graph: str = "ring"
    method: str = "dpsg"
    agents: int = 3
    rounds: int = 3
    silent: str = "stop"
    masks: str = ""
    patience: float = 20.0
    own_ledger: bool = False
    sums: str = ""

    @property
    def star(self) -> bool:
        """Whether there is a coordinator."""
        return self.graph == "coordinator"

    @property
    def members(self) -> int:
        """Number of members."""
        return self.agents + self.star

    @property
    def one_model(self) -> bool:
        """Whether all get the model from who adds up."""
        return self.star or bool(self.sums)

    def site(self, number: int) -> int:
        """The member at whose site somebody is: who adds up for peers is at that of member 0."""
        return 0 if self.sums and number == self.agents else number

    def neighbours(self, member: int) -> tuple[int, ...]:
        """Numbers of the members with which a member exchanges messages."""
        if self.graph == "path":  # of two
            return (1 - member,)
        if not self.star:
            return (member - 1) % self.agents, (member + 1) % self.agents
        return (self.agents,) if member < self.agents else tuple(range(self.agents))


RING = Shape("ring")
PAIR = Shape("pair", "path", agents=2, rounds=2)
RING_LEDGER = Shape("ring, ledgers of the owners", own_ledger=True)
RING_SKIP = Shape("ring, skip", rounds=4, silent="skip")
STAR = Shape("star", "coordinator", "gradient-descent", agents=2)
MASKS = Shape(
    "masks",
    "coordinator",
    "gradient-descent",
    silent="skip",
    patience=5.0,
    masks="masks = { coalition = 1, min_cohort = 2, spare = 6 }",
)
MASKS_LONG = replace(
    MASKS, rounds=18, masks="masks = { coalition = 1, min_cohort = 2, spare = 20 }"
)
"""Long enough for a client to come back when many sums were taken without it."""
MASKS_FOUR = replace(MASKS, agents=4, masks="masks = { coalition = 1, min_cohort = 3, spare = 6 }")
PEERS = replace(MASKS_FOUR, name="peers that add up", graph="ring", sums="tree")
SHAPES = (RING, PAIR, RING_SKIP, STAR, MASKS)


def large(agents: int) -> Shape:
    """A ring of many members."""
    return Shape(f"ring of {agents}", agents=agents)


def _key(*label: object) -> bytes:
    return hashlib.sha256(repr(("simulated", *label)).encode()).digest()


@functools.cache
def authority() -> str:
    """The certificate of the members' authority, PEM."""
    key = Ed25519PrivateKey.from_private_bytes(_key("authority"))
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "simulated")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(_BEGINS)
        .not_valid_after(ENDS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, None)
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


@functools.cache
def identity(number: int) -> Ed25519PrivateKey:
    """A member's signing key."""
    return Ed25519PrivateKey.from_private_bytes(_key("identity", number))


@functools.cache
def card(number: int) -> Card:
    """A member's card."""
    public = identity(number).public_key().public_bytes_raw()
    key = base64.b64encode(public).decode()
    return Card(f"m{number}", f"m{number}.example:7447", key, authority())


def keys(shape: Shape, number: int, folder: Path) -> Keys:
    """A member's keys, as in its folder; a client of a coordinator has no address."""
    own = card(number)
    if shape.star and number < shape.agents:
        own = replace(own, address="")
    return Keys(folder, own, identity(number), _BEGINS, ENDS)


def mask_key(number: int) -> bytes:
    """The private half of a member's key for masks."""
    return _key("mask", number)


def records(number: int) -> str:
    """A member's table."""
    rng = np.random.default_rng(number)
    rows = [f"{rng.integers(18, 99)},{rng.choice(['yes', 'no'])}" for _ in range(8)]
    return "age,ill\n" + "\n".join(rows) + "\n"


def study(shape: Shape) -> str:
    """The study of a kind of run, as TOML."""
    way = f'\nexact_sum = "{shape.sums}"' if shape.sums else ""
    return (
        STUDY.replace('graph = "ring"', f'graph = "{shape.graph}"{way}')
        .replace('name = "dpsg"', f'name = "{shape.method}"')
        .replace("clip = 1.0", f"clip = 1.0\n{shape.masks}")
        .replace("rounds = 5", f"rounds = {shape.rounds}\nseed = 3")
    )


@functools.cache
def manifest(shape: Shape) -> Manifest:
    """The manifest of a kind of run, signed by all members."""
    members = [
        Member(
            name=each.name,
            address="" if shape.star and number < shape.agents else each.address,
            signing_key=each.signing_key,
            authority=each.authority,
            records=8,
        )
        for number, each in enumerate(map(card, range(shape.members)))
    ]
    found = agreed(
        parse_study(study(shape)),
        ["age", "intercept"],
        0,
        members[: shape.agents],
        members[shape.agents] if shape.star else None,
        patience=shape.patience,
        silent=shape.silent,
    )
    with tempfile.TemporaryDirectory() as folder:
        for number in range(shape.members):
            own = keys(shape, number, Path(folder) / f"keys-{number}")
            if shape.masks and number < shape.agents:
                put_mask_key(own.folder, found.run, number)
                offer(own, found.run)
            found = found.signed_by(own)
    return found


def put_mask_key(folder: Path, run: bytes, number: int) -> None:
    """Put a member's key for masks where it is looked for."""
    place = folder / "masks"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = place / f"{run.hex()}.key"
    path.write_bytes(mask_key(number))
    path.chmod(0o600)


def put_ledger(path: Path, number: int) -> None:
    """Put a ledger of a member's own, with its budget, where it is charged."""
    path.parent.mkdir(mode=0o700)
    with Ledger.create(path) as ledger:
        ledger.set_budget(f"m{number}", "records", epsilon=5.0, delta=1e-6)
