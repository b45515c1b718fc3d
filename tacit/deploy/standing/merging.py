"""Copies of one manifest put together: what its members have signed is kept, and nothing else."""

from __future__ import annotations

from tacit.deploy.agreement.manifest import Manifest, parse_manifest
from tacit.deploy.identity.vouch import vouched
from tacit.errors import ConfigError


def merged(one: Manifest, other: Manifest, *, masked: bool) -> Manifest:
    """A manifest with the valid signatures, keys for masks and vouchers of two copies of it.

    Args:
        one: a copy.
        other: another copy, perhaps from a stranger.
        masked: whether the run has keys for masks, as `Manifest.masked` says.
    """
    signatures: dict[str, str] = {}
    mask_keys: dict[str, str] = {}
    vouchers: dict[str, str] = {}
    for copy in (other, one):
        missing = set(copy.unsigned(masked=masked))
        offers = {copy.names[number] for number in copy.offers()} if masked else set[str]()
        for each in copy.members:
            name = each.name
            if name not in missing:
                signatures[name] = copy.signatures[name]
                if name in offers:
                    mask_keys[name] = copy.mask_keys[name]
            voucher = copy.vouchers.get(name, "")
            if voucher and vouched(each.card, voucher):
                vouchers[name] = voucher
    update = {"signatures": signatures, "mask_keys": mask_keys, "vouchers": vouchers}
    return one.model_copy(update=update)


def written(manifest: Manifest) -> str:
    """The manifest as a file that can be read again.

    Raises:
        ConfigError: it would be too large, or be read as another.
    """
    text, name = manifest.toml(), f"the manifest of run {manifest.run.hex()[:12]}"
    if parse_manifest(text.encode(), name, studied=False) != manifest:
        raise ConfigError(f"{name} would be read as another; propose the study again")
    return text
