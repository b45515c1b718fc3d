"""A manifest from a study and cards, and what an owner reviews before signing one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jax

from tacit.arguments import checked
from tacit.deploy.agreement.declared import Declared, check_secure, counts_are_public, declared
from tacit.deploy.agreement.manifest import Manifest, Member, agreed
from tacit.deploy.agreement.own import features
from tacit.deploy.identity.keys import read_card
from tacit.errors import ConfigError
from tacit.privacy.guarantee import Guarantee
from tacit.study.read import Source


@checked(ConfigError)
def propose(
    source: Source,
    data: Path,
    agents: Sequence[tuple[Path, int]],
    coordinator: Path | None = None,
    *,
    patience: float = 600.0,
    silent: str = "stop",
) -> Manifest:
    """A manifest for owners to sign; a study that cannot be run between sites is refused.

    Args:
        source: the study.
        data: file of one site's records, from which only the names of features are read.
        agents: card file and declared number of records of every agent, in the order of their
            numbers.
        coordinator: card file of the coordinator of a star.
        patience: time to wait for a silent neighbour, in seconds.
        silent: what to do then, "stop" or "skip".

    Raises:
        ConfigError: a study and members that do not fit each other.
        PrivacyError: a release that has no secure noise.
    """
    if len(agents) < 2:
        raise ConfigError(
            f"a run between sites has at least 2 agents, and {len(agents)} is given; name every "
            "site (--agent CARD=RECORDS for a manifest, --member FILE or CARD for tacit site)"
        )
    names, classes = features(source, data)
    vouchers: dict[str, str] = {}
    members = [_member(card, records, vouchers) for card, records in agents]
    above = None if coordinator is None else _member(coordinator, 1, vouchers)
    manifest = agreed(source, names, classes, members, above, patience, silent, vouchers)
    with jax.enable_x64(True):
        check_secure(declared(manifest))
    return manifest


def _member(path: Path, records: int, vouchers: dict[str, str]) -> Member:
    """A member from its card; an authority's voucher for it is added to the vouchers."""
    card = read_card(path)
    if card.voucher:
        vouchers[card.name] = card.voucher
    return Member(
        name=card.name,
        address=card.address,
        signing_key=card.signing_key,
        authority=card.authority,
        records=records,
    )


@dataclass(frozen=True, eq=False)
class Review:
    """What a run will do and cost.

    Attributes:
        run: the run, as all members know it.
        exact: whether declared numbers of records are exact, not only upper bounds.
        unsigned: names of members whose signature is missing or does not fit.
        altered: names of members whose signature does not fit: the manifest was changed after they
            signed.
    """

    run: Declared
    exact: bool
    unsigned: frozenset[str]
    altered: frozenset[str]

    @property
    def members(self) -> tuple[tuple[Member, Guarantee | None], ...]:
        """Every member with its guarantee; the coordinator, last, with `None`."""
        manifest = self.run.manifest
        owners = tuple(zip(manifest.agents, self.run.guarantee, strict=True))
        above = manifest.coordinator
        return owners if above is None else (*owners, (above, None))


@checked(ConfigError)
def review(manifest: Manifest) -> Review:
    """What an owner reviews before signing.

    Args:
        manifest: manifest from `propose`, or from somebody else.

    Raises:
        ConfigError: a run that cannot be laid out.
        PrivacyError: a release that has no secure noise.
    """
    with jax.enable_x64(True):
        run = declared(manifest)
    check_secure(run)
    return Review(
        run=run,
        exact=counts_are_public(run.source, manifest.names),
        unsigned=frozenset(manifest.unsigned()),
        altered=frozenset(manifest.changed()),
    )
