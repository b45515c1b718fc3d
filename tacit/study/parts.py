"""Parts by name: tacit's own, and those that other packages declare as entry points.

A part is a class below the base of its family. Its name, signature and docstring are all that a
study, a sweep and `tacit describe` need: arguments are keys, and their `Args:` say what they mean.
Another package declares one in its metadata,

    [project.entry-points."tacit.methods"]
    acme-momentum = "acme_dp.momentum:Momentum"

and a study names it as it names tacit's. What is declared is read from metadata; the package itself
is imported only when a study names a part of it.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from tacit import __version__
from tacit.errors import ConfigError
from tacit.study._grammar.arguments import Argument, arguments
from tacit.study.code import digest_of, imported

if TYPE_CHECKING:
    from tacit.study._described.catalogue import Entry


_PUBLISHED = {
    "dp-admm-as-published": "dp_admm_printed:DPADMMPrinted",
    "dp-iadmm-as-published": "dp_iadmm_printed:DPIADMMPrinted",
    "dvp-as-published": "dvp_printed:DVPPrinted",
    "outp-as-coded": "outp_as_coded:OutPAsCoded",
    "pdop-as-published": "pdop_printed:PDOPPrinted",
    "pvp-as-published": "pvp_printed:PVPPrinted",
}


@dataclass(frozen=True)
class Family:
    """A kind of part.

    Attributes:
        word: what one is called.
        at: where a study names one: section and key.
        group: of the entry points.
        home: the base that a class must derive from, as `package.module:Class`.
        names: tacit's own by name, as `package.module:NAME`.
        besides: names that studies have beside those.
    """

    word: str
    at: tuple[str, ...]
    group: str
    home: str
    names: str
    besides: tuple[str, ...] = ()

    @property
    def base(self) -> type:
        """The class that a part must derive from. This imports it."""
        return resolve_name(self.home)

    def takes(self, name: str) -> bool:
        """Whether a name is tacit's own."""
        return name in self.besides or name in resolve_name(self.names)


FAMILIES: tuple[Family, ...] = (
    Family(
        "method",
        ("method", "name"),
        "tacit.methods",
        "tacit.method.phase:AbstractMethod",
        "tacit.study._described.catalogue:METHODS",
        tuple(_PUBLISHED),
    ),
    Family(
        "loss",
        ("problem", "loss", "kind"),
        "tacit.losses",
        "tacit.problem.losses:AbstractLoss",
        "tacit.problem.losses:LOSSES",
    ),
    Family(
        "regulariser",
        ("problem", "regulariser", "kind"),
        "tacit.regularisers",
        "tacit.problem.regularisers:AbstractRegulariser",
        "tacit.problem.regularisers:REGULARISERS",
    ),
    Family(
        "constraint",
        ("problem", "constraint", "kind"),
        "tacit.constraints",
        "tacit.problem.constraint:AbstractConstraint",
        "tacit.problem.constraint:CONSTRAINTS",
    ),
    Family(
        "graph",
        ("network", "graph"),
        "tacit.graphs",
        "tacit.network.topologies:AbstractTopology",
        "tacit.network.topologies:TOPOLOGIES",
        ("edges", "sequence", "coordinator"),
    ),
)
"""What other packages may add to a study."""


@dataclass(frozen=True)
class Part:
    """A part that another package declares.

    Attributes:
        family: its kind.
        name: in studies.
        target: `package.module:Class`.
        distribution: the installed package that declares it.
        version: of the distribution.
    """

    family: Family
    name: str
    target: str
    distribution: str
    version: str

    @property
    def own(self) -> bool:
        """Whether it is tacit's."""
        # not by the name of its distribution, which anybody may write into metadata
        return published().get(self.name) == self

    @property
    def sha256(self) -> str:
        """Digest of all files of the import package that holds it; see `digest_of`.

        Raises:
            ConfigError: the package cannot be found.
        """
        return digest_of(self._package, self.distribution)

    @property
    def _package(self) -> str:
        """The import package that holds it."""
        return self.target.partition(":")[0].partition(".")[0]

    @property
    def keys(self) -> tuple[Argument, ...]:
        """The keys of its section, from its signature and docstring. This imports the package."""
        from tacit.study._described.catalogue import Entry

        if self.family.word == "method":
            return Entry(self.build).parameters
        return arguments(self.build)

    @functools.cached_property
    def build(self) -> type:
        """The class. This imports the package.

        Raises:
            ConfigError: it cannot be imported, or is no class of the family.
        """
        entry = EntryPoint(self.name, self.target, self.family.group)
        guarded = nullcontext() if self.own else imported(self._package, self.distribution)
        try:
            with guarded:
                found = entry.load()
        except ConfigError:
            raise
        except Exception as error:  # whatever somebody else's module raises
            raise ConfigError(
                f"the {self.family.word} {self.name!r} of {self.distribution} {self.version} "
                f"cannot be imported from {self.target}: {type(error).__name__}: {error}"
            ) from error
        base = self.family.base
        if not (isinstance(found, type) and issubclass(found, base)):
            raise ConfigError(
                f"the {self.family.word} {self.name!r} of {self.distribution} {self.version} is "
                f"{self.target}, which is no class below {base.__module__}.{base.__name__}"
            )
        named = getattr(found, "name", self.name)
        if self.family.word == "method" and named != self.name:
            raise ConfigError(
                f"{self.target} calls itself {named!r}, and {self.distribution} declares it as "
                f"{self.name!r}; its author has to let both be the same"
            )
        return found


def published() -> dict[str, Part]:
    """The methods of papers with the noise that these print, by name: for comparison only."""
    return {
        name: Part(FAMILIES[0], name, f"tacit.method.{target}", "tacit", __version__)
        for name, target in _PUBLISHED.items()
    }


def installed(parts: Iterable[Part]) -> dict[str, str]:
    """Versions and digests of what is installed here, or runs already, by distribution.

    A distribution may have its parts in several import packages: then it has as many digests.
    """
    found: dict[str, list[str]] = {}
    for part in parts:
        found.setdefault(part.distribution, [part.version]).append(f"sha256:{part.sha256}")
    return {name: " ".join([of, *sorted(set(digests))]) for name, (of, *digests) in found.items()}


def declared(family: Family) -> dict[str, Part]:
    """What other packages declare, by name; read from metadata, without an import.

    Raises:
        ConfigError: a name that is tacit's own, or that two packages declare, or a package
            without a name of its own and a version.
    """
    found: dict[str, Part] = {}
    for entry in entry_points(group=family.group):
        distribution = entry.dist
        if distribution is None:
            continue
        metadata = distribution.metadata
        named, version = metadata["Name"], metadata["Version"]
        if not named or not version or named.lower() == "tacit":
            raise ConfigError(
                f"what declares the {family.word} {entry.name!r} calls itself {named!r} "
                f"{version!r} in its metadata, where a name of its own and a version belong; "
                "reinstall it"
            )
        part = Part(family, entry.name, entry.value, named, version)
        other = found.get(entry.name)
        if other is not None and other != part:
            raise ConfigError(
                f"{other.distribution} and {part.distribution} both declare the {family.word} "
                f"{entry.name!r}; uninstall one of them"
            )
        if family.takes(entry.name):
            raise ConfigError(
                f"{part.distribution} declares the {family.word} {entry.name!r}, which is one of "
                "tacit's own; its author has to give it another name"
            )
        found[entry.name] = part
    return found


def all_declared() -> list[Part]:
    """All parts that other packages declare, family by family.

    Raises:
        ConfigError: as `declared`.
    """
    return [part for family in FAMILIES for _, part in sorted(declared(family).items())]


def named_in(document: object) -> Iterator[Part]:
    """The parts that a study names beside those of its grammar; read without an import.

    Args:
        document: a study as TOML reads it, right or wrong.

    Raises:
        ConfigError: as `declared`.
    """
    for family in FAMILIES:
        known = declared(family)
        if family is FAMILIES[0]:
            known |= published()
        yield from (known[name] for name in sorted(_names(document, family)) if name in known)


def _names(document: Any, family: Family) -> set[str]:
    *path, key = family.at
    for step in path:
        document = document.get(step) if isinstance(document, Mapping) else None
    if isinstance(document, str):  # stands for the table { kind = ... }
        return {document}
    name = document.get(key) if isinstance(document, Mapping) else None
    return {name} if isinstance(name, str) else set()


def method(name: str) -> Entry:
    """A method by its name, tacit's own or declared; the latter is imported.

    Raises:
        ConfigError: there is none, or as `Part.build`.
    """
    from tacit.study._described.catalogue import METHODS, REFUSED, Entry

    if name in REFUSED:
        raise ConfigError(f"method {name!r} {REFUSED[name]}")
    if name in METHODS:
        return METHODS[name]
    others = declared(FAMILIES[0]) | published()
    if name in others:
        return Entry(others[name].build)
    known = [*METHODS, *others]
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
    raise ConfigError(f"method {name!r} is unknown; {hint}")
