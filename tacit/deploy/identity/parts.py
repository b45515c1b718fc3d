"""Which third-party packages may be imported for a run between sites.

A study in a manifest was written by somebody else, so it must not choose code. A manifest that
names parts of other packages lists them with a digest, which everybody signs; a site imports them
only if its owner has pinned that digest here (`tacit parts trust`). Nothing is ever fetched.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tacit.deploy.files import write_text
from tacit.errors import ConfigError
from tacit.study.parts import Part

VARIABLE = "TACIT_PARTS"
"""The environment variable that names the file of the pins."""

_FORMAT = "tacit-parts-1"
_DIGEST = re.compile(r"[0-9a-f]{64}")


class AgreedPart(BaseModel):
    """A part of another package, as the owners of a run agree to it.

    Attributes:
        family: kind of the part, such as "method".
        name: name of the part in the study.
        target: location of the part, as `package.module:Class`.
        distribution: package that declares it.
        version: version of the package.
        sha256: digest of the files of the import package (`tacit.study.code.digest_of`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    family: str
    name: str
    target: str
    distribution: str
    version: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

    @classmethod
    def of(cls, part: Part) -> AgreedPart:
        """The part as it is installed here."""
        return cls(
            family=part.family.word,
            name=part.name,
            target=part.target,
            distribution=part.distribution,
            version=part.version,
            sha256=part.sha256,
        )

    def __str__(self) -> str:
        return f"{self.family} {self.name!r} of {self.distribution} {self.version}"


def admit(found: Sequence[Part], agreed: Sequence[AgreedPart]) -> None:
    """Refuse, before anything is imported, parts that were not agreed or are not pinned here.

    Args:
        found: parts that the study names and this machine has.
        agreed: parts that the manifest lists.

    Raises:
        ConfigError: a part that is not listed, not installed, different, or not pinned.
    """
    here = [AgreedPart.of(part) for part in found]
    listed = {(each.family, each.name): each for each in agreed}
    if len(listed) < len(agreed):
        raise ConfigError("the manifest lists a part twice; make it anew")
    for own in here:
        if (own.family, own.name) not in listed:
            raise ConfigError(
                f"the study names the {own}, and the manifest does not list it; make the manifest "
                "where that package is installed"
            )
    present = {(each.family, each.name): each for each in here}
    pins = pinned()
    for key, each in listed.items():
        own = present.get(key)
        if own is None:
            raise ConfigError(
                f"the run needs the {each}, which is not installed here; install that version, "
                f"compare its digest with the others', and pin it: {_command(each)}"
            )
        if own != each:
            raise ConfigError(
                f"the run needs the {each} with the digest {each.sha256[:12]} and the target "
                f"{each.target}, and here is {own.version} with {own.sha256[:12]} and "
                f"{own.target}; install what was agreed, or agree on another manifest"
            )
        _check_pinned(each, pins)


def admit_pinned(found: Sequence[Part]) -> None:
    """Refuse, before anything is imported, parts that are not pinned here.

    Args:
        found: parts that another's study names and this machine has, before a manifest exists.

    Raises:
        ConfigError: a part that is not pinned.
    """
    pins = pinned() if found else {}
    for part in found:
        _check_pinned(AgreedPart.of(part), pins)


def _check_pinned(part: AgreedPart, pins: Mapping[str, Sequence[str]]) -> None:
    known = pins.get(part.distribution, ())
    if part.sha256 not in known:
        pinned_are = " or ".join(each[:12] for each in known)
        instead = f" (pinned: {pinned_are}; installed: {part.sha256[:12]})" if known else ""
        raise ConfigError(
            f"the run needs the {part}, which is not pinned here{instead}, so it is not imported; "
            "read its code, compare its digest with the others' over another channel, and pin it: "
            f"{_command(part)}"
        )


def _command(part: AgreedPart) -> str:
    return f"tacit parts trust {part.distribution} --digest {part.sha256}"


def place() -> Path:
    """The file of the pins: `TACIT_PARTS`, or `.config/tacit/parts.json` in the home directory."""
    named = os.environ.get(VARIABLE, "")
    return Path(named) if named else Path.home() / ".config" / "tacit" / "parts.json"


def pinned() -> dict[str, tuple[str, ...]]:
    """The digests that are pinned here, by package.

    Raises:
        ConfigError: the file cannot be read.
    """
    path = place()
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path} cannot be read ({error}); mend it, or delete it and pin again"
        ) from error
    pins: Any = document.get("pins") if isinstance(document, dict) else None
    sound = isinstance(pins, dict) and all(isinstance(each, list) for each in pins.values())
    if not sound or document.get("format") != _FORMAT:
        raise ConfigError(f"{path} is not a file of {_FORMAT!r}; delete it and pin again")
    return {name: tuple(map(str, digests)) for name, digests in pins.items()}


def pin(distribution: str, sha256: str) -> None:
    """Let runs between sites import a package with this digest.

    Args:
        distribution: name of the package.
        sha256: digest of the package, 64 hexadecimal digits.

    Raises:
        ConfigError: it is not a digest, or the file cannot be written.
    """
    if not _DIGEST.fullmatch(sha256):
        raise ConfigError(
            f"sha256={sha256!r} must be 64 hexadecimal digits, as shown by parts list"
        )
    pins = pinned()
    _write({**pins, distribution: tuple(dict.fromkeys((*pins.get(distribution, ()), sha256)))})


def unpin(distribution: str) -> None:
    """Stop runs between sites from importing a package.

    Raises:
        ConfigError: it is not pinned, or the file cannot be written.
    """
    pins = pinned()
    if distribution not in pins:
        raise ConfigError(f"{distribution!r} is not pinned here; {_known(pins)}")
    _write({name: digests for name, digests in pins.items() if name != distribution})


def _known(pins: dict[str, tuple[str, ...]]) -> str:
    return f"pinned are {', '.join(sorted(pins))}" if pins else "nothing is"


def _write(pins: dict[str, tuple[str, ...]]) -> None:
    path = place()
    text = json.dumps({"format": _FORMAT, "pins": pins}, indent=1, sort_keys=True)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text + "\n")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror})") from error
