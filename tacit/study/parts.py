"""Parts by name: tacit's own, and those that other packages declare as entry points.

A part is a class derived from the base of its family. Its name, signature and docstring are all
that a study, a sweep and `tacit describe` need: arguments are keys, and their `Args:` describe
them.
A package declares one in its metadata,

    [project.entry-points."tacit.methods"]
    acme-momentum = "acme_dp.momentum:Momentum"

and a study names it like tacit's own. Declarations are read from metadata; the package itself is
imported only when a study names one of its parts. Methods of papers, with their printed noise, are
declared by tacit in the same way: no other part of tacit knows them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from tacit import checks
from tacit.errors import ConfigError
from tacit.study._grammar.arguments import Argument, arguments
from tacit.study.code import digest_of, imported

if TYPE_CHECKING:
    from tacit.study._described.catalogue import Entry

_HERE = __name__.partition(".")[0]
"""tacit, as a distribution and as the import package that holds its own parts."""


@dataclass(frozen=True)
class Family:
    """A kind of part.

    Attributes:
        word: word for one part.
        at: position in a study where a part is named: section and key.
        group: name of the group of entry points.
        home: base from which a class must derive, as `package.module:Class`.
        names: tacit's own parts by name, as `package.module:NAME`.
        besides: additional names in studies.
        leave_out: arguments that a study gives elsewhere.
        nested: whether a part may hold others of its family, in tables of its section.
    """

    word: str
    at: tuple[str, ...]
    group: str
    home: str
    names: str
    besides: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    nested: bool = False

    @property
    def base(self) -> type:
        """The class from which a part must derive. This imports it."""
        return resolve_name(self.home)

    def takes(self, name: str) -> bool:
        """Whether a name is tacit's own."""
        return name in self.besides or self.has(name)

    def has(self, name: str) -> bool:
        """Whether one of tacit's own parts has this name."""
        return name in resolve_name(self.names)

    def own_names(self) -> tuple[str, ...]:
        """The names of tacit's own parts."""
        return tuple(resolve_name(self.names))

    def own(self, name: str) -> Any:
        """The class or function of one of tacit's own parts."""
        found = resolve_name(self.names)[name]
        return getattr(found, "build", found)


FAMILIES: tuple[Family, ...] = (
    Family(
        "method",
        ("method", "name"),
        "tacit.methods",
        "tacit.method.phase:AbstractMethod",
        "tacit.study._described.catalogue:METHODS",
        nested=True,
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
    Family(
        "feature",
        ("data", "features", "*", "kind"),
        "tacit.features",
        "tacit.data.feature:AbstractFeature",
        "tacit.data.feature:FEATURES",
    ),
    Family(
        "target",
        ("data", "target", "kind"),
        "tacit.targets",
        "tacit.data.target:AbstractTarget",
        "tacit.data.target:TARGETS",
        leave_out=("name",),
    ),
    Family(
        "map",
        ("data", "map", "kind"),
        "tacit.maps",
        "tacit.data.maps:AbstractMap",
        "tacit.data.maps:MAPS",
    ),
    Family(
        "partition",
        ("partition", "by"),
        "tacit.partitions",
        "tacit.data.partitions:AbstractPartition",
        "tacit.data.partitions:PARTITIONS",
    ),
)
"""Families of parts that other packages may add to a study."""

METHOD = FAMILIES[0]


@dataclass(frozen=True)
class Part:
    """A part declared by a package.

    Attributes:
        family: family of the part.
        name: name in studies.
        target: location, as `package.module:Class`.
        distribution: installed package that declares the part.
        version: version of the distribution.
    """

    family: Family
    name: str
    target: str
    distribution: str
    version: str

    @property
    def own(self) -> bool:
        """Whether the part is tacit's."""
        # by the location of its code: anyone may write the name of a distribution into metadata
        return self._package == self.distribution == _HERE

    @property
    def sha256(self) -> str:
        """Digest of all files of the import package that holds the part; see `digest_of`.

        Raises:
            ConfigError: the package cannot be found.
        """
        return digest_of(self._package, self.distribution)

    @property
    def _package(self) -> str:
        """The import package that holds the part."""
        return self.target.partition(":")[0].partition(".")[0]

    @property
    def keys(self) -> tuple[Argument, ...]:
        """The keys of its section, from its signature and docstring. This imports the package."""
        from tacit.study._described.catalogue import Entry

        if self.family.word == "method":
            return Entry(self.build).parameters
        return arguments(self.build, self.family.leave_out)

    @property
    def runs_inside(self) -> bool:
        """Whether it is a method that others may run, without a budget. This imports it."""
        from tacit.study._described.catalogue import Entry, Protection

        if self.family is not METHOD or self.own:
            return False
        return Entry(self.build).protection is not Protection.REQUIRED

    @functools.cached_property
    def build(self) -> type:
        """The class. This imports the package.

        Raises:
            ConfigError: the class cannot be imported, or does not belong to the family.
        """
        entry = EntryPoint(self.name, self.target, self.family.group)
        guarded = nullcontext() if self.own else imported(self._package, self.distribution)
        try:
            with guarded:
                found = entry.load()
        except ConfigError:
            raise
        except Exception as error:  # any exception of foreign code
            remedy = "; reinstall it: its metadata are of another version" if self.own else ""
            raise ConfigError(
                f"the {self.family.word} {self.name!r} of {self.distribution} {self.version} "
                f"cannot be imported from {self.target}: {type(error).__name__}: {error}{remedy}"
            ) from error
        base = self.family.base
        if not (isinstance(found, type) and issubclass(found, base)):
            raise ConfigError(
                f"the {self.family.word} {self.name!r} of {self.distribution} {self.version} is "
                f"{self.target}, which is not a subclass of {base.__module__}.{base.__name__}"
            )
        named = getattr(found, "name", self.name)
        if self.family.word == "method" and named != self.name:
            raise ConfigError(
                f"{self.target} calls itself {named!r}, and {self.distribution} declares it as "
                f"{self.name!r}; its author has to let both be the same"
            )
        return found


def installed(parts: Iterable[Part]) -> dict[str, str]:
    """Versions and digests of the code installed here, or already running, by distribution.

    A distribution may have its parts in several import packages, with one digest each.
    """
    found: dict[str, list[str]] = {}
    for part in parts:
        found.setdefault(part.distribution, [part.version]).append(f"sha256:{part.sha256}")
    return {name: " ".join([of, *sorted(set(digests))]) for name, (of, *digests) in found.items()}


def declared(
    family: Family,
    names: Collection[str] | None = None,
    *,
    select: Callable[..., EntryPoints] = entry_points,
) -> dict[str, Part]:
    """Declarations of packages, by name; read from metadata, without an import.

    Args:
        family: kind of the parts.
        names: names that are asked for, so that a mistake of a package about another one stops
            nobody; all if `None`.
        select: function that gives the entry points of a group.

    Raises:
        ConfigError: a name that is tacit's own, or that two packages declare, or a package without
            a name of its own and a version.
    """
    found: dict[str, Part] = {}
    for entry in select(group=family.group):
        if entry.dist is None or (names is not None and entry.name not in names):
            continue
        part = part_of(family, entry)
        other = found.get(entry.name)
        if (not part.own and family.takes(part.name)) or (
            other is not None and other.own != part.own
        ):
            stranger = other if part.own and other is not None else part
            raise ConfigError(
                f"{stranger.distribution} declares the {family.word} {part.name!r}, which is one "
                "of tacit's own; uninstall it until its author has given it another name"
            )
        if other is not None and other != part:
            raise ConfigError(
                f"{other.distribution} and {part.distribution} both declare the {family.word} "
                f"{part.name!r}; uninstall one of them"
            )
        found[part.name] = part
    return found


def part_of(family: Family, entry: EntryPoint) -> Part:
    """The part that an entry point declares.

    Raises:
        ConfigError: its package has no valid name.
    """
    assert entry.dist is not None
    metadata = entry.dist.metadata
    named, version = ((metadata.get_all(key) or [""])[0] for key in ("Name", "Version"))
    if named and version:
        part = Part(family, entry.name, entry.value, named, version)
        if part.own or _HERE not in (named.lower(), part._package):
            return part
    raise ConfigError(
        f"what declares the {family.word} {entry.name!r} calls itself {named!r} {version!r} in its "
        f"metadata and names {entry.value!r}, where a name and a package of its own and a version "
        "belong; reinstall it"
    )


def foreign(names: Collection[str] | None = None) -> list[Part]:
    """Parts declared by other packages, family by family.

    Args:
        names: names that are asked for; all if `None`.

    Raises:
        ConfigError: as for `declared`.
    """
    found = (part for family in FAMILIES for _, part in sorted(declared(family, names).items()))
    return [part for part in found if not part.own]


def published() -> dict[str, Part]:
    """The methods of papers with their printed noise, by name: for comparison only.

    Raises:
        ConfigError: as for `declared`, or tacit runs without its own metadata.
    """
    group = entry_points(group=METHOD.group)
    names = [each.name for each in group if each.dist is not None and each.dist.name == _HERE]
    found = {name: part for name, part in declared(METHOD, names).items() if part.own}
    if not found:
        raise ConfigError(
            "the metadata of the installed tacit declare no method, so those of papers cannot be "
            "found; they are missing or of another version: reinstall tacit (pip install -e . in "
            "its sources)"
        )
    return found


def named_in(document: object) -> Iterator[Part]:
    """The parts that a study names besides those of its grammar; read without an import.

    Args:
        document: study as read by TOML, valid or not.

    Raises:
        ConfigError: as for `declared`.
    """
    select = entry_points().select  # reads the metadata of all packages, once
    for family in FAMILIES:
        named = sorted(set(_names(document, *family.at, nested=family.nested)))
        known = declared(family, named, select=select)
        yield from (known[name] for name in named if name in known)
        if family is METHOD and not all(name in known or family.takes(name) for name in named):
            published()  # reports missing ones caused by stale metadata


def _names(document: Any, step: str, *path: str, nested: bool) -> Iterator[str]:
    """The names at a path, `*` standing for any key, and in tables below it."""
    if not isinstance(document, Mapping):
        return
    if path:
        found = document.values() if step == "*" else [document.get(step)]
        for inner in found:
            if isinstance(inner, str) and len(path) == 1:  # stands for the table { kind = ... }
                yield inner
            yield from _names(inner, *path, nested=nested)
        return
    if isinstance(name := document.get(step), str):
        yield name
    if nested:
        for inner in document.values():
            yield from _names(inner, step, nested=True)


def method(name: str, besides: str = "") -> Entry:
    """A method by its name, tacit's own or declared; the latter is imported.

    Args:
        name: name in studies.
        besides: what else might be meant, where no name is close.

    Raises:
        ConfigError: no such method, or as for `Part.build`.
    """
    from tacit.study._described.catalogue import METHODS, REFUSED, Entry

    if name in REFUSED:
        raise ConfigError(f"method {name!r} {REFUSED[name]}")
    if name in METHODS:
        return METHODS[name]
    others = declared(METHOD, [name])
    if name in others:
        return Entry(others[name].build)
    published()  # reports missing ones caused by stale metadata
    known = [*METHODS, *declared(METHOD)]
    # a family of methods before a name that is spelt alike: another paper's method
    close = [
        each for each in known if each.startswith(f"{name.casefold()}-") and "published" not in each
    ]
    close = close or checks.close(name, known)
    hint = f"there are {', '.join(known)}" + (f"; {besides}" if besides else "")
    if close:
        hint = f"did you mean {' or '.join(map(repr, close))}?"
    raise ConfigError(f"method {name!r} is unknown; {hint}")
